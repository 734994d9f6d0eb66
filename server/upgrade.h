/* SIGUSR2: the program at the path of this one takes its place, in the same process and with
 * the same sockets, when it says that it would start. Only the loop's own files include this.
 */
#ifndef DUEQ_UPGRADE_H
#define DUEQ_UPGRADE_H

#include "server/server.h"

/* Asks the new program; when it agrees, the server stops and makes room for it. The log says
 * what comes of it. */
void upgrade_begin(struct server *server);
/* The server has stopped to make room, but shall not: it goes on, or ends. */
void upgrade_cancel(struct server *server);
/* No answer is awaited any more. */
void upgrade_end(void);

#endif
