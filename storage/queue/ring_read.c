/* Reads what a topic's ring has kept. */
#include "storage/kv/cursor.h"
#include "storage/queue/queue.h"
#include "storage/queue/record/event_record.h"

struct reading {
    struct queue *queue;
    struct topic *topic;
    struct kv_key prefix;
    uint64_t wanted; /* the next number */
    size_t left;     /* events, or gaps, that are still wanted */
    dueq_kept_fn fn;
    void *arg;
};

/* One that has no topic yet may have settings. DUEQ_WRONGSTATE: it keeps no events. */
static enum dueq_status find(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic)
{
    struct dueq_settings settings;
    struct dueq_slice scope;
    enum dueq_status status =
        queue_valid_name(name) ? topics_find(queue, name, ret_topic) : DUEQ_INVALID;

    if (status == DUEQ_OK)
        return rings_size(queue, *ret_topic) == 0 ? DUEQ_WRONGSTATE : DUEQ_OK;
    if (status != DUEQ_NOTFOUND)
        return status;
    scope = settings_source(queue, name, DUEQ_SET_EVENTS);
    return scope.size > 0 && settings_get(queue, scope, &settings) == DUEQ_OK &&
                   settings.numbers[DUEQ_SET_EVENTS] > 0
               ? DUEQ_NOTFOUND
               : DUEQ_WRONGSTATE;
}

/* The first number that is still to be seen: the ring may be longer than its setting. */
static uint64_t first_of(struct queue *queue, struct topic *topic)
{
    uint64_t size = rings_size(queue, topic), next = topic->ring.next;

    return next - topic->ring.first > size ? next - size : topic->ring.first;
}

/* The number of the record at the cursor; the ring's end: there is none. */
static enum dueq_status number_here(const struct reading *reading, enum dueq_status status,
                                    uint64_t *ret_number)
{
    struct dueq_slice key;
    const uint8_t *bytes;

    *ret_number = reading->topic->ring.next;
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    key = kv_cursor_key(reading->queue->cursor);
    bytes = key.data;
    if (!kv_key_begins(key, &reading->prefix))
        return DUEQ_OK;
    return bytes_read_number(bytes + reading->prefix.size, bytes + key.size, ret_number) ==
                   bytes + key.size
               ? DUEQ_OK
               : DUEQ_CORRUPT;
}

static bool hand_out(struct reading *reading, const struct dueq_kept_event *event)
{
    reading->left--;
    reading->wanted = event->number + 1;
    return reading->fn(reading->arg, event);
}

static bool tell_gap(struct reading *reading, uint64_t number)
{
    struct dueq_kept_event gap = {.number = number - 1, .dropped = number - reading->wanted};

    return hand_out(reading, &gap);
}

/* DUEQ_CORRUPT: the record is malformed. *ret_more: the caller wants more. */
static enum dueq_status tell_event(struct reading *reading, uint64_t number, bool *ret_more)
{
    struct event_record record;
    struct dueq_kept_event event = {.number = number};
    struct job job = {.seq = 0};

    if (!event_record_read(kv_cursor_value(reading->queue->cursor), &record))
        return DUEQ_CORRUPT;
    job = (struct job){.seq = record.seq, .body = {.id = record.id, .stamp = record.stamp}};
    event.type = record.type;
    event.at = record.at;
    event.attempt = record.attempt;
    event.id = job_id(&job, event.given_id);
    *ret_more = hand_out(reading, &event);
    return DUEQ_OK;
}

static enum dueq_status read_on(struct reading *reading, enum dueq_status found)
{
    bool more = true;

    while (more && reading->left > 0 && reading->wanted < reading->topic->ring.next) {
        uint64_t number;
        enum dueq_status status = number_here(reading, found, &number);

        if (status != DUEQ_OK)
            return status;
        if (number > reading->wanted)
            more = tell_gap(reading, number);
        if (!more || reading->left == 0 || number >= reading->topic->ring.next)
            return DUEQ_OK;
        status = tell_event(reading, number, &more);
        if (status != DUEQ_OK)
            return status;
        if (reading->wanted < reading->topic->ring.next)
            found = kv_cursor_next(reading->queue->cursor);
    }
    return DUEQ_OK;
}

enum dueq_status queue_events(struct queue *queue, struct dueq_slice topic, uint64_t after,
                              size_t count, dueq_kept_fn fn, void *arg)
{
    struct reading reading = {.queue = queue, .left = count, .fn = fn, .arg = arg};
    struct kv_key key;
    uint64_t first;
    enum dueq_status status = find(queue, topic, &reading.topic);

    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status != DUEQ_OK || after >= reading.topic->ring.next)
        return status;
    first = first_of(queue, reading.topic);
    reading.wanted = after == 0 ? reading.topic->ring.begin : after + 1;
    queue_key_topic(&reading.prefix, TABLE_EVENT, reading.topic->id);
    if (reading.wanted > first)
        first = reading.wanted;
    status = kv_cursor_seek(queue->cursor,
                            queue_key_job(&key, TABLE_EVENT, reading.topic->id, first));
    return read_on(&reading, status);
}

enum dueq_status queue_last_event(struct queue *queue, struct dueq_slice topic,
                                  uint64_t *ret_number)
{
    struct topic *found;
    enum dueq_status status = find(queue, topic, &found);

    if (status == DUEQ_OK)
        *ret_number = found->ring.next > 0 ? found->ring.next - 1 : 0;
    else if (status == DUEQ_NOTFOUND)
        *ret_number = 0;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}
