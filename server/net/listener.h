/* Sockets that listen, and accept clients. */
#ifndef DUEQ_LISTENER_H
#define DUEQ_LISTENER_H

#include "server/server.h"

/* Opens the configured ports and the unix socket, or takes over the sockets of a service
 * manager instead. False: the log says why. */
bool listeners_open(struct server *server);
/* Opens and closes ports until those of `changed` are open, and no others. NULL: done, or there
 * was nothing to do. Else the name of the option that could not be followed, *error is Redis'
 * text, the log says why, and the ports of before are open. Clients that are connected stay. */
const char *listeners_change(struct server *server, const struct config *changed,
                             struct config_error *error);
/* Closes all of them, and removes the socket file unless another server replaced it. */
void listeners_close(struct server *server);

/* A socket that listens on an address as `bind` has them, with '-' before one that may be
 * missing. -1: none, the log says why, and *ret_lacks whether the server may do without. */
int listener_socket(const char *host, int port, int backlog, bool *ret_lacks);

/* Can only this machine reach the address? With or without a port. */
bool listener_is_loopback(const char *address);
/* At the start: warns in the log when other machines can reach the server and need no
 * login. */
void listeners_warn(const struct config *config, bool wants_login);

#endif
