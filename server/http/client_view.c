#include "server/http/client_view.h"

#include "server/http/fields.h"
#include "server/http/web_view.h"
#include "server/session/session_output.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

/* ---- clients */

/* "id=3 addr=... name=": no value contains a space. */
static void write_line(struct buffer *out, const char *line, size_t size)
{
    const char *end = line + size;

    while (line < end) {
        size_t length = strcspn(line, " \n"), named = strcspn(line, "=");
        char name[32];

        if (named < length && named < sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", (int)named, line);
            fields_bytes(out, name, line + named + 1, length - named - 1);
        }
        line += length + 1;
    }
}

static void write_client(struct session *session, struct buffer *out)
{
    struct buffer line;

    buffer_init(&line, 64 * 1024);
    session_describe(session, &line);
    buffer_append(&line, "", 1);
    fields_open(out, NULL, '{');
    if (!line.overflowed)
        write_line(out, buffer_content(&line), buffer_size(&line) - 1);
    fields_close(out, '}');
    buffer_release(&line);
}

void client_view_serve(struct http_connection *connection, const struct web_session *session,
                       const json_t *params)
{
    const struct server *server = connection->server;
    int64_t after = 0, limit = 100, shown = 0;
    struct session *client;
    struct buffer out;

    (void)session;
    if (!web_view_number(connection, params, "after", 0, INT32_MAX, &after) ||
        !web_view_number(connection, params, "limit", 1, CLIENT_VIEW_MAX, &limit))
        return;
    buffer_init(&out, SIZE_MAX / 2);
    fields_open(&out, NULL, '{');
    fields_open(&out, "clients", '[');
    DL_FOREACH(server->sessions, client) {
        if (client->id <= (uint64_t)after || client->life == SESSION_GONE)
            continue;
        if (shown++ == limit)
            break;
        write_client(client, &out);
        after = (int64_t)client->id;
    }
    fields_close(&out, ']');
    fields_known(&out, "next", after, shown > limit);
    fields_count(&out, "total", server->session_count);
    fields_close(&out, '}');
    web_view_reply(connection, &out);
}

/* ---- the slow log */

static void write_entry(const struct slowlog_entry *entry, struct buffer *out)
{
    fields_open(out, NULL, '{');
    fields_count(out, "id", entry->id);
    fields_number(out, "time", entry->time);
    fields_count(out, "usec", entry->usec);
    fields_open(out, "command", '[');
    for (size_t i = 0; i < entry->count; i++)
        fields_bytes(out, NULL, entry->arguments[i].data, entry->arguments[i].size);
    fields_close(out, ']');
    fields_string(out, "address", entry->address == NULL ? "" : entry->address);
    fields_string(out, "name", entry->name == NULL ? "" : entry->name);
    fields_close(out, '}');
}

void client_view_serve_slowlog(struct http_connection *connection,
                               const struct web_session *session, const json_t *params)
{
    const struct slowlog_entry *entry;
    int64_t count = 20;
    struct buffer out;

    (void)session;
    if (!web_view_number(connection, params, "count", 1, SLOWLOG_VIEW_MAX, &count))
        return;
    buffer_init(&out, SIZE_MAX / 2);
    fields_open(&out, NULL, '{');
    fields_open(&out, "entries", '[');
    DL_FOREACH(connection->server->slowlog.entries, entry) {
        if (count-- == 0)
            break;
        write_entry(entry, &out);
    }
    fields_close(&out, ']');
    fields_close(&out, '}');
    web_view_reply(connection, &out);
}
