/* CLIENT LIST and CLIENT KILL: what is done with each client that passes a filter. */
#ifndef DUEQ_CLIENT_WALK_H
#define DUEQ_CLIENT_WALK_H

#include "server/dispatch/context.h"

/* Handlers. Beyond some hundred clients the rest is done in later turns, each a slice: which
 * clients it is about is decided at the beginning, and one that has left meanwhile is passed
 * over. A client that kills itself, too, does all of it at once, as does an EXEC. */
enum outcome client_list(struct context *context);
enum outcome client_kill(struct context *context);

#endif
