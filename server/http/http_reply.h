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
    const char *cache;         /* Cache-Control; NULL: no-store */
    const char *fields;        /* more of them, each with CRLF; NULL: none */
    bool has_size, is_chunked; /* neither: the end of the connection ends the body */
    uint64_t size;
};

/* Writes the head only. */
void http_reply_head(struct http_connection *connection, const struct http_reply_head *head);

/* The same and the body, of which a HEAD gets the size only. The head says has_size. */
void http_reply_whole(struct http_connection *connection, struct http_reply_head *head,
                      struct buffer *body);
/* The whole reply, without the body when the request is a HEAD. type: NULL for plain text.
 * Takes the content of `body` over, which is released. */
void http_reply(struct http_connection *connection, int status, const char *type,
                struct buffer *body);
void http_reply_text(struct http_connection *connection, int status, const char *text);
/* {"error": "..."}; error NULL: what the status says. allow: with 405. */
void http_reply_error(struct http_connection *connection, int status, const char *error);
void http_reply_refusal(struct http_connection *connection, int status, const char *error,
                        const char *allow);

/* Does the server's own page ask? Then nothing makes the browser itself ask for a password. */
bool http_is_of_page(const struct http_head *head);

/* Does the Accept header prefer OpenMetrics to the older format? accept: NULL: no. */
bool http_wants_open_metrics(const char *accept);

#endif
