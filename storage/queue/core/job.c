#include "storage/bytes.h"
#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"
#include "storage/xxh3.h"

#include <assert.h>

enum { JITTER = 20 }; /* percent, of a backoff that doubles */

/* ---- records */

/* levels: as that of kv_get_within. */
static enum dueq_status load_body(struct queue *queue, struct topic *topic, uint64_t seq,
                                  unsigned *levels, struct job_body *ret_body)
{
    struct kv_key key;
    struct dueq_slice record;
    enum dueq_status status = kv_get_within(
        queue->kv, queue_key_job(&key, TABLE_BODY, topic->id, seq), levels, &record);

    if (status != DUEQ_OK)
        return status;
    queue->body_steps += queue_read_steps(record.size);
    if (!job_record_read_body(record, ret_body))
        status = DUEQ_CORRUPT;
    else
        ret_body->group_id = groups_number(queue, ret_body->group);
    return status;
}

enum dueq_status job_load_body(struct queue *queue, struct topic *topic, uint64_t seq,
                               struct job_body *ret_body)
{
    unsigned levels = KV_ALL_LEVELS;

    return load_body(queue, topic, seq, &levels, ret_body);
}

static enum dueq_status load_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                   unsigned levels, struct job_state *ret_state)
{
    struct kv_key key;
    struct dueq_slice record;
    enum dueq_status status = kv_get_within(
        queue->kv, queue_key_job(&key, TABLE_STATE, topic->id, seq), &levels, &record);

    if (status == DUEQ_OK && !job_record_read_state(record, ret_state))
        status = DUEQ_CORRUPT;
    return status;
}

enum dueq_status job_load_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                struct job_state *ret_state)
{
    return load_state(queue, topic, seq, KV_ALL_LEVELS, ret_state);
}

/* Changes of the job follow, which may not fail for its group. */
static enum dueq_status load_group(struct queue *queue, struct topic *topic, struct job *job)
{
    job->state.weight = job->body.weight;
    if (topic->groups == 0 || (job->state.group == 0 && topic->parked == 0) ||
        job_has_ended(job))
        return DUEQ_OK;
    return groups_load(queue, topic, job->state.group);
}

/* The body of a job tells whether there is one. The state of a job is never written before its
 * body: while that is only in memory, a state that is not there is not searched on the disk. */
enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job)
{
    unsigned levels = KV_ALL_LEVELS;
    enum dueq_status status = load_body(queue, topic, seq, &levels, &ret_job->body);

    if (status != DUEQ_OK)
        return status;
    ret_job->seq = seq;
    status = load_state(queue, topic, seq, levels, &ret_job->state);
    ret_job->moved = status == DUEQ_OK;
    if (status == DUEQ_NOTFOUND) {
        ret_job->state = job_record_first_state(&ret_job->body);
        status = DUEQ_OK;
    }
    return status == DUEQ_OK ? load_group(queue, topic, ret_job) : status;
}

static bool has_texts(const struct job_state *state)
{
    return state->error.size + state->worker.size + state->progress.size + state->history.size >
           0;
}

/* The texts of the state may lie in queue->state: the record is made elsewhere first. */
void job_save_state(struct queue *queue, struct topic *topic, struct job *job)
{
    struct kv_key key;
    uint8_t bytes[JOB_RECORD_STATE_MAX];
    struct dueq_slice record;

    record = dueq_slice(queue->state, job_record_write_state(bytes, &job->state));
    memcpy(queue->state, bytes, record.size);
    kv_put(queue->kv, queue_key_job(&key, TABLE_STATE, topic->id, job->seq), record,
           !job->moved);
    if (has_texts(&job->state)) {
        int64_t weight = job->state.weight;

        job_record_read_state(record, &job->state);
        job->state.weight = weight;
    }
    job->moved = true;
}

void job_put_body(struct queue *queue, struct topic *topic, uint8_t table, uint64_t seq,
                  const struct job_body *body, bool absent)
{
    struct kv_key key;
    uint8_t head[JOB_RECORD_HEAD_MAX];
    struct dueq_slice parts[3] = {dueq_slice(head, job_record_write_head(head, body)), body->id,
                                  body->body};

    kv_putv(queue->kv, queue_key_job(&key, table, topic->id, seq), parts, 3, absent);
}

static void del_record(struct queue *queue, struct topic *topic, uint8_t table, uint64_t seq)
{
    struct kv_key key;

    kv_del(queue->kv, queue_key_job(&key, table, topic->id, seq));
}

void job_put_ttl(struct queue *queue, struct topic *topic, uint64_t seq, int64_t expires)
{
    struct kv_key key;

    queue_key_class(&key, topic->id, CLASS_TTL);
    kv_put(queue->kv, queue_key_add_position(&key, expires, seq), dueq_slice(NULL, 0), true);
    if (position_before((struct position){expires, seq}, topic->next_ttl))
        topic->next_ttl = (struct position){expires, seq};
    queue_event_at(queue, topic, expires);
}

static void drop_ttl(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq)
{
    struct kv_key key;

    if (state->expires == DUEQ_NEVER || state->state == PHASE_DONE)
        return;
    queue_key_class(&key, topic->id, CLASS_TTL);
    kv_del(queue->kv, queue_key_add_position(&key, state->expires, seq));
}

struct dueq_slice job_id(const struct job *job, char *text)
{
    if (job->body.id.size > 0)
        return job->body.id;
    given_id_write(text, job->body.stamp, job->seq);
    return dueq_slice(text, GIVEN_ID_SIZE);
}

/* States of version 1 do not tell the size of the body. */
uint64_t job_bytes(struct queue *queue, struct topic *topic, const struct job *job)
{
    struct job_body body;

    if (job->state.size >= 0)
        return (uint64_t)job->state.size;
    return job_load_body(queue, topic, job->seq, &body) == DUEQ_OK ? body.body.size : 0;
}

static void forget_bytes(struct queue *queue, struct topic *topic, uint64_t size)
{
    queue_count_bytes(queue, topic, size, 0);
}

enum dueq_status job_load_follow_up(struct queue *queue, struct topic *topic, uint64_t seq,
                                    struct job_body *ret_body)
{
    struct kv_key key;
    struct dueq_slice record;
    enum dueq_status status =
        kv_get(queue->kv, queue_key_job(&key, TABLE_FOLLOW, topic->id, seq), &record);

    if (status == DUEQ_NOTFOUND ||
        (status == DUEQ_OK && !job_record_read_body(record, ret_body)))
        return DUEQ_CORRUPT;
    if (status == DUEQ_OK)
        ret_body->group_id = groups_number(queue, ret_body->group);
    return status;
}

void job_drop_follow_up(struct queue *queue, struct topic *topic, uint64_t seq)
{
    struct job_body body;

    if (job_load_follow_up(queue, topic, seq, &body) == DUEQ_OK)
        forget_bytes(queue, topic, body.body.size);
    del_record(queue, topic, TABLE_FOLLOW, seq);
}

static void drop_edges(struct queue *queue, const struct topic *topic,
                       const struct job_state *state, uint64_t seq)
{
    if (AFTERS_KNOWN && state->state == PHASE_WAITING)
        afters_drop(queue, topic, seq);
}

/* The id goes first: it lies in a record that goes. */
void job_remove(struct queue *queue, struct topic *topic, const struct job *job)
{
    uint64_t claimed = topic->claimed;

    forget_bytes(queue, topic, job_bytes(queue, topic, job));
    if (job->body.id.size > 0)
        id_index_del(&queue->ids, topic->id, job->body.id);
    queue_note_end(queue, topic, job->seq, DUEQ_END_GONE);
    schedule_remove(queue, topic, &job->state, job->seq);
    schedule_freed(queue, topic, claimed);
    drop_ttl(queue, topic, &job->state, job->seq);
    if (job->state.followed)
        job_drop_follow_up(queue, topic, job->seq);
    drop_edges(queue, topic, &job->state, job->seq);
    del_record(queue, topic, TABLE_BODY, job->seq);
    if (job->state.state == PHASE_DONE)
        del_record(queue, topic, TABLE_RESULT, job->seq);
    if (job->moved)
        del_record(queue, topic, TABLE_STATE, job->seq);
}

/* ---- from one state to another */

/* A done job has no ttl. */
static int64_t ttl_end(const struct job_state *state)
{
    return state->state == PHASE_DONE ? DUEQ_NEVER : state->expires;
}

static void move_ttl(struct queue *queue, struct topic *topic, const struct job_state *old,
                     const struct job *job)
{
    if (ttl_end(old) == ttl_end(&job->state))
        return;
    drop_ttl(queue, topic, old, job->seq);
    if (ttl_end(&job->state) != DUEQ_NEVER)
        job_put_ttl(queue, topic, job->seq, job->state.expires);
}

enum dueq_status job_reschedule(struct queue *queue, struct topic *topic, struct job *job,
                                struct job_state state, struct dueq_time time)
{
    struct job_state old = job->state;
    uint64_t claimed = topic->claimed;
    enum dueq_status status = schedule_reserve(queue, topic, &state, time);

    if (status != DUEQ_OK)
        return status;
    if (state.error.size > DUEQ_ERROR_MAX)
        state.error.size = DUEQ_ERROR_MAX;
    if (state.progress.size > DUEQ_PROGRESS_MAX)
        state.progress.size = DUEQ_PROGRESS_MAX;
    state.holds = state.holds && state.state == PHASE_PENDING;
    job->state = state;
    job_save_state(queue, topic, job);
    groups_begin(queue);
    schedule_remove(queue, topic, &old, job->seq);
    schedule_add(queue, topic, &job->state, job->seq, time);
    groups_end(queue);
    schedule_freed(queue, topic, claimed);
    move_ttl(queue, topic, &old, job);
    return DUEQ_OK;
}

/* The body has the stamp of the job's first push: with a due time on the wall clock that says
 * nothing about the end of the ttl, so the state keeps it. */
enum dueq_status job_replace(struct queue *queue, struct topic *topic, struct job *job,
                             const struct job_body *body, struct dueq_time time)
{
    struct job_state state = job_record_first_state(body);
    int64_t first_end = state.expires;
    uint64_t claimed = topic->claimed;
    enum dueq_status status = schedule_reserve(queue, topic, &state, time);

    state.expires = job_record_ttl_end(body, queue_clock_of(queue, body->clock, body->due));
    if (status != DUEQ_OK)
        return status;
    queue_count_bytes(queue, topic, job_bytes(queue, topic, job), body->body.size);
    groups_begin(queue);
    schedule_remove(queue, topic, &job->state, job->seq);
    drop_ttl(queue, topic, &job->state, job->seq);
    drop_edges(queue, topic, &job->state, job->seq);
    if (job->moved)
        del_record(queue, topic, TABLE_STATE, job->seq);
    job_put_body(queue, topic, TABLE_BODY, job->seq, body, false);
    schedule_add(queue, topic, &state, job->seq, time);
    groups_end(queue);
    schedule_freed(queue, topic, claimed);
    if (state.expires != DUEQ_NEVER)
        job_put_ttl(queue, topic, job->seq, state.expires);
    job->body = *body;
    job->state = state;
    job->moved = false;
    if (state.expires != first_end)
        job_save_state(queue, topic, job);
    return DUEQ_OK;
}

enum dueq_status job_put_follow_up(struct queue *queue, struct topic *topic, struct job *job,
                                   const struct job_body *body, struct dueq_time time)
{
    struct job_state state = job->state;
    bool first = !state.followed;
    enum dueq_status status;

    assert(state.state == PHASE_CLAIMED);
    state.followed = true;
    status = first ? job_reschedule(queue, topic, job, state, time) : DUEQ_OK;
    if (status != DUEQ_OK)
        return status;
    if (!first)
        job_drop_follow_up(queue, topic, job->seq);
    queue_count_bytes(queue, topic, 0, body->body.size);
    job_put_body(queue, topic, TABLE_FOLLOW, job->seq, body, true);
    queue_mark_dirty(queue, topic);
    return DUEQ_OK;
}

enum dueq_status job_take_follow_up(struct queue *queue, struct topic *topic, struct job *job,
                                    struct dueq_time time)
{
    struct job_body body;
    enum dueq_status status = job_load_follow_up(queue, topic, job->seq, &body);

    if (status != DUEQ_OK)
        return status;
    forget_bytes(queue, topic, body.body.size); /* counted since the follow-up came */
    status = job_replace(queue, topic, job, &body, time);
    if (status == DUEQ_OK)
        del_record(queue, topic, TABLE_FOLLOW, job->seq);
    else
        queue_count_bytes(queue, topic, 0, body.body.size);
    return status;
}

enum dueq_status job_end_cancelled(struct queue *queue, struct topic *topic, struct job *job,
                                   struct dueq_time time)
{
    uint64_t before = topic->ring.next;
    enum dueq_status status = DUEQ_OK;

    queue_note_event(queue, topic, job, DUEQ_EVENT_CANCELLED);
    if (job->state.followed)
        status = job_take_follow_up(queue, topic, job, time);
    else {
        queue_note_end(queue, topic, job->seq, DUEQ_END_CANCELLED);
        job_remove(queue, topic, job);
    }
    if (status == DUEQ_OK)
        QUEUE_COUNT(queue, topic, cancelled);
    else
        queue_forget_events(queue, topic, before);
    return status;
}

enum dueq_status job_set_due(struct queue *queue, struct topic *topic, struct job *job,
                             uint8_t clock, int64_t due, struct dueq_time time)
{
    struct job_state state = job->state;
    bool waited = AFTERS_KNOWN && state.state == PHASE_WAITING;
    enum dueq_status status;

    state.state = PHASE_PENDING;
    state.clock = clock;
    state.due = due;
    state.expires = job_record_ttl_end(&job->body, queue_clock_of(queue, clock, due));
    status = job_reschedule(queue, topic, job, state, time);
    if (waited && status == DUEQ_OK)
        afters_drop(queue, topic, job->seq);
    return status;
}

enum dueq_status job_finish(struct queue *queue, struct topic *topic, struct job *job,
                            int64_t until, bool strip, struct dueq_time time)
{
    struct job_state state = job->state;
    struct job_body body = job->body;

    state.state = PHASE_DONE;
    state.due = state.since = time.now;
    state.error = dueq_slice(NULL, 0);
    if (strip && !body.stripped) {
        uint8_t id[DUEQ_NAME_MAX];

        if (body.id.size > 0)
            memcpy(id, body.id.data, body.id.size);
        body.id.data = id;
        body.body = dueq_slice(NULL, 0);
        body.stripped = true;
        forget_bytes(queue, topic, job_bytes(queue, topic, job));
        state.size = 0;
        job_put_body(queue, topic, TABLE_BODY, job->seq, &body, false);
    }
    state.expires = until;
    queue_note_end(queue, topic, job->seq, DUEQ_END_DONE);
    return job_reschedule(queue, topic, job, state, time); /* needs no memory */
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
        drop_ttl(queue, topic, &job->state, job->seq);
        job->state.expires = end;
        job_put_ttl(queue, topic, job->seq, end);
        job_save_state(queue, topic, job);
    }
    return job->state.expires <= time.now;
}

/* ---- options */

static void choose_backoff(struct job_options *options, const struct job_body *body,
                           const struct dueq_settings *settings)
{
    if (body->step_count > 0 || body->backoff != DUEQ_DEFAULT) {
        options->steps = body->steps;
        options->step_count = body->step_count;
        options->backoff = queue_or_default(body->backoff, options->backoff);
        options->jitter = body->jitter;
    } else if (settings != NULL && (settings->step_count > 0 ||
                                    settings->numbers[DUEQ_SET_BACKOFF] != DUEQ_DEFAULT)) {
        options->steps = settings->steps;
        options->step_count = settings->step_count;
        options->backoff =
            queue_or_default(settings->numbers[DUEQ_SET_BACKOFF], options->backoff);
        options->backoff_max =
            queue_or_default(settings->numbers[DUEQ_SET_BACKOFF_MAX], options->backoff_max);
        options->jitter = settings->numbers[DUEQ_SET_JITTER];
    }
    options->backoff_max = queue_or_default(body->backoff_max, options->backoff_max);
    options->jitter = queue_or_default(body->jitter, options->jitter);
    options->jitter = queue_or_default(options->jitter, options->step_count > 0 ? 0 : JITTER);
}

static int64_t choose(int64_t own, const struct dueq_settings *settings,
                      enum dueq_setting setting, int64_t otherwise)
{
    if (own != DUEQ_DEFAULT)
        return own;
    return settings == NULL ? otherwise
                            : queue_or_default(settings->numbers[setting], otherwise);
}

struct job_options job_options(struct queue *queue, struct topic *topic,
                               const struct job_body *body)
{
    const struct dueq_settings *settings = settings_of(queue, topic);
    const struct dueq_defaults *defaults = &queue->defaults;
    struct job_options options = {
        .lease = choose(body->lease, settings, DUEQ_SET_LEASE, defaults->lease),
        .retries = choose(body->retries, settings, DUEQ_SET_RETRIES, defaults->retries),
        .crashes = choose(body->crashes, settings, DUEQ_SET_CRASHES, defaults->crashes),
        .backoff = defaults->backoff,
        .backoff_max = defaults->backoff_max,
        .jitter = DUEQ_DEFAULT};

    choose_backoff(&options, body, settings);
    return options;
}

/* Doubles with each failure up to the limit, or follows the steps. */
static int64_t wait_after(const struct job_options *options, int64_t failures)
{
    int64_t limit = safe_time_clamp(options->backoff_max), wait = options->backoff;

    if (options->step_count > 0) {
        uint64_t last = options->step_count - 1, step = (uint64_t)failures;

        return safe_time_clamp(options->steps[step < last ? step : last]);
    }
    for (int64_t i = 0; i < failures && wait > 0 && wait < limit; i++)
        wait = wait > limit / 2 ? limit : wait * 2;
    return wait > limit ? limit : wait;
}

/* Spreads the wait either way, so that jobs that failed together do not come back together. The
 * spread is a function of the job, so that a follower computes the same. */
int64_t job_backoff(struct queue *queue, struct topic *topic, const struct job *job)
{
    struct job_options options = job_options(queue, topic, &job->body);
    int64_t failures = job->state.failures > 0 ? job->state.failures : 0, spread;
    int64_t wait = wait_after(&options, failures),
            limit =
                options.step_count > 0 ? SAFE_TIME_MAX : safe_time_clamp(options.backoff_max);
    uint8_t seed[3 * 8];

    bytes_write_u64(seed, topic->id);
    bytes_write_u64(seed + 8, job->seq);
    bytes_write_u64(seed + 16, (uint64_t)failures + 1);
    spread = (int64_t)(XXH3_64bits(seed, sizeof(seed)) % (uint64_t)(20 * options.jitter + 1)) -
             10 * options.jitter; /* thousandths */
    wait += wait / 1000 * spread + wait % 1000 * spread / 1000;
    return wait > limit ? limit : wait;
}
