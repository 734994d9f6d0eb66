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

static enum dueq_status change(struct queue *queue, struct topic *topic, struct job *job,
                               const struct dueq_push *push, struct dueq_time time,
                               enum dueq_push_outcome *ret_outcome)
{
    if (push->on_duplicate == DUEQ_IGNORE || push->on_duplicate == DUEQ_THROTTLE ||
        job->state.state == PHASE_DONE) {
        *ret_outcome = DUEQ_IGNORED;
        return DUEQ_OK;
    }
    if (job->state.state == PHASE_CLAIMED) {
        *ret_outcome = DUEQ_FOLLOWS;
        return follow(queue, topic, job, push, time);
    }
    if (push->on_duplicate == DUEQ_DEBOUNCE && job->state.state == PHASE_PENDING) {
        *ret_outcome = DUEQ_DEBOUNCED;
        return debounce(queue, topic, job, push, time);
    }
    *ret_outcome = DUEQ_REPLACED;
    return replace(queue, topic, job, push, time);
}

enum dueq_status push_onto(struct queue *queue, struct topic *topic,
                           const struct dueq_push *push, struct dueq_time time,
                           enum dueq_push_outcome *ret_outcome)
{
    struct job job;
    enum dueq_status status = lookup_id(queue, topic, push->id, &job);

    if (status == DUEQ_NOTFOUND) /* another id with the same hash */
        return DUEQ_DUPLICATE;
    if (status != DUEQ_OK)
        return status;
    if (push->ignore_dead && job.state.state == PHASE_DEAD) {
        QUEUE_COUNT(queue, topic, deleted);
        job_remove(queue, topic, &job);
        return DUEQ_NOTFOUND;
    }
    if (push->on_duplicate == DUEQ_REJECT)
        return DUEQ_DUPLICATE;
    return change(queue, topic, &job, push, time, ret_outcome);
}

enum dueq_status push_creates(struct queue *queue, struct topic *topic,
                              const struct dueq_push *push, bool *ret_creates)
{
    struct id_index_key name;
    struct job job;
    enum dueq_status status =
        push->id.size == 0 ? DUEQ_OK : push_take_id(queue, topic, push->id, &name);

    *ret_creates = status == DUEQ_OK;
    if (status != DUEQ_DUPLICATE || !push->ignore_dead)
        return status == DUEQ_DUPLICATE ? DUEQ_OK : status;
    status = lookup_id(queue, topic, push->id, &job);
    *ret_creates = status == DUEQ_OK && job.state.state == PHASE_DEAD;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status push_onto_check(struct queue *queue, struct topic *topic,
                                 const struct dueq_push *push, struct dueq_time time)
{
    struct job job;
    struct job_state state;
    enum dueq_status status = lookup_id(queue, topic, push->id, &job);

    if (status == DUEQ_NOTFOUND)
        return DUEQ_DUPLICATE;
    if (status != DUEQ_OK)
        return status;
    if (push->on_duplicate == DUEQ_REJECT &&
        !(push->ignore_dead && job.state.state == PHASE_DEAD))
        return DUEQ_DUPLICATE;
    state = job.state;
    state.state = PHASE_PENDING;
    push_set_due(push->absolute, push->delay, push->at, time, &state.clock, &state.due);
    return schedule_reserve(topic, &state, time); /* for DUEQ_DEBOUNCE */
}
