/* The inside of a store. For storage/store.c, for tests, and for the server, which needs the
 * keys besides the jobs of the public API. */
#ifndef DUEQ_STORE_H
#define DUEQ_STORE_H

#include "storage/asks.h"
#include "storage/dueq.h"

struct dueq {
    struct kv *kv;       /* storage/kv/kv.h */
    struct queue *queue; /* storage/queue/queue.h */
    struct keys *keys;   /* storage/keys/keys.h */
    size_t settled;      /* bytes of the batch at the last store_settle */
};

/* Ends a call, or several that belong together: what they have changed asks, in the record of
 * the batch, for what their topics ask for. Returns that, as a sum of enum asks, for a reply
 * that shows what they have read or changed; 0: they were about no topic, and their changes ask
 * for ASKS_MODE. O(1). */
unsigned store_settle(struct dueq *store);

/* Puts into the batch what dueq_commit would put there: entries of changed keys, counts of
 * topics. For a batch that grows over several turns. O(what has changed since the last time).
 */
void store_prepare(struct dueq *store);

/* dueq_push_many in several calls, for a caller that lets nothing else use or commit the store
 * between the first and the last of them. Statuses: as there; only with DUEQ_OK there is a
 * batch. `pushes`, and what they point to, must live until the end. */
struct push_batch;
enum dueq_status store_push_begin(struct dueq *store, const struct dueq_push *pushes,
                                  size_t count, struct dueq_time time,
                                  struct push_batch **ret_batch);
/* Adds jobs until their bodies have `bytes` together, but at least one. ret_pushed: `count` of
 * them, the same in each call. True: all are there. */
bool store_push_some(struct dueq *store, struct push_batch *batch, size_t bytes,
                     struct dueq_pushed *ret_pushed);
/* Frees the batch, which adds no more: also one of a store that was closed, if it has added a
 * job. NULL is fine. */
void store_push_end(struct push_batch *batch);

/* True: dueq_maintain has nothing to do until the store is used or notifies. O(1). */
bool store_rests(const struct dueq *store);

/* Would a commit be synced at once, because no other one waits for its sync? *ret_usec: how
 * long a sync takes, a mean of the last ones; 0: there was none. O(1). */
bool store_may_sync(const struct dueq *store, uint64_t *ret_usec);

/* Does dueq_next_signal have a topic? O(1). */
bool store_has_signal(const struct dueq *store);

/* From now on store_next_events names topics that have new events, or keep none any more;
 * false: no more. While nobody watches it costs nothing. O(1), false: O(topics named). */
void store_watch_events(struct dueq *store, bool watches);
/* Each such topic once. The slice is valid until the next commit. DUEQ_NOTFOUND. O(1). */
enum dueq_status store_next_events(struct dueq *store, struct dueq_slice *ret_topic);

static inline struct keys *store_keys(const struct dueq *store)
{
    return store->keys;
}

#endif
