/* The public functions on recurring jobs. */
#include "storage/dueq.h"

#include "storage/queue/cron_entries.h"
#include "storage/store.h"

void dueq_set_zones(struct dueq *store, dueq_zone_fn fn, void *arg)
{
    store->queue->crons.zone = fn;
    store->queue->crons.zone_arg = arg;
}

void dueq_set_cron_limit(struct dueq *store, uint64_t entries)
{
    store->queue->crons.limit = entries;
}

enum dueq_status dueq_cron_set(struct dueq *store, const struct dueq_cron *cron,
                               struct dueq_time time, struct dueq_error *error)
{
    return queue_cron_set(store->queue, cron, time, error);
}

enum dueq_status dueq_cron_get(struct dueq *store, struct dueq_slice name,
                               struct dueq_cron *ret_cron, struct dueq_cron_state *ret_state)
{
    return queue_cron_get(store->queue, name, ret_cron, ret_state);
}

enum dueq_status dueq_cron_del(struct dueq *store, struct dueq_slice name)
{
    return queue_cron_del(store->queue, name);
}

enum dueq_status dueq_cron_pause(struct dueq *store, struct dueq_slice name, bool pause,
                                 struct dueq_time time)
{
    return queue_cron_pause(store->queue, name, pause, time);
}

enum dueq_status dueq_cron_run(struct dueq *store, struct dueq_slice name,
                               struct dueq_time time, struct dueq_pushed *ret_pushed)
{
    return queue_cron_run(store->queue, name, time, ret_pushed);
}

enum dueq_status dueq_cron_next(struct dueq *store, struct dueq_slice name,
                                struct dueq_time time, size_t count, int64_t *ret_times,
                                size_t *ret_count)
{
    return queue_cron_next(store->queue, name, time, count, ret_times, ret_count);
}

enum dueq_status dueq_cron_after(struct dueq *store, struct dueq_slice after,
                                 struct dueq_slice *ret_name)
{
    return cron_name_after(store->queue, after, ret_name);
}

void dueq_get_cron_stats(const struct dueq *store, struct dueq_cron_stats *ret_stats)
{
    queue_get_cron_stats(store->queue, ret_stats);
}
