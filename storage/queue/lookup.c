/* Jobs by id, and as callers see them. */
#include "storage/queue/queue.h"

/* ---- finding */

/* By an id that the store gave: it tells the seq. A caller's id may look the same: the body's
 * record knows. */
enum dueq_status lookup_given(struct dueq *store, struct topic *topic, struct dueq_slice id,
                              struct job *ret_job)
{
    char text[GIVEN_ID_SIZE];
    struct job job;
    enum dueq_status status;
    uint64_t seq;

    if (!given_id_read(id, &seq))
        return DUEQ_NOTFOUND;
    status = job_load(store, topic, seq, &job);
    if (status != DUEQ_OK)
        return status;
    given_id_write(text, job.body.stamp, seq);
    if (job.body.id.size > 0 || memcmp(text, id.data, GIVEN_ID_SIZE) != 0)
        return DUEQ_NOTFOUND;
    *ret_job = job;
    return DUEQ_OK;
}

enum dueq_status lookup_seq(struct dueq *store, struct topic *topic, struct dueq_slice id,
                            uint64_t *ret_seq)
{
    struct unique_id name;

    unique_id(&store->unique, topic->id, id, &name);
    return unique_find(&store->unique, &name, ret_seq);
}

static enum dueq_status find_named(struct dueq *store, struct topic *topic,
                                   struct dueq_slice id, struct job *ret_job)
{
    uint64_t seq;
    enum dueq_status status = lookup_seq(store, topic, id, &seq);

    if (status != DUEQ_OK)
        return status;
    status = job_load(store, topic, seq, ret_job);
    if (status == DUEQ_OK && !dueq_slice_equal(ret_job->body.id, id))
        return DUEQ_NOTFOUND;
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

enum dueq_status lookup_id(struct dueq *store, struct topic *topic, struct dueq_slice id,
                           struct job *ret_job)
{
    enum dueq_status status = lookup_given(store, topic, id, ret_job);

    return status == DUEQ_NOTFOUND ? find_named(store, topic, id, ret_job) : status;
}

enum dueq_status lookup_job(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                            struct topic **ret_topic, struct job *ret_job)
{
    enum dueq_status status;

    if (!queue_valid_name(topic) || !queue_valid_name(id))
        return DUEQ_INVALID;
    status = queue_find_topic(store, topic, ret_topic);
    return status == DUEQ_OK ? lookup_id(store, *ret_topic, id, ret_job) : status;
}

/* ---- showing */

const char *dueq_state_name(enum dueq_state state)
{
    static const char *const names[] = {"delayed", "ready", "claimed", "dead"};

    return names[state];
}

static enum dueq_state state_at(const struct job_state *state, struct dueq_time time)
{
    switch (state->state) {
    case RECORD_CLAIMED:
        return DUEQ_CLAIMED;
    case RECORD_DEAD:
        return DUEQ_DEAD;
    case RECORD_PENDING:
        break;
    }
    return state->due <= (state->clock == CLOCK_QUEUE ? time.now : time.wall) ? DUEQ_READY
                                                                              : DUEQ_DELAYED;
}

/* Leases and deaths are on the queue's clock, whatever the job waited for before. */
static int64_t shown_due(const struct dueq *store, const struct job_state *state)
{
    uint8_t clock = state->state == RECORD_PENDING ? state->clock : CLOCK_QUEUE;

    return queue_wall_of(store, clock, state->due);
}

void lookup_show(struct dueq *store, const struct job *job, struct dueq_time time,
                 struct dueq_job *ret_job)
{
    *ret_job = (struct dueq_job){.id = job->body.id,
                                 .body = job->body.body,
                                 .error = job->state.error,
                                 .state = state_at(&job->state, time),
                                 .due = shown_due(store, &job->state),
                                 .pushed = job->body.pushed,
                                 .token = job->state.token,
                                 .attempt = job->state.attempt,
                                 .priority = job->body.priority,
                                 .lease = or_default(job->body.lease, store->defaults.lease),
                                 .retries = job->body.retries,
                                 .backoff = job->body.backoff,
                                 .backoff_max = job->body.backoff_max,
                                 .ttl = job->body.ttl};
    if (job->body.id.size > 0)
        return;
    given_id_write(ret_job->given_id, job->body.stamp, job->seq);
    ret_job->id = dueq_slice(ret_job->given_id, GIVEN_ID_SIZE);
}

enum dueq_status dueq_get(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time, struct dueq_job *ret_job)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(store, topic, id, &found, &job);

    if (status == DUEQ_OK)
        lookup_show(store, &job, queue_time(store, time), ret_job);
    return status;
}

enum dueq_status dueq_del(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(store, topic, id, &found, &job);

    queue_time(store, time);
    if (status != DUEQ_OK)
        return status;
    QUEUE_COUNT(store, found, deleted);
    job_remove(store, found, &job);
    return DUEQ_OK;
}
