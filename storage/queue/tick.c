/* What time brings: jobs fall due, leases and lives end; and space is given back. */
#include "storage/queue/queue.h"

#include <stdlib.h>

/* ---- one topic */

/* Each answers false when the budget is used up before the work is. */

static bool count_lanes(struct queue *queue, struct topic *topic, struct dueq_time time,
                        unsigned *budget)
{
    uint64_t moved = 0;

    for (size_t i = 0; i<topic->lane_count && * budget> 0; i++)
        schedule_count(queue, topic, &topic->lanes[i], time, budget, &moved);
    if (moved > 0)
        queue_signal(queue, topic);
    return *budget > 0;
}

/* The token stays valid: a late ack with nobody in between is accepted. */
static void end_lease(struct queue *queue, struct topic *topic, uint64_t seq,
                      struct dueq_time time)
{
    struct job job;
    enum dueq_state state;

    if (job_load(queue, topic, seq, &job) != DUEQ_OK || job.state.state != RECORD_CLAIMED)
        return;
    topic->totals.expired++;
    job_give_back(queue, topic, &job, job.state.due, false,
                  job.state.error.size > 0 ? dueq_slice(NULL, 0)
                                           : dueq_slice("lease expired", 13),
                  time, &state);
}

static bool end_leases(struct queue *queue, struct topic *topic, struct dueq_time time,
                       unsigned *budget)
{
    struct place place;

    while (topic->next_lease <= time.now) {
        if (*budget == 0)
            return false;
        --*budget;
        if (schedule_class_first(queue, topic, CLASS_CLAIMED, topic->next_lease, &place) !=
            DUEQ_OK) {
            topic->next_lease = DUEQ_NEVER;
            return true;
        }
        topic->next_lease = place.due;
        if (place.due <= time.now)
            end_lease(queue, topic, place.seq, time);
    }
    return true;
}

/* A claimed job's life is looked at again when it is given back. */
static void end_life(struct queue *queue, struct topic *topic, struct place place,
                     struct dueq_time time)
{
    struct kv_key key = class_key(topic->id, CLASS_TTL);
    struct job job;

    key_add_place(&key, place.due, place.seq);
    kv_del(queue->kv, kv_key_slice(&key));
    if (job_load(queue, topic, place.seq, &job) != DUEQ_OK || job.state.state != RECORD_PENDING)
        return;
    topic->totals.lapsed++;
    job_die(queue, topic, &job, dueq_slice("expired", 7), time);
}

static bool end_lives(struct queue *queue, struct topic *topic, struct dueq_time time,
                      unsigned *budget)
{
    struct place place;

    while (topic->next_ttl <= time.now) {
        if (*budget == 0)
            return false;
        --*budget;
        if (schedule_class_first(queue, topic, CLASS_TTL, topic->next_ttl, &place) != DUEQ_OK) {
            topic->next_ttl = DUEQ_NEVER;
            return true;
        }
        topic->next_ttl = place.due;
        if (place.due <= time.now)
            end_life(queue, topic, place, time);
    }
    return true;
}

static int64_t next_event(const struct topic *topic, struct dueq_time time)
{
    int64_t next = topic->next_lease < topic->next_ttl ? topic->next_lease : topic->next_ttl;

    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];
        int64_t due = lane->next_due;

        if (lane->clock == CLOCK_WALL && due != DUEQ_NEVER && due != INT64_MIN)
            due = due - time.wall + time.now;
        if (due < next)
            next = due;
    }
    return next;
}

static void run_topic(struct queue *queue, struct topic *topic, struct dueq_time time,
                      unsigned *budget)
{
    bool done = end_lives(queue, topic, time, budget) &&
                end_leases(queue, topic, time, budget) &&
                count_lanes(queue, topic, time, budget);

    topic->next_event = DUEQ_NEVER;
    queue_event_at(queue, topic, done ? next_event(topic, time) : time.now);
}

/* ---- all topics */

/* With another offset between the clocks, jobs on the wall clock are due at other moments. */
static void follow_wall(struct queue *queue, struct dueq_time time)
{
    struct topic *topic, *next;

    if (time.wall - time.now == queue->offset)
        return;
    queue->offset = time.wall - time.now;
    HASH_ITER(hh, queue->topics, topic, next)
    {
        for (size_t i = 0; i < topic->lane_count; i++)
            if (topic->lanes[i].clock == CLOCK_WALL) {
                queue_event_at(queue, topic, time.now);
                break;
            }
    }
}

/* The horizon has moved with the wheel: topics that lay beyond it may be armed now. */
static bool offer_again(struct queue *queue, struct dueq_time time)
{
    struct topic *topic, *next;

    if (time.now < queue->unarmed_until)
        return false;
    queue->unarmed_until = DUEQ_NEVER;
    HASH_ITER(hh, queue->topics, topic, next)
    {
        int64_t at = topic->next_event;

        if (at == DUEQ_NEVER || wheel_timer_armed(&topic->timer))
            continue;
        topic->next_event = DUEQ_NEVER;
        queue_event_at(queue, topic, at);
    }
    return true;
}

static void run_due(struct queue *queue, struct dueq_time time, unsigned *budget)
{
    struct wheel_timer *timer;

    while (*budget > 0 && (timer = wheel_expire(&queue->wheel, time.now)) != NULL) {
        struct topic *topic =
            (struct topic *)(void *)((char *)timer - offsetof(struct topic, timer));

        --*budget;
        run_topic(queue, topic, time, budget);
    }
}

/* ---- garbage: the records of flushed topics */

static const uint8_t topic_tables[] = {TABLE_BODY, TABLE_STATE, TABLE_SCHEDULE, TABLE_UNIQUE};

static void erase_table(struct queue *queue, uint8_t table, uint64_t topic, unsigned *budget)
{
    struct kv_key prefix, *at = &queue->garbage_at;

    kv_key_start(&prefix, table);
    kv_key_u64(&prefix, topic);
    if (at->size < prefix.size || memcmp(at->bytes, prefix.bytes, prefix.size) != 0)
        *at = prefix;
    while (*budget > 0 && kv_cursor_seek(queue->cursor, kv_key_slice(at)) == DUEQ_OK) {
        struct dueq_slice key = kv_cursor_key(queue->cursor);

        if (key.size < prefix.size || memcmp(key.data, prefix.bytes, prefix.size) != 0)
            return;
        memcpy(at->bytes, key.data, key.size);
        at->size = (uint16_t)key.size;
        kv_del(queue->kv, kv_key_slice(at));
        --*budget;
    }
}

static void collect_garbage(struct queue *queue, unsigned *budget)
{
    static const uint8_t table[] = {TABLE_GARBAGE};

    while (*budget > 0 && queue->garbage) {
        struct kv_key record;
        struct dueq_slice key;

        queue->garbage = kv_cursor_seek(queue->cursor, dueq_slice(table, 1)) == DUEQ_OK &&
                         *(const uint8_t *)kv_cursor_key(queue->cursor).data == TABLE_GARBAGE;
        if (!queue->garbage)
            return;
        key = kv_cursor_key(queue->cursor);
        memcpy(record.bytes, key.data, key.size);
        record.size = (uint16_t)key.size;
        for (size_t i = 0; i < sizeof(topic_tables) && *budget > 0; i++)
            erase_table(queue, topic_tables[i], kv_read_u64(record.bytes + 1), budget);
        if (*budget > 0)
            kv_del(queue->kv, kv_key_slice(&record));
    }
}

/* ---- the tick */

bool queue_tick(struct queue *queue, struct dueq_time time, unsigned budget)
{
    time = queue_time(queue, time);
    follow_wall(queue, time);
    do
        run_due(queue, time, &budget);
    while (budget > 0 && offer_again(queue, time));
    if (budget > 0)
        collect_garbage(queue, &budget);
    return budget == 0;
}

int64_t queue_next_tick(const struct queue *queue, struct dueq_time time)
{
    int64_t next = wheel_next(&queue->wheel),
            now = time.now > queue->now ? time.now : queue->now;

    if (queue->garbage)
        return 0;
    if (queue->unarmed_until < next)
        next = queue->unarmed_until;
    if (next == WHEEL_NEVER)
        return DUEQ_NEVER;
    return next > now ? next - now : 0;
}
