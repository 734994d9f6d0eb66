/* Sessions that wait in a blocking command, by what they wait for, in order of arrival. A
 * waiter keeps a copy of its request and runs it again when it may succeed. */
#ifndef DUEQ_WAITERS_H
#define DUEQ_WAITERS_H

#include "server/dispatch/command.h"
#include "storage/wheel.h"

struct long_work;
struct waiters;

struct waiters *waiters_new(int64_t now); /* NULL: out of memory */
void waiters_free(struct waiters *waiters);

/* Serves those whose topic was signalled by the store, or whose key changed, since the last
 * call: O(1) a change and a waiter that has use for it. After a change of a whole database
 * (FLUSHDB, SWAPDB) the names that are waited for there are looked at, a few a call;
 * waiters_next is 0 until that is done. */
void waiters_serve(struct server *server);

/* Ends the waiting of those whose deadline has passed. */
void waiters_expire(struct server *server);

/* The session is going away, or waits no more. No-op when it does not wait. */
void waiters_cancel(struct server *server, struct session *session);

/* Ends the wait as a time-out would (CLIENT UNBLOCK), or with an error. */
void waiters_unblock(struct server *server, struct session *session, bool with_error);

/* Does the session wait for something to happen? Not in the middle of a long command. */
bool waiters_is_blocked(const struct session *session);

/* For long_work.c: the command waits for its next slice, is run again for it. */
enum outcome waiters_begin_work(struct context *context, struct long_work *work);
void waiters_run(struct server *server, struct session *session);
struct long_work *waiters_work_of(const struct waiter *waiter); /* NULL: none */

/* ms from `now` to the next deadline; DUEQ_NEVER. */
int64_t waiters_next(const struct waiters *waiters, int64_t now);
size_t waiters_count(const struct waiters *waiters);
size_t
waiters_request_bytes(const struct waiter *waiter); /* that it holds: its request, its places */
/* Names joined and looked at, and commands run again, ever: what the work grows with. */
uint64_t waiters_steps(const struct waiters *waiters);

#endif
