/* From a request to its handler. */
#ifndef DUEQ_DISPATCH_H
#define DUEQ_DISPATCH_H

#include "server/dispatch/context.h"

/* Finds the command of context->request, checks login, arity, room and the state of the store,
 * and runs the handler. Sets context->command. Writes every error reply itself. Inside MULTI it
 * queues the request instead. Cost: O(1) beside the handler's. */
enum outcome dispatch_command(struct context *context);

/* An EXEC that fails before it runs: ends the transaction, and makes the error that is written
 * from `mark` on one of EXEC. */
void dispatch_abort_exec(struct context *context, size_t mark);

/* True when CLIENT PAUSE delays the request. A request that will fail for its form or before
 * login is not delayed. */
bool dispatch_is_paused(const struct server *server, const struct session *session,
                        const struct request *request);

/* True when the request of a client that came while the server is about to stop has to wait: it
 * is held, and runs when the stop is aborted. */
bool dispatch_is_late(const struct session *session, const struct request *request);

/* COMMAND_WRITE and COMMAND_DENYOOM, if the request will write into the store now, as far as
 * can be told before it runs; for EXEC what the queued commands do. 0: it will not, or will be
 * queued, or fail for its form or before login. */
unsigned dispatch_write_flags(const struct session *session, const struct request *request);

#endif
