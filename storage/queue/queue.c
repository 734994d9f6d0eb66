#include "storage/queue/queue.h"

#include <stdlib.h>

/* ---- topics */

static struct kv_key name_key(struct dueq_slice name)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_TOPIC);
    kv_key_name(&key, name, 0); /* 255 bytes at most: never folded */
    return key;
}

enum { META_TIMELINE = 't', TIMELINE_SIZE = 16 + DUEQ_BOOT_SIZE };

static struct kv_key meta_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_META);
    return key;
}

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
    topic->signal_next = NULL;
    *store->last_signal = topic;
    store->last_signal = &topic->signal_next;
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

enum dueq_status queue_find_topic(struct dueq *store, struct dueq_slice name,
                                  struct topic **ret_topic)
{
    struct topic *topic;

    HASH_FIND(hh, store->topics, name.data, name.size, topic);
    if (topic == NULL)
        return DUEQ_NOTFOUND;
    *ret_topic = topic;
    return DUEQ_OK;
}

/* Frees the topic when there is no memory for it in the directory. */
static enum dueq_status adopt_topic(struct dueq *store, struct topic *topic)
{
    HASH_ADD_KEYPTR(hh, store->topics, topic->name, topic->name_size, topic);
    if (topic->hh.tbl != NULL)
        return DUEQ_OK;
    topic_free(topic);
    return DUEQ_NOMEM;
}

enum dueq_status queue_open_topic(struct dueq *store, struct dueq_slice name,
                                  struct topic **ret_topic)
{
    struct topic *topic;
    struct kv_key key = meta_key();
    uint8_t next[8];

    if (queue_find_topic(store, name, ret_topic) == DUEQ_OK)
        return DUEQ_OK;
    topic = topic_new(name, store->next_topic);
    if (topic == NULL || adopt_topic(store, topic) != DUEQ_OK)
        return DUEQ_NOMEM;
    kv_write_u64(next, ++store->next_topic);
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(next, sizeof(next)), false);
    queue_dirty(store, topic);
    *ret_topic = topic;
    return DUEQ_OK;
}

/* ---- saving */

static void save_topic(struct dueq *store, struct topic *topic)
{
    struct kv_key key = name_key(topic_name(topic));
    uint8_t bytes[TOPIC_RECORD_MAX];

    topic_drop_empty_lanes(topic);
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(bytes, topic_write(topic, bytes)), false);
}

void queue_save(struct dueq *store)
{
    while (store->dirty != NULL) {
        struct topic *topic = store->dirty;

        save_topic(store, topic);
        store->dirty = topic->dirty_next;
        topic->dirty = false;
    }
}

/* ---- loading */

static enum dueq_status load_topic(struct dueq *store)
{
    struct dueq_slice key = kv_cursor_key(store->cursor);
    struct dueq_slice name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    struct topic *topic = topic_read(name, kv_cursor_value(store->cursor));
    struct job_counts counts;

    if (topic == NULL)
        return DUEQ_CORRUPT;
    if (adopt_topic(store, topic) != DUEQ_OK)
        return DUEQ_NOMEM;
    counts = topic_counts(topic);
    topic_add_counts(&store->jobs, &counts);
    topic_add_totals(&store->totals, &topic->totals);
    queue_event_at(store, topic, LONG_AGO); /* the first tick looks when its next event is */
    return DUEQ_OK;
}

static enum dueq_status load_topics(struct dueq *store)
{
    static const uint8_t table[] = {TABLE_TOPIC};
    enum dueq_status status = kv_cursor_seek(store->cursor, dueq_slice(table, 1));

    while (status == DUEQ_OK &&
           *(const uint8_t *)kv_cursor_key(store->cursor).data == TABLE_TOPIC) {
        status = load_topic(store);
        if (status == DUEQ_OK)
            status = kv_cursor_next(store->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status load_meta(struct dueq *store)
{
    struct kv_key key = meta_key();
    struct dueq_slice value;
    enum dueq_status status = kv_get(store->kv, kv_key_slice(&key), &value);

    store->next_topic = 1;
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status == DUEQ_OK && value.size != 8)
        return DUEQ_CORRUPT;
    if (status == DUEQ_OK)
        store->next_topic = kv_read_u64(value.data);
    return status;
}

static struct kv_key timeline_key(void)
{
    struct kv_key key = meta_key();

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
    store->last_signal = &store->first_signal;
    store->now = moment_clamp(time.now);
    store->offset = store->timers_offset = moment_clamp(time.wall) - store->now;
    store->unarmed_until = DUEQ_NEVER;
    store->garbage.any = true;
    store->defaults = (struct dueq_defaults){
        .lease = 60000, .retries = 20, .backoff = 1000, .backoff_max = 3600000};
    wheel_init(&store->wheel, store->now);
    status = load_meta(store);
    if (status == DUEQ_OK)
        status = load_timeline(store);
    return status == DUEQ_OK ? load_topics(store) : status;
}

/* ---- dropping */

static void drop_topics(struct dueq *store)
{
    struct topic *topic, *next;

    HASH_ITER(hh, store->topics, topic, next)
    {
        HASH_DEL(store->topics, topic);
        wheel_cancel(&store->wheel, &topic->timer);
        topic_free(topic);
    }
    store->jobs = (struct job_counts){0, 0, 0, 0};
    store->dirty = NULL;
    store->first_signal = NULL;
    store->last_signal = &store->first_signal;
}

void queue_release(struct dueq *store)
{
    drop_topics(store);
    unique_release(&store->unique);
    kv_cursor_free(store->cursor);
}

/* The names are gone at once; what hangs on the ids is reclaimed by ticks. */
void queue_flush(struct dueq *store)
{
    struct topic *topic, *next;

    HASH_ITER(hh, store->topics, topic, next)
    {
        struct kv_key name = name_key(topic_name(topic)), garbage;

        kv_key_start(&garbage, TABLE_GARBAGE);
        kv_key_u64(&garbage, topic->id);
        kv_del(store->kv, kv_key_slice(&name));
        kv_put(store->kv, kv_key_slice(&garbage), dueq_slice(NULL, 0), true);
        store->garbage.any = true;
    }
    drop_topics(store);
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
