/* At the opening the records of all topics are read once, in order. */
#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

#include <stdlib.h>

/* Counts the bytes of all bodies of a topic that was saved without their sum, one of `count`.
 * O(jobs), once. */
static enum dueq_status count_bytes(struct queue *queue, struct topic *topic, uint64_t count)
{
    struct kv_key prefix;
    enum dueq_status status =
        kv_cursor_seek(queue->cursor, queue_key_topic(&prefix, TABLE_BODY, topic->id));

    topic->bytes = 0;
    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(queue->cursor), &prefix)) {
        struct job_body body;

        if (job_record_read_body(kv_cursor_value(queue->cursor), &body))
            topic->bytes += body.body.size;
        status = kv_report_topics(queue->kv, count);
        if (status == DUEQ_OK)
            status = kv_cursor_next(queue->cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* Those without a sum are the only ones to be saved so far. */
static enum dueq_status count_missing_bytes(struct queue *queue, uint64_t count)
{
    enum dueq_status status = DUEQ_OK;

    for (struct topic *topic = queue->dirty; topic != NULL && status == DUEQ_OK;
         topic = topic->dirty_next) {
        status = count_bytes(queue, topic, count);
        queue->bytes += topic->bytes;
    }
    return status;
}

static void count_in(struct queue *queue, const struct topic *topic)
{
    struct job_counts counts = topic_counts(topic);

    topic_add_counts(&queue->jobs, &counts);
    queue->bytes += topic->bytes;
    topic_add_totals(&queue->totals, &topic->totals);
    if (topic->next_seq > queue->most_seq)
        queue->most_seq = topic->next_seq;
    if (topics_most_token(topic) > queue->most_token)
        queue->most_token = topics_most_token(topic);
}

/* ---- one topic: it is read, counted, and stays asleep when it can */

struct loader {
    struct queue *queue;
    struct topic *topic; /* to read into; NULL: the last one stays */
    struct topic_entry *entries;
    size_t count;
};

/* Were jobs counted as ready that are not due any more, because the wall clock was set back? */
static bool counted_too_far(const struct queue *queue, const struct topic *topic)
{
    for (size_t i = 0; i < topic->lane_count; i++)
        if (topic->lanes[i].clock == CLOCK_WALL &&
            topic->lanes[i].counted.due > queue_wall_of(queue, CLOCK_QUEUE, queue->now))
            return true;
    return false;
}

/* With settings of dead jobs or groups the first tick looks: here it would be O(scopes) for
 * each. No settings are read: the next topic may be read into the same place. */
static int64_t first_event(struct queue *queue, struct topic *topic)
{
    if (counted_too_far(queue, topic) ||
        ((topic->dead > 0 || topic->groups > 0) && queue->scopes != NULL) ||
        topic->group_rules != 0 || !bucket_is_full(&topic->bucket) ||
        topic->ring.next > topic->ring.first)
        return SAFE_TIME_MIN;
    return schedule_next_event(queue, topic);
}

static enum dueq_status read_topic(struct loader *loader, struct topic_entry *entry,
                                   struct dueq_slice record)
{
    struct topic *topic;
    enum dueq_status status;

    if (loader->topic == NULL)
        loader->topic = topic_new(0);
    topic = loader->topic;
    if (topic == NULL)
        return DUEQ_NOMEM;
    topic->entry = entry;
    topic->settings_epoch = 0; /* that of the topic before, should it have been asked for */
    status = topic_read(topic, record);
    if (status == DUEQ_OK)
        counters_raise(loader->queue, &topic->next_seq, &topic->next_token);
    if (status == DUEQ_OK)
        rings_raise(topic, counters_floor(loader->queue));
    return status;
}

static void keep(struct loader *loader, struct topic_entry *entry, bool lacks_bytes)
{
    struct queue *queue = loader->queue;
    struct topic *topic = loader->topic;

    count_in(queue, topic);
    topics_event_at(queue, entry, first_event(queue, topic));
    entry->flags = topics_flags(topic);
    if (topics_is_needed(topic) && !lacks_bytes)
        return;
    topics_adopt(queue, entry, topic, !topics_is_needed(topic));
    if (lacks_bytes)
        queue_mark_dirty(queue, topic);
    loader->topic = NULL;
}

static enum dueq_status load_topic(struct loader *loader, struct dueq_slice key,
                                   struct dueq_slice record)
{
    struct queue *queue = loader->queue;
    struct dueq_slice name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    uint64_t id = topic_read_id(record);
    struct topic_entry *entry;
    enum dueq_status status;

    if (id > 0 && id < queue->counters.first_topic)
        return DUEQ_OK; /* flushed */
    if (name.size == 0 || name.size > DUEQ_NAME_MAX)
        return DUEQ_CORRUPT;
    entry = topic_entry_new(name);
    if (entry == NULL)
        return DUEQ_NOMEM;
    entry->next = loader->entries;
    loader->entries = entry;
    loader->count++;
    status = read_topic(loader, entry, record);
    if (status == DUEQ_OK)
        keep(loader, entry, topic_lacks_bytes(record));
    return status;
}

/* ---- all */

/* What was read goes into the table, whatever the status of the reading: it frees it. */
static enum dueq_status fill_table(struct loader *loader)
{
    struct topic_entry *entry;

    if (topic_table_fill(&loader->queue->topics, loader->entries, loader->count))
        return DUEQ_OK;
    while ((entry = loader->entries) != NULL) {
        loader->entries = entry->next;
        topic_free(entry->topic);
        free(entry);
    }
    return DUEQ_NOMEM;
}

static enum dueq_status load_topics(struct loader *loader)
{
    struct kv_cursor *cursor = loader->queue->cursor;
    struct kv_key table;
    enum dueq_status status;

    kv_key_start(&table, TABLE_TOPIC);
    status = kv_cursor_seek(cursor, kv_key_slice(&table));
    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(cursor), &table)) {
        status = load_topic(loader, kv_cursor_key(cursor), kv_cursor_value(cursor));
        if (status == DUEQ_OK)
            status = kv_report_topics(loader->queue->kv, loader->count);
        if (status == DUEQ_OK)
            status = kv_cursor_next(cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status topics_load(struct queue *queue)
{
    struct loader loader = {.queue = queue};
    enum dueq_status filled, status = counters_load(queue);

    if (status != DUEQ_OK)
        return status;
    queue->topics.seed = kv_seed(queue->kv);
    queue->totals = queue->counters.totals;
    queue->most_seq = queue->counters.next_seq;
    queue->most_token = queue->counters.next_token;
    queue->empty_kept = TOPICS_EMPTY_KEPT;
    queue->awake_kept = TOPICS_AWAKE_KEPT;
    status = garbage_load(queue);
    if (status == DUEQ_OK)
        status = load_topics(&loader);
    filled = fill_table(&loader);
    topic_free(loader.topic);
    if (status == DUEQ_OK)
        status = filled;
    return status == DUEQ_OK ? count_missing_bytes(queue, loader.count) : status;
}
