#include "storage/queue/pick.h"

#include "storage/queue/job_end.h"

/* Jobs whose ttl ran out and that no tick has come to yet die here; at most so many at a time,
 * so that a claim stays short: some 4 ms. */
enum { EXPIRIES_MAX = 1000 };

/* Steps for their bodies: 16 MiB that are read, or 1 MiB that goes to another topic. */
enum { BODIES_MAX = 1024 };

/* And of removed records it steps over 40,000 at the most: some 4 ms too. */
enum { STEPS_MAX = 5000 };

/* Steps to park a job: some 500 in a call, once each. Of a fair topic a call sorts so many. */
enum { PARK_STEPS = 10, SORTED_MAX = 128 };

/* Calls that yield park no more jobs than these between two commits: a turn may make thousands
 * of calls. When calls have taken ENOUGH steps, some 2 ms as a rule, those that come after do a
 * little each: they look into every lane, but hardly pass jobs by. */
enum { PARKED_MAX = 500, ENOUGH = 10000, STEPS_LITTLE = 1000, EXPIRIES_LITTLE = 10 };

enum { EXPIRY_STEPS = 5, BUSY_STEPS = 100 }; /* for ENOUGH alone */

struct pick {
    struct queue *queue;
    struct topic *topic;
    struct dueq_time time;
    struct group_rules rules;
    unsigned budget;
    bool yields;       /* the call may answer DUEQ_BUSY for its turn's sake */
    int64_t age_after; /* a ready job gains a priority in so many ms; 0: never */
};

/* The best job of a part of the topic. */
struct choice {
    uint8_t priority;         /* the older the better, when the topic says so */
    struct position position; /* on the queue's clock */
};

static bool is_better(const struct choice *a, const struct choice *b)
{
    return a->priority != b->priority ? a->priority < b->priority
                                      : position_before(a->position, b->position);
}

/* What the priority of a job has become while it was ready. */
static uint8_t aged(const struct pick *pick, uint8_t priority, int64_t due)
{
    int64_t gained;

    if (pick->age_after == 0 || due >= pick->time.now)
        return priority;
    gained = (pick->time.now - due) / pick->age_after;
    return gained >= priority ? 0 : (uint8_t)(priority - gained);
}

static void spend(struct pick *pick, unsigned steps)
{
    pick->budget -= steps < pick->budget ? steps : pick->budget;
}

/* No job of the lane lies before its head. */
static bool may_be_better(const struct pick *pick, const struct lane *lane,
                          const struct choice *best)
{
    struct choice first = {.position = lane->head};

    first.position.due = queue_clock_of(pick->queue, lane->clock, lane->head.due);
    first.priority = aged(pick, lane->priority, first.position.due);
    return is_better(&first, best);
}

/* The best of the due jobs in lanes: lanes come by priority, and among the two clocks of one
 * priority the lesser due (as moments of one clock), then the earlier arrival, wins. When jobs
 * age, the first of any lane may be the best: each further lane that must be searched is a
 * step, so that a call that parks many jobs stays short. */
static enum dueq_status best_of_lanes(struct pick *pick, struct choice *ret_best)
{
    struct topic *topic = pick->topic;
    bool any = false;

    for (size_t i = 0; i < topic->lane_count; i++) {
        struct lane *lane = &topic->lanes[i];
        struct choice choice;
        enum dueq_status status;

        if (any && lane->priority != ret_best->priority && pick->age_after == 0)
            break;
        if (lane->pending == 0 || (any && !may_be_better(pick, lane, ret_best)))
            continue;
        status = schedule_first(pick->queue, topic, lane, pick->time, &pick->budget,
                                &choice.position);
        if (status == DUEQ_NOTFOUND && pick->budget == 0)
            return DUEQ_BUSY;
        if (status == DUEQ_NOTFOUND)
            continue;
        if (status != DUEQ_OK)
            return status;
        choice.position.due = queue_clock_of(pick->queue, lane->clock, choice.position.due);
        choice.priority = aged(pick, lane->priority, choice.position.due);
        if (!any || is_better(&choice, ret_best))
            *ret_best = choice;
        if (any)
            spend(pick, 1);
        any = true;
    }
    return any ? DUEQ_OK : DUEQ_NOTFOUND;
}

/* An entry whose job says that it is not pending is damage: two would have the job. */
static enum dueq_status load(struct pick *pick, const struct choice *choice,
                             struct job *ret_job)
{
    enum dueq_status status = job_load(pick->queue, pick->topic, choice->position.seq, ret_job);

    if (status == DUEQ_NOTFOUND || (status == DUEQ_OK && ret_job->state.state != PHASE_PENDING))
        return DUEQ_CORRUPT;
    return status;
}

/* ---- groups */

static bool may_park(const struct pick *pick)
{
    return !pick->yields || pick->queue->parked < PARKED_MAX;
}

/* A job that was due once stays so: in the list of its group it is on the queue's clock. */
static void park(struct pick *pick, struct job *job)
{
    struct job_state before = job->state;

    if (before.clock == CLOCK_WALL) {
        job->state.clock = CLOCK_QUEUE;
        job->state.due = queue_clock_of(pick->queue, CLOCK_WALL, before.due);
        job_save_state(pick->queue, pick->topic, job);
    }
    schedule_park(pick->queue, pick->topic, &before, job->seq);
    pick->queue->parked++;
    spend(pick, PARK_STEPS);
}

/* The best parked job whose group can run it: of each priority the first one can be it. */
static enum dueq_status best_of_groups(struct pick *pick, struct choice *ret_best)
{
    bool any = false;
    unsigned priority = 0;

    do {
        uint64_t group;
        struct group_place place;
        struct choice choice;
        enum dueq_status status =
            groups_first(pick->queue, pick->topic, &pick->rules, (uint8_t)priority,
                         &pick->budget, &group, &place);

        if (status == DUEQ_NOTFOUND && pick->budget == 0)
            return DUEQ_BUSY;
        if (status == DUEQ_NOTFOUND)
            break;
        if (status != DUEQ_OK)
            return status;
        choice =
            (struct choice){aged(pick, place.priority, place.position.due), place.position};
        if (!any || is_better(&choice, ret_best))
            *ret_best = choice;
        if (any)
            spend(pick, 1);
        any = true;
        priority = place.priority + 1u;
    } while (pick->age_after > 0 && !pick->rules.fair && priority <= UINT8_MAX);
    return any ? DUEQ_OK : DUEQ_NOTFOUND;
}

/* All due jobs of a fair topic are in the lists of their groups before one is chosen: as many
 * as a call can sort. */
static enum dueq_status sort_lanes(struct pick *pick)
{
    for (int i = 0; i < SORTED_MAX && may_park(pick); i++) {
        struct choice choice;
        struct job job;
        enum dueq_status status = best_of_lanes(pick, &choice);

        if (status == DUEQ_OK)
            status = load(pick, &choice, &job);
        if (status != DUEQ_OK)
            return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
        park(pick, &job);
    }
    return DUEQ_OK;
}

static enum dueq_status pick_in_turn(struct pick *pick, struct job *ret_job)
{
    struct choice choice;
    enum dueq_status status = sort_lanes(pick);

    if (status == DUEQ_OK)
        status = best_of_groups(pick, &choice);
    if (status == DUEQ_NOTFOUND && !may_park(pick))
        return DUEQ_BUSY;
    return status == DUEQ_OK ? load(pick, &choice, ret_job) : status;
}

/* A job in a lane that must wait is parked. *ret_waits: it was. */
static enum dueq_status pick_of_lanes(struct pick *pick, const struct choice *choice,
                                      struct job *ret_job, bool *ret_waits)
{
    enum dueq_status status = load(pick, choice, ret_job);

    *ret_waits = false;
    if (status == DUEQ_OK)
        status =
            groups_blocks(pick->queue, pick->topic, &pick->rules, &ret_job->state, ret_waits);
    if (status != DUEQ_OK || !*ret_waits)
        return status;
    if (!may_park(pick))
        return DUEQ_BUSY;
    park(pick, ret_job);
    return DUEQ_OK;
}

static enum dueq_status pick_in_order(struct pick *pick, struct job *ret_job)
{
    bool waits = true;

    while (waits) {
        struct choice of_lanes, of_groups;
        enum dueq_status lanes = best_of_lanes(pick, &of_lanes), groups = DUEQ_NOTFOUND, status;

        if (lanes != DUEQ_OK && lanes != DUEQ_NOTFOUND)
            return lanes;
        if (pick->topic->parked > 0)
            groups = best_of_groups(pick, &of_groups);
        if (groups != DUEQ_OK && groups != DUEQ_NOTFOUND)
            return groups;
        if (groups == DUEQ_OK && (lanes != DUEQ_OK || is_better(&of_groups, &of_lanes)))
            return load(pick, &of_groups, ret_job);
        if (lanes != DUEQ_OK)
            return lanes;
        status = pick_of_lanes(pick, &of_lanes, ret_job, &waits);
        if (status != DUEQ_OK)
            return status;
        if (waits && pick->budget == 0)
            return DUEQ_BUSY;
    }
    return DUEQ_OK;
}

/* ---- all together */

static enum dueq_status look_for_unexpired(struct pick *pick, struct job *ret_job)
{
    struct queue *queue = pick->queue;
    uint64_t bodies = queue->body_steps;
    int most = pick->yields && pick_is_enough(queue) ? EXPIRIES_LITTLE : EXPIRIES_MAX;

    for (int i = 0; i < most && queue->body_steps - bodies < BODIES_MAX; i++) {
        enum dueq_status status =
            pick->rules.fair ? pick_in_turn(pick, ret_job) : pick_in_order(pick, ret_job);

        if (status != DUEQ_OK)
            return status;
        if (!job_has_expired(queue, pick->topic, ret_job, pick->time))
            return DUEQ_OK;
        job_expire(queue, pick->topic, ret_job, pick->time);
        queue->claim_steps += EXPIRY_STEPS;
    }
    return DUEQ_BUSY;
}

bool pick_is_enough(const struct queue *queue)
{
    return queue->claim_steps >= ENOUGH || queue->parked >= PARKED_MAX;
}

/* The wall clock was set back, and no tick has counted the jobs that are not due any more: when
 * it is set forward again, they are no news to the count, but they are to the caller. */
static bool counts_are_old(const struct topic *topic)
{
    for (size_t i = 0; i < topic->lane_count; i++)
        if (topic->lanes[i].ready > 0)
            return true;
    return false;
}

enum dueq_status pick_job(struct queue *queue, struct topic *topic, bool yields,
                          struct dueq_time time, struct job *ret_job)
{
    unsigned steps = yields && pick_is_enough(queue) ? STEPS_LITTLE : STEPS_MAX;
    struct pick pick = {.queue = queue,
                        .topic = topic,
                        .time = time,
                        .rules = groups_rules(queue, topic),
                        .age_after = settings_number(queue, topic, DUEQ_SET_AGE_AFTER, 0),
                        .budget = steps,
                        .yields = yields};
    enum dueq_status status = groups_follow(queue, topic, &pick.budget);

    schedule_freed(queue, topic,
                   topic->claimed); /* others may wait since a claim was refused */
    if (topic->claimed >= schedule_most_claimed(queue, topic)) {
        topic->refused = true;
        return status == DUEQ_OK ? DUEQ_NOTFOUND : status;
    }
    if (!rates_allow(queue, topic, time.now))
        return status == DUEQ_OK ? DUEQ_NOTFOUND : status;
    if (status == DUEQ_OK && pick.budget < steps / 2)
        pick.budget = steps / 2; /* following goes on in ticks */
    if (status == DUEQ_OK)
        status = look_for_unexpired(&pick, ret_job);
    queue->claim_steps += steps - pick.budget + (status == DUEQ_BUSY ? BUSY_STEPS : 0);
    if (status == DUEQ_BUSY || (status == DUEQ_NOTFOUND && counts_are_old(topic))) {
        topic->put_off = true;
        queue_event_at(queue, topic, time.now);
    }
    return status;
}
