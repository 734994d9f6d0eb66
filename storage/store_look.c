/* A store's jobs in numbers: what the public API looks at, and does not change. */
#include "storage/store.h"

#include "storage/queue/after.h"
#include "storage/queue/look.h"
#include "storage/queue/queue.h"

enum dueq_status dueq_scan(struct dueq *store, const struct dueq_scan *scan,
                           struct dueq_slice cursor, struct dueq_time time, dueq_job_fn fn,
                           void *arg, char *ret_cursor)
{
    return queue_scan(store->queue, scan, cursor, time, fn, arg, ret_cursor);
}

enum dueq_status dueq_awaited(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                              struct dueq_time time, unsigned most,
                              struct dueq_awaited_place *place, dueq_awaited_fn fn, void *arg)
{
    return queue_awaited(store->queue, topic, id, time, most, place, fn, arg);
}

enum dueq_status dueq_peek(struct dueq *store, const struct dueq_peek *peek,
                           struct dueq_time time, dueq_job_fn fn, void *arg)
{
    return queue_peek(store->queue, peek, time, fn, arg);
}

enum dueq_status dueq_forecast(struct dueq *store, struct dueq_forecast *forecast,
                               struct dueq_time time, unsigned *budget)
{
    return queue_forecast(store->queue, forecast, time, budget);
}

enum dueq_status dueq_ahead(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                            struct dueq_time time, uint64_t *ret_ahead)
{
    return queue_ahead(store->queue, topic, id, time, ret_ahead);
}

enum dueq_status dueq_group_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_slice id, struct dueq_group_stats *ret_stats)
{
    return queue_group_stats(store->queue, topic, id, ret_stats);
}

size_t dueq_recent_topics(struct dueq *store, struct dueq_slice *ret_names, size_t most)
{
    return queue_recent_topics(store->queue, ret_names, most);
}

const struct dueq_spans *dueq_get_spans(const struct dueq *store, enum dueq_span span)
{
    return &store->queue->spans[span];
}
