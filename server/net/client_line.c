#include "server/net/client_line.h"

#include "server/acl/acl_user.h"
#include "server/net/connection.h"
#include "server/session/pubsub.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { OUTPUT_SMALL = 16 * 1024 };

static const char *shown(const char *text)
{
    return text == NULL ? "" : text;
}

/* In Redis' order. */
static void write_flags(const struct connection *connection, char *flags)
{
    const struct session *session = &connection->session;
    const struct {
        bool set;
        char letter;
    } all[] = {{session->monitors, 'O'},
               {session_subscriptions(session) > 0, 'P'},
               {session->transaction != NULL, 'x'},
               {waiters_is_blocked(session) || connection->hold != HOLD_NONE, 'b'},
               {session->watch_broken, 'd'},
               {session->life == SESSION_CLOSING, 'c'},
               {session->life == SESSION_GONE, 'A'},
               {session->is_unix, 'U'},
               {session->no_evict, 'e'}};
    char *at = flags;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].set)
            *at++ = all[i].letter;
    if (at == flags)
        *at++ = 'N';
    *at = '\0';
}

/* As Redis has it: a small buffer for replies, and beyond it a list, here of one block. */
struct shown_output {
    size_t small, small_size, blocks, large;
};

static struct shown_output show_output(const struct connection_memory *memory)
{
    if (memory->output_buffer <= OUTPUT_SMALL)
        return (struct shown_output){.small = memory->output,
                                     .small_size = memory->output_buffer};
    return (struct shown_output){.blocks = 1, .large = memory->output_buffer};
}

static const char *awaited(const struct connection *connection)
{
    if (connection->awaits_input)
        return connection->awaits_output ? "rw" : "r";
    return connection->awaits_output ? "w" : "";
}

static void append_line(struct buffer *text, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    buffer_append(text, line, size < (int)sizeof(line) ? (size_t)size : sizeof(line) - 1);
}

static void append_who(struct server *server, const struct session *session,
                       struct buffer *text)
{
    const struct transaction *transaction = session->transaction;
    int64_t now = server->clock.last.monotonic;
    char flags[16];

    write_flags(connection_of((struct session *)session), flags);
    append_line(
        text,
        "id=%" PRIu64 " addr=%s laddr=%s fd=%d name=%.200s age=%" PRId64 " idle=%" PRId64
        " flags=%s db=%u sub=%zu psub=%zu ssub=%zu multi=%d",
        session->id, session->address, session->local_address, session->fd,
        shown(session->name), (now - session->created) / 1000, (now - session->active) / 1000,
        flags, session->database, session->subscription_count[PUBSUB_CHANNEL],
        session->subscription_count[PUBSUB_PATTERN], session->subscription_count[PUBSUB_SHARD],
        transaction == NULL ? -1 : (int)transaction_count(transaction));
}

static void append_memory(const struct connection *connection, struct buffer *text)
{
    struct connection_memory memory;
    struct shown_output output;

    connection_measure(connection, &memory);
    output = show_output(&memory);
    append_line(text,
                " qbuf=%zu qbuf-free=%zu argv-mem=%zu multi-mem=%zu rbs=%zu rbp=%zu obl=%zu "
                "oll=%zu omem=%zu tot-mem=%zu events=%s",
                memory.input, memory.input_free, memory.arguments, memory.queued,
                output.small_size, output.small, output.small, output.blocks, output.large,
                memory.total, awaited(connection));
}

void client_line_write(struct server *server, const struct session *session,
                       struct buffer *text)
{
    append_who(server, session, text);
    append_memory(connection_of((struct session *)session), text);
    append_line(text, " cmd=%s user=%.200s redir=-1 resp=%d lib-name=%.64s lib-ver=%.64s",
                session->last_command == NULL ? "NULL"
                                              : command_full_name(session->last_command),
                session->user->name, session->protocol, shown(session->library_name),
                shown(session->library_version));
}
