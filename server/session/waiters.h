/* Sessions in a command that has not ended: blocked, or between two slices of long work.
 * Blocked ones are queued by the topics or keys that they wait for, in order of arrival. A
 * waiter keeps its request, which runs again when it may succeed. */
#ifndef DUEQ_WAITERS_H
#define DUEQ_WAITERS_H

#include "server/dispatch/context.h"
#include "server/session/job_waits.h"
#include "storage/keys/keys.h"
#include "storage/wheel.h"

struct long_work;
struct waiters;

struct waiters *waiters_new(int64_t now); /* NULL: out of memory */
void waiters_free(struct waiters *waiters);
/* The queue's clock begins at another time. Nobody must wait with a deadline. */
void waiters_start_clock(struct waiters *waiters, int64_t now);

/* ---- for handlers */

/* Makes the session wait until one of the topics is signalled or `deadline` (queue clock, ms;
 * DUEQ_NEVER: without end) has passed. Then the handler runs again with the same arguments and
 * context->waiter set; it may wait again by the same call, which keeps its position and its
 * deadline. Returns OUTCOME_WAIT. */
enum outcome waiters_wait_for_topics(struct context *context, const struct dueq_slice *topics,
                                     size_t count, int64_t deadline);
/* The same for keys of the session's database, which are `count` arguments from `first` on: a
 * change of one of them that has the type wakes the session. A command that is alone (alone.h)
 * joins some of the queues in each slice, and is blocked, and not alone any more, when it is in
 * all of them. */
enum outcome waiters_wait_for_keys(struct context *context, enum keys_type type, size_t first,
                                   size_t count, int64_t deadline);
/* The same until the topic has kept another event, or keeps none any more. All who wait for the
 * topic then run again. `after`: what waiters_after says then. */
enum outcome waiters_wait_for_events(struct context *context, struct dueq_slice topic,
                                     uint64_t after, int64_t deadline);
uint64_t waiters_after(const struct waiter *waiter);
/* When it runs again: another deadline takes the place of the one it had. */
void waiters_set_deadline(struct context *context, int64_t deadline);
/* The `*count` arguments from `*first` on which a blocking command must look at: all of them at
 * first; when it runs again, the one that changed. */
void waiters_select_changed(const struct context *context, size_t *first, size_t *count);
/* Does the command run again because one of its names has changed? */
bool waiters_is_woken(const struct context *context);

/* Makes the session wait until all of the open jobs have ended, or the deadline has passed:
 * then the handler runs again, once, with context->waiter set. Their topic is argument 1, their
 * ids are `count` arguments from `first` on. Owns `jobs` from here on, also when it fails. */
enum outcome waiters_wait_for_jobs(struct context *context, struct job_waits *jobs,
                                   size_t first, size_t count, int64_t deadline);
/* When it began to wait, on the queue's clock; DUEQ_NEVER: waiter is NULL. */
int64_t waiters_since(const struct waiter *waiter);
/* What the waiter knows of its jobs. */
const struct job_waits *waiters_jobs_of(const struct waiter *waiter);

/* ---- for the loop */

/* Serves the waiters of topics that the store has signalled, of keys that have changed and of
 * jobs that have ended since the last call: O(1) for each change and each waiter that is
 * served. After a change of a whole database (FLUSHDB, SWAPDB) its waiters are served a few
 * queues a call, and waiters whose jobs have ended are answered a few thousand jobs a turn;
 * waiters_next is 0 until that is done. */
void waiters_serve(struct server *server);
/* While a command is alone: notes the changes that concern no waiter, up to the first that
 * does, so that there are not a million of them when the command ends. */
void waiters_note_changes(struct server *server);

/* A key that a long work has held is about to be free: the next waiters_serve also serves those
 * who were to write it. O(1). */
void waiters_resume(struct server *server);

/* Ends the waits whose deadline has passed, a few thousand a turn. To be called once a turn,
 * which it ends. */
void waiters_expire(struct server *server);

/* The session's command, which ran for the first time, waits: a large request is not copied,
 * but taken over from its reader. To be called before the reader reads on. */
void waiters_take(struct session *session, struct resp_reader *reader);
/* The large arguments of a request that waits with its memory, as resp_reader_large. NULL: it
 * has none. */
struct resp_large *waiters_large(const struct waiter *waiter, size_t *ret_count);

/* Ends the session's wait without a reply. No-op when it does not wait. */
void waiters_cancel(struct server *server, struct session *session);

/* Ends the wait with the reply of a time-out (CLIENT UNBLOCK), or with an error. */
void waiters_unblock(struct server *server, struct session *session, bool with_error);

/* Does the session wait for a topic or a key? False between slices of long work. */
bool waiters_is_blocked(const struct session *session);

/* For long_work.c: the command waits for its next slice; it runs again for that. The waiter
 * owns `work` until it is released. */
enum outcome waiters_begin_work(struct context *context, struct long_work *work);
void waiters_run(struct server *server, struct session *session);
/* For alone.c: runs the session's command, which has to end, while its waiter is being freed.
 */
void waiters_run_rest(struct server *server, struct session *session);
/* The same for a session that has no waiter. False: out of memory; no error is written. */
bool waiters_try_work(struct context *context, struct long_work *work);
struct long_work *waiters_work_of(const struct waiter *waiter); /* NULL: none */

/* The request of the command that waits. */
const struct request *waiters_request_of(const struct waiter *waiter);

/* ms from `now` to the next deadline; DUEQ_NEVER. */
int64_t waiters_next(const struct waiters *waiters, int64_t now);
size_t waiters_count(const struct waiters *waiters);
/* Bytes that the waiter holds: its request and its entries in queues. */
size_t waiters_request_bytes(const struct waiter *waiter);
/* Queues joined and served, and commands run again, since the start, for tests of the cost. */
uint64_t waiters_steps(const struct waiters *waiters);

#endif
