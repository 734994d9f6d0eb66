#include "storage/bytes.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- records */

enum dueq_status job_load_body(struct queue *queue, struct topic *topic, uint64_t seq,
                               struct job_body *ret_body)
{
    struct kv_key key = queue_key_job(TABLE_BODY, topic->id, seq);
    struct dueq_slice record;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &record);

    if (status == DUEQ_OK && !job_record_read_body(record, ret_body))
        status = DUEQ_CORRUPT;
    return status;
}

enum dueq_status job_load_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                struct job_state *ret_state)
{
    struct kv_key key = queue_key_job(TABLE_STATE, topic->id, seq);
    struct dueq_slice record;
    enum dueq_status status = kv_get(queue->kv, kv_key_slice(&key), &record);

    if (status == DUEQ_OK && !job_record_read_state(record, ret_state))
        status = DUEQ_CORRUPT;
    return status;
}

/* The body of a job tells whether there is one. */
enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job)
{
    struct job job = {.seq = seq};
    enum dueq_status status = job_load_body(queue, topic, seq, &job.body);

    if (status != DUEQ_OK)
        return status;
    status = job_load_state(queue, topic, seq, &job.state);
    job.moved = status == DUEQ_OK;
    if (status == DUEQ_NOTFOUND) {
        job.state = job_record_first_state(&job.body);
        status = DUEQ_OK;
    }
    if (status == DUEQ_OK)
        *ret_job = job;
    return status;
}

static void save_state(struct queue *queue, struct topic *topic, struct job *job)
{
    struct kv_key key = queue_key_job(TABLE_STATE, topic->id, job->seq);
    uint8_t bytes[JOB_RECORD_STATE_MAX];

    kv_put(queue->kv, kv_key_slice(&key),
           dueq_slice(bytes, job_record_write_state(bytes, &job->state)), !job->moved);
    job->moved = true;
}

void job_put_ttl(struct queue *queue, struct topic *topic, uint64_t seq, int64_t expires)
{
    struct kv_key key = queue_key_class(topic->id, CLASS_TTL);

    queue_key_add_position(&key, expires, seq);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(NULL, 0), true);
    if (position_before((struct position){expires, seq}, topic->next_ttl))
        topic->next_ttl = (struct position){expires, seq};
    queue_event_at(queue, topic, expires);
}

static void drop_ttl(struct queue *queue, struct topic *topic, const struct job *job)
{
    struct kv_key key = queue_key_class(topic->id, CLASS_TTL);

    if (job->state.expires == DUEQ_NEVER)
        return;
    queue_key_add_position(&key, job->state.expires, job->seq);
    kv_del(queue->kv, kv_key_slice(&key));
}

/* The id goes first: it lies in a record that goes. */
void job_remove(struct queue *queue, struct topic *topic, const struct job *job)
{
    struct kv_key body = queue_key_job(TABLE_BODY, topic->id, job->seq);
    struct kv_key state = queue_key_job(TABLE_STATE, topic->id, job->seq);

    if (job->body.id.size > 0)
        id_index_del(&queue->ids, topic->id, job->body.id);
    schedule_remove(queue, topic, &job->state, job->seq);
    drop_ttl(queue, topic, job);
    kv_del(queue->kv, kv_key_slice(&body));
    if (job->moved)
        kv_del(queue->kv, kv_key_slice(&state));
}

/* ---- from one state to another */

static void keep_error(struct queue *queue, struct dueq_slice *error)
{
    if (error->size > DUEQ_ERROR_MAX)
        error->size = DUEQ_ERROR_MAX;
    if (error->size > 0)
        memmove(queue->error, error->data, error->size);
    error->data = queue->error;
}

enum dueq_status job_reschedule(struct queue *queue, struct topic *topic, struct job *job,
                                struct job_state state, struct dueq_time time)
{
    enum dueq_status status = schedule_reserve(topic, &state, time);

    if (status != DUEQ_OK)
        return status;
    keep_error(queue, &state.error);
    schedule_remove(queue, topic, &job->state, job->seq);
    schedule_add(queue, topic, &state, job->seq, time);
    job->state = state;
    save_state(queue, topic, job);
    return DUEQ_OK;
}

static void die(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_slice error, struct dueq_time time)
{
    struct job_state state = job->state;

    state.state = PHASE_DEAD;
    state.due = time.now;
    state.expires = DUEQ_NEVER;
    state.error = error;
    drop_ttl(queue, topic, job);
    QUEUE_COUNT(queue, topic, dead);
    (void)job_reschedule(queue, topic, job, state, time); /* to be dead needs no memory */
}

/* The end is kept on the queue's clock, where the tick finds it; the due time is not when it is
 * on the wall clock, which may have been set back. One set forward shortens no life. */
bool job_has_expired(struct queue *queue, struct topic *topic, struct job *job,
                     struct dueq_time time)
{
    int64_t end =
        job->state.clock == CLOCK_WALL && job->state.state == PHASE_PENDING
            ? job_record_ttl_end(&job->body, queue_clock_of(queue, CLOCK_WALL, job->state.due))
            : DUEQ_NEVER;

    if (job->state.expires != DUEQ_NEVER && end != DUEQ_NEVER && end > job->state.expires) {
        keep_error(queue, &job->state.error);
        drop_ttl(queue, topic, job);
        job->state.expires = end;
        job_put_ttl(queue, topic, job->seq, end);
        save_state(queue, topic, job);
    }
    return job->state.expires <= time.now;
}

void job_expire(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_time time)
{
    QUEUE_COUNT(queue, topic, jobs_expired);
    die(queue, topic, job, dueq_slice("expired", 7), time);
}

enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, bool final, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state)
{
    struct job_state state = job->state;
    enum dueq_status status;

    if (error.size > 0)
        state.error = error;
    if (final || state.attempt > job->body.retries) {
        die(queue, topic, job, state.error, time);
        *ret_state = DUEQ_DEAD;
        return DUEQ_OK;
    }
    if (state.expires <= time.now) {
        job_expire(queue, topic, job, time);
        *ret_state = DUEQ_DEAD;
        return DUEQ_OK;
    }
    state.state = PHASE_PENDING;
    state.clock = CLOCK_QUEUE;
    state.due = due;
    status = job_reschedule(queue, topic, job, state, time);
    if (status == DUEQ_OK)
        *ret_state = due <= time.now ? DUEQ_READY : DUEQ_DELAYED;
    return status;
}

/* Doubles with each attempt up to the limit, and is spread by up to a fifth either way, so that
 * jobs that failed together do not come back together. The spread is a function of the job, so
 * that a follower would find the same. */
int64_t job_backoff(const struct topic *topic, const struct job *job)
{
    int64_t wait = job->body.backoff, limit = safe_time_clamp(job->body.backoff_max), spread;
    uint8_t seed[3 * 8];

    for (int64_t i = 1; i < job->state.attempt && wait > 0 && wait < limit; i++)
        wait = wait > limit / 2 ? limit : wait * 2;
    if (wait > limit)
        wait = limit;
    bytes_write_u64(seed, topic->id);
    bytes_write_u64(seed + 8, job->seq);
    bytes_write_u64(seed + 16, (uint64_t)job->state.attempt);
    spread = (int64_t)(XXH3_64bits(seed, sizeof(seed)) % 401) - 200; /* thousandths */
    wait += wait / 1000 * spread + wait % 1000 * spread / 1000;
    return wait > limit ? limit : wait;
}
