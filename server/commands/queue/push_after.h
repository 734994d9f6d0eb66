/* AFTER and ON-DEAD of a push: the jobs that the new one waits for. */
#ifndef DUEQ_PUSH_AFTER_H
#define DUEQ_PUSH_AFTER_H

#include "server/dispatch/context.h"
#include "storage/types.h"

/* Their syntax, for COMMAND DOCS. */
#define PUSH_AFTER_SYNTAX "[ON-DEAD FAIL|RUN|WAIT] [AFTER id|topic:id [id|topic:id ...]]"

/* Reads argument *at and what belongs to it, when it is one of the two words; *at is then the
 * one behind. *ret_is: it is. push->after is memory that push_after_release frees, also after a
 * failure. False: the error is written. O(arguments * log n). */
bool push_after_read(struct context *context, size_t *at, struct dueq_push *push, bool *ret_is);
void push_after_release(struct dueq_push *push);

#endif
