/* Recurring jobs fire in ticks: the job and the next time are in one batch. */
#include "storage/queue/cron_entries.h"

#include "storage/kv/pressure.h"
#include "storage/queue/queue.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRE_STEPS = 8,                 /* of a budget, for one firing */
    LOOK_STEPS = 2,                 /* for an entry that is looked at */
    RETRY_MS = 1000,                /* after a refused push */
    RETRY_LATE_MS = 60000,          /* without rules of the zone, or with damage */
    AGAIN_MS = 50,                  /* while the disk is behind */
    BACK_MS = 60000,                /* a clock that is set back by less is not noticed */
    CORRECTION_MS = 3 * 3600 * 1000 /* nobody sets a clock back so far for daylight saving */
};

/* ---- one firing */

/* Is the job of the firing before still there? */
static enum dueq_status overlaps(struct queue *queue, const struct cron *cron, bool *ret_does)
{
    struct topic *topic;
    struct job job;
    enum dueq_status status;

    *ret_does = false;
    if (cron->rule.overlap != DUEQ_OVERLAP_SKIP || !cron->state.has_last)
        return DUEQ_OK;
    status = topics_find(queue, cron->rule.topic, &topic);
    if (status == DUEQ_OK)
        status =
            lookup_given(queue, topic, dueq_slice(cron->state.last_id, GIVEN_ID_SIZE), &job);
    if (status == DUEQ_OK)
        *ret_does = !job_has_ended(&job);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* The job's texts are copied, as they lie in a record. */
static enum dueq_status push_copy(struct queue *queue, const struct cron_rule *rule,
                                  struct dueq_time time, struct dueq_pushed *ret_pushed)
{
    size_t topic_size = rule->topic.size, group_size = rule->job.group.size,
           body_size = rule->job.body.size;
    uint8_t *copy = malloc(topic_size + group_size + body_size);
    struct dueq_push push;
    enum dueq_status status;

    if (copy == NULL)
        return DUEQ_NOMEM;
    cron_push(rule, &push);
    memcpy(copy, rule->topic.data, topic_size);
    if (group_size > 0)
        memcpy(copy + topic_size, rule->job.group.data, group_size);
    if (body_size > 0)
        memcpy(copy + topic_size + group_size, rule->job.body.data, body_size);
    push.topic = dueq_slice(copy, topic_size);
    push.group = dueq_slice(copy + topic_size, group_size);
    push.body = dueq_slice(copy + topic_size + group_size, body_size);
    status = queue_push(queue, &push, time, ret_pushed);
    free(copy);
    return status;
}

enum dueq_status cron_fire(struct queue *queue, struct cron *cron, struct dueq_time time,
                           struct dueq_pushed *ret_pushed)
{
    bool overlapping;
    enum dueq_status status = overlaps(queue, cron, &overlapping);

    if (status == DUEQ_OK && overlapping)
        return DUEQ_WRONGSTATE;
    if (status == DUEQ_OK)
        status = push_copy(queue, &cron->rule, time, ret_pushed);
    if (status != DUEQ_OK)
        return status;
    cron->state.has_last = true;
    memcpy(cron->state.last_id, ret_pushed->id.data, GIVEN_ID_SIZE);
    cron->state.last = time.wall;
    cron->state.fired++;
    queue->crons.stats.fired++;
    return DUEQ_OK;
}

/* ---- what is due */

/* It is tried again. On the queue's clock, which nobody sets back. */
static void put_off(struct queue *queue, struct cron_entry *entry, enum dueq_status status)
{
    bool soon = status != DUEQ_NOTFOUND && status != DUEQ_CORRUPT && status != DUEQ_INVALID;

    entry->failure = status;
    queue->crons.stats.failures++;
    crons_wait(&queue->crons, entry, CLOCK_QUEUE,
               safe_time_add(queue->now, soon ? RETRY_MS : RETRY_LATE_MS));
}

/* What is done about the time that is due. */
struct verdict {
    bool missed; /* it is long ago */
    bool passed_over;
    bool last; /* later times that have passed count as missed too */
};

static struct verdict judge(const struct cron *cron, int64_t due, int64_t now)
{
    struct verdict verdict = {.missed = now - due > DUEQ_CRON_LATE_MS};
    enum dueq_catchup catchup = cron->rule.catchup;

    verdict.passed_over =
        verdict.missed &&
        (catchup == DUEQ_CATCHUP_NONE ||
         (catchup == DUEQ_CATCHUP_ALL && cron->state.made_up >= DUEQ_CRON_MADE_UP_MAX));
    verdict.last = verdict.passed_over || (verdict.missed && catchup == DUEQ_CATCHUP_ONE);
    return verdict;
}

static enum dueq_status act(struct queue *queue, struct cron *cron,
                            const struct cron_times *times, const struct verdict *verdict,
                            int64_t now, struct dueq_time time)
{
    struct cron_state *state = &cron->state;
    struct dueq_pushed pushed;
    enum dueq_status status =
        verdict->last ? cron_times_after(times, now, state) : cron_times_next(times, state);

    if (status != DUEQ_OK)
        return status;
    state->made_up = verdict->missed && !verdict->last ? state->made_up + 1 : 0;
    if (verdict->passed_over) {
        state->missed++;
        queue->crons.stats.missed++;
        return DUEQ_OK;
    }
    status = cron_fire(queue, cron, time, &pushed);
    if (status != DUEQ_WRONGSTATE)
        return status;
    state->overlapped++;
    queue->crons.stats.overlapped++;
    return DUEQ_OK;
}

static void run_entry(struct queue *queue, struct cron_entry *entry, struct dueq_time time)
{
    char error[CRON_SPEC_ERROR_MAX];
    struct cron_times times;
    struct cron cron;
    struct verdict verdict;
    uint8_t clock;
    int64_t now, due;
    enum dueq_status status = cron_load(queue, cron_entry_name(entry), &cron);

    if (status == DUEQ_OK)
        status = cron_times_begin(queue, cron_entry_name(entry), &cron.rule, &times, error);
    if (status != DUEQ_OK) {
        put_off(queue, entry, status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status);
        return;
    }
    clock = cron_clock(&cron.rule);
    now = clock == CLOCK_QUEUE ? time.now : queue_wall_of(queue, CLOCK_QUEUE, time.now);
    due = safe_time_add(cron.state.base, times.delay);
    if (due > now) { /* it was put off, and the clock has been set back since */
        entry->failure = DUEQ_OK;
        crons_wait(&queue->crons, entry, clock, due);
        return;
    }
    verdict = judge(&cron, due, now);
    if (verdict.missed && !verdict.passed_over && kv_is_behind(queue->kv)) {
        crons_wait(&queue->crons, entry, CLOCK_QUEUE, safe_time_add(queue->now, AGAIN_MS));
        return;
    }
    status = act(queue, &cron, &times, &verdict, now, time);
    cron.state.seen = queue_wall_of(queue, CLOCK_QUEUE, time.now);
    if (status == DUEQ_OK)
        cron_save_state(queue, entry, clock, times.delay, &cron.state);
    else
        put_off(queue, entry, status);
}

/* ---- a wall clock that is set back */

/* As cron: a short step is taken for one of daylight saving. */
static void turn_back(struct queue *queue, struct cron_entry *entry)
{
    int64_t wall = queue_wall_of(queue, CLOCK_QUEUE, queue->now), back;
    char error[CRON_SPEC_ERROR_MAX];
    struct cron_times times;
    struct cron cron;

    if (entry->is_paused || cron_load(queue, cron_entry_name(entry), &cron) != DUEQ_OK ||
        cron_clock(&cron.rule) != CLOCK_WALL)
        return;
    back = cron.state.seen - wall;
    if (back < BACK_MS ||
        cron_times_begin(queue, cron_entry_name(entry), &cron.rule, &times, error) != DUEQ_OK ||
        (back < CORRECTION_MS && !times.spec.follows_clock))
        return;
    if (cron_times_after(&times, wall, &cron.state) == DUEQ_OK) {
        cron.state.seen = wall;
        cron_save_state(queue, entry, CLOCK_WALL, times.delay, &cron.state);
    } else {
        put_off(queue, entry, DUEQ_NOTFOUND);
    }
}

static void pay(unsigned steps, unsigned *budget)
{
    *budget -= steps < *budget ? steps : *budget;
}

static void follow_wall(struct queue *queue, unsigned *budget)
{
    struct crons *crons = &queue->crons;

    if (queue->offset > crons->offset)
        crons->offset = queue->offset;
    if (queue->offset <= crons->offset - BACK_MS) {
        crons->offset = queue->offset;
        crons->sweep = crons->entries;
    }
    while (*budget > 0 && crons->sweep != NULL) {
        struct cron_entry *entry = crons->sweep;

        crons->sweep = entry->hh.next;
        turn_back(queue, entry);
        pay(LOOK_STEPS, budget);
    }
}

/* ---- ticks */

/* On the queue's clock. */
static int64_t time_of(const struct queue *queue, const struct cron_entry *entry)
{
    return queue_clock_of(queue, entry->clock, entry->at);
}

static struct cron_entry *first_of_all(const struct queue *queue)
{
    struct cron_entry *first = crons_first(&queue->crons, CLOCK_QUEUE),
                      *other = crons_first(&queue->crons, CLOCK_WALL);

    if (first == NULL || (other != NULL && time_of(queue, other) < time_of(queue, first)))
        return other;
    return first;
}

/* Above it is the reserve of claims and acks. One look for all entries. */
static bool is_held(struct queue *queue, struct dueq_time time)
{
    if (kv_pressure(queue->kv) < KV_PRESSURE_FULL)
        return false;
    queue->crons.held = safe_time_add(time.now, AGAIN_MS);
    return true;
}

/* Before anything fires at a time that is no more. */
void cron_tick(struct queue *queue, struct dueq_time time, unsigned *budget)
{
    if (queue->crons.entries == NULL) {
        queue->crons.offset = queue->offset;
        return;
    }
    follow_wall(queue, budget);
    while (*budget > 0) {
        struct cron_entry *entry = first_of_all(queue);

        if (entry == NULL || time_of(queue, entry) > time.now || is_held(queue, time))
            return;
        run_entry(queue, entry, time);
        pay(FIRE_STEPS, budget);
    }
}

int64_t cron_next_tick(const struct queue *queue)
{
    const struct cron_entry *entry = first_of_all(queue);

    if (queue->crons.sweep != NULL ||
        (queue->crons.entries != NULL && queue->offset <= queue->crons.offset - BACK_MS))
        return SAFE_TIME_MIN;
    if (entry == NULL)
        return DUEQ_NEVER;
    return time_of(queue, entry) > queue->crons.held ? time_of(queue, entry)
                                                     : queue->crons.held;
}
