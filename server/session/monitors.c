#include "server/session/monitors.h"

#include "server/containers/shared_bytes.h"
#include "server/dispatch/redaction.h"
#include "server/server.h"
#include "server/session/session_output.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

enum { LINE_MOST = 1 << 30 };

static void append_text(struct buffer *line, const char *text)
{
    buffer_append(line, text, strlen(text));
}

static bool is_plain(unsigned char byte)
{
    return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
}

static uint64_t eight(unsigned char byte)
{
    return byte * UINT64_C(0x0101010101010101);
}

/* Not 0: one of the eight bytes is 0. From Warren, Hacker's Delight, 6-1. */
static uint64_t has_zero(uint64_t word)
{
    return (word - eight(1)) & ~word & eight(0x80);
}

/* Are all eight bytes plain? One before ' ' or after '~' has a high bit in one of the sums. */
static bool are_plain(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return ((word | (word - eight(' ')) | (word + eight(1))) & eight(0x80)) == 0 &&
           has_zero(word ^ eight('"')) == 0 && has_zero(word ^ eight('\\')) == 0;
}

/* The first byte from `at` on that needs quoting. To look at each byte of 16 MiB takes 20 ms.
 */
static size_t plain_end(struct argument argument, size_t at)
{
    while (argument.size - at >= sizeof(uint64_t) && are_plain(argument.data + at))
        at += sizeof(uint64_t);
    while (at < argument.size && is_plain((unsigned char)argument.data[at]))
        at++;
    return at;
}

/* As redis-cli quotes. */
static void append_quoted(struct buffer *line, unsigned char byte)
{
    static const char names[] = "\n\r\t\a\b\\\"", letters[] = "nrtab\\\"";
    const char *name = byte == '\0' ? NULL : strchr(names, byte);
    char text[8];

    if (name != NULL)
        snprintf(text, sizeof(text), "\\%c", letters[name - names]);
    else
        snprintf(text, sizeof(text), "\\x%02x", byte);
    append_text(line, text);
}

/* Bytes that need no quoting are appended in one piece. */
static void append_argument(struct buffer *line, struct argument argument)
{
    append_text(line, " \"");
    for (size_t at = 0; at < argument.size && !line->overflowed; at++) {
        size_t end = plain_end(argument, at);

        buffer_append(line, argument.data + at, end - at);
        at = end;
        if (at < argument.size)
            append_quoted(line, (unsigned char)argument.data[at]);
    }
    append_text(line, "\"");
}

static void write_line(const struct context *context, struct buffer *line)
{
    const struct request *request = context->request;
    const struct session *session = context->session;
    int64_t usec = context->server->clock.wall_usec;
    char head[128];

    snprintf(head, sizeof(head), "+%" PRId64 ".%06d [%u %s]", usec / 1000000,
             (int)(usec % 1000000), session->database, session->address);
    append_text(line, head);
    for (size_t i = 0; i < request->count; i++)
        append_argument(line, redaction_shown(context->command, request, i));
    append_text(line, "\r\n");
}

void monitors_add(struct server *server, struct session *session)
{
    if (session->monitors)
        return;
    session->monitors = true;
    DL_APPEND2(server->monitors, session, monitor_prev, monitor_next);
}

void monitors_remove(struct server *server, struct session *session)
{
    if (!session->monitors)
        return;
    session->monitors = false;
    DL_DELETE2(server->monitors, session, monitor_prev, monitor_next);
}

/* All of them get the memory of a large line, and copy it in later turns. False: out of memory.
 */
static bool share(const struct server *server, struct buffer *line)
{
    struct shared_bytes *shared = shared_bytes_new(line->data, buffer_size(line));
    struct session *session;

    assert(line->start == 0);
    if (shared == NULL)
        return false;
    shared_bytes_own_buffer(shared, line);
    DL_FOREACH2(server->monitors, session, monitor_next) {
        shared_bytes_write_plain(shared, session_push_begin(session));
        session_push_end(session);
    }
    shared_bytes_let_go(shared);
    return true;
}

void monitors_show(const struct context *context)
{
    struct buffer line;
    struct session *session;

    if (context->server->monitors == NULL ||
        context->command->flags & (COMMAND_SKIP_MONITOR | COMMAND_ADMIN))
        return;
    buffer_init(&line, LINE_MOST);
    write_line(context, &line);
    if (buffer_size(&line) >= RESP_LARGE_BULK && share(context->server, &line))
        return;
    DL_FOREACH2(context->server->monitors, session, monitor_next) {
        buffer_append(session_push_begin(session)->out, buffer_content(&line),
                      buffer_size(&line));
        session_push_end(session);
    }
    buffer_release(&line);
}
