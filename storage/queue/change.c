/* Changes of jobs that callers ask for by id. */
#include "storage/kv/room.h"
#include "storage/queue/after.h"
#include "storage/queue/job_move.h"
#include "storage/queue/push.h"

#include <stdlib.h>

/* ---- when a job is due */

/* A pending job. DUEQ_WRONGSTATE: it waits for others, is claimed, dead or done. */
static enum dueq_status find_waiting(struct queue *queue, struct dueq_slice topic,
                                     struct dueq_slice id, struct topic **ret_topic,
                                     struct job *ret_job)
{
    enum dueq_status status = lookup_job(queue, topic, id, ret_topic, ret_job);

    return status == DUEQ_OK && ret_job->state.state != PHASE_PENDING ? DUEQ_WRONGSTATE
                                                                      : status;
}

static bool is_due(const struct queue *queue, const struct job *job, struct dueq_time time)
{
    return queue_clock_of(queue, job->state.clock, job->state.due) <= time.now;
}

/* A job that waits for others goes on without them. */
static enum dueq_status run(struct queue *queue, struct topic *topic, struct job *job,
                            struct dueq_time time, int64_t *ret_due)
{
    enum dueq_status status = kv_room_moves(queue->kv, false);

    if (status == DUEQ_OK)
        status = after_run(queue, topic, job, time);
    if (status == DUEQ_OK)
        *ret_due = queue_wall_of(queue, CLOCK_QUEUE, time.now);
    return status;
}

enum dueq_status queue_reschedule(struct queue *queue, struct dueq_slice topic,
                                  struct dueq_slice id, bool absolute, int64_t when,
                                  struct dueq_time time, int64_t *ret_due)
{
    struct topic *found;
    struct job job;
    uint8_t clock;
    int64_t due;
    enum dueq_status status;

    if (!absolute && when < 0)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = find_waiting(queue, topic, id, &found, &job);
    if (AFTERS_KNOWN && status == DUEQ_WRONGSTATE && job.state.state == PHASE_WAITING &&
        !absolute && when == 0)
        return run(queue, found, &job, time, ret_due);
    if (status != DUEQ_OK)
        return status;
    push_set_due(absolute, when, when, time, &clock, &due);
    if (!absolute && when == 0 && is_due(queue, &job, time)) {
        *ret_due = queue_wall_of(queue, job.state.clock, job.state.due);
        return DUEQ_OK;
    }
    status = kv_room_moves(queue->kv, false);
    if (status == DUEQ_OK)
        status = job_set_due(queue, found, &job, clock, due, time);
    if (status == DUEQ_OK)
        *ret_due = queue_wall_of(queue, clock, due);
    return status;
}

/* ---- what a job says */

/* The kinds of backoff exclude each other. */
static void update_backoff(struct job_body *body, const struct dueq_push *changes)
{
    if (changes->step_count > 0) {
        memcpy(body->steps, changes->steps, changes->step_count * sizeof(*changes->steps));
        body->step_count = changes->step_count;
        body->backoff = body->backoff_max = body->jitter = DUEQ_DEFAULT;
    } else if (changes->backoff != DUEQ_DEFAULT) {
        body->step_count = 0;
        body->backoff = changes->backoff;
        body->backoff_max = changes->backoff_max;
        body->jitter = changes->jitter;
    }
}

static void update_options(struct job_body *body, const struct dueq_push *changes)
{
    if (changes->priority != DUEQ_DEFAULT)
        body->priority = (uint8_t)changes->priority;
    body->lease = queue_or_default(changes->lease, body->lease);
    body->retries = queue_or_default(changes->retries, body->retries);
    body->crashes = queue_or_default(changes->crashes, body->crashes);
    body->ttl = queue_or_default(changes->ttl, body->ttl);
    update_backoff(body, changes);
}

/* The ttl counts from the due time: of a claimed job that is known by its old end only; without
 * any, or with one that is too far away to be exact, it counts from the claim. */
static int64_t update_expires(const struct queue *queue, const struct job *job,
                              const struct job_body *body)
{
    int64_t from = job->state.since;

    if (AFTERS_KNOWN && job->state.state == PHASE_WAITING)
        return DUEQ_NEVER;
    if (job->state.state == PHASE_PENDING)
        from = queue_clock_of(queue, job->state.clock, job->state.due);
    else if (job->state.expires < SAFE_TIME_MAX && job->body.ttl != DUEQ_DEFAULT)
        from = job->state.expires - safe_time_clamp(job->body.ttl);
    return job_record_ttl_end(body, from);
}

/* Writes body and state anew. The new body's bytes lie outside of the job's record. drops:
 * other jobs, which go with it. */
static enum dueq_status rewrite(struct queue *queue, struct topic *topic, struct job *job,
                                const struct job_body *body, const struct limits_drops *drops,
                                struct dueq_time time)
{
    struct job_state state = job->state;
    uint64_t before = job->body.body.size;
    enum dueq_status status;

    state.priority = body->priority;
    state.size = (int64_t)body->body.size;
    if (body->ttl != job->body.ttl)
        state.expires = update_expires(queue, job, body);
    status = job_reschedule(queue, topic, job, state, time);
    if (status != DUEQ_OK)
        return status;
    limits_apply(queue, drops);
    job_put_body(queue, topic, TABLE_BODY, job->seq, body, false);
    queue_count_bytes(queue, topic, before, body->body.size);
    return DUEQ_OK;
}

/* Copies what the record holds, as it is written anew. NULL: out of memory. */
static uint8_t *copy_record(struct job_body *body, bool with_body)
{
    size_t head = body->id.size + body->group.size;
    uint8_t *copy = malloc(head + (with_body ? body->body.size : 0) + 1);

    if (copy == NULL)
        return NULL;
    if (body->id.size > 0)
        memcpy(copy, body->id.data, body->id.size);
    if (body->group.size > 0)
        memcpy(copy + body->id.size, body->group.data, body->group.size);
    body->id.data = copy;
    body->group.data = copy + body->id.size;
    if (!with_body)
        return copy;
    if (body->body.size > 0)
        memcpy(copy + head, body->body.data, body->body.size);
    body->body.data = copy + head;
    return copy;
}

/* As a push would be asked, when the body changes. */
static enum dueq_status admit(struct queue *queue, struct topic *topic, const struct job *job,
                              struct dueq_slice body, struct limits_drops *drops)
{
    struct limits_change change = {.bytes = (int64_t)body.size - (int64_t)job->body.body.size};

    drops->may_go = limits_spare_one;
    drops->arg = &job->seq;
    return limits_admit_body(queue, topic, body.size, &change, drops);
}

static enum dueq_status update(struct queue *queue, struct topic *topic, struct job *job,
                               const struct dueq_push *changes, bool with_body,
                               const struct limits_drops *drops, struct dueq_time time)
{
    struct job_body body = job->body;
    uint8_t *copy;
    enum dueq_status status;

    if (with_body)
        body.body = changes->body;
    update_options(&body, changes);
    copy = copy_record(&body, !with_body);
    if (copy == NULL)
        return DUEQ_NOMEM;
    status = rewrite(queue, topic, job, &body, drops, time);
    free(copy);
    return status;
}

enum dueq_status queue_update(struct queue *queue, const struct dueq_push *changes,
                              bool with_body, struct dueq_time time)
{
    struct topic *topic;
    struct job job;
    struct limits_drops drops = {.jobs = NULL};
    enum dueq_status status = lookup_job(queue, changes->topic, changes->id, &topic, &job);

    if (status != DUEQ_OK)
        return status;
    if (AFTERS_KNOWN && changes->after_count > 0)
        return DUEQ_INVALID;
    if (job_has_ended(&job) || (with_body && job.state.state == PHASE_CLAIMED))
        return DUEQ_WRONGSTATE;
    status = push_check(queue, changes);
    if (status == DUEQ_OK && !with_body)
        status = kv_room(queue->kv, job.body.body.size + PUSH_RECORDS_MOST);
    if (status == DUEQ_OK && with_body)
        status = admit(queue, topic, &job, changes->body, &drops);
    if (status == DUEQ_OK)
        status =
            update(queue, topic, &job, changes, with_body, &drops, queue_time(queue, time));
    limits_release(&drops);
    return status;
}

/* ---- to another topic */

/* Its earlier tokens are void there. */
static struct job without_token(const struct job *job)
{
    struct job moved = *job;

    moved.state.token_valid = moved.state.holds = false;
    moved.state.token = 0;
    moved.state.size = (int64_t)job->body.body.size;
    return moved;
}

/* As a push into the other topic, and as a delete from this one. */
static enum dueq_status move_to(struct queue *queue, struct topic *from, struct job *job,
                                struct topic *to, struct dueq_time time)
{
    struct job_move move = {.from = from, .to = to, .job = job, .moved = without_token(job)};
    struct limits_change change = {.jobs = 1, .bytes = (int64_t)job->body.body.size};
    struct limits_drops drops = {.jobs = NULL};
    enum dueq_status status = push_refusal(to);

    if (status == DUEQ_OK)
        status = job_move_plan(queue, &move, JOB_MOVE_REFUSES, time);
    if (status == DUEQ_OK)
        status = limits_admit_body(queue, to, job->body.body.size, &change, &drops);
    if (status == DUEQ_OK) {
        limits_apply(queue, &drops);
        job_move_do(queue, &move, time);
        QUEUE_COUNT(queue, from, deleted);
    } else {
        topics_take_back(queue, to);
    }
    limits_release(&drops);
    return status;
}

enum dueq_status queue_move(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            struct dueq_slice other, struct dueq_time time)
{
    struct topic *from = NULL, *to = NULL;
    struct job job;
    enum dueq_status status;

    if (!queue_valid_name(other))
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = find_waiting(queue, topic, id, &from, &job);
    if (status == DUEQ_OK)
        status = kv_room(queue->kv, job_move_room(&job));
    if (status == DUEQ_OK)
        status = topics_open(queue, other, &to);
    return status != DUEQ_OK || from == to ? status : move_to(queue, from, &job, to, time);
}

/* ---- cancelling */

/* Its worker is told when it asks next. A follow-up under the same id goes too. */
static enum dueq_status flag(struct queue *queue, struct topic *topic, struct job *job,
                             struct dueq_time time)
{
    struct job_state state = job->state;
    bool followed = state.followed;
    enum dueq_status status;

    state.cancelled = true;
    state.followed = false;
    status = job_reschedule(queue, topic, job, state, time);
    if (status == DUEQ_OK && followed)
        job_drop_follow_up(queue, topic, job->seq);
    return status;
}

enum dueq_status queue_cancel(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, struct dueq_time time, bool *ret_claimed)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    time = queue_time(queue, time);
    if (status != DUEQ_OK)
        return status;
    if (job_has_ended(&job))
        return DUEQ_WRONGSTATE;
    *ret_claimed = job.state.state == PHASE_CLAIMED;
    if (*ret_claimed)
        return flag(queue, found, &job, time);
    QUEUE_COUNT(queue, found, cancelled);
    queue_note_event(queue, found, &job, DUEQ_EVENT_CANCELLED);
    queue_note_end(queue, found, job.seq, DUEQ_END_CANCELLED);
    job_remove(queue, found, &job);
    return DUEQ_OK;
}
