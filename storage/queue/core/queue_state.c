#include "storage/queue/core/queue_state.h"

#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>
#include <utlist.h>

/* ---- what topics ask for */

enum {
    META_TIMELINE = 't',
    TIMELINE_SIZE = 16 + DUEQ_BOOT_SIZE,
    CLAIMS_PART = 128 /* of what a memtable may have, recent claims take so much */
};

void queue_mark_dirty(struct queue *queue, struct topic *topic)
{
    if (topic->dirty)
        return;
    topic->dirty = true;
    topic->dirty_next = queue->dirty;
    queue->dirty = topic;
}

void queue_signal(struct queue *queue, struct topic *topic)
{
    if (topic->signalled)
        return;
    topic->signalled = true;
    DL_APPEND2(queue->signals, topic, signal_prev, signal_next);
}

void queue_unsignal(struct queue *queue, struct topic *topic)
{
    if (!topic->signalled)
        return;
    topic->signalled = false;
    DL_DELETE2(queue->signals, topic, signal_prev, signal_next);
}

void queue_event_at(struct queue *queue, struct topic *topic, int64_t at)
{
    topics_event_at(queue, topic->entry, at);
}

int64_t queue_next_event(const struct topic *topic)
{
    const struct wheel_timer *timer = &topic->entry->timer;

    return wheel_timer_armed(timer) ? timer->due : DUEQ_NEVER;
}

/* ---- the timeline */

static struct kv_key timeline_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_META);
    kv_key_u8(&key, META_TIMELINE);
    return key;
}

struct dueq_slice queue_timeline_key(struct kv_key *key)
{
    *key = timeline_key();
    return kv_key_slice(key);
}

bool queue_read_ahead(struct dueq_slice value, int64_t *ret_ahead)
{
    if (value.size != TIMELINE_SIZE)
        return false;
    *ret_ahead = (int64_t)bytes_read_u64(value.data);
    return true;
}

enum dueq_status queue_read_timeline(struct kv *kv, struct dueq_timeline *ret_line)
{
    struct kv_key key = timeline_key();
    struct dueq_slice value;
    enum dueq_status status = kv_get(kv, kv_key_slice(&key), &value);
    const uint8_t *at = value.data;

    if (status != DUEQ_OK)
        return status;
    if (value.size != TIMELINE_SIZE)
        return DUEQ_CORRUPT;
    ret_line->ahead = (int64_t)bytes_read_u64(at);
    ret_line->since_boot = (int64_t)bytes_read_u64(at + 8);
    memcpy(ret_line->boot, at + 16, DUEQ_BOOT_SIZE);
    return DUEQ_OK;
}

static enum dueq_status load_timeline(struct queue *queue)
{
    enum dueq_status status = queue_read_timeline(queue->kv, &queue->timeline);

    queue->has_timeline = status == DUEQ_OK;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static void put_timeline(struct queue *queue)
{
    struct kv_key key = timeline_key();
    uint8_t bytes[TIMELINE_SIZE];

    bytes_write_u64(bytes, (uint64_t)queue->timeline.ahead);
    bytes_write_u64(bytes + 8, (uint64_t)queue->timeline.since_boot);
    memcpy(bytes + 16, queue->timeline.boot, DUEQ_BOOT_SIZE);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, sizeof(bytes)), false);
}

bool queue_get_timeline(const struct queue *queue, struct dueq_timeline *ret_line)
{
    if (queue->has_timeline)
        *ret_line = queue->timeline;
    return queue->has_timeline;
}

void queue_keep_timeline(struct queue *queue, const struct dueq_timeline *line)
{
    if (queue->has_timeline && line->ahead == queue->timeline.ahead &&
        line->since_boot == queue->timeline.since_boot &&
        memcmp(line->boot, queue->timeline.boot, DUEQ_BOOT_SIZE) == 0)
        return;
    queue->timeline = *line;
    queue->has_timeline = true;
    put_timeline(queue);
}

/* ---- life */

/* All but queue->kv is zero. */
static enum dueq_status load(struct queue *queue, struct dueq_time time)
{
    enum dueq_status status;

    queue->cursor = kv_cursor_new(queue->kv);
    if (queue->cursor == NULL)
        return DUEQ_NOMEM;
    id_index_init(&queue->ids, queue->kv, kv_memtable_limit(queue->kv) / 3 * 2);
    recent_claims_init(&queue->claims, kv_memtable_limit(queue->kv) / CLAIMS_PART);
    queue->now = safe_time_clamp(time.now);
    queue->offset = queue->timers_offset = safe_time_clamp(time.wall) - queue->now;
    queue->latencies.limit = latencies_limit(kv_memtable_limit(queue->kv));
    queue->defaults = (struct dueq_defaults){
        .lease = 60000, .retries = 20, .crashes = 3, .backoff = 1000, .backoff_max = 3600000};
    wheel_init(&queue->wheel, queue->now);
    status = load_timeline(queue);
    if (status == DUEQ_OK)
        status = settings_load(queue);
    if (status == DUEQ_OK)
        status = rings_load(queue);
    if (status == DUEQ_OK)
        status = crons_load(queue);
    if (status == DUEQ_OK)
        status = afters_load(queue);
    return status == DUEQ_OK ? topics_load(queue) : status;
}

enum dueq_status queue_new(struct kv *kv, struct dueq_time time, struct queue **ret_queue)
{
    struct queue *queue = calloc(1, sizeof(*queue));
    enum dueq_status status;

    if (queue == NULL)
        return DUEQ_NOMEM;
    queue->kv = kv;
    status = load(queue, time);
    queue->asked = 0;
    if (status == DUEQ_OK)
        *ret_queue = queue;
    else
        queue_free(queue);
    return status;
}

void queue_free(struct queue *queue)
{
    if (queue == NULL)
        return;
    endings_free(queue);
    events_want(queue, false);
    topics_release(queue);
    settings_release(queue);
    crons_release(&queue->crons);
    id_index_release(&queue->ids);
    recent_claims_release(&queue->claims);
    kv_cursor_free(queue->cursor);
    free(queue);
}

void queue_get_defaults(const struct queue *queue, struct dueq_defaults *ret_defaults)
{
    *ret_defaults = queue->defaults;
}

void queue_set_defaults(struct queue *queue, const struct dueq_defaults *defaults)
{
    queue->defaults = *defaults;
}

bool queue_has_signal(const struct queue *queue)
{
    return queue->signals != NULL;
}

enum dueq_status queue_next_signal(struct queue *queue, struct dueq_slice *ret_topic)
{
    struct topic *topic = queue->signals;

    if (topic == NULL)
        return DUEQ_NOTFOUND;
    queue_unsignal(queue, topic);
    *ret_topic = topic_name(topic);
    return DUEQ_OK;
}

/* ---- time */

/* Milliseconds of two clocks that run alike differ by one more or less as they are rounded. */
enum { ROUNDING_MS = 1 };

struct dueq_time queue_last_time(const struct queue *queue)
{
    return (struct dueq_time){queue->now, queue->now + queue->offset, queue->now};
}

struct dueq_time queue_time(struct queue *queue, struct dueq_time time)
{
    int64_t now = safe_time_clamp(time.now), offset = safe_time_clamp(time.wall) - now;

    if (offset < queue->offset || offset > queue->offset + ROUNDING_MS)
        queue->offset = offset; /* of two, the one by which nothing is early */
    if (now > queue->now)
        queue->now = now;
    time.now = queue->now;
    time.wall = safe_time_clamp(time.wall);
    time.ceiling = safe_time_clamp(time.ceiling);
    if (time.ceiling < time.now)
        time.ceiling = time.now;
    return time;
}
