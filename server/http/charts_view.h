/* /v1/history, and /v1/topics/{topic}/history. */
#ifndef DUEQ_CHARTS_VIEW_H
#define DUEQ_CHARTS_VIEW_H

#include "server/http/http_connection.h"

#include <jansson.h>

struct web_session;

bool charts_view_has_path(struct http_part path);
/* Checks the rights itself: to INFO, or to the topic. */
void charts_view_serve(struct http_connection *connection, const struct web_session *session,
                       const json_t *params);

#endif
