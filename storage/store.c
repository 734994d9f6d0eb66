/* A store as a whole: its life, its batches, its time. */
#include "storage/keys/store_keys.h"
#include "storage/queue/queue.h"

#include <stdlib.h>

void dueq_options_init(struct kv_options *options)
{
    kv_options_init(options);
}

/* Fills in *store, which is zero; the caller abandons it on failure. */
static enum dueq_status open_store(struct dueq *store, const char *dir,
                                   const struct kv_options *kv, struct dueq_time time,
                                   struct dueq_error *error)
{
    struct kv_options defaults;
    enum dueq_status status;

    kv_options_init(&defaults);
    status = kv_open(dir, kv != NULL ? kv : &defaults, &store->kv, error);
    if (status != DUEQ_OK)
        return status;
    if (time.now == DUEQ_DEFAULT && kv_time_floor(store->kv) == 0)
        time.now = time.wall;
    if (time.now < kv_time_floor(store->kv))
        time.now = kv_time_floor(store->kv);
    status = queue_load(store, time);
    if (status == DUEQ_OK)
        status = keys_new(store->kv, &store->keys);
    if (status != DUEQ_OK)
        dueq_fail(error, status, "cannot read the topics and keys in %s: %s", dir,
                  dueq_status_text(status));
    return status;
}

enum dueq_status dueq_open(const char *dir, const struct kv_options *kv, struct dueq_time time,
                           struct dueq **ret_store, struct dueq_error *error)
{
    struct dueq *store = calloc(1, sizeof(*store));
    enum dueq_status status;

    if (store == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    status = open_store(store, dir, kv, time, error);
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
    queue_release(store);
    keys_free(store->keys);
}

/* What a failed commit leaves behind must not be checkpointed: the journal lacks it. */
enum dueq_status dueq_close(struct dueq *store)
{
    enum dueq_status status;
    uint64_t lsn;

    if (store == NULL)
        return DUEQ_OK;
    status = dueq_commit(store, queue_last_time(store), &lsn);
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

struct kv *dueq_kv(struct dueq *store)
{
    return store->kv;
}

void dueq_get_defaults(const struct dueq *store, struct dueq_defaults *ret_defaults)
{
    *ret_defaults = store->defaults;
}

void dueq_set_defaults(struct dueq *store, const struct dueq_defaults *defaults)
{
    store->defaults = *defaults;
}

int64_t dueq_time_floor(const struct dueq *store)
{
    return kv_time_floor(store->kv);
}

bool dueq_get_timeline(const struct dueq *store, struct dueq_timeline *ret_line)
{
    if (!store->has_timeline)
        return false;
    *ret_line = store->timeline;
    return true;
}

void dueq_keep_timeline(struct dueq *store, const struct dueq_timeline *line)
{
    if (store->has_timeline && line->ahead == store->timeline.ahead &&
        line->since_boot == store->timeline.since_boot &&
        memcmp(line->boot, store->timeline.boot, DUEQ_BOOT_SIZE) == 0)
        return;
    store->timeline = *line;
    store->has_timeline = true;
    queue_put_timeline(store);
}

enum dueq_status dueq_commit(struct dueq *store, struct dueq_time time, uint64_t *ret_lsn)
{
    queue_settle(store);
    keys_save(store->keys);
    return kv_commit(store->kv, queue_time(store, time).now, ret_lsn);
}

size_t dueq_batch_bytes(const struct dueq *store)
{
    return kv_batch_bytes(store->kv);
}

uint64_t dueq_settled(const struct dueq *store)
{
    return kv_settled(store->kv);
}

enum dueq_status dueq_wait(struct dueq *store, uint64_t lsn)
{
    return kv_wait(store->kv, lsn);
}

void dueq_maintain(struct dueq *store, bool idle)
{
    kv_maintain(store->kv, idle);
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

/* ---- everything */

enum dueq_status dueq_flush(struct dueq *store, struct dueq_time time)
{
    queue_time(store, time);
    queue_flush(store);
    keys_flush_all(store->keys);
    return DUEQ_OK;
}

struct keys *store_keys(const struct dueq *store)
{
    return store->keys;
}

/* ---- time */

bool dueq_tick(struct dueq *store, struct dueq_time time, unsigned budget)
{
    time = queue_time(store, time);
    queue_tick(store, time, &budget);
    if (budget > 0)
        keys_tick(store, time, &budget);
    return budget == 0;
}

int64_t dueq_next_tick(const struct dueq *store, struct dueq_time time)
{
    int64_t next = queue_next_tick(store, time), expiry;

    if (time.now < store->now)
        time.now = store->now;
    expiry = keys_next_tick(store->keys, time);
    return expiry < next ? expiry : next;
}

/* ---- signals */

enum dueq_status dueq_next_signal(struct dueq *store, struct dueq_slice *ret_topic)
{
    struct topic *topic = store->signals;

    if (topic == NULL)
        return DUEQ_NOTFOUND;
    queue_unsignal(store, topic);
    *ret_topic = topic_name(topic);
    return DUEQ_OK;
}
