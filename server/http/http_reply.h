/* One request and its reply, for the handlers of paths. */
#ifndef DUEQ_HTTP_REPLY_H
#define DUEQ_HTTP_REPLY_H

#include "protocol/buffer.h"
#include "server/server.h"

#include <stdbool.h>

struct evhttp_request;

/* A handler replies once, at once or in a later turn. */
typedef void (*http_handler)(struct server *server, struct evhttp_request *request);

/* Sends the reply, without the body when the request is a HEAD. type: NULL for plain text.
 * Takes the content of `body` over, which is released. The request is void afterwards. */
void http_reply(struct evhttp_request *request, int code, const char *type,
                struct buffer *body);
void http_reply_text(struct evhttp_request *request, int code, const char *text);

/* Does the Accept header prefer OpenMetrics to the older format? accept: NULL: no. */
bool http_wants_open_metrics(const char *accept);

#endif
