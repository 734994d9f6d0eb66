/* CLIENT LIST and CLIENT KILL: what is done with each client that passes a filter. */
#ifndef DUEQ_CLIENT_WALK_H
#define DUEQ_CLIENT_WALK_H

#include "server/dispatch/context.h"

/* Handlers. Beyond some hundred clients the rest is done in later turns, each a slice: which
 * clients it is about is decided at the beginning, and one that has left meanwhile is passed
 * over. A client that kills itself, too, is closed when it has the reply; by a long EXEC it may
 * be before, as in Redis.
 *
 * Thousands of filters are read in slices before that: who leaves meanwhile kills nobody. From
 * the decision on all of them are ended, also when the client that wanted it goes. */
enum outcome client_list(struct context *context);
enum outcome client_kill(struct context *context);

#endif
