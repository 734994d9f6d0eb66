/* Q.ACK topic id token THEN PUSH topic body ...: a job that is done hands over to others. */
#ifndef DUEQ_ACK_THEN_PUSH_H
#define DUEQ_ACK_THEN_PUSH_H

#include "server/dispatch/context.h"

/* Has the request this form? */
bool ack_then_push_is_meant(const struct context *context);
/* Acknowledges the job and pushes the others, or does nothing. Replies their ids. */
enum outcome ack_then_push_run(struct context *context);

#endif
