/* The directory of topics: by name, in RAM and on disk, from their first job until they are
 * empty and others are in more use, or all are flushed. */
#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

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
enum { COUNTERS_NUMBERS_1 = 12, COUNTERS_NUMBERS = 15, COUNTERS_SIZE = COUNTERS_NUMBERS * 8 };

static void list_numbers(struct counters *counters, uint64_t **numbers)
{
    struct dueq_topic_stats *totals = &counters->totals;
    uint64_t *const all[COUNTERS_NUMBERS] = {
        &counters->next_topic,   &counters->first_topic, &counters->next_seq,
        &counters->next_token,   &totals->pushed,        &totals->claimed,
        &totals->acked,          &totals->nacked,        &totals->deleted,
        &totals->leases_expired, &totals->jobs_expired,  &totals->dead,
        &totals->cancelled,      &totals->dead_removed,  &totals->dropped};

    memcpy(numbers, all, sizeof(all));
}

static void save_counters(struct queue *queue)
{
    struct kv_key key = table_key(TABLE_META);
    uint64_t *numbers[COUNTERS_NUMBERS];
    uint8_t bytes[COUNTERS_SIZE];

    list_numbers(&queue->counters, numbers);
    for (int i = 0; i < COUNTERS_NUMBERS; i++)
        bytes_write_u64(bytes + i * 8, *numbers[i]);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, sizeof(bytes)), false);
    queue->counters.dirty = false;
}

static enum dueq_status load_counters(struct queue *queue)
{
    struct kv_key key = table_key(TABLE_META);
    struct counters *counters = &queue->counters;
    uint64_t *numbers[COUNTERS_NUMBERS];
    struct dueq_slice value;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &value);

    *counters =
        (struct counters){.next_topic = 1, .first_topic = 1, .next_seq = 1, .next_token = 1};
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status != DUEQ_OK)
        return status;
    if (value.size != COUNTERS_SIZE && value.size != COUNTERS_NUMBERS_1 * 8)
        return DUEQ_CORRUPT;
    list_numbers(counters, numbers);
    for (size_t i = 0; i < value.size / 8; i++)
        *numbers[i] = bytes_read_u64((const uint8_t *)value.data + i * 8);
    return DUEQ_OK;
}

/* ---- by name. The hash is seeded: names cannot be chosen to share a bucket. */

static unsigned hash_of(const struct queue *queue, struct dueq_slice name)
{
    return (unsigned)XXH3_64bits_withSeed(name.data, name.size, kv_seed(queue->kv));
}

enum dueq_status topics_find(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic)
{
    unsigned hash = hash_of(queue, name);
    struct topic *topic;

    HASH_FIND_BYHASHVALUE(hh, queue->topics, name.data, name.size, hash, topic);
    if (topic == NULL) {
        settings_note_use_of(queue, name);
        return DUEQ_NOTFOUND;
    }
    settings_note_use(queue, topic);
    *ret_topic = topic;
    return DUEQ_OK;
}

/* Frees the topic when there is no memory for it in the directory. */
static enum dueq_status adopt(struct queue *queue, struct topic *topic)
{
    unsigned hash = hash_of(queue, topic_name(topic));

    HASH_ADD_KEYPTR_BYHASHVALUE(hh, queue->topics, topic->name, topic->name_size, hash, topic);
    if (topic->hh.tbl != NULL)
        return DUEQ_OK;
    topic_free(topic);
    return DUEQ_NOMEM;
}

enum dueq_status topics_open(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic)
{
    struct counters *counters = &queue->counters;
    struct topic *topic;

    if (topics_find(queue, name, ret_topic) == DUEQ_OK)
        return DUEQ_OK;
    topic = topic_new(name, counters->next_topic);
    if (topic == NULL || adopt(queue, topic) != DUEQ_OK)
        return DUEQ_NOMEM;
    counters->next_topic++;
    counters->dirty = true;
    topic->next_seq = counters->next_seq;
    topic->next_token = counters->next_token;
    queue_mark_dirty(queue, topic);
    *ret_topic = topic;
    return DUEQ_OK;
}

/* ---- empty topics */

static bool has_jobs(const struct topic *topic)
{
    return topic->lane_count > 0 || topic->claimed > 0 || topic->dead > 0 || topic->done > 0 ||
           topic->paused != 0;
}

/* Its lanes are there for their jobs only. */
static void list_empty(struct queue *queue, struct topic *topic)
{
    if (topic->is_empty) {
        DL_DELETE(queue->empty, topic);
        queue->empty_count--;
    }
    topic->is_empty = !has_jobs(topic);
    if (topic->is_empty) {
        DL_APPEND(queue->empty, topic);
        queue->empty_count++;
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

/* It is saved, and may have no job that is still counted. */
static void drop(struct queue *queue, struct topic *topic)
{
    struct kv_key key = name_key(topic_name(topic));

    kv_del(queue->kv, kv_key_slice(&key));
    outlive(&queue->counters, topic->next_seq, topic->next_token);
    topic_add_totals(&queue->counters.totals, &topic->totals);
    HASH_DEL(queue->topics, topic);
    if (topic->is_empty) {
        DL_DELETE(queue->empty, topic);
        queue->empty_count--;
    }
    queue_unsignal(queue, topic);
    wheel_cancel(&queue->wheel, &topic->timer);
    endings_end_topic(queue, topic);
    topic_free(topic);
}

/* ---- saving */

static void save_topic(struct queue *queue, struct topic *topic)
{
    struct kv_key key = name_key(topic_name(topic));
    uint8_t bytes[TOPIC_RECORD_MAX];

    settings_note_use(queue, topic);
    topic_drop_empty_lanes(topic);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, topic_write(topic, bytes)), false);
    list_empty(queue, topic);
}

void topics_save(struct queue *queue)
{
    while (queue->dirty != NULL) {
        struct topic *topic = queue->dirty;

        save_topic(queue, topic);
        queue->dirty = topic->dirty_next;
        topic->dirty = false;
    }
}

void topics_prepare_commit(struct queue *queue)
{
    topics_save(queue);
    while (queue->empty_count > queue->empty_kept)
        drop(queue, queue->empty);
    if (queue->counters.dirty)
        save_counters(queue);
}

/* ---- one that has jobs */

static void count_out(struct job_counts *sum, const struct job_counts *counts)
{
    sum->pending -= counts->pending;
    sum->ready -= counts->ready;
    sum->claimed -= counts->claimed;
    sum->dead -= counts->dead;
    sum->done -= counts->done;
}

/* Saved first, so that it is not among the topics that are still to be saved. */
void topics_drop(struct queue *queue, struct topic *topic)
{
    struct job_counts counts = topic_counts(topic);
    uint64_t id = topic->id;

    topics_save(queue);
    count_out(&queue->jobs, &counts);
    queue->bytes -= topic->bytes;
    drop(queue, topic);
    garbage_add(queue, id);
}

/* ---- loading */

static const uint64_t BYTES_UNKNOWN = UINT64_MAX;

/* Counts the bytes of all bodies of a topic that was saved without their sum. O(jobs), once. */
static enum dueq_status count_bytes(struct queue *queue, struct topic *topic)
{
    struct kv_key prefix;
    enum dueq_status status =
        kv_cursor_seek(queue->cursor, queue_key_topic(&prefix, TABLE_BODY, topic->id));

    topic->bytes = 0;
    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(queue->cursor), &prefix)) {
        struct job_body body;

        if (job_record_read_body(kv_cursor_value(queue->cursor), &body))
            topic->bytes += body.body.size;
        status = kv_cursor_next(queue->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status sum_bytes(struct queue *queue)
{
    enum dueq_status status = DUEQ_OK;

    for (struct topic *topic = queue->topics; topic != NULL && status == DUEQ_OK;
         topic = topic->hh.next) {
        if (topic->bytes == BYTES_UNKNOWN)
            status = count_bytes(queue, topic);
        queue->bytes += topic->bytes;
    }
    return status;
}

static void count_in(struct queue *queue, const struct topic *topic)
{
    struct job_counts counts = topic_counts(topic);

    topic_add_counts(&queue->jobs, &counts);
    topic_add_totals(&queue->totals, &topic->totals);
    if (topic->next_seq > queue->most_seq)
        queue->most_seq = topic->next_seq;
    if (topic->next_token > queue->most_token)
        queue->most_token = topic->next_token;
}

static enum dueq_status load_topic(struct queue *queue)
{
    struct dueq_slice key = kv_cursor_key(queue->cursor);
    struct dueq_slice name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    struct dueq_slice record = kv_cursor_value(queue->cursor);
    uint64_t id = topic_read_id(record);
    struct topic *topic;

    if (id > 0 && id < queue->counters.first_topic)
        return DUEQ_OK; /* flushed */
    topic = topic_read(name, record);
    if (topic == NULL)
        return DUEQ_CORRUPT;
    if (topic_lacks_bytes(record))
        topic->bytes = BYTES_UNKNOWN;
    if (adopt(queue, topic) != DUEQ_OK)
        return DUEQ_NOMEM;
    count_in(queue, topic);
    list_empty(queue, topic);
    queue_event_at(queue, topic,
                   SAFE_TIME_MIN); /* the first tick looks when its next event is */
    return DUEQ_OK;
}

static enum dueq_status load_topics(struct queue *queue)
{
    struct kv_key table = table_key(TABLE_TOPIC);
    enum dueq_status status = kv_cursor_seek(queue->cursor, kv_key_slice(&table));

    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(queue->cursor), &table)) {
        status = load_topic(queue);
        if (status == DUEQ_OK)
            status = kv_cursor_next(queue->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status topics_load(struct queue *queue)
{
    enum dueq_status status = load_counters(queue);

    if (status != DUEQ_OK)
        return status;
    queue->totals = queue->counters.totals;
    queue->most_seq = queue->counters.next_seq;
    queue->most_token = queue->counters.next_token;
    queue->empty_kept = TOPICS_EMPTY_KEPT;
    status = garbage_load(queue);
    if (status == DUEQ_OK)
        status = load_topics(queue);
    return status == DUEQ_OK ? sum_bytes(queue) : status;
}

/* ---- all at once */

/* The timers are the topics' only: a wheel that is begun anew has none of them. */
static void forget_topics(struct queue *queue)
{
    struct topic *first = queue->topics;

    if (first != NULL) {
        struct topic *last = ELMT_FROM_HH(first->hh.tbl, first->hh.tbl->tail);

        HASH_CLEAR(hh, queue->topics);
        last->hh.next = queue->flushed;
        queue->flushed = first;
    }
    wheel_init(&queue->wheel, queue->wheel.now);
    queue->jobs = (struct job_counts){0, 0, 0, 0, 0};
    queue->bytes = 0;
    queue->dirty = queue->signals = queue->empty = NULL;
    queue->empty_count = 0;
}

void topics_release(struct queue *queue)
{
    unsigned unlimited = UINT32_MAX;

    forget_topics(queue);
    while (queue->flushed != NULL)
        garbage_free(queue, &unlimited);
}

/* What is on disk of topics below the first that lives counts for nothing from here on. */
void topics_flush(struct queue *queue)
{
    struct counters *counters = &queue->counters;

    if (queue->topics == NULL)
        return;
    settings_note_use_of_all(queue);
    outlive(counters, queue->most_seq, queue->most_token);
    counters->totals = queue->totals;
    counters->first_topic = counters->next_topic;
    garbage_begin(queue);
    endings_end_all(queue);
    forget_topics(queue);
}

/* ---- in order. Topics pushed to in this turn are in the directory before they are on disk. */

/* The topic whose record is at the cursor. DUEQ_NOTFOUND: it is flushed. */
static enum dueq_status topic_here(struct queue *queue, struct topic **ret_topic)
{
    struct dueq_slice key = kv_cursor_key(queue->cursor);
    enum dueq_status status =
        topics_find(queue, dueq_slice((const uint8_t *)key.data + 1, key.size - 1), ret_topic);

    if (status != DUEQ_OK &&
        topic_read_id(kv_cursor_value(queue->cursor)) >= queue->counters.first_topic)
        return DUEQ_CORRUPT;
    return status;
}

enum dueq_status queue_topic_after(struct queue *queue, struct dueq_slice after,
                                   struct dueq_slice *ret_name)
{
    struct kv_key table = table_key(TABLE_TOPIC), key = name_key(after);
    enum dueq_status status;
    struct topic *topic;

    topics_save(queue);
    settings_note_use_of_all(queue);
    key.bytes[key.size++] = 0; /* the least name above; below any when `after` is empty */
    for (status = kv_cursor_seek(queue->cursor, kv_key_slice(&key)); status == DUEQ_OK;
         status = kv_cursor_next(queue->cursor)) {
        if (!kv_key_begins(kv_cursor_key(queue->cursor), &table))
            return DUEQ_NOTFOUND;
        status = topic_here(queue, &topic);
        if (status == DUEQ_OK)
            *ret_name = topic_name(topic); /* its own, which other calls leave alone */
        if (status != DUEQ_NOTFOUND)
            return status;
    }
    return status;
}

size_t queue_topic_count(const struct queue *queue)
{
    return HASH_COUNT(queue->topics);
}
