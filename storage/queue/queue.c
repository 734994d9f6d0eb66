#include "storage/queue/queue.h"

#include <utlist.h>

/* ---- what topics ask for */

enum { META_TIMELINE = 't', TIMELINE_SIZE = 16 + DUEQ_BOOT_SIZE };

void queue_dirty(struct dueq *store, struct topic *topic)
{
    if (topic->dirty)
        return;
    topic->dirty = true;
    topic->dirty_next = store->dirty;
    store->dirty = topic;
}

void queue_signal(struct dueq *store, struct topic *topic)
{
    if (topic->signalled)
        return;
    topic->signalled = true;
    DL_APPEND2(store->signals, topic, signal_prev, signal_next);
}

void queue_unsignal(struct dueq *store, struct topic *topic)
{
    if (!topic->signalled)
        return;
    topic->signalled = false;
    DL_DELETE2(store->signals, topic, signal_prev, signal_next);
}

static void arm(struct dueq *store, struct topic *topic)
{
    if (topic->next_event == DUEQ_NEVER)
        wheel_cancel(&store->wheel, &topic->timer);
    else if (!wheel_arm(&store->wheel, &topic->timer, topic->next_event) &&
             store->unarmed_until == DUEQ_NEVER)
        store->unarmed_until = wheel_horizon(&store->wheel) - 1;
}

void queue_event_at(struct dueq *store, struct topic *topic, int64_t at)
{
    if (at >= topic->next_event)
        return;
    topic->next_event = at;
    arm(store, topic);
}

/* ---- the timeline */

static struct kv_key timeline_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_META);
    kv_key_u8(&key, META_TIMELINE);
    return key;
}

static enum dueq_status load_timeline(struct dueq *store)
{
    struct kv_key key = timeline_key();
    struct dueq_slice value;
    enum dueq_status status = kv_get(store->kv, kv_key_slice(&key), &value);
    const uint8_t *at = value.data;

    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status == DUEQ_OK && value.size != TIMELINE_SIZE)
        return DUEQ_CORRUPT;
    if (status != DUEQ_OK)
        return status;
    store->timeline.ahead = (int64_t)kv_read_u64(at);
    store->timeline.since_boot = (int64_t)kv_read_u64(at + 8);
    memcpy(store->timeline.boot, at + 16, DUEQ_BOOT_SIZE);
    store->has_timeline = true;
    return DUEQ_OK;
}

void queue_put_timeline(struct dueq *store)
{
    struct kv_key key = timeline_key();
    uint8_t bytes[TIMELINE_SIZE];

    kv_write_u64(bytes, (uint64_t)store->timeline.ahead);
    kv_write_u64(bytes + 8, (uint64_t)store->timeline.since_boot);
    memcpy(bytes + 16, store->timeline.boot, DUEQ_BOOT_SIZE);
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(bytes, sizeof(bytes)), false);
}

enum dueq_status queue_load(struct dueq *store, struct dueq_time time)
{
    enum dueq_status status;

    store->cursor = kv_cursor_new(store->kv);
    if (store->cursor == NULL)
        return DUEQ_NOMEM;
    unique_init(&store->unique, store->kv, kv_memtable_limit(store->kv) / 4);
    store->now = moment_clamp(time.now);
    store->offset = store->timers_offset = moment_clamp(time.wall) - store->now;
    store->unarmed_until = DUEQ_NEVER;
    store->defaults = (struct dueq_defaults){
        .lease = 60000, .retries = 20, .backoff = 1000, .backoff_max = 3600000};
    wheel_init(&store->wheel, store->now);
    status = load_timeline(store);
    return status == DUEQ_OK ? topics_load(store) : status;
}

void queue_release(struct dueq *store)
{
    topics_release(store);
    unique_release(&store->unique);
    kv_cursor_free(store->cursor);
}

/* ---- time */

/* Milliseconds of two clocks that run alike differ by one more or less as they are rounded. */
enum { ROUNDING_MS = 1 };

struct dueq_time queue_time(struct dueq *store, struct dueq_time time)
{
    int64_t now = moment_clamp(time.now), offset = moment_clamp(time.wall) - now;

    if (offset < store->offset || offset > store->offset + ROUNDING_MS)
        store->offset = offset; /* of two, the one by which nothing is early */
    if (now > store->now)
        store->now = now;
    time.now = store->now;
    time.wall = moment_clamp(time.wall);
    time.ceiling = moment_clamp(time.ceiling);
    if (time.ceiling < time.now)
        time.ceiling = time.now;
    return time;
}
