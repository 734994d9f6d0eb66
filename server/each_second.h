/* What is done once a second: looks at each client, and reports. A quiet server has no timer at
 * all, and does it when the next event comes. Only the loop's own files include this. */
#ifndef DUEQ_EACH_SECOND_H
#define DUEQ_EACH_SECOND_H

#include "server/server.h"

/* A part of it, in each turn. */
void each_second_do(struct server *server);
/* Is there work for it, or for dueq_maintain, without an event? */
bool each_second_is_wanted(const struct server *server);
/* Nothing has happened for some of these seconds. */
bool each_second_rests(const struct server *server);
/* Something has happened: for some time each second has a turn. */
void each_second_stay(struct server *server);

#endif
