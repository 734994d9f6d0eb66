/* The public functions on the events that topics keep. */
#include "storage/dueq.h"

#include "storage/queue/queue.h"
#include "storage/store.h"

enum dueq_status dueq_events(struct dueq *store, struct dueq_slice topic, uint64_t after,
                             size_t count, dueq_kept_fn fn, void *arg)
{
    return queue_events(store->queue, topic, after, count, fn, arg);
}

enum dueq_status dueq_last_event(struct dueq *store, struct dueq_slice topic,
                                 uint64_t *ret_number)
{
    return queue_last_event(store->queue, topic, ret_number);
}

void store_watch_events(struct dueq *store, bool watches)
{
    if (store->queue->rings_watched != watches)
        rings_watch(store->queue, watches);
}

enum dueq_status store_next_events(struct dueq *store, struct dueq_slice *ret_topic)
{
    return rings_next(store->queue, ret_topic);
}
