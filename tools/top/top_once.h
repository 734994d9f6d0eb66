/* `dueq top --once` and `--json`: one look at all topics, for programs. */
#ifndef DUEQ_TOP_ONCE_H
#define DUEQ_TOP_ONCE_H

#include "tools/client/client_call.h"

/* With rates when `interval` is not 0: then it looks twice, so many ms apart. Returns the exit
 * status. */
int top_once(struct client_call *call, int64_t interval);

#endif
