#include "storage/queue/restore.h"

#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/kv/room.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/push.h"

enum { RECORDS_USUAL = 4096 }; /* bytes: keys, numbers, and the id three times */

/* Of seqs and tokens: no store comes so far, and a token is an int64_t. */
#define NUMBER_MAX ((uint64_t)SAFE_TIME_MAX)

/* ---- topics */

enum dueq_status queue_whole_topic(struct queue *queue, struct dueq_slice name,
                                   struct whole_topic *ret_topic)
{
    struct topic *topic;
    enum dueq_status status = topics_find(queue, name, &topic);

    if (status == DUEQ_OK && bucket_is_over(&topic->bucket, queue->now))
        topic->bucket = (struct bucket){0, 0};
    if (status == DUEQ_OK)
        *ret_topic =
            (struct whole_topic){topic->next_seq, topics_most_token(topic), topic->totals,
                                 topic->paused,   topic->paused_until,      topic->bucket};
    return status;
}

static bool has_numbers(const struct whole_topic *topic)
{
    return topic->next_seq > 0 && topic->next_seq <= NUMBER_MAX && topic->next_token > 0 &&
           topic->next_token <= NUMBER_MAX;
}

static bool is_topic(const struct whole_topic *topic)
{
    return has_numbers(topic) && bucket_is_sound(&topic->bucket) &&
           topic->paused <= (TOPIC_PAUSED_IN | TOPIC_PAUSED_OUT) &&
           (topic->paused_until == DUEQ_NEVER ||
            (topic->paused_until >= SAFE_TIME_MIN && topic->paused_until <= SAFE_TIME_MAX));
}

static void keep_most(struct queue *queue, uint64_t next_seq, uint64_t next_token)
{
    if (next_seq > queue->most_seq)
        queue->most_seq = next_seq;
    if (next_token > queue->most_token)
        queue->most_token = next_token;
}

enum dueq_status queue_restore_topic(struct queue *queue, struct dueq_slice name,
                                     const struct whole_topic *topic)
{
    struct topic *made;
    enum dueq_status status;

    if (!queue_valid_name(name) || !is_topic(topic))
        return DUEQ_INVALID;
    if (topic_table_find(&queue->topics, name) != NULL)
        return DUEQ_DUPLICATE;
    status = kv_room(queue->kv, PUSH_RECORDS_MOST);
    if (status == DUEQ_OK)
        status = topics_open(queue, name, &made);
    if (status != DUEQ_OK)
        return status;
    made->next_seq = topic->next_seq;
    made->next_token = topic->next_token;
    made->totals = topic->totals;
    made->paused = topic->paused;
    made->paused_until = topic->paused_until;
    made->bucket = topic->bucket;
    topic_add_totals(&queue->totals, &topic->totals);
    keep_most(queue, made->next_seq, made->next_token);
    queue_mark_dirty(queue, made);
    return DUEQ_OK;
}

/* ---- buckets of groups */

static bool is_bucket(const struct whole_bucket *bucket)
{
    return bucket->group != 0 && bucket_is_sound(&bucket->bucket);
}

static enum dueq_status each_bucket(const struct queue *queue, struct kv_cursor *cursor,
                                    const struct topic *topic, whole_bucket_fn fn, void *arg)
{
    struct kv_key prefix;
    enum dueq_status status =
        kv_cursor_seek(cursor, queue_key_topic(&prefix, TABLE_GROUP, topic->id));

    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(cursor), &prefix)) {
        struct dueq_slice key = kv_cursor_key(cursor);
        struct group_record record;
        struct whole_bucket bucket;

        if (key.size != prefix.size + 8u ||
            !group_record_read(kv_cursor_value(cursor), &record))
            return DUEQ_CORRUPT;
        bucket = (struct whole_bucket){bytes_read_u64((const uint8_t *)key.data + prefix.size),
                                       record.bucket};
        if (!bucket_is_over(&bucket.bucket, queue->now) && !fn(arg, &bucket))
            return DUEQ_OK;
        status = kv_cursor_next(cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status queue_each_whole_bucket(struct queue *queue, struct dueq_slice name,
                                         whole_bucket_fn fn, void *arg)
{
    struct kv_cursor *cursor = kv_cursor_new(queue->kv);
    struct topic *topic;
    enum dueq_status status = cursor == NULL ? DUEQ_NOMEM : topics_find(queue, name, &topic);

    if (status == DUEQ_OK)
        status = each_bucket(queue, cursor, topic, fn, arg);
    kv_cursor_free(cursor);
    return status;
}

enum dueq_status queue_restore_bucket(struct queue *queue, struct dueq_slice name,
                                      const struct whole_bucket *bucket)
{
    struct topic *topic;
    enum dueq_status status =
        is_bucket(bucket) ? topics_find(queue, name, &topic) : DUEQ_INVALID;

    if (status == DUEQ_OK)
        status = kv_room(queue->kv, RECORDS_USUAL);
    return status == DUEQ_OK ? groups_fill(queue, topic, bucket->group, &bucket->bucket)
                             : status;
}

/* ---- what outlives topics */

void queue_get_outliving(const struct queue *queue, struct whole_topic *ret_numbers)
{
    *ret_numbers = (struct whole_topic){.next_seq = queue->counters.next_seq,
                                        .next_token = queue->counters.next_token,
                                        .totals = queue->counters.totals};
}

enum dueq_status queue_set_outliving(struct queue *queue, const struct whole_topic *numbers)
{
    struct counters *counters = &queue->counters;

    if (!has_numbers(numbers))
        return DUEQ_INVALID;
    counters->next_seq = numbers->next_seq;
    counters->next_token = numbers->next_token;
    counters->totals = numbers->totals;
    counters->dirty = true;
    topic_add_totals(&queue->totals, &numbers->totals);
    keep_most(queue, numbers->next_seq, numbers->next_token);
    return DUEQ_OK;
}

/* ---- reading jobs */

static enum dueq_status load_whole(struct queue *queue, struct topic *topic, uint64_t seq,
                                   struct whole_job *ret_job)
{
    struct job job;
    struct kv_key key;
    enum dueq_status status = job_load(queue, topic, seq, &job);

    if (status != DUEQ_OK)
        return status;
    *ret_job = (struct whole_job){
        .seq = seq, .body = job.body, .moved = job.moved, .state = job.state};
    if (job.state.followed)
        status = job_load_follow_up(queue, topic, seq, &ret_job->follow);
    if (status != DUEQ_OK || job.state.state != PHASE_DONE)
        return status;
    status =
        kv_get(queue->kv, queue_key_job(&key, TABLE_RESULT, topic->id, seq), &ret_job->result);
    ret_job->has_result = status == DUEQ_OK;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status each_job(struct queue *queue, struct topic *topic,
                                 struct kv_cursor *cursor, whole_job_fn fn, void *arg)
{
    struct kv_key prefix;
    enum dueq_status status;

    queue_key_topic(&prefix, TABLE_BODY, topic->id);
    status = kv_cursor_seek(cursor, kv_key_slice(&prefix));
    while (status == DUEQ_OK && kv_key_begins(kv_cursor_key(cursor), &prefix)) {
        struct dueq_slice key = kv_cursor_key(cursor);
        const uint8_t *end = (const uint8_t *)key.data + key.size;
        struct whole_job job;
        uint64_t seq;

        if (bytes_read_number((const uint8_t *)key.data + prefix.size, end, &seq) != end)
            return DUEQ_CORRUPT;
        status = load_whole(queue, topic, seq, &job);
        if (status != DUEQ_OK)
            return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
        if (!fn(arg, &job))
            return DUEQ_OK;
        status = kv_cursor_next(cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status queue_each_whole_job(struct queue *queue, struct dueq_slice name,
                                      whole_job_fn fn, void *arg)
{
    struct kv_cursor *cursor = kv_cursor_new(queue->kv);
    struct topic *topic;
    enum dueq_status status = cursor == NULL ? DUEQ_NOMEM : topics_find(queue, name, &topic);

    if (status == DUEQ_OK)
        status = each_job(queue, topic, cursor, fn, arg);
    kv_cursor_free(cursor);
    return status;
}

/* ---- restoring jobs */

/* What the store computes with such times and numbers does not overflow. */
static bool is_time(int64_t time)
{
    return time >= SAFE_TIME_MIN && time <= SAFE_TIME_MAX;
}

static bool is_time_or_never(int64_t time)
{
    return time == DUEQ_NEVER || is_time(time);
}

static bool is_count(int64_t number)
{
    return number >= 0 && number <= SAFE_TIME_MAX;
}

/* As large as a push may set it. */
static bool is_option(int64_t number)
{
    return number >= DUEQ_DEFAULT;
}

static bool has_options(const struct job_body *body)
{
    const int64_t options[] = {body->lease,       body->retries, body->crashes, body->backoff,
                               body->backoff_max, body->ttl,     body->window};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (!is_option(options[i]))
            return false;
    for (size_t i = 0; i < body->step_count; i++)
        if (body->steps[i] < 0)
            return false;
    return is_option(body->jitter) && body->jitter <= 100;
}

static bool is_body(const struct job_body *body)
{
    return is_time(body->due) && is_time(body->pushed) && is_count(body->stamp) &&
           body->id.size <= DUEQ_NAME_MAX && body->body.size <= DUEQ_BODY_MAX &&
           body->clock <= CLOCK_WALL && body->step_count <= DUEQ_STEPS_MAX &&
           body->group.size <= DUEQ_NAME_MAX && body->weight >= 1 &&
           body->weight <= DUEQ_WEIGHT_MAX && has_options(body);
}

static bool is_state(const struct job_state *state)
{
    return is_time(state->due) && is_time(state->since) && is_time_or_never(state->expires) &&
           is_count(state->attempt) && is_count(state->token) && is_count(state->failures) &&
           is_count(state->crashes) &&
           state->state <= (AFTERS_KNOWN ? PHASE_WAITING : PHASE_DONE) &&
           is_count(state->delay) && state->on_dead <= DUEQ_ON_DEAD_WAIT &&
           (state->state != PHASE_WAITING || state->expires == DUEQ_NEVER) &&
           state->clock <= CLOCK_WALL &&
           (!state->holds || (state->state == PHASE_PENDING && state->group != 0)) &&
           (!state->followed || state->state == PHASE_CLAIMED) &&
           (state->state != PHASE_DEAD || state->expires == DUEQ_NEVER) &&
           (state->state != PHASE_DONE || state->expires != DUEQ_NEVER) &&
           state->worker.size <= DUEQ_WORKER_MAX && state->progress.size <= DUEQ_PROGRESS_MAX &&
           state->error.size <= DUEQ_ERROR_MAX;
}

/* Checks the job, and fills in the state that it has from its push. */
static bool complete(const struct queue *queue, struct whole_job *job)
{
    if (job->body.weight == 0)
        job->body.weight = 1;
    if (job->follow.weight == 0)
        job->follow.weight = 1;
    if (!is_body(&job->body))
        return false;
    job->body.group_id = groups_number(queue, job->body.group);
    job->follow.group_id = groups_number(queue, job->follow.group);
    if (!job->moved) {
        bool followed = job->state.followed;

        job->state = job_record_first_state(&job->body);
        job->state.followed = followed;
    }
    job->state.awaits = 0; /* edges come later */
    job->state.group = job->body.group_id;
    job->state.weight = job->body.weight;
    return is_state(&job->state) && (!job->state.followed || is_body(&job->follow)) &&
           job->result.size <= DUEQ_BODY_MAX &&
           (!job->has_result || job->state.state == PHASE_DONE);
}

/* Is that place in the topic one of a job that is not there? */
static enum dueq_status check_place(struct queue *queue, struct topic *topic,
                                    const struct whole_job *job)
{
    struct job_body other;
    enum dueq_status status;

    if (job->seq == 0 || job->seq >= topic->next_seq ||
        job->state.token >= (int64_t)topic->next_token)
        return DUEQ_INVALID;
    status = job_load_body(queue, topic, job->seq, &other);
    if (status == DUEQ_OK)
        return DUEQ_DUPLICATE;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static void put_records(struct queue *queue, struct topic *topic, const struct whole_job *whole,
                        const struct id_index_key *name)
{
    struct job job = {.seq = whole->seq, .body = whole->body, .state = whole->state};
    struct kv_key key;

    job_put_body(queue, topic, TABLE_BODY, job.seq, &job.body, true);
    if (job.body.id.size > 0)
        id_index_put(&queue->ids, name, job.seq);
    if (whole->moved)
        job_save_state(queue, topic, &job);
    if (whole->state.followed)
        job_put_body(queue, topic, TABLE_FOLLOW, job.seq, &whole->follow, true);
    if (whole->has_result)
        kv_put(queue->kv, queue_key_job(&key, TABLE_RESULT, topic->id, job.seq), whole->result,
               true);
}

static void add_job(struct queue *queue, struct topic *topic, const struct whole_job *job,
                    const struct id_index_key *name, struct dueq_time time)
{
    schedule_add(queue, topic, &job->state, job->seq, time);
    put_records(queue, topic, job, name);
    if (job->state.expires != DUEQ_NEVER && job->state.state != PHASE_DONE)
        job_put_ttl(queue, topic, job->seq, job->state.expires);
    queue_count_bytes(queue, topic, 0,
                      job->body.body.size + (job->state.followed ? job->follow.body.size : 0));
    queue_mark_dirty(queue, topic);
}

static enum dueq_status restore(struct queue *queue, struct topic *topic,
                                const struct whole_job *job, struct dueq_time time)
{
    struct id_index_key id;
    enum dueq_status status = check_place(queue, topic, job);

    if (status == DUEQ_OK && job->body.id.size > 0)
        status = push_take_id(queue, topic, job->body.id, &id);
    if (status == DUEQ_OK)
        status = kv_room(queue->kv, RECORDS_USUAL + JOB_RECORD_STATE_MAX + job->body.body.size +
                                        job->follow.body.size + job->result.size);
    if (status == DUEQ_OK)
        status = schedule_reserve(queue, topic, &job->state, time);
    if (status == DUEQ_OK)
        add_job(queue, topic, job, &id, time);
    return status;
}

enum dueq_status queue_restore_job(struct queue *queue, struct dueq_slice name,
                                   const struct whole_job *job, struct dueq_time time)
{
    struct whole_job whole = *job;
    struct topic *topic;
    enum dueq_status status =
        complete(queue, &whole) ? topics_find(queue, name, &topic) : DUEQ_INVALID;

    return status == DUEQ_OK ? restore(queue, topic, &whole, time) : status;
}
