/* What the handlers of Redis' data types share: a view of the session's database, arguments as
 * Redis reads them, replies to the statuses of storage/keys. */
#ifndef DUEQ_DATABASE_H
#define DUEQ_DATABASE_H

#include "server/dispatch/arguments.h"
#include "server/dispatch/command.h"
#include "server/config/keyspace_events.h"
#include "server/session/session.h"
#include "storage/keys/keys.h"

struct keys_view database_view(const struct context *context);

/* Tells subscribers of keyspace notifications, when they are on: `event` ("lpush") happened to
 * the key of the session's database. */
void database_notify(struct context *context, enum keyspace_event type, const char *event,
                     struct dueq_slice key);

/* The same for a key of another database. */
void database_notify_in(struct context *context, unsigned database, enum keyspace_event type,
                        const char *event, struct dueq_slice key);

/* Is there such a key, of any type? O(log N). */
bool database_contains(const struct keys_view *view, struct dueq_slice key);

/* The number of a database. False: the error is written. not_integer: what is said of no
 * number; NULL: Redis' usual. */
bool arguments_database(struct context *context, size_t index, const char *not_integer,
                        unsigned *ret_database);

/* Writes the error reply for any status but OK and NOTFOUND and answers false. */
bool context_check_status(struct context *context, enum dueq_status status);

/* How many elements the key has. DUEQ_NOTFOUND and 0: there is no such key; DUEQ_WRONGTYPE. */
enum dueq_status database_count_elements(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count);
/* The same for a blocking command: one that runs again for a session that waits does not mind a
 * key of another type. */
enum dueq_status database_count_for_wait(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count);
/* As waiters_wait_for_topics, for keys of the session's database, which stand at `count`
 * arguments from `first` on: woken when one of them changes and has the type. */
enum outcome waiters_wait_for_keys(struct context *context, enum keys_type type, size_t first,
                                   size_t count, int64_t deadline);
/* Of database_count_elements, with the error written; false: it was. */
bool database_read_count(struct context *context, struct dueq_slice key, enum keys_type type,
                         uint64_t *ret_count);

/* Tells that the key is gone, if it is: after a command that took elements out. */
void database_notify_if_removed(struct context *context, struct dueq_slice key);

/* Each writes Redis' error and answers false when the argument is bad. */
bool arguments_float(struct context *context, size_t index, double *ret_number);
bool arguments_integer_or(struct context *context, size_t index, int64_t least, int64_t most,
                          const char *error, int64_t *ret_number);
/* The same in Redis' usual words: no integer, or not within. */
bool arguments_integer_within(struct context *context, size_t index, int64_t least,
                              int64_t most, int64_t *ret_number);
bool arguments_cursor(struct context *context, size_t index, uint64_t *ret_cursor);
/* A moment on the wall clock, or how far it is from now, in seconds or milliseconds, which is
 * not below `least`: as the time on the queue's clock when a key expires. */
bool arguments_expiry(struct context *context, size_t index, bool seconds, bool absolute,
                      int64_t least, int64_t *ret_expires);
/* A timeout in seconds, as blocking commands take it: the deadline on the queue's clock. */
bool arguments_timeout(struct context *context, size_t index, int64_t *ret_deadline);

/* FLUSHDB and FLUSHALL: nothing, ASYNC or SYNC. False: the error is written. */
bool arguments_flush_form(struct context *context);

enum outcome context_reply_integer(struct context *context, int64_t number);

static inline void resp_slice(struct resp_writer *writer, struct dueq_slice slice)
{
    resp_bulk(writer, slice.data, slice.size);
}

#endif
