#include "storage/queue/queue.h"

static struct kv_key entry_key(const struct topic *topic, const struct job_state *state,
                               uint64_t seq)
{
    struct kv_key key;

    if (state->state == RECORD_PENDING)
        key = lane_key(topic->id, state->priority, state->clock);
    else
        key = class_key(topic->id, state->state == RECORD_CLAIMED ? CLASS_CLAIMED : CLASS_DEAD);
    key_add_place(&key, state->due, seq);
    return key;
}

/* A lane's due time on the queue's clock. */
static int64_t on_queue_clock(const struct lane *lane, int64_t due, struct dueq_time time)
{
    return lane->clock == CLOCK_QUEUE ? due : due - time.wall + time.now;
}

static enum dueq_status count_in(struct queue *queue, struct topic *topic,
                                 const struct job_state *state, uint64_t seq,
                                 struct dueq_time time)
{
    struct lane *lane = topic_lane(topic, state->priority, state->clock, &time);
    struct place place = {state->due, seq};

    if (lane == NULL)
        return DUEQ_NOMEM;
    lane->pending++;
    if (place_before(place, lane->head))
        lane->head = place;
    if (!place_before(lane->counted, place)) {
        lane->ready++;
        queue_signal(queue, topic);
        return DUEQ_OK;
    }
    if (place.due < lane->next_due)
        lane->next_due = place.due;
    if (place.due <= lane_now(lane, time))
        queue_signal(queue, topic);
    queue_event_at(queue, topic, on_queue_clock(lane, place.due, time));
    return DUEQ_OK;
}

enum dueq_status schedule_add(struct queue *queue, struct topic *topic,
                              const struct job_state *state, uint64_t seq,
                              struct dueq_time time)
{
    struct kv_key key = entry_key(topic, state, seq);
    enum dueq_status status = DUEQ_OK;

    switch (state->state) {
    case RECORD_PENDING:
        status = count_in(queue, topic, state, seq, time);
        break;
    case RECORD_CLAIMED:
        topic->claimed++;
        if (state->due < topic->next_lease)
            topic->next_lease = state->due;
        queue_event_at(queue, topic, state->due);
        break;
    case RECORD_DEAD:
        topic->dead++;
        break;
    }
    if (status == DUEQ_OK)
        kv_put(queue->kv, kv_key_slice(&key), dueq_slice(NULL, 0), true);
    queue_dirty(queue, topic);
    return status;
}

static void count_out(struct topic *topic, const struct job_state *state, uint64_t seq)
{
    struct place place = {state->due, seq};

    for (size_t i = 0; i < topic->lane_count; i++) {
        struct lane *lane = &topic->lanes[i];

        if (lane->priority != state->priority || lane->clock != state->clock)
            continue;
        lane->pending--;
        if (!place_before(lane->counted, place))
            lane->ready--;
        if (lane->pending == lane->ready)
            lane->next_due = DUEQ_NEVER;
    }
}

void schedule_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq)
{
    struct kv_key key = entry_key(topic, state, seq);

    kv_del(queue->kv, kv_key_slice(&key));
    switch (state->state) {
    case RECORD_PENDING:
        count_out(topic, state, seq);
        break;
    case RECORD_CLAIMED:
        topic->claimed--;
        break;
    case RECORD_DEAD:
        topic->dead--;
        break;
    }
    queue_dirty(queue, topic);
}

/* ---- reading */

/* The first place at or after `from` of what begins as `prefix` does. */
static enum dueq_status first_place(struct queue *queue, const struct kv_key *prefix,
                                    struct place from, struct place *ret_place)
{
    struct kv_key key = *prefix;
    struct dueq_slice found;
    enum dueq_status status;

    key_add_place(&key, from.due, from.seq);
    status = kv_cursor_seek(queue->cursor, kv_key_slice(&key));
    if (status != DUEQ_OK)
        return status;
    found = kv_cursor_key(queue->cursor);
    if (found.size != key.size || memcmp(found.data, prefix->bytes, prefix->size) != 0)
        return DUEQ_NOTFOUND;
    key_read_place(found, &ret_place->due, &ret_place->seq);
    return DUEQ_OK;
}

enum dueq_status schedule_first(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, struct place *ret_place)
{
    struct kv_key prefix = lane_key(topic->id, lane->priority, lane->clock);
    struct place first;
    enum dueq_status status;

    if (lane->pending == 0 || (lane->ready == 0 && lane->next_due > lane_now(lane, time)) ||
        lane->head.due > lane_now(lane, time))
        return DUEQ_NOTFOUND;
    status = first_place(queue, &prefix, lane->head, &first);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    lane->head = first;
    if (first.due > lane_now(lane, time))
        return DUEQ_NOTFOUND;
    *ret_place = first;
    return DUEQ_OK;
}

enum dueq_status schedule_class_first(struct queue *queue, const struct topic *topic,
                                      uint8_t class, int64_t from, struct place *ret_place)
{
    struct kv_key prefix = class_key(topic->id, class);

    return first_place(queue, &prefix, (struct place){from, 0}, ret_place);
}

/* ---- counting */

/* Walks from behind `counted` to `until`; each entry passed is ready from now on. */
static enum dueq_status count_forward(struct queue *queue, struct topic *topic,
                                      struct lane *lane, struct place until, unsigned *budget,
                                      uint64_t *moved)
{
    struct kv_key prefix = lane_key(topic->id, lane->priority, lane->clock);
    struct place from = lane->counted, at;
    enum dueq_status status;

    if (from.seq == UINT64_MAX)
        from = (struct place){from.due + 1, 0};
    else
        from.seq++;
    if (place_before(from, lane->head))
        from = lane->head;
    for (status = first_place(queue, &prefix, from, &at);
         status == DUEQ_OK && !place_before(until, at);) {
        struct dueq_slice key;

        if (*budget == 0)
            return DUEQ_OK;
        --*budget;
        lane->counted = at;
        lane->ready++;
        ++*moved;
        status = kv_cursor_next(queue->cursor);
        if (status != DUEQ_OK)
            break;
        key = kv_cursor_key(queue->cursor);
        if (key.size != prefix.size + 16U || memcmp(key.data, prefix.bytes, prefix.size) != 0)
            status = DUEQ_NOTFOUND;
        else
            key_read_place(key, &at.due, &at.seq);
    }
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    lane->counted = until;
    lane->next_due = status == DUEQ_OK ? at.due : DUEQ_NEVER;
    return DUEQ_OK;
}

/* The wall clock was set back: what is due later than `until` is delayed again. */
static enum dueq_status count_backward(struct queue *queue, struct topic *topic,
                                       struct lane *lane, struct place until)
{
    struct kv_key prefix = lane_key(topic->id, lane->priority, lane->clock);
    struct place from = {until.due + 1, 0}, at;
    enum dueq_status status = first_place(queue, &prefix, from, &at);

    lane->next_due = status == DUEQ_OK ? at.due : DUEQ_NEVER;
    while (status == DUEQ_OK && !place_before(lane->counted, at)) {
        lane->ready--;
        at.seq++; /* a seq is never the last number there is */
        status = first_place(queue, &prefix, at, &at);
    }
    lane->counted = until;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status schedule_count(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget, uint64_t *ret_moved)
{
    struct place until = {lane_now(lane, time), UINT64_MAX};

    if (lane->pending == lane->ready)
        lane->next_due = DUEQ_NEVER;
    if (until.due == lane->counted.due && lane->counted.seq == UINT64_MAX &&
        lane->next_due != INT64_MIN)
        return DUEQ_OK;
    if (until.due < lane->counted.due) {
        queue_dirty(queue, topic);
        return count_backward(queue, topic, lane, until);
    }
    if (lane->next_due > until.due) {
        lane->counted = until; /* nothing delayed lies between: not worth a write */
        return DUEQ_OK;
    }
    queue_dirty(queue, topic);
    return count_forward(queue, topic, lane, until, budget, ret_moved);
}
