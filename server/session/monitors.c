#include "server/session/monitors.h"

#include "server/dispatch/redaction.h"
#include "server/server.h"
#include "server/session/session_output.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

static void append_text(struct buffer *line, const char *text)
{
    buffer_append(line, text, strlen(text));
}

static bool is_plain(unsigned char byte)
{
    return isprint(byte) && byte != '"' && byte != '\\';
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
    size_t from = 0;

    append_text(line, " \"");
    for (size_t i = 0; i < argument.size && !line->overflowed; i++) {
        if (is_plain((unsigned char)argument.data[i]))
            continue;
        buffer_append(line, argument.data + from, i - from);
        append_quoted(line, (unsigned char)argument.data[i]);
        from = i + 1;
    }
    buffer_append(line, argument.data + from, argument.size - from);
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

void monitors_show(const struct context *context)
{
    struct buffer line;
    struct session *session;

    if (context->server->monitors == NULL ||
        context->command->flags & (COMMAND_SKIP_MONITOR | COMMAND_ADMIN))
        return;
    buffer_init(&line, (size_t)1 << 30);
    write_line(context, &line);
    DL_FOREACH2(context->server->monitors, session, monitor_next) {
        buffer_append(session_push_begin(session)->out, buffer_content(&line),
                      buffer_size(&line));
        session_push_end(session);
    }
    buffer_release(&line);
}
