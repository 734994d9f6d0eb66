#include "tests/support/models/queue_model_life.h"

#include "storage/queue/record/safe_time.h"
#include "tests/support/models/queue_model_rate.h"
#include "tests/support/models/queue_model_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct dueq_topic_stats *totals_of(struct queue_model *model,
                                          const struct model_job *job)
{
    return &model->topics[job->topic].totals;
}

/* ---- questions */

enum dueq_status model_held(const struct model_job *job, int64_t token, bool ack)
{
    if (job == NULL)
        return DUEQ_NOTFOUND;
    if (!job->token_valid || job->token != token ||
        (!ack && (job->state == MODEL_DEAD || job->state == MODEL_DONE)))
        return DUEQ_STALE;
    return job->cancelled ? DUEQ_CANCELLED : DUEQ_OK;
}

enum dueq_status model_first_held(const struct model_job *job, int64_t token)
{
    enum dueq_status status = model_held(job, token, true);

    return status == DUEQ_OK && job->state == MODEL_DONE ? DUEQ_STALE : status;
}

bool model_lease_over(const struct model_job *job, struct dueq_time time)
{
    return job->there && job->state == MODEL_CLAIMED && job->due <= time.now;
}

bool model_life_over(const struct model_job *job, struct dueq_time time)
{
    return job->there && job->state == MODEL_PENDING && model_life_end(job, time) <= time.now;
}

bool model_keeping_over(const struct model_job *job, struct dueq_time time)
{
    return job->there && job->state == MODEL_DONE && job->expires <= time.now;
}

static int64_t ttl_end(const struct model_job *job, struct dueq_time time)
{
    int64_t due = model_clock_of(job->wall, job->due, time), ttl = job->content.options.ttl;

    return ttl == DUEQ_DEFAULT ? DUEQ_NEVER : safe_time_add(safe_time_clamp(due), ttl);
}

int64_t model_life_end(const struct model_job *job, struct dueq_time time)
{
    int64_t end;

    if (!job->wall || job->state != MODEL_PENDING || job->expires == DUEQ_NEVER)
        return job->expires;
    end = ttl_end(job, time);
    return end > job->expires ? end : job->expires;
}

/* ---- the end */

/* What it waits for in that place is over. */
static void await_less(struct model_job *job, size_t place)
{
    job->after[place] = job->after[--job->awaits];
}

static void leave_one(struct model_job *waiter, size_t place, enum dueq_end end)
{
    enum dueq_on_dead on_dead = waiter->content.options.on_dead;

    if (end == DUEQ_END_DONE || on_dead == DUEQ_ON_DEAD_RUN)
        await_less(waiter, place);
    else if (on_dead == DUEQ_ON_DEAD_FAIL)
        waiter->fails = true;
    else if (end != DUEQ_END_DEAD)
        waiter->after[place] = NULL;
}

/* The job has ended for those that wait for it. */
static void leave(struct queue_model *model, const struct model_job *job, enum dueq_end end)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *waiter = &model->jobs[i];

        for (size_t place = waiter->awaits; waiter->there && place-- > 0;)
            if (waiter->state == MODEL_WAITING && waiter->after[place] == job)
                leave_one(waiter, place, end);
    }
}

void model_end(struct queue_model *model, struct model_job *job, enum dueq_end end)
{
    if (job->watch > 0)
        model->ends[job->watch] = end;
    job->watch = 0;
    leave(model, job, end);
}

void model_remove(struct queue_model *model, struct model_job *job, enum dueq_end end)
{
    model_end(model, job, end);
    job->there = false;
}

/* ---- waiting */

void model_set_due(struct model_job *job, bool wall, int64_t due, struct dueq_time time)
{
    job->wall = wall;
    job->due = due;
    job->expires = ttl_end(job, time);
}

void model_begin(struct model_job *job, const struct model_content *content,
                 struct dueq_time time)
{
    job->content = *content;
    job->state = MODEL_PENDING;
    job->token_valid = job->cancelled = job->followed = job->holds = false;
    job->token = job->attempt = job->failures = job->crashes = 0;
    job->worker = job->progress = job->result = NULL;
    job->error[0] = '\0';
    job->attempts = 0;
    job->awaits = 0;
    job->fails = false;
    model_set_due(job, content->wall, content->due, time);
}

static void follow(struct model_job *job, struct dueq_time time)
{
    struct model_content next = job->next;

    model_begin(job, &next, time);
}

/* ---- claimed */

static void hold(struct model_job *job, int64_t lease, struct dueq_time time)
{
    job->expires = model_life_end(job, time);
    job->state = MODEL_CLAIMED;
    job->holds = false;
    job->wall = false;
    job->due = model_after(time, lease);
}

void model_claim(struct queue_model *model, struct model_job *job, const char *worker,
                 int64_t lease, struct dueq_time time)
{
    int64_t due = model_clock_of(job->wall, job->due, time);

    model_take_permit(model, job, time);
    model_note_time(model, job->topic, DUEQ_SPAN_WAIT,
                    time.now - (due > job->stamp ? due : job->stamp), time);
    hold(job, lease, time);
    job->since = time.now;
    job->worker = worker;
    job->token_valid = true;
    job->attempt++;
    model_note(model, job, DUEQ_EVENT_CLAIMED);
    totals_of(model, job)->claimed++;
}

/* Its lease ended before: the crash is forgotten. */
static void forget_crash(struct model_job *job)
{
    job->crashes--;
    job->attempts--;
}

void model_extend(struct model_job *job, int64_t lease, struct dueq_time time)
{
    if (job->state == MODEL_PENDING)
        forget_crash(job);
    hold(job, lease, time);
}

/* Until when a done job is kept, for its topic or for its id. */
static int64_t keep_end(const struct model_job *job, int64_t keep, struct dueq_time time)
{
    const struct dueq_push *options = &job->content.options;
    int64_t kept = safe_time_add(time.now, safe_time_clamp(keep)), taken = time.now;

    if (options->window != DUEQ_DEFAULT)
        taken = safe_time_add(options->on_duplicate == DUEQ_THROTTLE ? job->stamp : time.now,
                              safe_time_clamp(options->window));
    return kept > taken ? kept : taken;
}

static void finish(struct model_job *job, bool with_body, int64_t until, struct dueq_time time)
{
    job->there = until > time.now;
    job->holds = false;
    job->state = MODEL_DONE;
    job->wall = false;
    job->due = time.now;
    job->expires = until;
    job->error[0] = '\0';
    if (!with_body)
        job->content.body[0] = '\0';
}

void model_ack(struct queue_model *model, struct model_job *job, int64_t keep,
               const char *result, struct dueq_time time)
{
    if (job->state == MODEL_DONE)
        return;
    if (job->state == MODEL_CLAIMED)
        model_note_time(model, job->topic, DUEQ_SPAN_RUN, time.now - job->since, time);
    if (keep == DUEQ_DEFAULT) {
        keep = model_setting(model, job->topic, DUEQ_SET_KEEP, 0);
        if (keep == 0 && result != NULL)
            keep = DUEQ_RESULT_KEEP;
    }
    totals_of(model, job)->acked++;
    model_note(model, job, DUEQ_EVENT_ACKED);
    if (job->followed) {
        follow(job, time);
        return;
    }
    model_end(model, job, DUEQ_END_DONE);
    finish(job, keep > 0, keep_end(job, keep, time), time);
    job->result = result;
}

void model_end_cancelled(struct queue_model *model, struct model_job *job,
                         struct dueq_time time)
{
    totals_of(model, job)->cancelled++;
    model_note(model, job, DUEQ_EVENT_CANCELLED);
    if (job->followed)
        follow(job, time);
    else
        model_remove(model, job, DUEQ_END_CANCELLED);
}

/* ---- dead */

/* Error and history go along. */
void model_send(struct queue_model *model, struct model_job *job, int to, int64_t due,
                struct dueq_time time)
{
    leave(model, job, DUEQ_END_GONE);
    job->topic = to;
    job->seq = ++model->seq;
    job->stamp = time.now;
    job->state = MODEL_PENDING;
    job->wall = false;
    job->due = due;
    job->expires = DUEQ_NEVER;
    job->token_valid = job->holds = false;
    job->token = job->attempt = job->failures = job->crashes = 0;
    job->worker = job->progress = NULL;
    job->told = job->awaits_due = false;
    totals_of(model, job)->pushed++;
    model_note_arrival(model, job);
}

/* Has another job of the topic the same id? */
static bool has_twin(const struct queue_model *model, const struct model_job *job)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *other = &model->jobs[i];

        if (other != job && other->there && other->topic == job->topic &&
            dueq_slice_equal(model_id(other), model_id(job)))
            return true;
    }
    return false;
}

static void die(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    int dead_topic = model_dead_topic(model, job->topic);

    totals_of(model, job)->dead++;
    model_note(model, job, DUEQ_EVENT_DEAD);
    model_end(model, job, DUEQ_END_DEAD);
    if (dead_topic >= 0) {
        model_send(model, job, dead_topic, time.now, time);
        job->arrived = true;
        job->taken = has_twin(model, job);
        return;
    }
    job->state = MODEL_DEAD;
    job->holds = false;
    job->due = time.now;
    job->wall = false;
    job->expires = DUEQ_NEVER;
}

/* ---- waiting for others */

static bool waits_for(const struct model_job *job, const struct model_job *other)
{
    for (size_t i = 0; i < job->awaits; i++)
        if (job->after[i] == other)
            return true;
    return false;
}

void model_await(struct model_job *job, const struct model_job *other)
{
    enum dueq_on_dead on_dead = job->content.options.on_dead;

    if (other == NULL || other->state == MODEL_DONE || waits_for(job, other) ||
        (other->state == MODEL_DEAD && on_dead == DUEQ_ON_DEAD_RUN))
        return;
    if (other->state == MODEL_DEAD && on_dead == DUEQ_ON_DEAD_FAIL)
        job->fails = true;
    else
        job->after[job->awaits++] = other;
}

void model_begin_to_wait(struct model_job *job, struct dueq_time time)
{
    if (job->awaits == 0 && !job->fails)
        return;
    job->state = MODEL_WAITING;
    job->wall = false;
    job->due = time.now;
    job->expires = DUEQ_NEVER;
}

void model_begin_now(struct model_job *job)
{
    job->state = MODEL_PENDING;
    job->awaits = 0;
    job->fails = false;
}

/* Its delay begins. */
static void release(struct model_job *job, struct dueq_time time)
{
    const struct dueq_push *options = &job->content.options;
    bool wall = job->content.wall && job->content.due > time.wall;
    int64_t due = job->content.wall ? time.now
                                    : model_after(time, options->absolute ? 0 : options->delay);

    model_begin_now(job);
    model_set_due(job, wall, wall ? job->content.due : due, time);
}

bool model_settle(struct queue_model *model, struct dueq_time time)
{
    bool any = false;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];

        if (!job->there || job->state != MODEL_WAITING || (!job->fails && job->awaits > 0))
            continue;
        any = true;
        if (job->fails) {
            job->fails = false;
            job->awaits = 0;
            snprintf(job->error, sizeof(job->error), MODEL_AFTER_ERROR);
            die(model, job, time);
        } else {
            release(job, time);
        }
        i = -1; /* another one may have waited for it */
    }
    return any;
}

/* ---- given back */

void model_lapse(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    totals_of(model, job)->jobs_expired++;
    model_note(model, job, DUEQ_EVENT_LAPSED);
    if (model_setting(model, job->topic, DUEQ_SET_TTL_ACTION, DUEQ_TTL_DEAD) == DUEQ_TTL_DROP) {
        model_remove(model, job, DUEQ_END_GONE);
        return;
    }
    snprintf(job->error, sizeof(job->error), "expired");
    die(model, job, time);
}

static void remember(struct model_job *job, int outcome, struct dueq_time time)
{
    if (outcome == MODEL_UNSEEN) {
        job->attempt--;
        return;
    }
    if (job->attempts == DUEQ_ATTEMPTS_KEPT)
        memmove(job->history, job->history + 1, --job->attempts * sizeof(job->history[0]));
    job->history[job->attempts++] = (struct model_attempt){
        time.wall, time.now - job->since, (enum dueq_outcome)outcome, job->worker};
    job->failures += outcome == DUEQ_FAILED || outcome == DUEQ_FATAL;
    job->crashes += outcome == DUEQ_CRASHED;
}

static void quarantine(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    snprintf(job->error, sizeof(job->error), "crashed: %" PRId64 " leases expired",
             job->crashes);
    die(model, job, time);
}

void model_give_back(struct queue_model *model, struct model_job *job, int64_t due, int outcome,
                     struct dueq_time time)
{
    struct model_options options = model_options(model, job);

    if (job->followed) {
        follow(job, time);
        return;
    }
    if (job->state == MODEL_PENDING)
        forget_crash(job);
    remember(job, outcome, time);
    if (outcome == DUEQ_FATAL || job->failures > options.retries) {
        die(model, job, time);
    } else if (job->crashes > options.crashes) {
        quarantine(model, job, time);
    } else if (model_life_end(job, time) <= time.now) {
        model_lapse(model, job, time);
    } else {
        job->expires = model_life_end(job, time);
        job->state = MODEL_PENDING;
        job->holds = model_holds_group(model, job);
        job->wall = false;
        job->due = due;
    }
}

void model_end_lease(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    totals_of(model, job)->leases_expired++;
    model_note(model, job, DUEQ_EVENT_EXPIRED);
    if (job->cancelled) {
        model_end_cancelled(model, job, time);
        return;
    }
    if (job->error[0] == '\0')
        snprintf(job->error, sizeof(job->error), "lease expired");
    model_give_back(model, job, job->due, DUEQ_CRASHED, time);
}
