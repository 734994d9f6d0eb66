/* Sockets that listen, and accept clients. */
#ifndef DUEQ_LISTENER_H
#define DUEQ_LISTENER_H

#include "server/server.h"

struct sockaddr_storage;

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

/* Before the program is replaced: accepts nobody, who comes waits in the backlogs; and again.
 */
void listeners_rest(struct server *server);
void listeners_go_on(struct server *server);
/* Leaves them to the next program (handover.h). */
void listeners_hand_over(struct server *server);

/* A socket for HTTP that listens on an address as `bind` has them, with '-' before one that may
 * be missing. -1: none, the log says why, and *ret_lacks whether the server may do without. */
int listener_socket(const char *host, int port, int backlog, bool *ret_lacks);

/* "ip:port" or "path:0". */
void listener_format_address(const struct sockaddr_storage *address, const char *path,
                             char *text, size_t room);
/* Can only this machine reach the address? With or without a port. */
bool listener_is_loopback(const char *address);
/* At the start: warns in the log when other machines can reach the server and need no
 * login. */
void listeners_warn(const struct config *config, bool wants_login);

#endif
