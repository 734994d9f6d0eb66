/* Pushes whose id a job of the topic has. */
#include "storage/queue/push.h"

/* The pushed body under the identity of the job that is there. */
static struct job_body body_for(struct queue *queue, struct topic *topic, const struct job *job,
                                const struct dueq_push *push, struct dueq_time time)
{
    struct job_body body = push_body(queue, topic, push, time);

    if (job->body.id.size == 0)
        body.id = dueq_slice(NULL, 0);
    body.stamp = job->body.stamp;
    return body;
}

static enum dueq_status replace(struct queue *queue, struct topic *topic, struct job *job,
                                const struct dueq_push *push, struct dueq_time time)
{
    struct job_body body = body_for(queue, topic, job, push, time);

    return job_replace(queue, topic, job, &body, time);
}

static enum dueq_status debounce(struct queue *queue, struct topic *topic, struct job *job,
                                 const struct dueq_push *push, struct dueq_time time)
{
    uint8_t clock;
    int64_t due;

    push_set_due(push->absolute, push->delay, push->at, time, &clock, &due);
    return job_set_due(queue, topic, job, clock, due, time);
}

static enum dueq_status follow(struct queue *queue, struct topic *topic, struct job *job,
                               const struct dueq_push *push, struct dueq_time time)
{
    struct job_body body = body_for(queue, topic, job, push, time);

    return job_put_follow_up(queue, topic, job, &body, time);
}

/* ---- what a push does */

static enum dueq_push_outcome outcome_of(const struct dueq_push *push, const struct job *job)
{
    if (push->ignore_dead && job->state.state == PHASE_DEAD)
        return DUEQ_CREATED;
    if (push->on_duplicate == DUEQ_IGNORE || push->on_duplicate == DUEQ_THROTTLE ||
        job->state.state == PHASE_DONE)
        return DUEQ_IGNORED;
    if (job->state.state == PHASE_CLAIMED)
        return DUEQ_FOLLOWS;
    return push->on_duplicate == DUEQ_DEBOUNCE && job->state.state == PHASE_PENDING
               ? DUEQ_DEBOUNCED
               : DUEQ_REPLACED;
}

/* The bytes of the body that goes: a follow-up takes the place of an earlier one. */
static enum dueq_status bytes_gone(struct queue *queue, struct topic *topic,
                                   const struct push_plan *plan, size_t *ret_bytes)
{
    const struct job *job = &plan->job;
    struct job_body earlier = {.body = {NULL, 0}};
    enum dueq_status status = DUEQ_OK;

    if (plan->outcome == DUEQ_FOLLOWS && job->state.followed)
        status = job_load_follow_up(queue, topic, job->seq, &earlier);
    *ret_bytes = plan->outcome == DUEQ_FOLLOWS ? earlier.body.size : job->body.body.size;
    return status;
}

/* A dead job does not count for the topic's length, but what comes in its place does. */
static enum dueq_status plan_change(struct queue *queue, struct topic *topic,
                                    const struct dueq_push *push, struct push_plan *plan)
{
    size_t gone;
    enum dueq_status status;

    plan->change = (struct limits_change){.jobs = 0};
    if (plan->outcome == DUEQ_IGNORED || plan->outcome == DUEQ_DEBOUNCED)
        return DUEQ_OK;
    status = bytes_gone(queue, topic, plan, &gone);
    if (status != DUEQ_OK)
        return status;
    plan->change.jobs = plan->job.state.state == PHASE_DEAD;
    plan->change.bytes = (int64_t)push->body.size - (int64_t)gone;
    return DUEQ_OK;
}

/* With plan->job. */
static enum dueq_status plan_onto(struct queue *queue, struct topic *topic,
                                  const struct dueq_push *push, struct push_plan *plan)
{
    plan->taken = true;
    plan->outcome = outcome_of(push, &plan->job);
    if (push->on_duplicate == DUEQ_REJECT && plan->outcome != DUEQ_CREATED)
        return DUEQ_DUPLICATE;
    return plan_change(queue, topic, push, plan);
}

enum dueq_status push_onto_plan(struct queue *queue, struct topic *topic,
                                const struct dueq_push *push, struct push_plan *ret_plan)
{
    enum dueq_status status = lookup_id(queue, topic, push->id, &ret_plan->job);

    if (status == DUEQ_NOTFOUND) /* another id with the same hash */
        return DUEQ_DUPLICATE;
    return status == DUEQ_OK ? plan_onto(queue, topic, push, ret_plan) : status;
}

/* What an ack makes of a job that is not gone then. */
static enum dueq_status foresee(struct queue *queue, struct topic *topic, struct job *job)
{
    enum dueq_status status;

    if (!job->state.followed) {
        job->state.state = PHASE_DONE;
        return DUEQ_OK;
    }
    status = job_load_follow_up(queue, topic, job->seq, &job->body);
    if (status == DUEQ_OK)
        job->state = job_record_first_state(&job->body);
    return status;
}

enum dueq_status push_onto_plan_after_ack(struct queue *queue, struct topic *topic,
                                          const struct dueq_push *push,
                                          struct push_plan *ret_plan)
{
    enum dueq_status status = lookup_id(queue, topic, push->id, &ret_plan->job);

    if (status == DUEQ_OK)
        status = foresee(queue, topic, &ret_plan->job);
    return status == DUEQ_OK ? plan_onto(queue, topic, push, ret_plan) : status;
}

enum dueq_status push_onto_reserve(struct queue *queue, struct topic *topic,
                                   const struct dueq_push *push, const struct job *job,
                                   struct dueq_time time)
{
    struct job_state state = job->state;

    state.state = PHASE_PENDING;
    push_set_due(push->absolute, push->delay, push->at, time, &state.clock, &state.due);
    return schedule_reserve(queue, topic, &state, time); /* for DUEQ_DEBOUNCE */
}

/* ---- doing it */

/* The new job may have an id that looks like one of the store's. */
static enum dueq_status make_way(struct queue *queue, struct topic *topic,
                                 const struct dueq_push *push, const struct job *job)
{
    uint64_t seq;

    QUEUE_COUNT(queue, topic, deleted);
    job_remove(queue, topic, job);
    topic->lookalikes |= given_id_read(push->id, &seq);
    return DUEQ_OK;
}

enum dueq_status push_onto(struct queue *queue, struct topic *topic,
                           const struct dueq_push *push, struct push_plan *plan,
                           struct dueq_time time)
{
    switch (plan->outcome) {
    case DUEQ_CREATED:
        return make_way(queue, topic, push, &plan->job);
    case DUEQ_FOLLOWS:
        return follow(queue, topic, &plan->job, push, time);
    case DUEQ_DEBOUNCED:
        return debounce(queue, topic, &plan->job, push, time);
    case DUEQ_REPLACED:
        return replace(queue, topic, &plan->job, push, time);
    case DUEQ_IGNORED:
        break;
    }
    return DUEQ_OK;
}
