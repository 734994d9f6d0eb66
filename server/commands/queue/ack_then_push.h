/* Q.ACK topic id token ... THEN PUSH topic body ...: a job that is done hands over to others.
 */
#ifndef DUEQ_ACK_THEN_PUSH_H
#define DUEQ_ACK_THEN_PUSH_H

#include "server/dispatch/context.h"

/* Do arguments of this form begin at `at`? */
bool ack_then_push_is_meant(const struct context *context, size_t at);
/* Acknowledges the job and pushes the others, which argument `at` begins, or does nothing.
 * Replies their ids. done: NULL for a plain ack. */
enum outcome ack_then_push_run(struct context *context, size_t at,
                               const struct dueq_done *done);

#endif
