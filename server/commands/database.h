/* The session's database, as handlers of Redis' data types use it: its view, counts of elements
 * and notifications. */
#ifndef DUEQ_DATABASE_H
#define DUEQ_DATABASE_H

#include "server/config/keyspace_events.h"
#include "server/dispatch/arguments.h"
#include "server/session/session.h"
#include "storage/keys/keys.h"

/* The session's database at the time of this turn, for the functions of storage/keys. */
struct keys_view database_view(const struct context *context);

/* Publishes the keyspace notification `event` ("lpush") for a key of the session's database, if
 * notifications of this type are on. */
void database_notify(struct context *context, enum keyspace_event type, const char *event,
                     struct dueq_slice key);

/* The same for a key of another database. */
void database_notify_in(struct context *context, unsigned database, enum keyspace_event type,
                        const char *event, struct dueq_slice key);

/* Is there such a key, of any type? O(log N). */
bool database_contains(const struct keys_view *view, struct dueq_slice key);

/* The number of elements of the key. DUEQ_NOTFOUND and 0: no such key; DUEQ_WRONGTYPE. */
enum dueq_status database_count_elements(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count);
/* The same for a blocking command. When it runs again for a session that a key has woken, one
 * of another type counts as absent. */
enum dueq_status database_count_for_wait(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count);
/* database_count_elements that writes the error. False: it is written. */
bool database_read_count(struct context *context, struct dueq_slice key, enum keys_type type,
                         uint64_t *ret_count);

/* Publishes `del` if the key is gone: for commands that removed elements. */
void database_notify_if_removed(struct context *context, struct dueq_slice key);

#endif
