#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

static struct dueq_slice entry_key(struct kv_key *key, const struct topic *topic,
                                   const struct job_state *state, uint64_t seq)
{
    static const uint8_t classes[] = {[PHASE_CLAIMED] = CLASS_CLAIMED,
                                      [PHASE_DEAD] = CLASS_DEAD,
                                      [PHASE_DONE] = CLASS_DONE,
                                      [PHASE_WAITING] = CLASS_WAITING};

    if (state->state == PHASE_PENDING)
        queue_key_lane(key, topic->id, state->priority, state->clock);
    else
        queue_key_class(key, topic->id, classes[state->state]);
    return queue_key_add_position(key, schedule_time(state), seq);
}

/* ---- positions */

static struct position later(struct position a, struct position b)
{
    return position_before(a, b) ? b : a;
}

/* Reads the position at the cursor, when that is an entry under the prefix. */
static enum dueq_status read_position(const struct queue *queue, const struct kv_key *prefix,
                                      struct position *ret_position)
{
    struct dueq_slice key = kv_cursor_key(queue->cursor);

    if (!kv_key_begins(key, prefix))
        return DUEQ_NOTFOUND;
    return queue_key_read_position(key, prefix->size, &ret_position->due, &ret_position->seq)
               ? DUEQ_OK
               : DUEQ_CORRUPT;
}

/* The first position at or after `from`; leaves the cursor there. */
static enum dueq_status first_position(struct queue *queue, const struct kv_key *prefix,
                                       struct position from, unsigned *budget,
                                       struct position *ret_position)
{
    struct kv_key key;
    enum dueq_status status;

    kv_key_copy(&key, kv_key_slice(prefix));
    status = kv_cursor_seek_within(queue->cursor,
                                   queue_key_add_position(&key, from.due, from.seq), budget);
    return status == DUEQ_OK ? read_position(queue, prefix, ret_position) : status;
}

static enum dueq_status next_position(struct queue *queue, const struct kv_key *prefix,
                                      unsigned *budget, struct position *ret_position)
{
    enum dueq_status status = kv_cursor_next_within(queue->cursor, budget);

    return status == DUEQ_OK ? read_position(queue, prefix, ret_position) : status;
}

/* The last position before `end`. */
static enum dueq_status last_position(struct queue *queue, const struct kv_key *prefix,
                                      struct position end, unsigned *budget,
                                      struct position *ret_position)
{
    struct kv_key key;
    enum dueq_status status;

    kv_key_copy(&key, kv_key_slice(prefix));
    status = kv_cursor_seek_last_within(queue->cursor,
                                        queue_key_add_position(&key, end.due, end.seq), budget);
    return status == DUEQ_OK ? read_position(queue, prefix, ret_position) : status;
}

enum dueq_status schedule_class_first(struct queue *queue, const struct topic *topic,
                                      uint8_t class, struct position from, unsigned *budget,
                                      struct position *ret_position)
{
    struct kv_key prefix;

    queue_key_class(&prefix, topic->id, class);
    return first_position(queue, &prefix, from, budget, ret_position);
}

enum dueq_status schedule_lane_first(struct queue *queue, const struct topic *topic,
                                     const struct lane *lane, struct position from,
                                     struct position *ret_position)
{
    struct kv_key prefix;

    queue_key_lane(&prefix, topic->id, lane->priority, lane->clock);
    return first_position(queue, &prefix, from, NULL, ret_position);
}

/* A search that has spent its budget has not found out that nothing is there. */
static bool gave_up(enum dueq_status status, const unsigned *budget)
{
    return status == DUEQ_NOTFOUND && budget != NULL && *budget == 0;
}

enum dueq_status schedule_first(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget,
                                struct position *ret_position)
{
    struct kv_key prefix;
    struct position first;
    enum dueq_status status;

    if (lane->pending == 0 ||
        (lane->ready == 0 && lane->next_due > schedule_lane_now(lane, time)) ||
        lane->head.due > schedule_lane_now(lane, time))
        return DUEQ_NOTFOUND;
    queue_key_lane(&prefix, topic->id, lane->priority, lane->clock);
    status = first_position(queue, &prefix, lane->head, budget, &first);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND && !gave_up(status, budget) ? DUEQ_CORRUPT : status;
    lane->head = first;
    if (first.due > schedule_lane_now(lane, time))
        return DUEQ_NOTFOUND;
    *ret_position = first;
    return DUEQ_OK;
}

/* ---- counting: what has fallen due is counted by walking over it, once. It changes nothing on
 * disk: where counts and lane stand there is told together, and when the topic is saved. */

/* Nothing delayed is left at or before now: that needs no walk and no write. */
static bool count_nothing(struct lane *lane, struct dueq_time time)
{
    if (lane->pending == lane->ready)
        lane->next_due = DUEQ_NEVER;
    if (schedule_lane_now(lane, time) < lane->counted.due ||
        lane->next_due <= schedule_lane_now(lane, time))
        return false;
    lane->counted = (struct position){schedule_lane_now(lane, time), UINT64_MAX};
    return true;
}

static enum dueq_status find_delayed(struct queue *queue, const struct kv_key *prefix,
                                     const struct lane *lane, unsigned *budget,
                                     struct position *ret_position)
{
    struct position from = later(position_after(lane->counted), lane->head);

    return first_position(queue, prefix, later(from, (struct position){lane->next_due, 0}),
                          budget, ret_position);
}

static enum dueq_status count_forward(struct queue *queue, struct topic *topic,
                                      const struct kv_key *prefix, struct lane *lane,
                                      struct position until, unsigned *budget, uint64_t *moved)
{
    struct position at;
    enum dueq_status status = find_delayed(queue, prefix, lane, budget, &at);

    while (status == DUEQ_OK && !position_before(until, at)) {
        if (*budget == 0)
            return DUEQ_OK;
        if (queue_notes_events(queue) &&
            events_note_due(queue, topic, at.seq, budget) == DUEQ_BUSY) {
            *budget = 0;
            return DUEQ_OK;
        }
        *budget -= *budget > 0;
        lane->counted = at;
        lane->next_due = at.due;
        lane->ready++;
        queue->jobs.ready++;
        queue_note_span(queue, DUEQ_SPAN_LATE, until.due - at.due);
        ++*moved;
        status = next_position(queue, prefix, budget, &at);
    }
    if (gave_up(status, budget))
        return DUEQ_OK;
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    lane->counted = until;
    lane->next_due = status == DUEQ_OK ? at.due : DUEQ_NEVER;
    return DUEQ_OK;
}

/* The wall clock was set back: what is due later than `until` is delayed again. */
static enum dueq_status count_backward(struct queue *queue, const struct kv_key *prefix,
                                       struct lane *lane, struct position until,
                                       unsigned *budget)
{
    struct position at;

    while (lane->ready > 0 && !position_before(lane->counted, lane->head)) {
        enum dueq_status status =
            last_position(queue, prefix, position_after(lane->counted), budget, &at);

        if (*budget == 0)
            return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
        if (status == DUEQ_NOTFOUND || (status == DUEQ_OK && !position_before(until, at)))
            break;
        if (status != DUEQ_OK)
            return status;
        --*budget;
        lane->ready--;
        queue->jobs.ready--;
        lane->next_due = at.due;
        lane->counted = (struct position){at.due, at.seq - 1}; /* the first seq is 1 */
    }
    lane->counted = until;
    return DUEQ_OK;
}

enum dueq_status schedule_count(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget, uint64_t *moved)
{
    struct kv_key prefix;
    struct position until = {schedule_lane_now(lane, time), UINT64_MAX};
    enum dueq_status status = DUEQ_OK;

    if (count_nothing(lane, time))
        return DUEQ_OK;
    topic->unsaved = true;
    queue_key_lane(&prefix, topic->id, lane->priority, lane->clock);
    if (position_before(until, lane->counted))
        status = count_backward(queue, &prefix, lane, until, budget);
    if (status == DUEQ_OK && !position_before(until, lane->counted) &&
        lane->next_due <= until.due)
        status = count_forward(queue, topic, &prefix, lane, until, budget, moved);
    return status;
}

enum dueq_status schedule_find_next_due(struct queue *queue, struct topic *topic,
                                        struct lane *lane, unsigned *budget)
{
    struct kv_key prefix;
    struct position first;
    enum dueq_status status;

    if (lane->pending == lane->ready) {
        lane->next_due = DUEQ_NEVER;
        return DUEQ_OK;
    }
    queue_key_lane(&prefix, topic->id, lane->priority, lane->clock);
    status = find_delayed(queue, &prefix, lane, budget, &first);
    if (status == DUEQ_OK) {
        topic->unsaved = topic->unsaved || lane->next_due != first.due;
        lane->next_due = first.due;
    }
    return status == DUEQ_NOTFOUND && !gave_up(status, budget) ? DUEQ_CORRUPT : status;
}

int64_t schedule_dead_end(struct queue *queue, struct topic *topic)
{
    const struct dueq_settings *settings;
    int64_t keep, most;

    if (topic->dead == 0 || topic->next_dead.due == DUEQ_NEVER)
        return DUEQ_NEVER;
    settings = settings_of(queue, topic);
    if (settings == NULL)
        return DUEQ_NEVER;
    keep = settings->numbers[DUEQ_SET_DEAD_KEEP];
    most = settings->numbers[DUEQ_SET_DEAD_MAX];
    if (most != DUEQ_DEFAULT && topic->dead > (uint64_t)most)
        return SAFE_TIME_MIN;
    return keep == DUEQ_DEFAULT ? DUEQ_NEVER
                                : safe_time_add(topic->next_dead.due, safe_time_clamp(keep));
}

int64_t schedule_next_event(struct queue *queue, struct topic *topic)
{
    int64_t dead_end = schedule_dead_end(queue, topic), permit = rates_next_event(queue, topic);
    int64_t next = topic->next_lease.due < topic->next_ttl.due ? topic->next_lease.due
                                                               : topic->next_ttl.due;

    if (topic->next_done.due < next)
        next = topic->next_done.due;
    if (dead_end < next)
        next = dead_end;
    if (BUCKETS_KNOWN && topic->groups > 0 && topic->first_permit < permit)
        permit = topic->first_permit;
    if (permit < next)
        next = permit;
    if (topic->paused != 0 && topic->paused_until < next)
        next = topic->paused_until;
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        if (lane->pending > lane->ready &&
            queue_clock_of(queue, lane->clock, lane->next_due) < next)
            next = queue_clock_of(queue, lane->clock, lane->next_due);
    }
    return next;
}

/* ---- adding and removing */

static void count_in(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq, struct dueq_time time)
{
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct position position = {state->due, seq};

    count_nothing(lane, time);
    lane->pending++;
    queue->jobs.pending++;
    if (position_before(position, lane->head))
        lane->head = position;
    if (position.due <= schedule_lane_now(lane, time))
        queue_signal(queue, topic);
    if (!position_before(lane->counted, position)) {
        lane->ready++;
        queue->jobs.ready++;
        return;
    }
    if (position.due < lane->next_due)
        lane->next_due = position.due;
    queue_event_at(queue, topic, queue_clock_of(queue, lane->clock, position.due));
}

/* Only a record that was damaged names a lane that is not there: none counts that job. */
static void count_out(struct queue *queue, struct topic *topic, const struct job_state *state,
                      uint64_t seq)
{
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct position position = {state->due, seq};

    if (lane == NULL)
        return;
    lane->pending--;
    queue->jobs.pending--;
    if (!position_before(lane->counted, position)) {
        lane->ready--;
        queue->jobs.ready--;
    }
    if (!position_before(lane->head, position))
        lane->head = position_after(position);
}

enum dueq_status schedule_reserve(struct queue *queue, struct topic *topic,
                                  const struct job_state *state, struct dueq_time time)
{
    enum dueq_status status =
        state->group == 0 ? DUEQ_OK : groups_load(queue, topic, state->group);

    if (status != DUEQ_OK || state->state != PHASE_PENDING)
        return status;
    return topic_lane(topic, state->priority, state->clock, time) == NULL ? DUEQ_NOMEM
                                                                          : DUEQ_OK;
}

void schedule_expect(struct queue *queue, const struct topic *topic,
                     const struct job_state *state, uint64_t seq)
{
    struct kv_key key;

    kv_expect(queue->kv, entry_key(&key, topic, state, seq));
}

void schedule_add(struct queue *queue, struct topic *topic, const struct job_state *state,
                  uint64_t seq, struct dueq_time time)
{
    struct kv_key key;

    if (groups_add(queue, topic, state, seq, time))
        return;
    switch (state->state) {
    case PHASE_PENDING:
        count_in(queue, topic, state, seq, time);
        break;
    case PHASE_CLAIMED:
        topic->claimed++;
        queue->jobs.claimed++;
        if (position_before((struct position){state->due, seq}, topic->next_lease))
            topic->next_lease = (struct position){state->due, seq};
        queue_event_at(queue, topic, state->due);
        break;
    case PHASE_DEAD:
        topic->dead++;
        queue->jobs.dead++;
        if (position_before((struct position){state->due, seq}, topic->next_dead))
            topic->next_dead = (struct position){state->due, seq};
        queue_event_at(queue, topic, schedule_dead_end(queue, topic));
        break;
    case PHASE_DONE:
        topic->done++;
        queue->jobs.done++;
        if (position_before((struct position){state->expires, seq}, topic->next_done))
            topic->next_done = (struct position){state->expires, seq};
        queue_event_at(queue, topic, state->expires);
        break;
    case PHASE_WAITING:
        if (AFTERS_KNOWN) {
            topic->waiting++;
            queue->jobs.waiting++;
        }
        break;
    }
    kv_put(queue->kv, entry_key(&key, topic, state, seq), dueq_slice(NULL, 0), true);
    queue_mark_dirty(queue, topic);
}

uint64_t schedule_most_claimed(struct queue *queue, struct topic *topic)
{
    int64_t most = settings_number(queue, topic, DUEQ_SET_CONCURRENCY, DUEQ_DEFAULT);

    return most == DUEQ_DEFAULT ? UINT64_MAX : (uint64_t)most;
}

void schedule_freed(struct queue *queue, struct topic *topic, uint64_t before)
{
    uint64_t most;

    if (before <= topic->claimed && !topic->refused)
        return;
    most = schedule_most_claimed(queue, topic);
    if ((before >= most || topic->refused) && topic->claimed < most) {
        topic->refused = false;
        queue_signal(queue, topic);
    }
}

void schedule_park(struct queue *queue, struct topic *topic, const struct job_state *state,
                   uint64_t seq)
{
    struct job_state parked = *state;
    struct kv_key key;

    parked.clock = CLOCK_QUEUE;
    parked.due = queue_clock_of(queue, state->clock, state->due);
    count_out(queue, topic, state, seq);
    kv_del(queue->kv, entry_key(&key, topic, state, seq));
    groups_park(queue, topic, &parked, seq);
}

void schedule_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq)
{
    struct kv_key key;

    if (groups_remove(queue, topic, state, seq))
        return;
    switch (state->state) {
    case PHASE_PENDING:
        count_out(queue, topic, state, seq);
        break;
    case PHASE_CLAIMED:
        topic->claimed--;
        queue->jobs.claimed--;
        break;
    case PHASE_DEAD:
        topic->dead--;
        queue->jobs.dead--;
        break;
    case PHASE_DONE:
        topic->done--;
        queue->jobs.done--;
        break;
    case PHASE_WAITING:
        if (AFTERS_KNOWN) {
            topic->waiting--;
            queue->jobs.waiting--;
        }
        break;
    }
    kv_del(queue->kv, entry_key(&key, topic, state, seq));
    queue_mark_dirty(queue, topic);
}
