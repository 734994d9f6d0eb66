/* MULTI: the requests that a session has queued for EXEC. */
#ifndef DUEQ_TRANSACTION_H
#define DUEQ_TRANSACTION_H

#include "server/dispatch/context.h"

struct transaction;

struct transaction *transaction_new(void);              /* NULL: out of memory */
void transaction_free(struct transaction *transaction); /* NULL is fine */

/* Queues a copy of the request that runs; takes its large arguments over instead of copying
 * them, and of a large request all its memory from the reader. The request stays valid. O(1)
 * then, else O(bytes). DUEQ_TOOBIG: more than 1 GiB of arguments in all; DUEQ_NOMEM. After both
 * EXEC aborts. */
enum dueq_status transaction_queue(struct transaction *transaction, struct context *context);
/* The flags of all queued commands together. */
unsigned transaction_flags(const struct transaction *transaction);
/* Does one of the queued commands need the store? */
bool transaction_needs_store(const struct transaction *transaction);

/* That the user, and under which rules, may do all of it; NULL: not known. */
const struct acl_memo *transaction_rights(const struct transaction *transaction);

/* Has one of the queued commands a `foresee`? */
bool transaction_foresees(const struct transaction *transaction);

/* A command could not be queued: EXEC aborts. */
void transaction_fail(struct transaction *transaction);
bool transaction_failed(const struct transaction *transaction);

/* Ends the session's transaction and its watches. Writes no reply. */
void transaction_end(struct context *context);

size_t transaction_count(const struct transaction *transaction);
size_t transaction_arguments(const struct transaction *transaction); /* of all requests */
size_t transaction_bytes(const struct transaction *transaction);     /* of memory, for copies */
/* Valid until transaction_forget; index: below transaction_count. */
const struct request *transaction_request(const struct transaction *transaction, size_t index);
/* The large arguments of that request, which the store may take over. *ret_count: how many. */
struct dueq_loan *transaction_loans(const struct transaction *transaction, size_t index,
                                    size_t *ret_count);
/* Prepares the lines of its large requests for monitors, a slice a call. True: all are there,
 * or more than `most` bytes of them, or they will not be needed. O(128 KiB). */
bool transaction_prepare_texts(struct transaction *transaction, size_t most);
size_t transaction_text_bytes(const struct transaction *transaction); /* of their memory */
/* The line of that request, as context.h has it. Valid until transaction_forget. */
struct monitor_text **transaction_text(const struct transaction *transaction, size_t index);
/* Frees that request, which has run: to free a million at once would take a while. */
void transaction_forget(struct transaction *transaction, size_t index);

#endif
