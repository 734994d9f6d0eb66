/* The directory of topics: by name, in RAM and on disk, from their first job until they are
 * empty and others are in more use, or all are flushed. Of those that nobody uses, RAM has name
 * and timer. */
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "storage/queue/core/queue_state.h"

#include <stdlib.h>
#include <utlist.h>

enum { SLEEPS_MOST = 4000 }; /* of one commit */

/* ---- records */

/* Writes the key and returns its bytes. */
static struct dueq_slice name_key(struct kv_key *key, struct dueq_slice name)
{
    kv_key_start(key, TABLE_TOPIC);
    kv_key_name(key, name, 0); /* 255 bytes at most: never folded */
    return kv_key_slice(key);
}

/* ---- those that are awake, and empty ones: each is in one of the two lists */

bool topics_has_jobs(const struct topic *topic)
{
    return topic->lane_count > 0 || topic->claimed > 0 || topic->dead > 0 || topic->done > 0 ||
           topic->paused != 0 || topic->parked > 0 || topic->groups > 0 ||
           topic->ring.next > topic->ring.first ||
           (AFTERS_KNOWN && topic->waiting + topic->awaited > 0);
}

bool topics_is_needed(const struct topic *topic)
{
    return topics_has_jobs(topic) || !bucket_is_full(&topic->bucket);
}

static void list(struct queue *queue, struct topic *topic, bool is_empty)
{
    topic->is_empty = is_empty;
    if (is_empty) {
        DL_APPEND(queue->empty, topic);
        queue->empty_count++;
    } else {
        DL_APPEND(queue->awake, topic);
        queue->awake_count++;
    }
}

static void unlist(struct queue *queue, struct topic *topic)
{
    if (topic->is_empty) {
        DL_DELETE(queue->empty, topic);
        queue->empty_count--;
    } else {
        DL_DELETE(queue->awake, topic);
        queue->awake_count--;
    }
}

void topics_adopt(struct queue *queue, struct topic_entry *entry, struct topic *topic,
                  bool is_empty)
{
    entry->topic = topic;
    topic->entry = entry;
    list(queue, topic, is_empty);
}

static enum dueq_status read_awake(struct queue *queue, struct topic_entry *entry,
                                   struct dueq_slice record)
{
    struct topic *topic = topic_new(0);
    enum dueq_status status = topic == NULL ? DUEQ_NOMEM : topic_read(topic, record);

    if (status != DUEQ_OK) {
        topic_free(topic);
        return status;
    }
    counters_raise(queue, &topic->next_seq, &topic->next_token);
    rings_raise(topic, counters_floor(queue));
    topic->unsaved = topic_record_is_old(record);
    topics_adopt(queue, entry, topic, false);
    return DUEQ_OK;
}

enum dueq_status topics_wake(struct queue *queue, struct topic_entry *entry,
                             struct topic **ret_topic)
{
    struct kv_key key;
    enum dueq_status status = DUEQ_OK;
    struct dueq_slice record;

    if (entry->topic == NULL) {
        status = kv_get(queue->kv, name_key(&key, topic_entry_name(entry)), &record);
        status = status == DUEQ_OK ? read_awake(queue, entry, record) : status;
    } else if (!entry->topic->is_empty) {
        DL_DELETE(queue->awake, entry->topic);
        DL_APPEND(queue->awake, entry->topic);
    }
    if (status == DUEQ_OK)
        *ret_topic = entry->topic;
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

uint8_t topics_flags(const struct topic *topic)
{
    uint8_t flags =
        (uint8_t)((topic->dead > 0 ? TOPIC_HAS_DEAD : 0) |
                  (topic->groups > 0 ? TOPIC_HAS_GROUPS : 0) |
                  (topic->ring.next > topic->ring.first ? TOPIC_HAS_EVENTS : 0) |
                  (topic->refused || topic->awaits_permit || !bucket_is_full(&topic->bucket)
                       ? TOPIC_REFUSED
                       : 0));

    for (size_t i = 0; i < topic->lane_count; i++)
        if (topic->lanes[i].clock == CLOCK_WALL)
            flags |= TOPIC_FOLLOWS_WALL;
    return flags;
}

void topics_event_at(struct queue *queue, struct topic_entry *entry, int64_t at)
{
    int64_t last = wheel_horizon(&queue->wheel) - 1;

    if (at == DUEQ_NEVER || (wheel_timer_armed(&entry->timer) && entry->timer.due <= at))
        return;
    wheel_arm(&queue->wheel, &entry->timer, at < last ? at : last);
}

/* ---- by name */

enum dueq_status topics_find(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic)
{
    struct topic_entry *entry = topic_table_find(&queue->topics, name);
    enum dueq_status status = DUEQ_NOTFOUND;

    if (entry != NULL)
        status = topics_wake(queue, entry, ret_topic);
    if (status == DUEQ_OK)
        settings_note_use(queue, *ret_topic);
    else
        settings_note_use_of(queue, name);
    return status;
}

static enum dueq_status make(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic)
{
    struct counters *counters = &queue->counters;
    struct topic *topic = topic_new(counters->next_topic);
    struct topic_entry *entry = topic == NULL ? NULL : topic_table_add(&queue->topics, name);

    if (entry == NULL) {
        topic_free(topic);
        return DUEQ_NOMEM;
    }
    counters->next_topic++;
    counters->dirty = true;
    topic->next_seq = counters->next_seq;
    topic->next_token = counters->next_token;
    topic->fresh = true;
    topics_adopt(queue, entry, topic, false);
    queue_mark_dirty(queue, topic);
    *ret_topic = topic;
    return DUEQ_OK;
}

enum dueq_status topics_open(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic)
{
    enum dueq_status status = topics_find(queue, name, ret_topic);

    return status == DUEQ_NOTFOUND ? make(queue, name, ret_topic) : status;
}

/* ---- dropping */

uint64_t topics_most_token(const struct topic *topic)
{
    return topic->ring.next > topic->next_token ? topic->ring.next : topic->next_token;
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
    struct kv_key key;

    kv_del(queue->kv, name_key(&key, topic_name(topic)));
    outlive(&queue->counters, topic->next_seq, topics_most_token(topic));
    topic_add_totals(&queue->counters.totals, &topic->totals);
    queue_unsignal(queue, topic);
    rings_unwatch(queue, topic);
    wheel_cancel(&queue->wheel, &topic->entry->timer);
    endings_end_topic(queue, topic);
    latencies_drop(queue, topic);
    unlist(queue, topic);
    topic_table_remove(&queue->topics, topic->entry);
    topic_free(topic);
}

/* ---- saving */

static void save_topic(struct queue *queue, struct topic *topic)
{
    struct kv_key key;
    uint8_t bytes[TOPIC_RECORD_MAX];

    settings_note_use(queue, topic);
    topic_drop_empty_lanes(topic);
    kv_put(queue->kv, name_key(&key, topic_name(topic)),
           dueq_slice(bytes, topic_write(topic, bytes)), false);
    topic->unsaved = topic->fresh = false;
    unlist(queue, topic);
    list(queue, topic, !topics_is_needed(topic)); /* its lanes are there for their jobs only */
    if (BUCKETS_KNOWN)
        queue_event_at(queue, topic, rates_next_event(queue, topic));
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

/* A signal, a put-off claim and a watch are in RAM only. */
static bool may_sleep(const struct topic *topic)
{
    return !topic->signalled && !topic->ring_news && !topic->put_off && !topic->refused &&
           !topic->awaits_permit && topic->watches == NULL;
}

static bool has_room(struct queue *queue, const struct topic *topic)
{
    return kv_room(queue->kv, TOPIC_HEAD_MAX + topic->lane_count * TOPIC_LANE_MAX +
                                  topic->entry->name_size) == DUEQ_OK;
}

static void put_to_sleep(struct queue *queue, struct topic *topic)
{
    struct topic_entry *entry = topic->entry;

    if (topic->unsaved)
        save_topic(queue, topic);
    entry->flags = topics_flags(topic);
    entry->topic = NULL;
    latencies_rest(topic);
    unlist(queue, topic);
    topic_free(topic);
}

void topics_rest(struct queue *queue, struct topic_entry *entry)
{
    struct topic *topic = entry->topic;

    if (topic != NULL && may_sleep(topic) && !topic->unsaved && !topic->dirty &&
        !topic->is_empty)
        put_to_sleep(queue, topic);
}

/* Those used first. One whose record must be written before waits for room: that does not
 * matter, and must not take what is left on a full disk. After the first refusal nobody asks
 * again. */
static void put_some_to_sleep(struct queue *queue)
{
    bool room = true;

    for (unsigned tries = SLEEPS_MOST; tries > 0 && queue->awake_count > queue->awake_kept;
         tries--) {
        struct topic *topic = queue->awake;

        if (may_sleep(topic)) {
            room = room && (!topic->unsaved || has_room(queue, topic));
            if (room || !topic->unsaved) {
                put_to_sleep(queue, topic);
                continue;
            }
        }
        DL_DELETE(queue->awake, topic);
        DL_APPEND(queue->awake, topic);
    }
}

void topics_prepare_commit(struct queue *queue)
{
    if (queue->is_adding)
        return;
    queue->parked = 0;
    queue->claim_steps = 0;
    topics_save(queue);
    while (queue->empty_count > queue->empty_kept)
        drop(queue, queue->empty);
    put_some_to_sleep(queue);
    counters_save(queue);
}

/* ---- one that was made for nothing */

static void forget_change(struct queue *queue, struct topic *topic)
{
    struct topic **link = &queue->dirty;

    while (*link != topic)
        link = &(*link)->dirty_next;
    *link = topic->dirty_next;
}

/* No record knows it. Its lanes have no jobs. */
void topics_take_back(struct queue *queue, struct topic *topic)
{
    if (!topic->fresh || topic->totals.pushed > 0 || topic->paused != 0)
        return;
    forget_change(queue, topic);
    queue_unsignal(queue, topic);
    rings_unwatch(queue, topic);
    wheel_cancel(&queue->wheel, &topic->entry->timer);
    unlist(queue, topic);
    topic_table_remove(&queue->topics, topic->entry);
    topic_free(topic);
}

/* ---- one that has jobs */

static void count_out(struct job_counts *sum, const struct job_counts *counts)
{
    sum->pending -= counts->pending;
    sum->ready -= counts->ready;
    sum->claimed -= counts->claimed;
    sum->dead -= counts->dead;
    sum->done -= counts->done;
    if (AFTERS_KNOWN)
        sum->waiting -= counts->waiting;
}

/* Saved first, so that it is not among the topics that are still to be saved. */
void topics_drop(struct queue *queue, struct topic *topic)
{
    struct job_counts counts = topic_counts(topic);
    uint64_t id = topic->id;
    bool has_edges = AFTERS_KNOWN && topic->waiting + topic->awaited > 0;

    topics_save(queue);
    count_out(&queue->jobs, &counts);
    queue->bytes -= topic->bytes;
    drop(queue, topic);
    garbage_add(queue, id, has_edges);
}

/* ---- all at once */

bool topics_free(struct topic_table *table, unsigned *budget)
{
    struct topic_entry *entry;

    while ((entry = topic_table_take(table, budget)) != NULL) {
        topic_free(entry->topic);
        free(entry);
    }
    return table->buckets == 0;
}

/* Without memory to remember them they are freed at once. */
static void set_aside(struct queue *queue)
{
    struct topic_table *table = malloc(sizeof(*table));
    unsigned unlimited = UINT32_MAX;

    if (table == NULL) {
        topics_free(&queue->topics, &unlimited);
        return;
    }
    *table = queue->topics;
    table->next = queue->flushed;
    queue->flushed = table;
}

/* The timers are the topics' only: a wheel that is begun anew has none of them. */
static void forget_topics(struct queue *queue)
{
    if (queue->topics.buckets > 0)
        set_aside(queue);
    queue->topics = (struct topic_table){.seed = kv_seed(queue->kv)};
    wheel_init(&queue->wheel, queue->wheel.now);
    queue->sweep.any = false;
    latencies_release(queue);
    queue->jobs = (struct job_counts){.pending = 0};
    queue->bytes = 0;
    queue->dirty = queue->signals = queue->empty = queue->awake = queue->ring_news = NULL;
    queue->empty_count = queue->awake_count = 0;
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

    if (queue->topics.count == 0)
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

/* The entry of the name at the cursor. DUEQ_NOTFOUND: the topic is flushed. */
static enum dueq_status entry_here(struct queue *queue, const struct topic_entry **ret_entry)
{
    struct dueq_slice key = kv_cursor_key(queue->cursor);

    *ret_entry = topic_table_find(&queue->topics,
                                  dueq_slice((const uint8_t *)key.data + 1, key.size - 1));
    if (*ret_entry != NULL)
        return DUEQ_OK;
    return topic_read_id(kv_cursor_value(queue->cursor)) < queue->counters.first_topic
               ? DUEQ_NOTFOUND
               : DUEQ_CORRUPT;
}

/* Topics of this batch are on disk too, so that all are met in order. */
static enum dueq_status seek_after(struct queue *queue, struct dueq_slice after)
{
    struct kv_key key;

    topics_save(queue);
    settings_note_use_of_all(queue);
    name_key(&key, after);
    key.bytes[key.size++] = 0; /* the least name above; below any when `after` is empty */
    return kv_cursor_seek(queue->cursor, kv_key_slice(&key));
}

/* DUEQ_NOTFOUND: no names are left. */
static enum dueq_status check_here(struct queue *queue, enum dueq_status status)
{
    struct kv_key table;

    kv_key_start(&table, TABLE_TOPIC);
    return status == DUEQ_OK && !kv_key_begins(kv_cursor_key(queue->cursor), &table)
               ? DUEQ_NOTFOUND
               : status;
}

enum dueq_status queue_topic_after(struct queue *queue, struct dueq_slice after,
                                   struct dueq_slice *ret_name)
{
    enum dueq_status status = check_here(queue, seek_after(queue, after));
    const struct topic_entry *entry;

    while (status == DUEQ_OK) {
        status = entry_here(queue, &entry);
        if (status == DUEQ_OK)
            *ret_name = topic_entry_name(entry);
        if (status != DUEQ_NOTFOUND)
            return status;
        status = check_here(queue, kv_cursor_next(queue->cursor));
    }
    return status;
}

static bool has_claims(const struct topic_entry *entry, struct dueq_slice record)
{
    return (entry->topic == NULL ? topic_read_claimed(record) : entry->topic->claimed) > 0;
}

/* One that sleeps is not woken: its record tells. */
enum dueq_status queue_claimed_topic_after(struct queue *queue, struct dueq_slice after,
                                           unsigned *budget, struct dueq_slice *ret_name)
{
    enum dueq_status status = check_here(queue, seek_after(queue, after));
    const struct topic_entry *entry;

    *ret_name = after;
    while (status == DUEQ_OK && *budget > 0) {
        status = entry_here(queue, &entry);
        if (status == DUEQ_OK) {
            --*budget;
            *ret_name = topic_entry_name(entry);
            if (has_claims(entry, kv_cursor_value(queue->cursor)))
                return DUEQ_OK;
        }
        if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
            status = check_here(queue, kv_cursor_next(queue->cursor));
    }
    return status == DUEQ_OK ? DUEQ_BUSY : status;
}

size_t queue_topic_count(const struct queue *queue)
{
    return queue->topics.count;
}
