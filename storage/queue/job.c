#include "storage/queue/queue.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- records */

enum dueq_status job_load_body(struct dueq *store, struct topic *topic, uint64_t seq,
                               struct job_body *ret_body)
{
    struct kv_key key = job_key(TABLE_BODY, topic->id, seq);
    struct dueq_slice record;
    enum dueq_status status = kv_get(store->kv, kv_key_slice(&key), &record);

    if (status == DUEQ_OK && !body_read(record, ret_body))
        status = DUEQ_CORRUPT;
    return status;
}

enum dueq_status job_load_state(struct dueq *store, struct topic *topic, uint64_t seq,
                                struct job_state *ret_state)
{
    struct kv_key key = job_key(TABLE_STATE, topic->id, seq);
    struct dueq_slice record;
    enum dueq_status status = kv_get(store->kv, kv_key_slice(&key), &record);

    if (status == DUEQ_OK && !state_read(record, ret_state))
        status = DUEQ_CORRUPT;
    return status;
}

/* The body of a job tells whether there is one. */
enum dueq_status job_load(struct dueq *store, struct topic *topic, uint64_t seq,
                          struct job *ret_job)
{
    struct job job = {.seq = seq};
    enum dueq_status status = job_load_body(store, topic, seq, &job.body);

    if (status != DUEQ_OK)
        return status;
    status = job_load_state(store, topic, seq, &job.state);
    job.moved = status == DUEQ_OK;
    if (status == DUEQ_NOTFOUND) {
        job.state = body_first_state(&job.body);
        status = DUEQ_OK;
    }
    if (status == DUEQ_OK)
        *ret_job = job;
    return status;
}

static void save_state(struct dueq *store, struct topic *topic, struct job *job)
{
    struct kv_key key = job_key(TABLE_STATE, topic->id, job->seq);
    uint8_t bytes[STATE_MAX];

    kv_put(store->kv, kv_key_slice(&key), dueq_slice(bytes, state_write(bytes, &job->state)),
           !job->moved);
    job->moved = true;
}

void job_put_ttl(struct dueq *store, struct topic *topic, uint64_t seq, int64_t expires)
{
    struct kv_key key = class_key(topic->id, CLASS_TTL);

    key_add_place(&key, expires, seq);
    kv_put(store->kv, kv_key_slice(&key), dueq_slice(NULL, 0), true);
    if (place_before((struct place){expires, seq}, topic->next_ttl))
        topic->next_ttl = (struct place){expires, seq};
    queue_event_at(store, topic, expires);
}

static void drop_ttl(struct dueq *store, struct topic *topic, const struct job *job)
{
    struct kv_key key = class_key(topic->id, CLASS_TTL);

    if (job->state.expires == DUEQ_NEVER)
        return;
    key_add_place(&key, job->state.expires, job->seq);
    kv_del(store->kv, kv_key_slice(&key));
}

/* The id goes first: it lies in a record that goes. */
void job_remove(struct dueq *store, struct topic *topic, const struct job *job)
{
    struct kv_key body = job_key(TABLE_BODY, topic->id, job->seq);
    struct kv_key state = job_key(TABLE_STATE, topic->id, job->seq);

    if (job->body.id.size > 0)
        unique_del(&store->unique, topic->id, job->body.id);
    schedule_remove(store, topic, &job->state, job->seq);
    drop_ttl(store, topic, job);
    kv_del(store->kv, kv_key_slice(&body));
    if (job->moved)
        kv_del(store->kv, kv_key_slice(&state));
}

/* ---- from one state to another */

static void keep_error(struct dueq *store, struct dueq_slice *error)
{
    if (error->size > DUEQ_ERROR_MAX)
        error->size = DUEQ_ERROR_MAX;
    if (error->size > 0)
        memmove(store->error, error->data, error->size);
    error->data = store->error;
}

enum dueq_status job_reschedule(struct dueq *store, struct topic *topic, struct job *job,
                                struct job_state state, struct dueq_time time)
{
    enum dueq_status status = schedule_reserve(topic, &state, time);

    if (status != DUEQ_OK)
        return status;
    keep_error(store, &state.error);
    schedule_remove(store, topic, &job->state, job->seq);
    schedule_add(store, topic, &state, job->seq, time);
    job->state = state;
    save_state(store, topic, job);
    return DUEQ_OK;
}

static void die(struct dueq *store, struct topic *topic, struct job *job,
                struct dueq_slice error, struct dueq_time time)
{
    struct job_state state = job->state;

    state.state = RECORD_DEAD;
    state.due = time.now;
    state.expires = DUEQ_NEVER;
    state.error = error;
    drop_ttl(store, topic, job);
    QUEUE_COUNT(store, topic, dead);
    (void)job_reschedule(store, topic, job, state, time); /* to be dead needs no memory */
}

/* The end is kept on the queue's clock, where the tick finds it; the due time is not when it is
 * on the wall clock, which may have been set back. One set forward shortens no life. */
bool job_is_over(struct dueq *store, struct topic *topic, struct job *job,
                 struct dueq_time time)
{
    int64_t end =
        job->state.clock == CLOCK_WALL && job->state.state == RECORD_PENDING
            ? body_life_end(&job->body, queue_clock_of(store, CLOCK_WALL, job->state.due))
            : DUEQ_NEVER;

    if (job->state.expires != DUEQ_NEVER && end != DUEQ_NEVER && end > job->state.expires) {
        keep_error(store, &job->state.error);
        drop_ttl(store, topic, job);
        job->state.expires = end;
        job_put_ttl(store, topic, job->seq, end);
        save_state(store, topic, job);
    }
    return job->state.expires <= time.now;
}

void job_lapse(struct dueq *store, struct topic *topic, struct job *job, struct dueq_time time)
{
    QUEUE_COUNT(store, topic, lapsed);
    die(store, topic, job, dueq_slice("expired", 7), time);
}

enum dueq_status job_give_back(struct dueq *store, struct topic *topic, struct job *job,
                               int64_t due, bool final, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state)
{
    struct job_state state = job->state;
    enum dueq_status status;

    if (error.size > 0)
        state.error = error;
    if (final || state.attempt > job->body.retries) {
        die(store, topic, job, state.error, time);
        *ret_state = DUEQ_DEAD;
        return DUEQ_OK;
    }
    if (state.expires <= time.now) {
        job_lapse(store, topic, job, time);
        *ret_state = DUEQ_DEAD;
        return DUEQ_OK;
    }
    state.state = RECORD_PENDING;
    state.clock = CLOCK_QUEUE;
    state.due = due;
    status = job_reschedule(store, topic, job, state, time);
    if (status == DUEQ_OK)
        *ret_state = due <= time.now ? DUEQ_READY : DUEQ_DELAYED;
    return status;
}

/* Doubles with each attempt up to the limit, and is spread by up to a fifth either way, so that
 * jobs that failed together do not come back together. The spread is a function of the job, so
 * that a follower would find the same. */
int64_t job_backoff(const struct topic *topic, const struct job *job)
{
    int64_t wait = job->body.backoff, limit = moment_clamp(job->body.backoff_max), spread;
    uint8_t seed[3 * 8];

    for (int64_t i = 1; i < job->state.attempt && wait > 0 && wait < limit; i++)
        wait = wait > limit / 2 ? limit : wait * 2;
    if (wait > limit)
        wait = limit;
    kv_write_u64(seed, topic->id);
    kv_write_u64(seed + 8, job->seq);
    kv_write_u64(seed + 16, (uint64_t)job->state.attempt);
    spread = (int64_t)(XXH3_64bits(seed, sizeof(seed)) % 401) - 200; /* thousandths */
    wait += wait / 1000 * spread + wait % 1000 * spread / 1000;
    return wait > limit ? limit : wait;
}
