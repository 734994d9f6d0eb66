/* Sockets that listen, and the accepting of clients. */
#ifndef DUEQ_LISTENER_H
#define DUEQ_LISTENER_H

#include "server/server.h"

/* Opens what the configuration asks for. False: said in the log. */
bool listeners_open(struct server *server);
void listeners_close(struct server *server);

/* Is the address, with or without a port, one that only this machine can reach? */
bool listener_is_loopback(const char *address);
/* Says in the log when others can reach the server and no password keeps them out: at the
 * start. */
void listeners_warn(const struct config *config);

#endif
