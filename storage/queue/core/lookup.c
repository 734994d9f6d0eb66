/* Jobs by id, and as callers see them. */
#include "storage/queue/core/queue_state.h"

/* ---- finding */

/* By an id that the store gave: it tells the seq. A caller's id may look the same: the body's
 * record knows. */
enum dueq_status lookup_given(struct queue *queue, struct topic *topic, struct dueq_slice id,
                              struct job *ret_job)
{
    char text[GIVEN_ID_SIZE];
    struct job job;
    enum dueq_status status;
    uint64_t seq;

    if (!given_id_read(id, &seq))
        return DUEQ_NOTFOUND;
    status = job_load(queue, topic, seq, &job);
    if (status != DUEQ_OK)
        return status;
    given_id_write(text, job.body.stamp, seq);
    if (job.body.id.size > 0 || memcmp(text, id.data, GIVEN_ID_SIZE) != 0)
        return DUEQ_NOTFOUND;
    *ret_job = job;
    return DUEQ_OK;
}

enum dueq_status lookup_seq(struct queue *queue, struct topic *topic, struct dueq_slice id,
                            uint64_t *ret_seq)
{
    struct id_index_key name;

    id_index_key(&queue->ids, topic->id, id, &name);
    return id_index_find(&queue->ids, &name, ret_seq);
}

static enum dueq_status find_named(struct queue *queue, struct topic *topic,
                                   struct dueq_slice id, struct job *ret_job)
{
    uint64_t seq;
    enum dueq_status status = lookup_seq(queue, topic, id, &seq);

    if (status != DUEQ_OK)
        return status;
    status = job_load(queue, topic, seq, ret_job);
    if (status == DUEQ_OK && !dueq_slice_equal(ret_job->body.id, id))
        return DUEQ_NOTFOUND;
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

enum dueq_status lookup_id(struct queue *queue, struct topic *topic, struct dueq_slice id,
                           struct job *ret_job)
{
    enum dueq_status status = lookup_given(queue, topic, id, ret_job);

    return status == DUEQ_NOTFOUND ? find_named(queue, topic, id, ret_job) : status;
}

enum dueq_status lookup_job(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            struct topic **ret_topic, struct job *ret_job)
{
    enum dueq_status status;

    if (!queue_valid_name(topic) || !queue_valid_name(id))
        return DUEQ_INVALID;
    status = topics_find(queue, topic, ret_topic);
    return status == DUEQ_OK ? lookup_id(queue, *ret_topic, id, ret_job) : status;
}

/* ---- showing */

static enum dueq_state state_at(const struct job_state *state, struct dueq_time time)
{
    switch (state->state) {
    case PHASE_CLAIMED:
        return DUEQ_CLAIMED;
    case PHASE_DEAD:
        return DUEQ_DEAD;
    case PHASE_DONE:
        return DUEQ_DONE;
    case PHASE_WAITING:
        return DUEQ_WAITING;
    case PHASE_PENDING:
        break;
    }
    return state->due <= (state->clock == CLOCK_QUEUE ? time.now : time.wall) ? DUEQ_READY
                                                                              : DUEQ_DELAYED;
}

/* Leases and deaths are on the queue's clock, whatever the job waited for before. */
static int64_t shown_due(const struct queue *queue, const struct job_state *state)
{
    uint8_t clock = state->state == PHASE_PENDING ? state->clock : CLOCK_QUEUE;

    return queue_wall_of(queue, clock, state->due);
}

/* The texts go along: the slices of a state are those of its record. */
static void show_state(const struct queue *queue, const struct job_state *state,
                       struct dueq_time time, struct dueq_job *ret_job)
{
    ret_job->state = state_at(state, time);
    ret_job->due = shown_due(queue, state);
    ret_job->token = state->token;
    ret_job->attempt = state->attempt;
    ret_job->failures = state->failures;
    ret_job->leases_expired = state->crashes;
    ret_job->priority = state->priority;
    ret_job->cancelled = state->cancelled;
    ret_job->followed = state->followed;
    ret_job->error = state->error;
    ret_job->worker = state->worker;
    ret_job->progress = state->progress;
    ret_job->history = state->history;
    ret_job->awaits = 0;
    ret_job->on_dead = DUEQ_ON_DEAD_FAIL;
    ret_job->delay = 0;
    if (AFTERS_KNOWN && state->state == PHASE_WAITING) {
        ret_job->awaits = state->awaits;
        ret_job->on_dead = (enum dueq_on_dead)state->on_dead;
        ret_job->delay = state->delay;
    }
    ret_job->claimed_at =
        state->state == PHASE_CLAIMED ? queue_wall_of(queue, CLOCK_QUEUE, state->since) : 0;
    ret_job->kept_until =
        state->state == PHASE_DONE ? queue_wall_of(queue, CLOCK_QUEUE, state->expires) : 0;
}

static void show_options(struct queue *queue, struct topic *topic, const struct job_body *body,
                         struct dueq_job *ret_job)
{
    struct job_options options = job_options(queue, topic, body);

    ret_job->lease = options.lease;
    ret_job->retries = options.retries;
    ret_job->crashes = options.crashes;
    ret_job->backoff = options.backoff;
    ret_job->backoff_max = options.backoff_max;
    ret_job->jitter = options.jitter;
    ret_job->steps = queue->steps;
    ret_job->step_count = options.step_count;
    if (options.step_count > 0)
        memcpy(queue->steps, options.steps, options.step_count * sizeof(*options.steps));
}

void lookup_show(struct queue *queue, struct topic *topic, const struct job *job,
                 struct dueq_time time, struct dueq_job *ret_job)
{
    ret_job->id = job_id(job, ret_job->given_id);
    ret_job->body = job->body.body;
    ret_job->pushed = job->body.pushed;
    ret_job->ttl = job->body.ttl;
    ret_job->window = job->body.window;
    ret_job->group = job->body.group;
    ret_job->weight = job->body.weight;
    ret_job->has_result = false;
    ret_job->result = dueq_slice(NULL, 0);
    show_state(queue, &job->state, time, ret_job);
    ret_job->at =
        AFTERS_KNOWN && job->state.state == PHASE_WAITING && job->body.clock == CLOCK_WALL
            ? job->body.due
            : 0;
    show_options(queue, topic, &job->body, ret_job);
}
