/* /v1/clients and /v1/slowlog: CLIENT LIST and SLOWLOG GET as JSON, so many entries at a time
 * that they do not hold the loop. */
#ifndef DUEQ_CLIENT_VIEW_H
#define DUEQ_CLIENT_VIEW_H

#include "server/http/http_connection.h"

#include <jansson.h>

struct web_session;

enum { CLIENT_VIEW_MAX = 250, SLOWLOG_VIEW_MAX = 100 };

void client_view_serve(struct http_connection *connection, const struct web_session *session,
                       const json_t *params);
void client_view_serve_slowlog(struct http_connection *connection,
                               const struct web_session *session, const json_t *params);

#endif
