/* The ends of a list, as arguments and in notifications. */
#ifndef DUEQ_LIST_ENDS_H
#define DUEQ_LIST_ENDS_H

#include "server/commands/database.h"

/* Reads LEFT or RIGHT. False: the error is written. */
bool list_ends_read(struct context *context, size_t index, enum list_end *ret_end);

/* Publishes that elements were popped from `end`, and, when the list is gone, that it is. */
void list_ends_notify_popped(struct context *context, struct dueq_slice key, enum list_end end);

#endif
