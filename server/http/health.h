/* /healthz: is the process alive, and its store sound? /readyz: does it take writes now? Both
 * reply 200, or 503 with the reason. */
#ifndef DUEQ_HEALTH_H
#define DUEQ_HEALTH_H

#include "server/server.h"

struct http_connection;

enum health {
    HEALTH_READY,
    HEALTH_LOADING, /* the first opening runs */
    HEALTH_FAILED,  /* the store is closed */
    HEALTH_FULL,
    HEALTH_STOPPING
};

enum health health_now(const struct server *server);

void health_reply_alive(struct server *server, struct http_connection *connection);
void health_reply_ready(struct server *server, struct http_connection *connection);

#endif
