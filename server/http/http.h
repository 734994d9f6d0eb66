/* The HTTP port: what monitoring programs ask for, and the API (api.h). It runs in the server's
 * loop. Its connections do not count for maxclients, so that a full server can be watched; the
 * sessions of the API do. */
#ifndef DUEQ_HTTP_H
#define DUEQ_HTTP_H

#include "server/server.h"

enum {
    HTTP_CONNECTIONS_MAX = 16, /* without a session; with one more, the oldest is cut off */
    HTTP_FRESH_MAX = 256,      /* the same when clients log in there */
    HTTP_SESSIONS_MAX = 1000,  /* connections with a session of the API */
    HTTP_HEADERS_MAX = 8192,   /* bytes of a request's head */
    HTTP_HEAD_MS = 10000,      /* so long a head may take to come, */
    HTTP_IDLE_MS = 60000,      /* and so long a connection waits for the next request */
    HTTP_SEND_MS = 30000,      /* so long a peer may take for a part of a reply, or of a body */
    HTTP_PART = 256 * 1024,    /* which has so many bytes at least, but for the last one */
    HTTP_STALL_MS = 3000, /* so long a stop waits for one that takes nothing of its reply */
    HTTP_LINGER_MS = 2000 /* after a refusal, for what the peer is still sending */
};

/* Listens when http-port is set. False: the log says why. */
bool http_open(struct server *server);
/* Do requests of clients log in there, to the API or the dashboard? */
bool http_has_sessions(const struct config *config);
/* One more session of the API: when there are HTTP_SESSIONS_MAX, one that is idle goes. False:
 * none is. */
bool http_make_room_for_session(struct server *server);
/* Before an upgrade: accepts nobody, who comes waits in the backlog; and again. */
void http_rest(struct server *server);
void http_go_on(struct server *server);
/* While the server stops: requests under way that are still to get a reply, or, with `unread`,
 * to take it. Ends the connections of peers that take nothing. */
uint64_t http_owed(struct server *server, bool unread);
/* Before http_close: leaves its sockets to the next program (handover.h). */
void http_hand_over(const struct server *server);
/* No-op when it is not open. Requests under way get no reply. */
void http_close(struct server *server);

#endif
