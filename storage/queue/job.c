#include "storage/queue/queue.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- loading */

enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job)
{
    struct kv_key body_key = job_key(TABLE_BODY, topic->id, seq);
    struct kv_key state_key = job_key(TABLE_STATE, topic->id, seq);
    struct dueq_slice body, state;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&state_key), &state);

    if (status != DUEQ_OK)
        return status;
    status = kv_get(queue->kv, kv_key_slice(&body_key), &body);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    ret_job->seq = seq;
    if (!body_read(body, &ret_job->body) || !state_read(state, &ret_job->state))
        return DUEQ_CORRUPT;
    return DUEQ_OK;
}

/* An id of the store's own form may also be a caller's: the body's record tells. */
static enum dueq_status find_given(struct queue *queue, struct topic *topic,
                                   struct dueq_slice id, struct job *ret_job)
{
    char text[GIVEN_ID_SIZE];
    enum dueq_status status;
    uint64_t seq;

    if (!given_id_read(id, &seq))
        return DUEQ_NOTFOUND;
    status = job_load(queue, topic, seq, ret_job);
    if (status != DUEQ_OK)
        return status;
    if (ret_job->body.id.size > 0)
        return DUEQ_NOTFOUND;
    given_id_write(text, ret_job->body.pushed, seq);
    return memcmp(text, id.data, GIVEN_ID_SIZE) == 0 ? DUEQ_OK : DUEQ_NOTFOUND;
}

enum dueq_status job_find(struct queue *queue, struct topic *topic, struct dueq_slice id,
                          struct job *ret_job)
{
    struct kv_key key;
    struct dueq_slice value;
    enum dueq_status status = find_given(queue, topic, id, ret_job);

    if (status != DUEQ_NOTFOUND)
        return status;
    key = unique_key(topic->id, id, kv_seed(queue->kv));
    status = kv_get(queue->kv, kv_key_slice(&key), &value);
    if (status != DUEQ_OK)
        return status;
    if (value.size != 8)
        return DUEQ_CORRUPT;
    status = job_load(queue, topic, kv_read_u64(value.data), ret_job);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

/* ---- changing */

void job_save_state(struct queue *queue, struct topic *topic, uint64_t seq,
                    const struct job_state *state, bool fresh)
{
    struct kv_key key = job_key(TABLE_STATE, topic->id, seq);
    uint8_t bytes[STATE_MAX];

    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(bytes, state_write(bytes, state)), fresh);
}

static void drop_ttl(struct queue *queue, struct topic *topic, uint64_t seq, int64_t expires)
{
    struct kv_key key = class_key(topic->id, CLASS_TTL);

    if (expires == DUEQ_NEVER)
        return;
    key_add_place(&key, expires, seq);
    kv_del(queue->kv, kv_key_slice(&key));
}

void job_remove(struct queue *queue, struct topic *topic, const struct job *job)
{
    struct kv_key body = job_key(TABLE_BODY, topic->id, job->seq);
    struct kv_key state = job_key(TABLE_STATE, topic->id, job->seq);
    struct kv_key unique;
    bool named = job->body.id.size > 0;

    if (named)
        unique = unique_key(topic->id, job->body.id, kv_seed(queue->kv));
    schedule_remove(queue, topic, &job->state, job->seq);
    drop_ttl(queue, topic, job->seq, job->state.expires);
    if (named)
        kv_del(queue->kv, kv_key_slice(&unique));
    kv_del(queue->kv, kv_key_slice(&body));
    kv_del(queue->kv, kv_key_slice(&state));
}

/* Moves the job to another place of the schedule. `error` may lie in the old state. */
static enum dueq_status reschedule(struct queue *queue, struct topic *topic, struct job *job,
                                   const struct job_state *state, struct dueq_time time)
{
    struct job_state kept = *state;
    uint8_t error[DUEQ_ERROR_MAX];
    enum dueq_status status;

    if (kept.error.size > DUEQ_ERROR_MAX)
        kept.error.size = DUEQ_ERROR_MAX;
    if (kept.error.size > 0)
        memcpy(error, kept.error.data, kept.error.size);
    kept.error.data = error;
    schedule_remove(queue, topic, &job->state, job->seq);
    status = schedule_add(queue, topic, &kept, job->seq, time);
    if (status == DUEQ_OK)
        job_save_state(queue, topic, job->seq, &kept, false);
    job->state = kept;
    job->state.error = dueq_slice(NULL, 0);
    return status;
}

void job_die(struct queue *queue, struct topic *topic, struct job *job, struct dueq_slice error,
             struct dueq_time time)
{
    struct job_state state = job->state;
    int64_t expires = state.expires;

    if (error.size > 0)
        state.error = error;
    state.state = RECORD_DEAD;
    state.due = time.now;
    state.expires = DUEQ_NEVER;
    reschedule(queue, topic, job, &state, time);
    drop_ttl(queue, topic, job->seq, expires);
    topic->totals.dead++;
}

enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, bool final, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state)
{
    struct job_state state = job->state;
    bool lapsed = state.expires <= time.now;

    if (lapsed && error.size == 0)
        error = dueq_slice("expired", 7);
    *ret_state = DUEQ_DEAD;
    if (final || lapsed || state.attempt > job->body.retries) {
        topic->totals.lapsed += lapsed;
        job_die(queue, topic, job, error, time);
        return DUEQ_OK;
    }
    if (error.size > 0)
        state.error = error;
    state.state = RECORD_PENDING;
    state.clock = CLOCK_QUEUE;
    state.due = due;
    *ret_state = due <= time.now ? DUEQ_READY : DUEQ_DELAYED;
    return reschedule(queue, topic, job, &state, time);
}

/* Doubles with each attempt up to the limit, and is spread by up to a fifth either way, so that
 * jobs that failed together do not come back together. The spread is a function of the job. */
int64_t job_backoff(const struct topic *topic, const struct job *job)
{
    int64_t wait = job->body.backoff, limit = job->body.backoff_max, spread;
    uint64_t seed[3] = {topic->id, job->seq, (uint64_t)job->state.attempt};

    for (int64_t i = 1; i < job->state.attempt && wait < limit; i++)
        wait = wait > limit / 2 ? limit : wait * 2;
    if (wait > limit)
        wait = limit;
    spread = (int64_t)(XXH3_64bits(seed, sizeof(seed)) % 401) - 200; /* thousandths */
    wait += wait / 1000 * spread + wait % 1000 * spread / 1000;
    return wait > limit ? limit : wait;
}
