/* A store as a whole: its life, its batches, its time. */
#include "storage/store.h"

#include "storage/keys/reclaim/reclaim.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/kv/pressure.h"
#include "storage/kv/room.h"
#include "storage/queue/queue.h"
#include "storage/queue/core/topics.h"

#include <stdlib.h>

/* The fields that the first version of the struct had. */
#define OPTIONS_SIZE_MIN (offsetof(struct dueq_options, notify_arg) + sizeof(void *))

/* A topic pays for being come to and for each of its searches: with less it could be come to
 * again and again. */
enum { TICK_LEAST = 16 };

/* Copies the options that the caller knows; the others get their defaults. */
static enum dueq_status read_options(const struct dueq_options *given,
                                     struct dueq_options *ret_options, struct dueq_error *error)
{
    dueq_options_init(ret_options);
    if (given == NULL)
        return DUEQ_OK;
    if (given->size < OPTIONS_SIZE_MIN)
        return dueq_fail(error, DUEQ_INVALID, "the options have the size %zu, less than %zu",
                         given->size, OPTIONS_SIZE_MIN);
    memcpy(ret_options, given,
           given->size < sizeof(*ret_options) ? given->size : sizeof(*ret_options));
    ret_options->size = sizeof(*ret_options);
    return DUEQ_OK;
}

/* Fills in *store, which is zero; the caller abandons it on failure. */
static enum dueq_status open_store(struct dueq *store, const char *dir,
                                   const struct dueq_options *given, struct dueq_time time,
                                   struct dueq_error *error)
{
    struct dueq_options options;
    const char *part = "recurring jobs or topics that keep events";
    enum dueq_status status = read_options(given, &options, error);

    if (status == DUEQ_OK)
        status = kv_open(dir, &options, &store->kv, error);
    if (status != DUEQ_OK)
        return status;
    if (time.now == DUEQ_DEFAULT && kv_time_floor(store->kv) == 0)
        time.now = time.wall;
    if (time.now < kv_time_floor(store->kv))
        time.now = kv_time_floor(store->kv);
    status = queue_new(store->kv, time, &store->queue);
    if (status == DUEQ_OK) {
        part = "keys of a server";
        status = keys_new(store->kv, &store->keys);
    }
    if (status == DUEQ_FORMAT)
        return dueq_fail(error, status, "%s has %s, and this libdueq knows none", dir, part);
    if (status == DUEQ_OK)
        kv_drop_pages(store->kv);
    else
        dueq_fail(error, status, "cannot read the topics and keys in %s: %s", dir,
                  dueq_status_text(status));
    return status;
}

enum dueq_status dueq_open(const char *dir, const struct dueq_options *options,
                           struct dueq_time time, struct dueq **ret_store,
                           struct dueq_error *error)
{
    struct dueq *store = calloc(1, sizeof(*store));
    enum dueq_status status;

    if (store == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    status = open_store(store, dir, options, time, error);
    if (status != DUEQ_OK) {
        dueq_abandon(store);
        return status;
    }
    *ret_store = store;
    return DUEQ_OK;
}

/* Cursors go before what they read. */
static void release(struct dueq *store)
{
    queue_free(store->queue);
    keys_free(store->keys);
}

/* The batch of a failed commit must not be checkpointed, because the journal does not contain
 * it. */
enum dueq_status dueq_close(struct dueq *store)
{
    enum dueq_status status;
    uint64_t lsn;

    if (store == NULL)
        return DUEQ_OK;
    status = dueq_commit(store, queue_last_time(store->queue), &lsn);
    if (status != DUEQ_OK) {
        dueq_abandon(store);
        return status;
    }
    release(store);
    status = kv_close(store->kv);
    free(store);
    return status;
}

void dueq_abandon(struct dueq *store)
{
    if (store == NULL)
        return;
    release(store);
    kv_abandon(store->kv);
    free(store);
}

void dueq_get_defaults(const struct dueq *store, struct dueq_defaults *ret_defaults)
{
    queue_get_defaults(store->queue, ret_defaults);
}

void dueq_set_defaults(struct dueq *store, const struct dueq_defaults *defaults)
{
    queue_set_defaults(store->queue, defaults);
}

int64_t dueq_time_floor(const struct dueq *store)
{
    return kv_time_floor(store->kv);
}

bool dueq_get_timeline(const struct dueq *store, struct dueq_timeline *ret_line)
{
    return queue_get_timeline(store->queue, ret_line);
}

void dueq_keep_timeline(struct dueq *store, const struct dueq_timeline *line)
{
    queue_keep_timeline(store->queue, line);
}

bool store_may_sync(const struct dueq *store, uint64_t *ret_usec)
{
    return kv_may_sync(store->kv, ret_usec);
}

unsigned store_settle(struct dueq *store)
{
    size_t bytes = kv_batch_bytes(store->kv);
    unsigned asks = queue_take_asks(store->queue);

    if (bytes != store->settled)
        kv_ask(store->kv, asks == 0 ? ASKS_MODE : asks);
    store->settled = bytes;
    return asks;
}

void store_prepare(struct dueq *store)
{
    store_settle(store);
    topics_prepare_commit(store->queue);
    store_settle(store);
    keys_save(store->keys);
    store_settle(store);
}

enum dueq_status dueq_commit(struct dueq *store, struct dueq_time time, uint64_t *ret_lsn)
{
    enum dueq_status status;

    store_prepare(store);
    status = kv_commit(store->kv, queue_time(store->queue, time).now, ret_lsn);
    store->settled = kv_batch_bytes(store->kv);
    return status;
}

size_t dueq_batch_bytes(const struct dueq *store)
{
    return kv_batch_bytes(store->kv);
}

uint64_t dueq_written_lsn(const struct dueq *store)
{
    return kv_written_lsn(store->kv);
}

uint64_t dueq_durable_lsn(const struct dueq *store)
{
    return kv_durable_lsn(store->kv);
}

enum dueq_status dueq_wait(struct dueq *store, uint64_t lsn)
{
    return kv_wait(store->kv, lsn);
}

void dueq_maintain(struct dueq *store, bool idle)
{
    kv_maintain(store->kv, idle);
}

bool store_rests(const struct dueq *store)
{
    return kv_rests(store->kv);
}

enum dueq_status dueq_checkpoint(struct dueq *store, struct dueq_time time)
{
    uint64_t lsn;
    enum dueq_status status = dueq_commit(store, time, &lsn);

    return status == DUEQ_OK ? kv_checkpoint(store->kv) : status;
}

enum dueq_status dueq_status(const struct dueq *store)
{
    return kv_status(store->kv);
}

const char *dueq_failure(const struct dueq *store)
{
    return kv_failure(store->kv);
}

/* ---- flushing */

enum dueq_status dueq_flush(struct dueq *store, struct dueq_time time)
{
    queue_time(store->queue, time);
    topics_flush(store->queue);
    keys_flush_all(store->keys);
    return DUEQ_OK;
}

/* ---- time */

bool dueq_tick(struct dueq *store, struct dueq_time time, unsigned budget)
{
    budget = budget > TICK_LEAST ? budget : TICK_LEAST;
    time = queue_time(store->queue, time);
    queue_tick(store->queue, time, &budget);
    store_settle(store);
    if (budget > 0)
        reclaim_tick(store->keys, time, &budget);
    store_settle(store);
    return budget == 0;
}

int64_t dueq_next_tick(const struct dueq *store, struct dueq_time time)
{
    int64_t next = queue_next_tick(store->queue, time), expiry,
            last = queue_last_time(store->queue).now;

    if (time.now < last)
        time.now = last;
    expiry = reclaim_next_tick(store->keys, time);
    return expiry < next ? expiry : next;
}

/* ---- room, damage, statistics */

enum dueq_status dueq_room(struct dueq *store, uint64_t bytes)
{
    return kv_room(store->kv, bytes);
}

enum dueq_status dueq_reserve_room(struct dueq *store, uint64_t bytes)
{
    return kv_room_grant(store->kv, bytes);
}

enum dueq_status dueq_drains(struct dueq *store)
{
    return kv_room_drains(store->kv);
}

bool dueq_is_busy(const struct dueq *store, size_t bytes)
{
    return kv_is_busy(store->kv, bytes);
}

void dueq_lend(struct dueq *store, struct dueq_loan *loans, size_t count)
{
    kv_lend(store->kv, loans, count);
}

void dueq_begin_slices(struct dueq *store)
{
    kv_begin_slices(store->kv);
}

bool dueq_end_slices(struct dueq *store)
{
    return kv_end_slices(store->kv);
}

struct dueq_hold *dueq_hold(struct dueq *store, const void *byte)
{
    return kv_hold(store->kv, byte);
}

void dueq_let_go(struct dueq_hold *hold)
{
    kv_let_go(hold);
}

bool dueq_is_behind(const struct dueq *store)
{
    return kv_is_behind(store->kv);
}

unsigned dueq_pressure(const struct dueq *store)
{
    return kv_pressure(store->kv);
}

uint64_t dueq_growth_pause(struct dueq *store)
{
    return kv_growth_pause(store->kv);
}

const char *dueq_damage(const struct dueq *store)
{
    return kv_damage(store->kv);
}

void dueq_forget_damage(struct dueq *store)
{
    kv_forget_damage(store->kv);
}

enum dueq_status dueq_check(struct dueq *store, uint64_t *ret_records)
{
    return kv_check(store->kv, ret_records);
}

void dueq_start_checkpoint(struct dueq *store)
{
    kv_checkpoint_start(store->kv);
}

enum dueq_durability dueq_get_durability(const struct dueq *store)
{
    return kv_durability(store->kv);
}

enum dueq_status dueq_compact(struct dueq *store)
{
    return kv_compact(store->kv);
}

enum dueq_status dueq_backup(struct dueq *store, const char *path)
{
    return kv_backup(store->kv, path);
}

enum dueq_status dueq_backup_from(struct dueq *store, const char *path, const char *base)
{
    return kv_backup_from(store->kv, path, base);
}

void dueq_set_auto_compact(struct dueq *store, unsigned percent, uint64_t bytes)
{
    kv_set_auto_compact(store->kv, percent, bytes);
}

void dueq_set_durability(struct dueq *store, enum dueq_durability durability,
                         unsigned interval_ms)
{
    kv_set_durability(store->kv, durability, interval_ms);
}

void dueq_get_stats_sized(const struct dueq *store, struct dueq_stats *ret_stats, size_t size)
{
    struct dueq_stats stats = {0};

    kv_get_stats(store->kv, &stats);
    stats.rate_refusals = store->queue->rate_refusals;
    stats.rate_releases = store->queue->rate_releases;
    memset(ret_stats, 0, size);
    memcpy(ret_stats, &stats, size < sizeof(stats) ? size : sizeof(stats));
}
