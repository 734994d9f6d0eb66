#include "storage/queue/core/rings.h"

#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/record/event_record.h"

#include <utlist.h>

/* A ring that has become smaller shrinks with each event; the rest is done by ticks. */
enum { TRIMMED_MOST = 2, ROOM = EVENT_RECORD_MAX + 64 /* the key */ };

int64_t rings_most(void)
{
    return DUEQ_RING_MAX;
}

enum dueq_status rings_load(const struct queue *queue)
{
    (void)queue;
    return DUEQ_OK;
}

uint64_t rings_size(struct queue *queue, struct topic *topic)
{
    return queue->ring_scopes == 0
               ? 0
               : (uint64_t)settings_number(queue, topic, DUEQ_SET_EVENTS, 0);
}

static void remove_event(struct queue *queue, const struct topic *topic, uint64_t number)
{
    struct kv_key key;

    kv_del(queue->kv, queue_key_job(&key, TABLE_EVENT, topic->id, number));
}

/* ---- who waits */

void rings_unwatch(struct queue *queue, struct topic *topic)
{
    if (!topic->ring_news)
        return;
    topic->ring_news = false;
    DL_DELETE2(queue->ring_news, topic, ring_prev, ring_next);
}

void rings_watch(struct queue *queue, bool watches)
{
    queue->rings_watched = watches;
    while (!watches && queue->ring_news != NULL)
        rings_unwatch(queue, queue->ring_news);
}

enum dueq_status rings_next(struct queue *queue, struct dueq_slice *ret_topic)
{
    struct topic *topic = queue->ring_news;

    if (topic == NULL)
        return DUEQ_NOTFOUND;
    rings_unwatch(queue, topic);
    *ret_topic = topic_name(topic);
    return DUEQ_OK;
}

static void tell(struct queue *queue, struct topic *topic)
{
    if (!queue->rings_watched || topic->ring_news)
        return;
    topic->ring_news = true;
    DL_APPEND2(queue->ring_news, topic, ring_prev, ring_next);
}

/* ---- changes */

static void begin(struct topic *topic)
{
    if (topic->ring.next == 0)
        topic->ring.begin = topic->ring.first = topic->ring.next = topic->next_token;
}

static void trim(struct queue *queue, struct topic *topic, uint64_t size, unsigned *budget)
{
    struct ring *ring = &topic->ring;

    for (; *budget > 0 && ring->next - ring->first > size; --*budget) {
        remove_event(queue, topic, ring->first++);
        queue_mark_dirty(queue, topic);
    }
}

static void put(struct queue *queue, const struct topic *topic, const struct job *job,
                enum dueq_event_type type)
{
    struct event_record record = {.type = type,
                                  .at = queue_wall_of(queue, CLOCK_QUEUE, queue->now),
                                  .attempt = job->state.attempt,
                                  .id = job->body.id,
                                  .stamp = job->body.stamp,
                                  .seq = job->seq};
    uint8_t bytes[EVENT_RECORD_MAX];
    struct kv_key key;

    kv_put(queue->kv, queue_key_job(&key, TABLE_EVENT, topic->id, topic->ring.next),
           dueq_slice(bytes, event_record_write(bytes, &record)), true);
}

/* job: NULL, its number is used up without a record. */
static void next(struct queue *queue, struct topic *topic, const struct job *job,
                 enum dueq_event_type type)
{
    uint64_t size = rings_size(queue, topic);
    unsigned budget = TRIMMED_MOST;

    if (size == 0)
        return;
    begin(topic);
    trim(queue, topic, size - 1, &budget);
    if (job != NULL && kv_room(queue->kv, ROOM) == DUEQ_OK)
        put(queue, topic, job, type);
    topic->ring.next++;
    if (topic->ring.next > queue->most_token)
        queue->most_token = topic->ring.next;
    queue_mark_dirty(queue, topic);
    tell(queue, topic);
}

void rings_add(struct queue *queue, struct topic *topic, const struct job *job,
               enum dueq_event_type type)
{
    next(queue, topic, job, type);
}

void rings_skip(struct queue *queue, struct topic *topic)
{
    next(queue, topic, NULL, DUEQ_EVENT_TYPES);
}

void rings_take_back(struct queue *queue, struct topic *topic, uint64_t next)
{
    struct ring *ring = &topic->ring;

    if (next < ring->begin)
        next = ring->begin;
    while (ring->next > next)
        remove_event(queue, topic, --ring->next);
    if (ring->first > ring->next)
        ring->first = ring->next;
}

/* The number of the first record from ring->first on; `end` when that comes before. */
static enum dueq_status first_record(struct queue *queue, const struct topic *topic,
                                     uint64_t end, unsigned *budget, uint64_t *ret_number)
{
    struct kv_key key, prefix;
    struct dueq_slice found;
    const uint8_t *bytes;
    enum dueq_status status = kv_cursor_seek_within(
        queue->cursor, queue_key_job(&key, TABLE_EVENT, topic->id, topic->ring.first), budget);

    *ret_number = end;
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND && *budget > 0 ? DUEQ_OK : status;
    queue_key_topic(&prefix, TABLE_EVENT, topic->id);
    found = kv_cursor_key(queue->cursor);
    if (!kv_key_begins(found, &prefix))
        return DUEQ_OK;
    bytes = found.data;
    if (bytes_read_number(bytes + prefix.size, bytes + found.size, ret_number) == NULL)
        return DUEQ_CORRUPT;
    if (*ret_number > end)
        *ret_number = end;
    return DUEQ_OK;
}

/* Without a ring a topic is not saved for what it has counted as due. With one, that would be
 * told of after a crash. */
static void note_begin(struct queue *queue, struct topic *topic, bool keeps_events)
{
    if (keeps_events && !topic->keeps_events)
        queue_mark_dirty(queue, topic);
    topic->keeps_events = keeps_events;
}

/* Of numbers in a row, most may have no record: after an epoch has ended, or a full disk. */
enum dueq_status rings_follow(struct queue *queue, struct topic *topic, unsigned *budget)
{
    struct ring *ring = &topic->ring;
    uint64_t size = rings_size(queue, topic), end = ring->next - size, number;

    note_begin(queue, topic, size > 0);
    if (ring->next - ring->first <= size)
        return DUEQ_OK;
    while (*budget > 0 && ring->first < end) {
        enum dueq_status status = first_record(queue, topic, end, budget, &number);

        if (status != DUEQ_OK)
            return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
        if (number < end)
            remove_event(queue, topic, number++);
        ring->first = number;
        queue_mark_dirty(queue, topic);
        *budget -= *budget > 0;
    }
    if (size == 0)
        tell(queue, topic);
    return DUEQ_OK;
}

void rings_raise(struct topic *topic, uint64_t floor)
{
    if (topic->ring.next > 0 && topic->ring.next < floor)
        topic->ring.next = floor;
}

/* A ring may have holes, but nothing outside of it. */
const char *rings_flaw(const struct topic *topic, uint64_t number, struct dueq_slice record)
{
    struct event_record event;

    if (number < topic->ring.first || number >= topic->ring.next)
        return "an event is not in its topic's ring";
    return event_record_read(record, &event) ? NULL : "an event does not read";
}
