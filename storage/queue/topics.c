/* The directory of topics: by name, in RAM and on disk, from their first job until they are
 * empty and others are in more use, or all are flushed. */
#include "storage/queue/queue.h"

#include <stdlib.h>
#include <utlist.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- records */

static struct kv_key name_key(struct dueq_slice name)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_TOPIC);
    kv_key_name(&key, name, 0); /* 255 bytes at most: never folded */
    return key;
}

static struct kv_key table_key(uint8_t table)
{
    struct kv_key key;

    kv_key_start(&key, table);
    return key;
}

/* The numbers of the counters' record, in order. */
enum { COUNTERS_NUMBERS = 12, COUNTERS_SIZE = COUNTERS_NUMBERS * 8 };

static void list_numbers(struct counters *counters, uint64_t **numbers)
{
    struct dueq_topic_stats *totals = &counters->totals;
    uint64_t *const all[COUNTERS_NUMBERS] = {
        &counters->next_topic, &counters->first_topic, &counters->next_seq,
        &counters->next_token, &totals->pushed,        &totals->claimed,
        &totals->acked,        &totals->nacked,        &totals->deleted,
        &totals->expired,      &totals->lapsed,        &totals->dead};

    memcpy(numbers, all, sizeof(all));
}

static void save_counters(struct dueq *store)
{
    struct kv_key key = table_key(TABLE_META);
    uint64_t *numbers[COUNTERS_NUMBERS];
    uint8_t bytes[COUNTERS_SIZE];

    list_numbers(&store->counters, numbers);
    for (int i = 0; i < COUNTERS_NUMBERS; i++)
        kv_write_u64(bytes + i * 8, *numbers[i]);
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(bytes, sizeof(bytes)), false);
    store->counters.dirty = false;
}

static enum dueq_status load_counters(struct dueq *store)
{
    struct kv_key key = table_key(TABLE_META);
    struct counters *counters = &store->counters;
    uint64_t *numbers[COUNTERS_NUMBERS];
    struct dueq_slice value;
    enum dueq_status status = kv_get(store->kv, kv_key_slice(&key), &value);

    *counters =
        (struct counters){.next_topic = 1, .first_topic = 1, .next_seq = 1, .next_token = 1};
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status != DUEQ_OK)
        return status;
    if (value.size != COUNTERS_SIZE)
        return DUEQ_CORRUPT;
    list_numbers(counters, numbers);
    for (int i = 0; i < COUNTERS_NUMBERS; i++)
        *numbers[i] = kv_read_u64((const uint8_t *)value.data + i * 8);
    return DUEQ_OK;
}

/* ---- by name. The hash is seeded: names cannot be chosen to share a bucket. */

static unsigned hash_of(const struct dueq *store, struct dueq_slice name)
{
    return (unsigned)XXH3_64bits_withSeed(name.data, name.size, kv_seed(store->kv));
}

enum dueq_status queue_find_topic(struct dueq *store, struct dueq_slice name,
                                  struct topic **ret_topic)
{
    unsigned hash = hash_of(store, name);
    struct topic *topic;

    HASH_FIND_BYHASHVALUE(hh, store->topics, name.data, name.size, hash, topic);
    if (topic == NULL)
        return DUEQ_NOTFOUND;
    *ret_topic = topic;
    return DUEQ_OK;
}

/* Frees the topic when there is no memory for it in the directory. */
static enum dueq_status adopt(struct dueq *store, struct topic *topic)
{
    unsigned hash = hash_of(store, topic_name(topic));

    HASH_ADD_KEYPTR_BYHASHVALUE(hh, store->topics, topic->name, topic->name_size, hash, topic);
    if (topic->hh.tbl != NULL)
        return DUEQ_OK;
    topic_free(topic);
    return DUEQ_NOMEM;
}

enum dueq_status queue_open_topic(struct dueq *store, struct dueq_slice name,
                                  struct topic **ret_topic)
{
    struct counters *counters = &store->counters;
    struct topic *topic;

    if (queue_find_topic(store, name, ret_topic) == DUEQ_OK)
        return DUEQ_OK;
    topic = topic_new(name, counters->next_topic);
    if (topic == NULL || adopt(store, topic) != DUEQ_OK)
        return DUEQ_NOMEM;
    counters->next_topic++;
    counters->dirty = true;
    topic->next_seq = counters->next_seq;
    topic->next_token = counters->next_token;
    queue_dirty(store, topic);
    *ret_topic = topic;
    return DUEQ_OK;
}

/* ---- empty topics */

static bool has_jobs(const struct topic *topic)
{
    return topic->lane_count > 0 || topic->claimed > 0 || topic->dead > 0;
}

/* Its lanes are there for their jobs only. */
static void list_empty(struct dueq *store, struct topic *topic)
{
    if (topic->is_empty) {
        DL_DELETE(store->empty, topic);
        store->empty_count--;
    }
    topic->is_empty = !has_jobs(topic);
    if (topic->is_empty) {
        DL_APPEND(store->empty, topic);
        store->empty_count++;
    }
}

/* Should there be one of that name again, it gives no token or id for the second time. */
static void outlive(struct counters *counters, uint64_t next_seq, uint64_t next_token)
{
    if (next_seq > counters->next_seq)
        counters->next_seq = next_seq;
    if (next_token > counters->next_token)
        counters->next_token = next_token;
    counters->dirty = true;
}

static void drop(struct dueq *store, struct topic *topic)
{
    struct kv_key key = name_key(topic_name(topic));

    kv_del(store->kv, kv_key_slice(&key));
    outlive(&store->counters, topic->next_seq, topic->next_token);
    topic_add_totals(&store->counters.totals, &topic->totals);
    HASH_DEL(store->topics, topic);
    DL_DELETE(store->empty, topic);
    store->empty_count--;
    queue_unsignal(store, topic);
    wheel_cancel(&store->wheel, &topic->timer);
    topic_free(topic);
}

/* ---- saving */

static void save_topic(struct dueq *store, struct topic *topic)
{
    struct kv_key key = name_key(topic_name(topic));
    uint8_t bytes[TOPIC_RECORD_MAX];

    topic_drop_empty_lanes(topic);
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(bytes, topic_write(topic, bytes)), false);
    list_empty(store, topic);
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

void queue_settle(struct dueq *store)
{
    queue_save(store);
    while (store->empty_count > store->empty_kept)
        drop(store, store->empty);
    if (store->counters.dirty)
        save_counters(store);
}

/* ---- loading */

static void count_in(struct dueq *store, const struct topic *topic)
{
    struct job_counts counts = topic_counts(topic);

    topic_add_counts(&store->jobs, &counts);
    topic_add_totals(&store->totals, &topic->totals);
    if (topic->next_seq > store->most_seq)
        store->most_seq = topic->next_seq;
    if (topic->next_token > store->most_token)
        store->most_token = topic->next_token;
}

static enum dueq_status load_topic(struct dueq *store)
{
    struct dueq_slice key = kv_cursor_key(store->cursor);
    struct dueq_slice name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    struct dueq_slice record = kv_cursor_value(store->cursor);
    uint64_t id = topic_read_id(record);
    struct topic *topic;

    if (id > 0 && id < store->counters.first_topic)
        return DUEQ_OK; /* flushed */
    topic = topic_read(name, record);
    if (topic == NULL)
        return DUEQ_CORRUPT;
    if (adopt(store, topic) != DUEQ_OK)
        return DUEQ_NOMEM;
    count_in(store, topic);
    list_empty(store, topic);
    queue_event_at(store, topic, LONG_AGO); /* the first tick looks when its next event is */
    return DUEQ_OK;
}

static enum dueq_status load_topics(struct dueq *store)
{
    struct kv_key table = table_key(TABLE_TOPIC);
    enum dueq_status status = kv_cursor_seek(store->cursor, kv_key_slice(&table));

    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(store->cursor), &table)) {
        status = load_topic(store);
        if (status == DUEQ_OK)
            status = kv_cursor_next(store->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status topics_load(struct dueq *store)
{
    enum dueq_status status = load_counters(store);

    if (status != DUEQ_OK)
        return status;
    store->totals = store->counters.totals;
    store->most_seq = store->counters.next_seq;
    store->most_token = store->counters.next_token;
    store->empty_kept = TOPICS_EMPTY_KEPT;
    garbage_load(store);
    return load_topics(store);
}

/* ---- all at once */

/* The timers are the topics' only: a wheel that is begun anew has none of them. */
static void forget_topics(struct dueq *store)
{
    struct topic *first = store->topics;

    if (first != NULL) {
        struct topic *last = ELMT_FROM_HH(first->hh.tbl, first->hh.tbl->tail);

        HASH_CLEAR(hh, store->topics);
        last->hh.next = store->flushed;
        store->flushed = first;
    }
    wheel_init(&store->wheel, store->wheel.now);
    store->jobs = (struct job_counts){0, 0, 0, 0};
    store->dirty = store->signals = store->empty = NULL;
    store->empty_count = 0;
}

void topics_release(struct dueq *store)
{
    unsigned unlimited = UINT32_MAX;

    forget_topics(store);
    while (store->flushed != NULL)
        garbage_free(store, &unlimited);
}

/* What is on disk of topics below the first that lives counts for nothing from here on. */
void queue_flush(struct dueq *store)
{
    struct counters *counters = &store->counters;

    if (store->topics == NULL)
        return;
    outlive(counters, store->most_seq, store->most_token);
    counters->totals = store->totals;
    counters->first_topic = counters->next_topic;
    garbage_begin(store);
    forget_topics(store);
}

/* ---- in order. Topics pushed to in this turn are in the directory before they are on disk. */

/* The topic whose record is at the cursor. DUEQ_NOTFOUND: it is flushed. */
static enum dueq_status topic_here(struct dueq *store, struct topic **ret_topic)
{
    struct dueq_slice key = kv_cursor_key(store->cursor);
    enum dueq_status status = queue_find_topic(
        store, dueq_slice((const uint8_t *)key.data + 1, key.size - 1), ret_topic);

    if (status != DUEQ_OK &&
        topic_read_id(kv_cursor_value(store->cursor)) >= store->counters.first_topic)
        return DUEQ_CORRUPT;
    return status;
}

enum dueq_status dueq_topic_after(struct dueq *store, struct dueq_slice after,
                                  struct dueq_slice *ret_name)
{
    struct kv_key table = table_key(TABLE_TOPIC), key = name_key(after);
    enum dueq_status status;
    struct topic *topic;

    queue_save(store);
    key.bytes[key.size++] = 0; /* the least name above; below any when `after` is empty */
    for (status = kv_cursor_seek(store->cursor, kv_key_slice(&key)); status == DUEQ_OK;
         status = kv_cursor_next(store->cursor)) {
        if (!kv_key_begins(kv_cursor_key(store->cursor), &table))
            return DUEQ_NOTFOUND;
        status = topic_here(store, &topic);
        if (status == DUEQ_OK)
            *ret_name = topic_name(topic); /* its own, which other calls leave alone */
        if (status != DUEQ_NOTFOUND)
            return status;
    }
    return status;
}

size_t dueq_topic_count(const struct dueq *store)
{
    return HASH_COUNT(store->topics);
}
