/* The HTTP port: what monitoring programs ask for. It runs in the server's loop, on libevent's
 * evhttp. Each connection gets one reply and is closed. Its connections do not count for
 * maxclients, so that a full server can be watched. */
#ifndef DUEQ_HTTP_H
#define DUEQ_HTTP_H

#include "server/server.h"

enum {
    HTTP_CONNECTIONS_MAX = 16, /* with one more, the oldest is cut off */
    HTTP_LIFE_MS = 30000,      /* so long a connection may last */
    HTTP_IDLE_S = 10,          /* and so long neither side sends a byte */
    HTTP_HEADERS_MAX = 8192,   /* bytes of a request; it has no body */
};

/* Listens when http-port is set. False: the log says why. */
bool http_open(struct server *server);
/* No-op when it is not open. Requests under way get no reply. */
void http_close(struct server *server);

#endif
