/* The loop and the events that are not of sockets: its timer, notices of the store, signals, a
 * wall clock that was set. Only the loop's own files include this. */
#ifndef DUEQ_EVENTS_H
#define DUEQ_EVENTS_H

#include "server/server.h"

/* False: errno says why. events_close is called all the same. */
bool events_open(struct server *server);
void events_close(struct server *server);

#endif
