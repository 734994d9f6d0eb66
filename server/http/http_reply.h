/* Replies to a request, for those who serve it. A reply without an error ends with
 * http_connection_done. */
#ifndef DUEQ_HTTP_REPLY_H
#define DUEQ_HTTP_REPLY_H

#include "protocol/buffer.h"
#include "server/http/http_connection.h"

#include <stdbool.h>

/* Replies once, at once or in a later turn. */
typedef void (*http_handler)(struct server *server, struct http_connection *connection);

struct http_reply_head {
    int status;
    const char *type;          /* NULL: plain text */
    const char *allow;         /* with 405: the methods that there are */
    bool has_size, is_chunked; /* neither: the end of the connection ends the body */
    uint64_t size;
};

/* Writes the head only. */
void http_reply_head(struct http_connection *connection, const struct http_reply_head *head);

/* The whole reply, without the body when the request is a HEAD. type: NULL for plain text.
 * Takes the content of `body` over, which is released. */
void http_reply(struct http_connection *connection, int status, const char *type,
                struct buffer *body);
void http_reply_text(struct http_connection *connection, int status, const char *text);
/* {"error": "..."}; error NULL: what the status says. allow: with 405. */
void http_reply_error(struct http_connection *connection, int status, const char *error);
void http_reply_refusal(struct http_connection *connection, int status, const char *error,
                        const char *allow);

/* Does the Accept header prefer OpenMetrics to the older format? accept: NULL: no. */
bool http_wants_open_metrics(const char *accept);

#endif
