#include "server/session/monitors.h"

#include "server/containers/shared_bytes.h"
#include "server/server.h"
#include "server/session/monitor_text.h"
#include "server/session/session_output.h"
#include "server/session/transaction.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

enum { LINE_MOST = 1 << 30 };

/* No monitor may leave more unread: it is cut off by a line, or the lines of an EXEC, that are
 * longer, so nobody needs the rest of them. */
static size_t most_bytes(const struct server *server)
{
    int64_t limit = server->config.output_limits.of[CLIENT_PUBSUB].hard;

    return limit > 0 && limit < LINE_MOST ? (size_t)limit : LINE_MOST;
}

/* ---- before a request runs */

static bool is_exec(const struct request *request)
{
    const struct command *command = command_find_request(request);

    return command != NULL && (command->flags & COMMAND_RUNS_QUEUE) != 0 &&
           command_arity_fits(command, request->count);
}

bool monitors_prepare(const struct server *server, struct session *session,
                      const struct request *request)
{
    if (server->monitors == NULL)
        return true;
    if (session->transaction != NULL)
        return session->watch_broken || !is_exec(request) ||
               transaction_prepare_texts(session->transaction, most_bytes(server));
    return request->bytes < MONITOR_TEXT_LARGE ||
           monitor_text_prepare(&session->monitor_text, request, most_bytes(server));
}

size_t monitors_quote(const struct server *server, const struct request *request)
{
    return server->monitors == NULL || request->bytes >= MONITOR_TEXT_LARGE ? 0
                                                                            : request->bytes;
}

/* ---- the list of them */

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

/* ---- sending */

static void append_text(struct buffer *line, const char *text)
{
    buffer_append(line, text, strlen(text));
}

static void write_head(const struct context *context, char *head, size_t size)
{
    const struct session *session = context->session;
    int64_t usec = context->server->clock.wall_usec;

    snprintf(head, size, "+%" PRId64 ".%06d [%u %s]", usec / 1000000, (int)(usec % 1000000),
             session->database, session->address);
}

/* Who is cut off sees nothing more, also of an EXEC that goes on in this turn. */
static void end_push(struct server *server, struct session *session)
{
    session_push_end(session);
    if (session->life == SESSION_GONE)
        monitors_remove(server, session);
}

/* All of them get the memory of a large line, and copy it in later turns. False: out of memory.
 */
static bool share(struct server *server, const char *head, struct buffer *line)
{
    struct shared_bytes *shared = shared_bytes_new(line->data, buffer_size(line));
    struct session *session, *next;

    assert(line->start == 0);
    if (shared == NULL)
        return false;
    shared_bytes_own_buffer(shared, line);
    DL_FOREACH_SAFE2(server->monitors, session, next, monitor_next) {
        struct resp_writer *writer = session_push_begin(session);

        append_text(writer->out, head);
        shared_bytes_write_plain(shared, writer);
        end_push(server, session);
    }
    shared_bytes_let_go(shared);
    return true;
}

static void send_line(struct server *server, const char *head, struct buffer *line)
{
    struct session *session, *next;

    append_text(line, "\r\n");
    if (!line->overflowed && buffer_size(line) >= RESP_LARGE_BULK && share(server, head, line))
        return;
    DL_FOREACH_SAFE2(server->monitors, session, next, monitor_next) {
        struct buffer *out = session_push_begin(session)->out;

        out->overflowed |= line->overflowed; /* nothing more is appended then */
        append_text(out, head);
        buffer_append(out, buffer_content(line), buffer_size(line));
        end_push(server, session);
    }
}

void monitors_show(const struct context *context)
{
    struct buffer *line;
    char head[128];

    if (context->server->monitors == NULL || !monitor_text_is_shown(context->command))
        return;
    line = monitor_text_complete(context->monitor_text, context->command, context->request,
                                 most_bytes(context->server));
    if (line == NULL)
        return;
    write_head(context, head, sizeof(head));
    send_line(context->server, head, line);
    monitor_text_drop(context->monitor_text);
}
