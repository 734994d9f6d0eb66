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

/* ---- places */

static struct place later(struct place a, struct place b)
{
    return place_before(a, b) ? b : a;
}

/* Reads the place at the cursor, when that is an entry under the prefix. */
static enum dueq_status read_place(const struct dueq *store, const struct kv_key *prefix,
                                   struct place *ret_place)
{
    struct dueq_slice key = kv_cursor_key(store->cursor);

    if (!kv_key_begins(key, prefix))
        return DUEQ_NOTFOUND;
    return key_read_place(key, prefix->size, &ret_place->due, &ret_place->seq) ? DUEQ_OK
                                                                               : DUEQ_CORRUPT;
}

/* The first place at or after `from`; leaves the cursor there. */
static enum dueq_status first_place(struct dueq *store, const struct kv_key *prefix,
                                    struct place from, unsigned *budget,
                                    struct place *ret_place)
{
    struct kv_key key = *prefix;
    enum dueq_status status;

    key_add_place(&key, from.due, from.seq);
    status = kv_cursor_seek_within(store->cursor, kv_key_slice(&key), budget);
    return status == DUEQ_OK ? read_place(store, prefix, ret_place) : status;
}

static enum dueq_status next_place(struct dueq *store, const struct kv_key *prefix,
                                   unsigned *budget, struct place *ret_place)
{
    enum dueq_status status = kv_cursor_next_within(store->cursor, budget);

    return status == DUEQ_OK ? read_place(store, prefix, ret_place) : status;
}

/* The last place before `end`. */
static enum dueq_status last_place(struct dueq *store, const struct kv_key *prefix,
                                   struct place end, unsigned *budget, struct place *ret_place)
{
    struct kv_key key = *prefix;
    enum dueq_status status;

    key_add_place(&key, end.due, end.seq);
    status = kv_cursor_seek_last_within(store->cursor, kv_key_slice(&key), budget);
    return status == DUEQ_OK ? read_place(store, prefix, ret_place) : status;
}

enum dueq_status schedule_class_first(struct dueq *store, const struct topic *topic,
                                      uint8_t class, struct place from, unsigned *budget,
                                      struct place *ret_place)
{
    struct kv_key prefix = class_key(topic->id, class);

    return first_place(store, &prefix, from, budget, ret_place);
}

/* A search that has spent its budget has not found out that nothing is there. */
static bool gave_up(enum dueq_status status, const unsigned *budget)
{
    return status == DUEQ_NOTFOUND && budget != NULL && *budget == 0;
}

enum dueq_status schedule_first(struct dueq *store, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget,
                                struct place *ret_place)
{
    struct kv_key prefix = lane_key(topic->id, lane->priority, lane->clock);
    struct place first;
    enum dueq_status status;

    if (lane->pending == 0 || (lane->ready == 0 && lane->next_due > lane_now(lane, time)) ||
        lane->head.due > lane_now(lane, time))
        return DUEQ_NOTFOUND;
    status = first_place(store, &prefix, lane->head, budget, &first);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND && !gave_up(status, budget) ? DUEQ_CORRUPT : status;
    lane->head = first;
    if (first.due > lane_now(lane, time))
        return DUEQ_NOTFOUND;
    *ret_place = first;
    return DUEQ_OK;
}

/* ---- counting: what has fallen due is counted by walking over it, once. It changes nothing on
 * disk: where counts and lane stand there is told together, and when the topic is saved. */

/* Nothing delayed is left at or before now: that needs no walk and no write. */
static bool count_nothing(struct lane *lane, struct dueq_time time)
{
    if (lane->pending == lane->ready)
        lane->next_due = DUEQ_NEVER;
    if (lane_now(lane, time) < lane->counted.due || lane->next_due <= lane_now(lane, time))
        return false;
    lane->counted = (struct place){lane_now(lane, time), UINT64_MAX};
    return true;
}

static enum dueq_status find_delayed(struct dueq *store, const struct kv_key *prefix,
                                     const struct lane *lane, unsigned *budget,
                                     struct place *ret_place)
{
    struct place from = later(place_behind(lane->counted), lane->head);

    return first_place(store, prefix, later(from, (struct place){lane->next_due, 0}), budget,
                       ret_place);
}

static enum dueq_status count_forward(struct dueq *store, const struct kv_key *prefix,
                                      struct lane *lane, struct place until, unsigned *budget,
                                      uint64_t *moved)
{
    struct place at;
    enum dueq_status status = find_delayed(store, prefix, lane, budget, &at);

    while (status == DUEQ_OK && !place_before(until, at)) {
        if (*budget == 0)
            return DUEQ_OK;
        --*budget;
        lane->counted = at;
        lane->next_due = at.due;
        lane->ready++;
        store->jobs.ready++;
        ++*moved;
        status = next_place(store, prefix, budget, &at);
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
static enum dueq_status count_backward(struct dueq *store, const struct kv_key *prefix,
                                       struct lane *lane, struct place until, unsigned *budget)
{
    struct place at;

    while (lane->ready > 0 && !place_before(lane->counted, lane->head)) {
        enum dueq_status status =
            last_place(store, prefix, place_behind(lane->counted), budget, &at);

        if (*budget == 0)
            return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
        if (status == DUEQ_NOTFOUND || (status == DUEQ_OK && !place_before(until, at)))
            break;
        if (status != DUEQ_OK)
            return status;
        --*budget;
        lane->ready--;
        store->jobs.ready--;
        lane->next_due = at.due;
        lane->counted = (struct place){at.due, at.seq - 1}; /* the first seq is 1 */
    }
    lane->counted = until;
    return DUEQ_OK;
}

enum dueq_status schedule_count(struct dueq *store, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget, uint64_t *moved)
{
    struct kv_key prefix = lane_key(topic->id, lane->priority, lane->clock);
    struct place until = {lane_now(lane, time), UINT64_MAX};
    enum dueq_status status = DUEQ_OK;

    if (count_nothing(lane, time))
        return DUEQ_OK;
    if (place_before(until, lane->counted))
        status = count_backward(store, &prefix, lane, until, budget);
    if (status == DUEQ_OK && !place_before(until, lane->counted) && lane->next_due <= until.due)
        status = count_forward(store, &prefix, lane, until, budget, moved);
    return status;
}

enum dueq_status schedule_find_next_due(struct dueq *store, struct topic *topic,
                                        struct lane *lane, unsigned *budget)
{
    struct kv_key prefix = lane_key(topic->id, lane->priority, lane->clock);
    struct place first;
    enum dueq_status status;

    if (lane->pending == lane->ready) {
        lane->next_due = DUEQ_NEVER;
        return DUEQ_OK;
    }
    status = find_delayed(store, &prefix, lane, budget, &first);
    if (status == DUEQ_OK)
        lane->next_due = first.due;
    return status == DUEQ_NOTFOUND && !gave_up(status, budget) ? DUEQ_CORRUPT : status;
}

/* ---- adding and removing */

static void count_in(struct dueq *store, struct topic *topic, const struct job_state *state,
                     uint64_t seq, struct dueq_time time)
{
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct place place = {state->due, seq};

    count_nothing(lane, time);
    lane->pending++;
    store->jobs.pending++;
    if (place_before(place, lane->head))
        lane->head = place;
    if (place.due <= lane_now(lane, time))
        queue_signal(store, topic);
    if (!place_before(lane->counted, place)) {
        lane->ready++;
        store->jobs.ready++;
        return;
    }
    if (place.due < lane->next_due)
        lane->next_due = place.due;
    queue_event_at(store, topic, queue_clock_of(store, lane->clock, place.due));
}

static void count_out(struct dueq *store, struct topic *topic, const struct job_state *state,
                      uint64_t seq)
{
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct place place = {state->due, seq};

    lane->pending--;
    store->jobs.pending--;
    if (!place_before(lane->counted, place)) {
        lane->ready--;
        store->jobs.ready--;
    }
    if (!place_before(lane->head, place))
        lane->head = place_behind(place);
}

enum dueq_status schedule_reserve(struct topic *topic, const struct job_state *state,
                                  struct dueq_time time)
{
    if (state->state != RECORD_PENDING)
        return DUEQ_OK;
    return topic_lane(topic, state->priority, state->clock, time) == NULL ? DUEQ_NOMEM
                                                                          : DUEQ_OK;
}

void schedule_add(struct dueq *store, struct topic *topic, const struct job_state *state,
                  uint64_t seq, struct dueq_time time)
{
    struct kv_key key = entry_key(topic, state, seq);

    switch (state->state) {
    case RECORD_PENDING:
        count_in(store, topic, state, seq, time);
        break;
    case RECORD_CLAIMED:
        topic->claimed++;
        store->jobs.claimed++;
        if (place_before((struct place){state->due, seq}, topic->next_lease))
            topic->next_lease = (struct place){state->due, seq};
        queue_event_at(store, topic, state->due);
        break;
    case RECORD_DEAD:
        topic->dead++;
        store->jobs.dead++;
        break;
    }
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(NULL, 0), true);
    queue_dirty(store, topic);
}

void schedule_remove(struct dueq *store, struct topic *topic, const struct job_state *state,
                     uint64_t seq)
{
    struct kv_key key = entry_key(topic, state, seq);

    switch (state->state) {
    case RECORD_PENDING:
        count_out(store, topic, state, seq);
        break;
    case RECORD_CLAIMED:
        topic->claimed--;
        store->jobs.claimed--;
        break;
    case RECORD_DEAD:
        topic->dead--;
        store->jobs.dead--;
        break;
    }
    kv_del(store->kv, kv_key_slice(&key));
    queue_dirty(store, topic);
}
