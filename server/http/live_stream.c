#include "server/http/live_stream.h"

#include "server/http/http_reply.h"
#include "server/http/live.h"

#include <event2/buffer.h>
#include <string.h>

/* Of a chunk its size, where the reply has chunks. */
static void add_chunk(struct http_connection *connection, struct evbuffer *chunk)
{
    struct evbuffer *out = http_connection_output(connection);

    if (connection->head.is_1_1)
        evbuffer_add_printf(out, "%zx\r\n", evbuffer_get_length(chunk));
    evbuffer_add_buffer(out, chunk);
    if (connection->head.is_1_1)
        evbuffer_add(out, "\r\n", 2);
}

static void send_text(struct live_stream *stream, const char *text)
{
    struct evbuffer *chunk = evbuffer_new();

    if (chunk == NULL)
        return;
    evbuffer_add(chunk, text, strlen(text));
    add_chunk(stream->connection, chunk);
    evbuffer_free(chunk);
}

void live_stream_begin(struct live_stream *stream)
{
    struct http_connection *connection = stream->connection;
    struct http_reply_head head = {
        .status = 200, .type = "text/event-stream", .is_chunked = connection->head.is_1_1};

    connection->keeps = false;
    http_reply_head(connection, &head);
    connection->deadline = 0;
    connection->ends_with_peer = true;
    send_text(stream, "retry: 3000\n\n");
}

void live_stream_keep(struct live_stream *stream, int64_t now)
{
    if (now - stream->kept < LIVE_COMMENT_MS)
        return;
    if (stream->kept != 0)
        send_text(stream, ":\n\n");
    stream->kept = now;
}

void live_stream_send(struct live_stream *stream, const char *event, const char *json,
                      size_t size)
{
    struct http_connection *connection = stream->connection;
    struct evbuffer *chunk;

    if (connection->stage != HTTP_SERVES)
        return;
    chunk = evbuffer_new();
    if (chunk == NULL)
        return;
    evbuffer_add_printf(chunk, "event: %s\ndata: ", event);
    evbuffer_add(chunk, json, size);
    evbuffer_add(chunk, "\n\n", 2);
    add_chunk(connection, chunk);
    evbuffer_free(chunk);
    if (evbuffer_get_length(http_connection_output(connection)) > LIVE_UNREAD_MAX)
        http_connection_doom(connection);
}

void live_stream_end(struct http_connection *connection)
{
    if (connection->head.is_1_1)
        evbuffer_add(http_connection_output(connection), "0\r\n\r\n", 5);
    http_connection_done(connection);
}
