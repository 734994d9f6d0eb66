/* MULTI: the requests that a session has queued for its EXEC. */
#ifndef DUEQ_TRANSACTION_H
#define DUEQ_TRANSACTION_H

#include "server/dispatch/command.h"

struct transaction;

struct transaction *transaction_new(void);              /* NULL: out of memory */
void transaction_free(struct transaction *transaction); /* NULL is fine */

/* Queues a copy of the request. False: out of memory, or more than a transaction may hold; then
 * its EXEC aborts. */
bool transaction_queue(struct transaction *transaction, const struct request *request,
                       const struct command *command);
/* The flags of all that is queued. */
unsigned transaction_flags(const struct transaction *transaction);
/* Does something that is queued? */
bool transaction_needs_store(const struct transaction *transaction);

/* A command could not be queued: EXEC aborts. */
void transaction_fail(struct transaction *transaction);
bool transaction_failed(const struct transaction *transaction);

/* Ends the session's transaction and what it watches, without a word. */
void transaction_end(struct context *context);

size_t transaction_count(const struct transaction *transaction);
size_t transaction_arguments(const struct transaction *transaction); /* of all requests */
size_t transaction_bytes(const struct transaction *transaction);
const struct request *transaction_request(const struct transaction *transaction, size_t index);

#endif
