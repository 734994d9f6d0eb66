#include "tests/support/queue_model.h"

#include "storage/queue/record/safe_time.h"

/* ---- finding */

struct model_job *model_free_job(struct queue_model *model)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++)
        if (!model->jobs[i].there)
            return &model->jobs[i];
    return NULL;
}

struct model_job *model_find(struct queue_model *model, int topic, struct dueq_slice id)
{
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];

        if (job->there && job->topic == topic && dueq_slice_equal(model_id(job), id))
            return job;
    }
    return NULL;
}

static bool better(const struct model_job *a, const struct model_job *b, struct dueq_time time)
{
    int64_t due_a = model_shown_due(a, time), due_b = model_shown_due(b, time);

    if (a->priority != b->priority)
        return a->priority < b->priority;
    return due_a != due_b ? due_a < due_b : a->seq < b->seq;
}

struct model_job *model_best(struct queue_model *model, int topic, struct dueq_time time)
{
    struct model_job *best = NULL;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];

        if (job->there && job->topic == topic && model_state(job, time) == DUEQ_READY &&
            (best == NULL || better(job, best, time)))
            best = job;
    }
    return best;
}

/* ---- rules */

static int64_t clock_of(const struct model_job *job, struct dueq_time time)
{
    return job->wall ? time.wall : time.now;
}

enum dueq_state model_state(const struct model_job *job, struct dueq_time time)
{
    if (job->state == MODEL_CLAIMED)
        return DUEQ_CLAIMED;
    if (job->state == MODEL_DEAD)
        return DUEQ_DEAD;
    return job->due <= clock_of(job, time) ? DUEQ_READY : DUEQ_DELAYED;
}

int64_t model_after(struct dueq_time time, int64_t wait)
{
    if (wait == 0)
        return time.now;
    return safe_time_add(time.ceiling > time.now ? time.ceiling : time.now, wait);
}

int64_t model_shown_due(const struct model_job *job, struct dueq_time time)
{
    return job->wall ? job->due : job->due + time.wall - time.now;
}

enum dueq_status model_held(const struct model_job *job, int64_t token, bool ack)
{
    if (job == NULL)
        return DUEQ_NOTFOUND;
    if (!job->token_valid || job->token != token || (!ack && job->state == MODEL_DEAD))
        return DUEQ_STALE;
    return DUEQ_OK;
}

bool model_lease_over(const struct model_job *job, struct dueq_time time)
{
    return job->there && job->state == MODEL_CLAIMED && job->due <= time.now;
}

bool model_life_over(const struct model_job *job, struct dueq_time time)
{
    return job->there && job->state == MODEL_PENDING && model_life_end(job, time) <= time.now;
}

int64_t model_life_end(const struct model_job *job, struct dueq_time time)
{
    int64_t end;

    if (!job->wall || job->state != MODEL_PENDING || job->expires == DUEQ_NEVER)
        return job->expires;
    end = safe_time_add(safe_time_clamp(job->due - time.wall + time.now), job->ttl);
    return end > job->expires ? end : job->expires;
}

void model_die(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    job->state = MODEL_DEAD;
    job->due = time.now;
    job->wall = false;
    job->expires = DUEQ_NEVER;
    model->topics[job->topic].totals.dead++;
}

void model_lapse(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    model_die(model, job, time);
    job->error = "expired";
    model->topics[job->topic].totals.jobs_expired++;
}

void model_give_back(struct queue_model *model, struct model_job *job, int64_t due,
                     enum dueq_outcome outcome, struct dueq_time time)
{
    job->failures += outcome == DUEQ_FAILED || outcome == DUEQ_FATAL;
    job->crashes += outcome == DUEQ_CRASHED;
    if (outcome == DUEQ_FATAL || job->failures > QUEUE_MODEL_RETRIES) {
        model_die(model, job, time);
    } else if (job->crashes > QUEUE_MODEL_CRASHES) {
        model_die(model, job, time);
        job->error = "crashed: 4 leases expired";
    } else if (job->expires <= time.now) {
        model_lapse(model, job, time);
    } else {
        job->state = MODEL_PENDING;
        job->wall = false;
        job->due = due;
    }
}

void model_end_lease(struct queue_model *model, struct model_job *job, struct dueq_time time)
{
    if (job->error == NULL)
        job->error = "lease expired";
    model->topics[job->topic].totals.leases_expired++;
    model_give_back(model, job, job->due, DUEQ_CRASHED, time);
}

/* ---- sums */

void model_stats(const struct queue_model *model, int topic, struct dueq_time time,
                 struct dueq_topic_stats *ret_stats)
{
    *ret_stats = model->topics[topic].totals;
    ret_stats->next_due = DUEQ_NEVER;
    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *job = &model->jobs[i];
        enum dueq_state state = model_state(job, time);
        int64_t late = clock_of(job, time) - job->due;

        if (!job->there || job->topic != topic)
            continue;
        ret_stats->counts[state]++;
        ret_stats->bytes += strlen(job->body);
        if (state == DUEQ_READY && late > ret_stats->oldest_ready_age)
            ret_stats->oldest_ready_age = late;
        if (state == DUEQ_DELAYED && time.wall - late < ret_stats->next_due)
            ret_stats->next_due = time.wall - late;
    }
}

int64_t model_next_event(const struct queue_model *model, struct dueq_time time)
{
    int64_t next = DUEQ_NEVER;

    for (int i = 0; i < QUEUE_MODEL_JOBS; i++) {
        const struct model_job *job = &model->jobs[i];
        int64_t due = time.now + job->due - clock_of(job, time);

        if (!job->there || job->state == MODEL_DEAD)
            continue;
        if (model_state(job, time) != DUEQ_READY && due < next)
            next = due;
        if (job->state == MODEL_PENDING && job->expires < next)
            next = job->expires;
    }
    return next;
}
