/* Sockets that listen, and the accepting of clients. */
#ifndef DUEQ_SERVER_LISTENER_H
#define DUEQ_SERVER_LISTENER_H

#include "server/server.h"

/* Opens what the configuration asks for. False: said in the log. */
bool listeners_open(struct server *server);
void listeners_close(struct server *server);

#endif
