/* The public API: arguments are checked here, and what a topic needs is found. */
#include "storage/queue/queue.h"

#include <stdlib.h>

struct dueq {
    struct kv *kv;
    struct queue *queue;
};

/* ---- the store */

enum dueq_status dueq_open(const char *dir, const struct kv_options *kv, struct dueq_time time,
                           struct dueq **ret_store, struct dueq_error *error)
{
    struct dueq *store = calloc(1, sizeof(*store));
    struct kv_options defaults;
    enum dueq_status status;

    if (store == NULL)
        return dueq_fail(error, DUEQ_NOMEM, "out of memory");
    kv_options_init(&defaults);
    status = kv_open(dir, kv != NULL ? kv : &defaults, &store->kv, error);
    if (status == DUEQ_OK) {
        if (time.now < kv_time_floor(store->kv))
            time.now = kv_time_floor(store->kv);
        status = queue_new(store->kv, time, &store->queue);
        if (status != DUEQ_OK)
            dueq_fail(error, status, "cannot read the topics in %s: %s", dir,
                      dueq_status_text(status));
    }
    if (status != DUEQ_OK) {
        dueq_abandon(store);
        return status;
    }
    *ret_store = store;
    return DUEQ_OK;
}

enum dueq_status dueq_close(struct dueq *store)
{
    enum dueq_status status;

    if (store == NULL)
        return DUEQ_OK;
    status = kv_close(store->kv);
    store->kv = NULL;
    dueq_abandon(store);
    return status;
}

void dueq_abandon(struct dueq *store)
{
    if (store == NULL)
        return;
    queue_free(store->queue);
    kv_abandon(store->kv);
    free(store);
}

struct kv *dueq_kv(struct dueq *store)
{
    return store->kv;
}

void dueq_get_defaults(const struct dueq *store, struct dueq_defaults *ret_defaults)
{
    *ret_defaults = store->queue->defaults;
}

void dueq_set_defaults(struct dueq *store, const struct dueq_defaults *defaults)
{
    store->queue->defaults = *defaults;
}

int64_t dueq_time_floor(const struct dueq *store)
{
    return kv_time_floor(store->kv);
}

enum dueq_status dueq_commit(struct dueq *store, struct dueq_time time, uint64_t *ret_lsn)
{
    queue_save(store->queue);
    return kv_commit(store->kv, queue_time(store->queue, time).now, ret_lsn);
}

size_t dueq_batch_bytes(const struct dueq *store)
{
    return kv_batch_bytes(store->kv);
}

uint64_t dueq_settled(const struct dueq *store)
{
    return kv_settled(store->kv);
}

enum dueq_status dueq_wait(struct dueq *store, uint64_t lsn)
{
    return kv_wait(store->kv, lsn);
}

void dueq_maintain(struct dueq *store, bool idle)
{
    kv_maintain(store->kv, idle);
}

enum dueq_status dueq_status(const struct dueq *store)
{
    return kv_status(store->kv);
}

const char *dueq_failure(const struct dueq *store)
{
    return kv_failure(store->kv);
}

/* ---- push */

static bool valid_name(struct dueq_slice name)
{
    return name.size > 0 && name.size <= DUEQ_NAME_MAX;
}

void dueq_push_init(struct dueq_push *push)
{
    *push = (struct dueq_push){.priority = DUEQ_DEFAULT,
                               .lease = DUEQ_DEFAULT,
                               .retries = DUEQ_DEFAULT,
                               .backoff = DUEQ_DEFAULT,
                               .backoff_max = DUEQ_DEFAULT,
                               .ttl = DUEQ_DEFAULT};
}

static bool valid_push(const struct dueq_push *push)
{
    return valid_name(push->topic) && push->id.size <= DUEQ_NAME_MAX && push->delay >= 0 &&
           push->priority >= DUEQ_DEFAULT && push->priority <= 255 &&
           push->lease >= DUEQ_DEFAULT && push->retries >= DUEQ_DEFAULT &&
           push->backoff >= DUEQ_DEFAULT && push->backoff_max >= DUEQ_DEFAULT &&
           push->ttl >= DUEQ_DEFAULT;
}

static int64_t or_default(int64_t given, int64_t otherwise)
{
    return given == DUEQ_DEFAULT ? otherwise : given;
}

static int64_t add_clamped(int64_t moment, int64_t wait)
{
    return wait > DUEQ_NEVER - 1 - moment ? DUEQ_NEVER - 1 : moment + wait;
}

static struct job_body body_of(const struct queue *queue, const struct dueq_push *push,
                               struct dueq_time time)
{
    const struct dueq_defaults *defaults = &queue->defaults;
    struct job_body body = {.id = push->id,
                            .body = push->body,
                            .priority = (uint8_t)or_default(push->priority, 128),
                            .lease = push->lease,
                            .retries = or_default(push->retries, defaults->retries),
                            .backoff = or_default(push->backoff, defaults->backoff),
                            .backoff_max = or_default(push->backoff_max, defaults->backoff_max),
                            .ttl = push->ttl,
                            .pushed = time.wall};

    return body;
}

/* A moment that has passed on the wall clock is now. */
static struct job_state state_of(const struct dueq_push *push, const struct job_body *body,
                                 struct dueq_time time)
{
    bool later = push->absolute && push->at > time.wall;
    struct job_state state = {.state = RECORD_PENDING,
                              .priority = body->priority,
                              .clock = later ? CLOCK_WALL : CLOCK_QUEUE,
                              .due = time.now,
                              .expires = DUEQ_NEVER};
    int64_t due; /* on the queue's clock */

    if (later)
        state.due = push->at;
    else if (!push->absolute)
        state.due = add_clamped(time.now, push->delay);
    due = later ? add_clamped(time.now, push->at - time.wall) : state.due;
    if (body->ttl != DUEQ_DEFAULT)
        state.expires = add_clamped(due, body->ttl);
    return state;
}

static void put_body(struct queue *queue, struct topic *topic, uint64_t seq,
                     const struct job_body *body)
{
    struct kv_key key = job_key(TABLE_BODY, topic->id, seq);
    uint8_t head[BODY_HEAD_MAX];
    struct dueq_slice parts[3] = {dueq_slice(head, body_write_head(head, body)), body->id,
                                  body->body};

    kv_putv(queue->kv, kv_key_slice(&key), parts, 3, true);
}

static void put_unique(struct queue *queue, struct topic *topic, struct dueq_slice id,
                       uint64_t seq)
{
    struct kv_key key = unique_key(topic->id, id, kv_seed(queue->kv));
    uint8_t value[8];

    kv_write_u64(value, seq);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(value, sizeof(value)), true);
}

static void put_ttl(struct queue *queue, struct topic *topic, int64_t expires, uint64_t seq)
{
    struct kv_key key = class_key(topic->id, CLASS_TTL);

    if (expires == DUEQ_NEVER)
        return;
    key_add_place(&key, expires, seq);
    kv_put(queue->kv, kv_key_slice(&key), dueq_slice(NULL, 0), true);
    if (expires < topic->next_ttl)
        topic->next_ttl = expires;
    queue_event_at(queue, topic, expires);
}

static enum dueq_status add_job(struct queue *queue, struct topic *topic,
                                const struct dueq_push *push, struct dueq_time time,
                                struct dueq_slice *ret_id)
{
    struct job_body body = body_of(queue, push, time);
    struct job_state state = state_of(push, &body, time);
    uint64_t seq = topic->next_seq;
    enum dueq_status status = schedule_add(queue, topic, &state, seq, time);

    if (status != DUEQ_OK)
        return status;
    topic->next_seq++;
    topic->totals.pushed++;
    put_body(queue, topic, seq, &body);
    job_save_state(queue, topic, seq, &state, true);
    put_ttl(queue, topic, state.expires, seq);
    *ret_id = push->id;
    if (push->id.size > 0) {
        put_unique(queue, topic, push->id, seq);
        return DUEQ_OK;
    }
    given_id_write(queue->id, body.pushed, seq);
    *ret_id = dueq_slice(queue->id, GIVEN_ID_SIZE);
    return DUEQ_OK;
}

enum dueq_status dueq_push(struct dueq *store, const struct dueq_push *push,
                           struct dueq_time time, struct dueq_slice *ret_id)
{
    struct queue *queue = store->queue;
    struct topic *topic;
    struct job job;
    enum dueq_status status;

    if (!valid_push(push))
        return DUEQ_INVALID;
    if (push->body.size > DUEQ_BODY_MAX)
        return DUEQ_TOOBIG;
    if (kv_room(store->kv) != DUEQ_OK)
        return DUEQ_FULL;
    time = queue_time(queue, time);
    status = queue_open_topic(queue, push->topic, &topic);
    if (status == DUEQ_OK && push->id.size > 0) {
        status = job_find(queue, topic, push->id, &job);
        if (status == DUEQ_OK)
            return DUEQ_DUPLICATE;
        if (status == DUEQ_NOTFOUND)
            status = DUEQ_OK;
    }
    return status == DUEQ_OK ? add_job(queue, topic, push, time, ret_id) : status;
}

/* ---- jobs as callers see them */

const char *dueq_state_name(enum dueq_state state)
{
    static const char *const names[] = {"delayed", "ready", "claimed", "dead"};

    return names[state];
}

static enum dueq_state shown_state(const struct job_state *state, struct dueq_time time)
{
    if (state->state == RECORD_CLAIMED)
        return DUEQ_CLAIMED;
    if (state->state == RECORD_DEAD)
        return DUEQ_DEAD;
    return state->due <= (state->clock == CLOCK_QUEUE ? time.now : time.wall) ? DUEQ_READY
                                                                              : DUEQ_DELAYED;
}

static void show(struct queue *queue, const struct job *job, struct dueq_time time,
                 struct dueq_job *ret_job)
{
    *ret_job = (struct dueq_job){.id = job->body.id,
                                 .body = job->body.body,
                                 .error = job->state.error,
                                 .state = shown_state(&job->state, time),
                                 .due = job->state.due,
                                 .pushed = job->body.pushed,
                                 .token = job->state.token,
                                 .attempt = job->state.attempt,
                                 .priority = job->body.priority,
                                 .lease = or_default(job->body.lease, queue->defaults.lease),
                                 .retries = job->body.retries,
                                 .backoff = job->body.backoff,
                                 .backoff_max = job->body.backoff_max,
                                 .ttl = job->body.ttl};
    if (job->body.id.size == 0) {
        given_id_write(queue->id, job->body.pushed, job->seq);
        ret_job->id = dueq_slice(queue->id, GIVEN_ID_SIZE);
    }
}

static enum dueq_status find_job(struct queue *queue, struct dueq_slice topic_name,
                                 struct dueq_slice id, struct topic **ret_topic,
                                 struct job *ret_job)
{
    enum dueq_status status;

    if (!valid_name(topic_name) || !valid_name(id))
        return DUEQ_INVALID;
    status = queue_find_topic(queue, topic_name, ret_topic);
    return status == DUEQ_OK ? job_find(queue, *ret_topic, id, ret_job) : status;
}

/* The job, when the token is that of its last claim and it was not given back since. */
static enum dueq_status find_held(struct queue *queue, struct dueq_slice topic_name,
                                  struct dueq_slice id, int64_t token, struct topic **ret_topic,
                                  struct job *ret_job)
{
    enum dueq_status status = find_job(queue, topic_name, id, ret_topic, ret_job);

    if (status == DUEQ_OK && (!ret_job->state.token_valid || ret_job->state.token != token))
        return DUEQ_STALE;
    return status;
}

enum dueq_status dueq_get(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time, struct dueq_job *ret_job)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = find_job(store->queue, topic, id, &found, &job);

    if (status == DUEQ_OK)
        show(store->queue, &job, queue_time(store->queue, time), ret_job);
    return status;
}

enum dueq_status dueq_del(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = find_job(store->queue, topic, id, &found, &job);

    (void)time;
    if (status != DUEQ_OK)
        return status;
    found->totals.deleted++;
    job_remove(store->queue, found, &job);
    return DUEQ_OK;
}

/* ---- claim */

/* The best of the due jobs: lanes come by priority, and among the two clocks of one priority
 * the lesser due, then the earlier arrival, wins. */
static enum dueq_status pick(struct queue *queue, struct topic *topic, struct dueq_time time,
                             struct place *ret_place)
{
    const struct lane *best = NULL;

    for (size_t i = 0; i < topic->lane_count; i++) {
        struct lane *lane = &topic->lanes[i];
        struct place place;
        enum dueq_status status;

        if (best != NULL && lane->priority != best->priority)
            break;
        status = schedule_first(queue, topic, lane, time, &place);
        if (status == DUEQ_NOTFOUND)
            continue;
        if (status != DUEQ_OK)
            return status;
        if (best == NULL || place_before(place, *ret_place)) {
            *ret_place = place;
            best = lane;
        }
    }
    return best == NULL ? DUEQ_NOTFOUND : DUEQ_OK;
}

static enum dueq_status take(struct queue *queue, struct topic *topic, struct job *job,
                             int64_t lease, struct dueq_time time)
{
    struct job_state state = job->state;
    uint8_t error[DUEQ_ERROR_MAX];
    enum dueq_status status;

    if (state.error.size > 0)
        memcpy(error, state.error.data, state.error.size);
    state.error.data = error;
    schedule_remove(queue, topic, &job->state, job->seq);
    state.state = RECORD_CLAIMED;
    state.token_valid = true;
    state.due = add_clamped(time.now, lease);
    status = schedule_add(queue, topic, &state, job->seq, time);
    if (status == DUEQ_OK)
        job_save_state(queue, topic, job->seq, &state, false);
    return status;
}

enum dueq_status dueq_claim(struct dueq *store, struct dueq_slice topic, int64_t lease,
                            struct dueq_time time, struct dueq_job *ret_job)
{
    struct queue *queue = store->queue;
    struct topic *found;
    struct place place;
    struct job job;
    enum dueq_status status;

    if (!valid_name(topic) || lease < DUEQ_DEFAULT)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = queue_find_topic(queue, topic, &found);
    if (status == DUEQ_OK)
        status = pick(queue, found, time, &place);
    if (status != DUEQ_OK)
        return status;
    status = job_load(queue, found, place.seq, &job);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    lease = or_default(lease, or_default(job.body.lease, queue->defaults.lease));
    job.state.attempt++;
    job.state.token = (int64_t)found->next_token++;
    found->totals.claimed++;
    status = take(queue, found, &job, lease, time);
    if (status == DUEQ_OK)
        status = job_load(queue, found, place.seq, &job);
    if (status == DUEQ_OK)
        show(queue, &job, time, ret_job);
    return status;
}

enum dueq_status dueq_ack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          int64_t token, struct dueq_time time)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = find_held(store->queue, topic, id, token, &found, &job);

    (void)time;
    if (status != DUEQ_OK)
        return status;
    found->totals.acked++;
    job_remove(store->queue, found, &job);
    return DUEQ_OK;
}

enum dueq_status dueq_nack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                           enum dueq_state *ret_state)
{
    struct queue *queue = store->queue;
    struct topic *found;
    struct job job;
    int64_t wait;
    enum dueq_status status;

    if (nack->delay < DUEQ_DEFAULT)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = find_held(queue, topic, id, token, &found, &job);
    if (status == DUEQ_OK && job.state.state == RECORD_DEAD)
        return DUEQ_STALE;
    if (status != DUEQ_OK)
        return status;
    wait = nack->delay == DUEQ_DEFAULT ? job_backoff(found, &job) : nack->delay;
    found->totals.nacked++;
    job.state.token_valid = false;
    return job_give_back(queue, found, &job, add_clamped(time.now, wait), nack->dead,
                         nack->error, time, ret_state);
}

enum dueq_status dueq_extend(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, int64_t lease, struct dueq_time time,
                             int64_t *ret_end)
{
    struct queue *queue = store->queue;
    struct topic *found;
    struct job job;
    enum dueq_status status;

    if (lease < 0)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = find_held(queue, topic, id, token, &found, &job);
    if (status == DUEQ_OK && job.state.state == RECORD_DEAD)
        return DUEQ_STALE;
    if (status == DUEQ_OK)
        status = take(queue, found, &job, lease, time);
    if (status == DUEQ_OK)
        *ret_end = add_clamped(time.wall, lease);
    return status;
}

/* ---- topics */

/* Exact, whatever the ticks have not come to yet: the clocks are caught up with here. */
static enum dueq_status count_topic(struct queue *queue, struct topic *topic,
                                    struct dueq_time time)
{
    for (size_t i = 0; i < topic->lane_count; i++) {
        unsigned unlimited = UINT32_MAX;
        uint64_t moved = 0;
        enum dueq_status status =
            schedule_count(queue, topic, &topic->lanes[i], time, &unlimited, &moved);

        if (moved > 0)
            queue_signal(queue, topic);
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}

static void look_at_lane(struct queue *queue, struct topic *topic, struct lane *lane,
                         struct dueq_time time, struct dueq_topic_stats *stats)
{
    int64_t next = lane->next_due;
    struct place first;

    if (lane->clock == CLOCK_QUEUE && next != DUEQ_NEVER)
        next = next - time.now + time.wall;
    if (next < stats->next_due)
        stats->next_due = next;
    if (schedule_first(queue, topic, lane, time, &first) == DUEQ_OK &&
        lane_now(lane, time) - first.due > stats->oldest_ready_age)
        stats->oldest_ready_age = lane_now(lane, time) - first.due;
}

enum dueq_status dueq_topic_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_time time, struct dueq_topic_stats *ret_stats)
{
    struct topic *found;
    struct dueq_topic_stats stats;
    enum dueq_status status = queue_find_topic(store->queue, topic, &found);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(store->queue, time);
    status = count_topic(store->queue, found, time);
    if (status != DUEQ_OK)
        return status;
    stats = found->totals;
    stats.oldest_ready_age = 0;
    stats.next_due = DUEQ_NEVER;
    for (int state = 0; state < DUEQ_STATES; state++)
        stats.counts[state] = topic_count(found, (enum dueq_state)state);
    for (size_t i = 0; i < found->lane_count; i++)
        look_at_lane(store->queue, found, &found->lanes[i], time, &stats);
    *ret_stats = stats;
    return DUEQ_OK;
}

/* Topics pushed to in this turn are in the directory before they are on disk. */
enum dueq_status dueq_topic_after(struct dueq *store, struct dueq_slice after,
                                  struct dueq_slice *ret_name)
{
    struct kv_cursor *cursor = store->queue->cursor;
    struct kv_key key;
    struct dueq_slice found;
    struct topic *topic;
    enum dueq_status status;

    queue_save(store->queue);
    kv_key_start(&key, TABLE_TOPIC);
    kv_key_name(&key, after, 0);
    key.bytes[key.size++] = 0; /* the least name above; below any when `after` is empty */
    status = kv_cursor_seek(cursor, kv_key_slice(&key));
    if (status != DUEQ_OK)
        return status;
    found = kv_cursor_key(cursor);
    if (*(const uint8_t *)found.data != TABLE_TOPIC)
        return DUEQ_NOTFOUND;
    status = queue_find_topic(
        store->queue, dueq_slice((const uint8_t *)found.data + 1, found.size - 1), &topic);
    if (status != DUEQ_OK)
        return DUEQ_CORRUPT;
    *ret_name = topic_name(topic); /* the topic's own, which other calls leave alone */
    return DUEQ_OK;
}

size_t dueq_topic_count(const struct dueq *store)
{
    return HASH_COUNT(store->queue->topics);
}

enum dueq_status dueq_flush(struct dueq *store, struct dueq_time time)
{
    queue_time(store->queue, time);
    queue_flush(store->queue);
    return DUEQ_OK;
}

/* ---- time */

bool dueq_tick(struct dueq *store, struct dueq_time time, unsigned budget)
{
    return queue_tick(store->queue, time, budget);
}

int64_t dueq_next_tick(const struct dueq *store, struct dueq_time time)
{
    return queue_next_tick(store->queue, time);
}

enum dueq_status dueq_next_signal(struct dueq *store, struct dueq_slice *ret_topic)
{
    struct queue *queue = store->queue;
    struct topic *topic = queue->first_signal;

    if (topic == NULL)
        return DUEQ_NOTFOUND;
    queue->first_signal = topic->signal_next;
    if (queue->first_signal == NULL)
        queue->last_signal = &queue->first_signal;
    topic->signalled = false;
    *ret_topic = topic_name(topic);
    return DUEQ_OK;
}

/* For tests that know the inside (storage/queue/queue.h). */
struct queue *store_queue(struct dueq *store);
struct queue *store_queue(struct dueq *store)
{
    return store->queue;
}
