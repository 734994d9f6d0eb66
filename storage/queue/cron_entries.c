#include "storage/queue/cron_entries.h"

#include "storage/kv/room.h"
#include "storage/queue/push.h"

#include <string.h>

/* ---- what an entry says */

void cron_push(const struct cron_rule *rule, struct dueq_push *ret_push)
{
    const struct job_body *job = &rule->job;

    dueq_push_init(ret_push);
    ret_push->topic = rule->topic;
    ret_push->body = job->body;
    ret_push->group = job->group;
    if (job->group.size > 0)
        ret_push->weight = job->weight;
    ret_push->priority = job->priority;
    ret_push->lease = job->lease;
    ret_push->retries = job->retries;
    ret_push->crashes = job->crashes;
    ret_push->backoff = job->backoff;
    ret_push->backoff_max = job->backoff_max;
    ret_push->jitter = job->jitter;
    ret_push->ttl = job->ttl;
    ret_push->step_count = job->step_count;
    memcpy(ret_push->steps, job->steps, sizeof(job->steps));
}

/* No due time, no id: a firing sets them. */
static struct cron_rule rule_of(const struct dueq_cron *cron)
{
    return (struct cron_rule){.every = cron->every,
                              .jitter = cron->jitter,
                              .catchup = cron->catchup,
                              .overlap = cron->overlap,
                              .spec = cron->spec,
                              .zone = cron->zone,
                              .topic = cron->push.topic,
                              .job = push_plain_body(&cron->push)};
}

/* ---- checks */

static enum dueq_status check_times(const struct dueq_cron *cron, struct dueq_error *error)
{
    if ((cron->every > 0) == (cron->spec.size > 0))
        return dueq_fail(error, DUEQ_INVALID, "a recurring job has EVERY or SPEC");
    if (cron->every != 0 && cron->every < DUEQ_CRON_EVERY_MIN)
        return dueq_fail(error, DUEQ_INVALID, "EVERY must be 1 second or more");
    if (cron->every > SAFE_TIME_MAX || cron->jitter < 0 || cron->jitter > SAFE_TIME_MAX / 2)
        return dueq_fail(error, DUEQ_INVALID, "a duration is out of range");
    if (cron->zone.size > DUEQ_CRON_ZONE_MAX ||
        (cron->zone.size > 0 && memchr(cron->zone.data, 0, cron->zone.size) != NULL))
        return dueq_fail(error, DUEQ_INVALID, "this is no name of a time zone");
    if (cron->zone.size > 0 && cron->every > 0)
        return dueq_fail(error, DUEQ_INVALID, "a time zone needs a SPEC");
    return DUEQ_OK;
}

static enum dueq_status check(struct queue *queue, const struct dueq_cron *cron,
                              struct dueq_error *error)
{
    struct dueq_push push = cron->push;
    enum dueq_status status = check_times(cron, error);

    if (status != DUEQ_OK)
        return status;
    if (!queue_valid_name(cron->name) || (unsigned)cron->catchup > DUEQ_CATCHUP_ALL ||
        (unsigned)cron->overlap > DUEQ_OVERLAP_SKIP)
        return dueq_fail(error, DUEQ_INVALID, "a value is out of range");
    if (push.body.size > DUEQ_CRON_BODY_MAX)
        return dueq_fail(error, DUEQ_TOOBIG, "the body has more than %d bytes",
                         DUEQ_CRON_BODY_MAX);
    push.id = dueq_slice(NULL, 0);
    push.delay = 0;
    status = push_check(queue, &push);
    return status == DUEQ_INVALID
               ? dueq_fail(error, status, "a value of the job is out of range")
               : status;
}

/* ---- SET */

static bool same_times(const struct cron_rule *a, const struct cron_rule *b)
{
    return a->every == b->every && a->jitter == b->jitter &&
           dueq_slice_equal(a->spec, b->spec) && dueq_slice_equal(a->zone, b->zone);
}

/* What stays of an entry that is changed. *ret_same: its times do. */
static enum dueq_status begin_state(struct queue *queue, const struct dueq_cron *cron,
                                    const struct cron_rule *rule, struct dueq_time time,
                                    struct cron_state *ret_state, bool *ret_same)
{
    struct cron old;
    enum dueq_status status = cron_load(queue, cron->name, &old);

    *ret_same = false;
    *ret_state = (struct cron_state){.base = time.now};
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    *ret_same = same_times(rule, &old.rule);
    *ret_state = old.state;
    ret_state->has_last &= dueq_slice_equal(rule->topic, old.rule.topic);
    if (!*ret_same) {
        ret_state->base = time.now;
        ret_state->made_up = 0;
    }
    return DUEQ_OK;
}

/* The times of a new rule begin now. */
static enum dueq_status first_time(const struct queue *queue, const struct dueq_cron *cron,
                                   const struct cron_rule *rule, const struct cron_times *times,
                                   struct cron_state *state, struct dueq_error *error)
{
    int64_t wall = queue_wall_of(queue, CLOCK_QUEUE, queue->now);

    if (rule->every > 0)
        return cron_times_next(times, state);
    state->seen = wall;
    if (cron_times_after(times, wall, state) == DUEQ_OK)
        return DUEQ_OK;
    return dueq_fail(error, DUEQ_INVALID, "the time zone '%.*s' is not known",
                     (int)cron->zone.size, (const char *)cron->zone.data);
}

/* The entry that is there, or a new one. */
static enum dueq_status open_entry(struct queue *queue, struct dueq_slice name,
                                   struct cron_entry **ret_entry, struct dueq_error *error)
{
    struct crons *crons = &queue->crons;

    *ret_entry = crons_find(crons, name);
    if (*ret_entry == NULL && crons_count(crons) >= crons->limit)
        return dueq_fail(error, DUEQ_TOOBIG, "there are as many recurring jobs as may be: %llu",
                         (unsigned long long)crons->limit);
    if (*ret_entry == NULL)
        *ret_entry = crons_add(crons, name);
    return *ret_entry == NULL ? DUEQ_NOMEM : DUEQ_OK;
}

enum dueq_status queue_cron_set(struct queue *queue, const struct dueq_cron *cron,
                                struct dueq_time time, struct dueq_error *error)
{
    struct cron_rule rule = rule_of(cron);
    char text[CRON_SPEC_ERROR_MAX];
    struct cron_times times;
    struct cron_state state;
    struct cron_entry *entry;
    bool same;
    enum dueq_status status = check(queue, cron, error);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(queue, time);
    if (cron_times_begin(queue, cron->name, &rule, &times, text) != DUEQ_OK)
        return dueq_fail(error, DUEQ_INVALID, "%s", text);
    status = begin_state(queue, cron, &rule, time, &state, &same);
    if (status == DUEQ_OK && !same)
        status = first_time(queue, cron, &rule, &times, &state, error);
    if (status == DUEQ_OK)
        status = open_entry(queue, cron->name, &entry, error);
    if (status != DUEQ_OK)
        return status;
    cron_save_rule(queue, cron->name, &rule);
    cron_save_state(queue, entry, cron_clock(&rule), times.delay, &state);
    return DUEQ_OK;
}

/* What a calendar can count with, and what has been counted. */
static bool is_good_state(const struct cron_state *state)
{
    const int64_t most = SAFE_TIME_MAX / 1000; /* s */

    return state->base == safe_time_clamp(state->base) &&
           state->seen == safe_time_clamp(state->seen) &&
           state->last == safe_time_clamp(state->last) && state->local >= -most &&
           state->local <= most && state->made_up >= 0 && state->fired >= 0 &&
           state->missed >= 0 && state->overlapped >= 0;
}

enum dueq_status queue_restore_cron(struct queue *queue, struct dueq_slice name,
                                    const struct cron *cron)
{
    struct dueq_cron given = {.name = name,
                              .every = cron->rule.every,
                              .spec = cron->rule.spec,
                              .zone = cron->rule.zone,
                              .jitter = cron->rule.jitter,
                              .catchup = cron->rule.catchup,
                              .overlap = cron->rule.overlap};
    const struct cron_state *state = &cron->state;
    char text[CRON_SPEC_ERROR_MAX];
    struct cron_times times;
    struct cron_entry *entry;
    enum dueq_status status;

    cron_push(&cron->rule, &given.push);
    status = check(queue, &given, NULL);
    if (status != DUEQ_OK)
        return status;
    if (crons_find(&queue->crons, name) != NULL)
        return DUEQ_DUPLICATE;
    if (cron_times_begin(queue, name, &cron->rule, &times, text) != DUEQ_OK ||
        !is_good_state(state))
        return DUEQ_INVALID;
    entry = crons_add(&queue->crons, name);
    if (entry == NULL)
        return DUEQ_NOMEM;
    cron_save_rule(queue, name, &cron->rule);
    cron_save_state(queue, entry, cron_clock(&cron->rule), times.delay, state);
    return DUEQ_OK;
}

/* ---- the others */

/* DUEQ_NOTFOUND. */
static enum dueq_status find(struct queue *queue, struct dueq_slice name,
                             struct cron_entry **ret_entry, struct cron *ret_cron)
{
    enum dueq_status status;

    *ret_entry = crons_find(&queue->crons, name);
    if (*ret_entry == NULL)
        return DUEQ_NOTFOUND;
    status = cron_load(queue, name, ret_cron);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

enum dueq_status queue_cron_get(struct queue *queue, struct dueq_slice name,
                                struct dueq_cron *ret_cron, struct dueq_cron_state *ret_state)
{
    struct cron_entry *entry;
    struct cron cron;
    const struct cron_state *state = &cron.state;
    enum dueq_status status = find(queue, name, &entry, &cron);
    int64_t at;

    if (status != DUEQ_OK)
        return status;
    *ret_cron = (struct dueq_cron){.name = cron_entry_name(entry),
                                   .every = cron.rule.every,
                                   .spec = cron.rule.spec,
                                   .zone = cron.rule.zone,
                                   .jitter = cron.rule.jitter,
                                   .catchup = cron.rule.catchup,
                                   .overlap = cron.rule.overlap};
    cron_push(&cron.rule, &ret_cron->push);
    at = queue_wall_of(queue, cron_clock(&cron.rule),
                       safe_time_add(state->base, cron_delay(name, &cron.rule)));
    *ret_state = (struct dueq_cron_state){.paused = state->paused,
                                          .next = state->paused ? DUEQ_NEVER : at,
                                          .last = state->last,
                                          .fired = (uint64_t)state->fired,
                                          .missed = (uint64_t)state->missed,
                                          .overlapped = (uint64_t)state->overlapped,
                                          .failure = entry->failure};
    if (state->has_last)
        memcpy(ret_state->last_id, state->last_id, GIVEN_ID_SIZE);
    return DUEQ_OK;
}

enum dueq_status queue_cron_del(struct queue *queue, struct dueq_slice name)
{
    struct cron_entry *entry = crons_find(&queue->crons, name);

    if (entry == NULL)
        return DUEQ_NOTFOUND;
    cron_remove(queue, entry);
    return DUEQ_OK;
}

/* On the clock of the rule. */
static int64_t now_of(const struct queue *queue, const struct cron_rule *rule)
{
    return queue_wall_of(queue, CLOCK_QUEUE, queue->now) -
           (cron_clock(rule) == CLOCK_QUEUE ? queue->offset : 0);
}

static enum dueq_status find_times(struct queue *queue, struct dueq_slice name,
                                   struct dueq_time time, struct cron_entry **ret_entry,
                                   struct cron *ret_cron, struct cron_times *ret_times)
{
    char error[CRON_SPEC_ERROR_MAX];
    enum dueq_status status;

    queue_time(queue, time);
    status = find(queue, name, ret_entry, ret_cron);
    if (status != DUEQ_OK)
        return status;
    return cron_times_begin(queue, name, &ret_cron->rule, ret_times, error);
}

enum dueq_status queue_cron_pause(struct queue *queue, struct dueq_slice name, bool pause,
                                  struct dueq_time time)
{
    struct cron_times times;
    struct cron_entry *entry;
    struct cron cron;
    enum dueq_status status = find_times(queue, name, time, &entry, &cron, &times);

    if (status != DUEQ_OK || cron.state.paused == pause)
        return status;
    if (!pause && cron_times_after(&times, now_of(queue, &cron.rule), &cron.state) != DUEQ_OK)
        return DUEQ_INVALID;
    cron.state.paused = pause;
    cron.state.made_up = 0;
    if (!pause)
        cron.state.seen = queue_wall_of(queue, CLOCK_QUEUE, queue->now);
    cron_save_state(queue, entry, cron_clock(&cron.rule), times.delay, &cron.state);
    return DUEQ_OK;
}

/* The entry waits on as before: also one that is tried again. */
enum dueq_status queue_cron_run(struct queue *queue, struct dueq_slice name,
                                struct dueq_time time, struct dueq_pushed *ret_pushed)
{
    struct cron_entry *entry;
    struct cron cron;
    uint8_t clock;
    int64_t delay;
    enum dueq_status status;

    time = queue_time(queue, time);
    status = find(queue, name, &entry, &cron);
    if (status != DUEQ_OK)
        return status;
    clock = cron_clock(&cron.rule);
    delay = cron_delay(name, &cron.rule);
    status = cron_fire(queue, &cron, time, ret_pushed);
    if (status == DUEQ_OK)
        cron_save_state(queue, entry, clock, delay, &cron.state);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

enum dueq_status queue_cron_next(struct queue *queue, struct dueq_slice name,
                                 struct dueq_time time, size_t count, int64_t *ret_times,
                                 size_t *ret_count)
{
    struct cron_times times;
    struct cron_entry *entry;
    struct cron cron;
    enum dueq_status status = find_times(queue, name, time, &entry, &cron, &times);

    if (status != DUEQ_OK)
        return status;
    if (cron.state.paused)
        status = cron_times_after(&times, now_of(queue, &cron.rule), &cron.state);
    *ret_count = 0;
    while (status == DUEQ_OK && *ret_count < count && cron.state.base < SAFE_TIME_MAX) {
        ret_times[(*ret_count)++] =
            queue_wall_of(queue, cron_clock(&cron.rule), cron.state.base + times.delay);
        status = cron_times_next(&times, &cron.state);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_INVALID : status;
}

void queue_get_cron_stats(const struct queue *queue, struct dueq_cron_stats *ret_stats)
{
    *ret_stats = queue->crons.stats;
    ret_stats->entries = crons_count(&queue->crons);
}
