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

/* dueq_push_many, or dueq_hand_over, in several calls, for a caller that lets nothing else use
 * or commit the store between the first and the last of them. It begins, which only for the ack
 * may take some time, checks, adds and ends. What the arguments point to must live until then.
 * Statuses: as of the whole; whatever a beginning answers, store_push_end follows. */
struct push_batch;
enum dueq_status store_push_begin(struct dueq *store, const struct dueq_push *pushes,
                                  size_t count, struct dueq_time time,
                                  struct push_batch **ret_batch);
enum dueq_status store_hand_over_begin(struct dueq *store, struct dueq_slice topic,
                                       struct dueq_slice id, int64_t token,
                                       const struct dueq_done *done,
                                       const struct dueq_push *pushes, size_t count,
                                       struct dueq_time time, struct push_batch **ret_batch);
/* Checks jobs until what it reads of the store has `bytes`, but at least one, and has changed
 * nothing yet. DUEQ_BUSY: there is more to check. DUEQ_OK: all can be added, and the job that
 * hands over is acked; store_push_some follows, before anything else. */
enum dueq_status store_push_check(struct push_batch *batch, size_t bytes);
/* Adds jobs until what it reads and writes has `bytes`, but at least one. ret_pushed: as many
 * as there are pushes, the same in each call. True: all are there. */
bool store_push_some(struct dueq *store, struct push_batch *batch, size_t bytes,
                     struct dueq_pushed *ret_pushed);
/* Frees the batch, which adds no more: also one of a store that was closed between two calls.
 * NULL is fine. */
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
