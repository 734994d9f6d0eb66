/* A store without recurring jobs, for `make libdueq-small`: in place of storage/store_cron.c,
 * storage/queue/cron_*.c, what they have in core/ and record/, and storage/calendar. A
 * directory that has some is refused. None can be made: dueq_cron_set answers DUEQ_INVALID, and
 * the others answer as in a store that has none. */
#include "storage/dueq.h"
#include "storage/none.h"
#include "storage/queue/cron_entries.h"

/* ---- the queue's part */

enum dueq_status crons_load(struct queue *queue)
{
    static const char tables[] = {TABLE_CRON, TABLE_CRON_STATE, 0};

    return none_expect_empty(queue->kv, tables);
}

void crons_release(struct crons *crons)
{
    (void)crons;
}

void cron_tick(struct queue *queue, struct dueq_time time, unsigned *budget)
{
    (void)queue;
    (void)time;
    (void)budget;
}

int64_t cron_next_tick(const struct queue *queue)
{
    (void)queue;
    return DUEQ_NEVER;
}

void cron_audit(struct queue *queue, struct findings *findings)
{
    (void)queue;
    (void)findings;
}

/* ---- the public functions */

void dueq_set_zones(struct dueq *store, dueq_zone_fn fn, void *arg)
{
    (void)store;
    (void)fn;
    (void)arg;
}

void dueq_set_cron_limit(struct dueq *store, uint64_t entries)
{
    (void)store;
    (void)entries;
}

enum dueq_status dueq_cron_set(struct dueq *store, const struct dueq_cron *cron,
                               struct dueq_time time, struct dueq_error *error)
{
    (void)store;
    (void)cron;
    (void)time;
    return dueq_fail(error, DUEQ_INVALID, "this libdueq knows no recurring jobs");
}

enum dueq_status dueq_cron_get(struct dueq *store, struct dueq_slice name,
                               struct dueq_cron *ret_cron, struct dueq_cron_state *ret_state)
{
    (void)store;
    (void)name;
    (void)ret_cron;
    (void)ret_state;
    return DUEQ_NOTFOUND;
}

enum dueq_status dueq_cron_del(struct dueq *store, struct dueq_slice name)
{
    (void)store;
    (void)name;
    return DUEQ_NOTFOUND;
}

enum dueq_status dueq_cron_pause(struct dueq *store, struct dueq_slice name, bool pause,
                                 struct dueq_time time)
{
    (void)store;
    (void)name;
    (void)pause;
    (void)time;
    return DUEQ_NOTFOUND;
}

enum dueq_status dueq_cron_run(struct dueq *store, struct dueq_slice name,
                               struct dueq_time time, struct dueq_pushed *ret_pushed)
{
    (void)store;
    (void)name;
    (void)time;
    (void)ret_pushed;
    return DUEQ_NOTFOUND;
}

enum dueq_status dueq_cron_next(struct dueq *store, struct dueq_slice name,
                                struct dueq_time time, size_t count, int64_t *ret_times,
                                size_t *ret_count)
{
    (void)store;
    (void)name;
    (void)time;
    (void)count;
    (void)ret_times;
    (void)ret_count;
    return DUEQ_NOTFOUND;
}

enum dueq_status dueq_cron_after(struct dueq *store, struct dueq_slice after,
                                 struct dueq_slice *ret_name)
{
    (void)store;
    (void)after;
    (void)ret_name;
    return DUEQ_NOTFOUND;
}

void dueq_get_cron_stats(const struct dueq *store, struct dueq_cron_stats *ret_stats)
{
    (void)store;
    *ret_stats = (struct dueq_cron_stats){0};
}
