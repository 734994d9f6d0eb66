/* What time brings: jobs fall due, leases and lives end. */
#include "storage/queue/queue.h"

/* ---- one topic. Each answers false when the budget is used up before the work is. */

static bool count_lanes(struct dueq *store, struct topic *topic, struct dueq_time time,
                        unsigned *budget)
{
    uint64_t moved = 0;
    size_t i = 0;

    for (; i<topic->lane_count && * budget> 0; i++)
        schedule_count(store, topic, &topic->lanes[i], time, budget, &moved);
    if (moved > 0)
        queue_signal(store, topic);
    return *budget > 0;
}

/* The token stays valid: a late ack with nobody in between is accepted. */
static void end_lease(struct dueq *store, struct topic *topic, struct job *job,
                      struct dueq_time time)
{
    struct dueq_slice error = job->state.error;
    enum dueq_state state;

    if (error.size == 0)
        error = dueq_slice("lease expired", 13);
    if (job_give_back(store, topic, job, job->state.due, false, error, time, &state) == DUEQ_OK)
        topic->totals.expired++;
}

static bool end_leases(struct dueq *store, struct topic *topic, struct dueq_time time,
                       unsigned *budget)
{
    struct place place;
    struct job job;

    while (topic->next_lease <= time.now) {
        if (*budget == 0)
            return false;
        --*budget;
        if (schedule_class_first(store, topic, CLASS_CLAIMED, topic->next_lease, &place) !=
            DUEQ_OK) {
            topic->next_lease = DUEQ_NEVER;
            break;
        }
        topic->next_lease = place.due;
        if (place.due > time.now)
            break;
        if (job_load(store, topic, place.seq, &job) == DUEQ_OK)
            end_lease(store, topic, &job, time);
        else
            topic->next_lease++; /* damaged: passed over, so that the others go on */
    }
    return true;
}

/* A claimed job's life is looked at again when it is given back. */
static void end_life(struct dueq *store, struct topic *topic, struct place place,
                     struct dueq_time time)
{
    struct kv_key key = class_key(topic->id, CLASS_TTL);
    struct job job;

    if (job_load(store, topic, place.seq, &job) == DUEQ_OK &&
        job.state.state == RECORD_PENDING && job.state.expires == place.due) {
        job_lapse(store, topic, &job, time);
        return;
    }
    key_add_place(&key, place.due, place.seq);
    kv_del(store->kv, kv_key_slice(&key));
}

static bool end_lives(struct dueq *store, struct topic *topic, struct dueq_time time,
                      unsigned *budget)
{
    struct place place;

    while (topic->next_ttl <= time.now) {
        if (*budget == 0)
            return false;
        --*budget;
        if (schedule_class_first(store, topic, CLASS_TTL, topic->next_ttl, &place) != DUEQ_OK) {
            topic->next_ttl = DUEQ_NEVER;
            break;
        }
        topic->next_ttl = place.due;
        if (place.due <= time.now)
            end_life(store, topic, place, time);
    }
    return true;
}

static int64_t next_event(const struct dueq *store, const struct topic *topic)
{
    int64_t next = topic->next_lease < topic->next_ttl ? topic->next_lease : topic->next_ttl;

    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        if (lane->pending > lane->ready &&
            queue_clock_of(store, lane->clock, lane->next_due) < next)
            next = queue_clock_of(store, lane->clock, lane->next_due);
    }
    return next;
}

static void run_topic(struct dueq *store, struct topic *topic, struct dueq_time time,
                      unsigned *budget)
{
    bool done = end_lives(store, topic, time, budget) &&
                end_leases(store, topic, time, budget) &&
                count_lanes(store, topic, time, budget);

    topic->next_event = DUEQ_NEVER;
    queue_event_at(store, topic, done ? next_event(store, topic) : time.now);
}

/* ---- all topics */

static bool follows_wall(const struct topic *topic)
{
    for (size_t i = 0; i < topic->lane_count; i++)
        if (topic->lanes[i].clock == CLOCK_WALL)
            return true;
    return false;
}

/* With another offset between the clocks, jobs on the wall clock are due at other moments. */
static void follow_wall(struct dueq *store, struct dueq_time time)
{
    struct topic *topic, *next;

    if (store->offset == store->timers_offset)
        return;
    store->timers_offset = store->offset;
    HASH_ITER(hh, store->topics, topic, next)
    {
        if (follows_wall(topic))
            queue_event_at(store, topic, time.now);
    }
}

/* The horizon has moved with the wheel: topics that lay beyond it may be armed now. */
static bool offer_again(struct dueq *store, struct dueq_time time)
{
    struct topic *topic, *next;

    if (time.now < store->unarmed_until)
        return false;
    store->unarmed_until = DUEQ_NEVER;
    HASH_ITER(hh, store->topics, topic, next)
    {
        int64_t at = topic->next_event;

        if (at == DUEQ_NEVER || wheel_timer_armed(&topic->timer))
            continue;
        topic->next_event = DUEQ_NEVER;
        queue_event_at(store, topic, at);
    }
    return true;
}

static void run_due(struct dueq *store, struct dueq_time time, unsigned *budget)
{
    struct wheel_timer *timer;

    while (*budget > 0 && (timer = wheel_expire(&store->wheel, time.now)) != NULL) {
        --*budget;
        run_topic(store, topic_of_timer(timer), time, budget);
    }
}

static uint64_t count_jobs(const struct dueq *store)
{
    uint64_t jobs = 0;

    for (const struct topic *topic = store->topics; topic != NULL; topic = topic->hh.next)
        for (int state = DUEQ_DELAYED; state <= DUEQ_DEAD; state++)
            jobs += topic_count(topic, (enum dueq_state)state);
    return jobs;
}

static void tend_ids(struct dueq *store, unsigned *budget)
{
    if (unique_wants_filter(&store->unique))
        unique_begin_filter(&store->unique, count_jobs(store));
    unique_fill_filter(&store->unique, store->cursor, budget);
}

void queue_tick(struct dueq *store, struct dueq_time time, unsigned *budget)
{
    follow_wall(store, time);
    do
        run_due(store, time, budget);
    while (*budget > 0 && offer_again(store, time));
    if (*budget > 0)
        garbage_collect(store, budget);
    if (*budget > 0)
        tend_ids(store, budget);
}

int64_t queue_next_tick(const struct dueq *store, struct dueq_time time)
{
    int64_t next = wheel_next(&store->wheel),
            now = time.now > store->now ? time.now : store->now;

    if (store->garbage.any || unique_busy(&store->unique) ||
        store->offset != store->timers_offset)
        return 0;
    if (store->unarmed_until < next)
        next = store->unarmed_until;
    if (next == DUEQ_NEVER)
        return DUEQ_NEVER;
    return next > now ? next - now : 0;
}
