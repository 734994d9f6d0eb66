/* Claims, and what becomes of them. */
#include "storage/kv/room.h"
#include "storage/queue/job_end.h"
#include "storage/queue/pick.h"
#include "storage/queue/queue.h"

/* ---- claiming is rescheduling */

static void next_token(struct queue *queue, struct topic *topic, struct job_state *state)
{
    state->attempt++;
    state->token = (int64_t)topic->next_token++;
    if (topic->next_token > queue->most_token)
        queue->most_token = topic->next_token;
    state->token_valid = true;
}

/* By an id that the store gave a job is found without the index. */
static void note_claim(struct queue *queue, const struct topic *topic, const struct job *job)
{
    struct id_index_key id;

    if (job->body.id.size == 0)
        return;
    id_index_key(&queue->ids, topic->id, job->body.id, &id);
    recent_claims_note(&queue->claims, topic->id, &id, job->state.token, job->seq);
}

static enum dueq_status take(struct queue *queue, struct topic *topic, struct job *job,
                             int64_t lease, struct dueq_slice worker, struct dueq_time time)
{
    struct job_state state = job->state;
    enum dueq_status status;

    if (worker.size > DUEQ_WORKER_MAX)
        worker.size = DUEQ_WORKER_MAX;
    next_token(queue, topic, &state);
    state.worker = worker;
    state.windowed = job->body.window != DUEQ_DEFAULT;
    state.state = PHASE_CLAIMED;
    state.since = time.now;
    state.due = queue_after(time, lease);
    groups_begin(queue);
    groups_charge(queue, topic, &job->state);
    status = job_reschedule(queue, topic, job, state, time);
    groups_end(queue);
    rates_note_claim(queue, topic, time.now);
    return status;
}

static int64_t choose_lease(struct queue *queue, struct topic *topic, const struct job *job,
                            int64_t lease)
{
    if (lease == DUEQ_DEFAULT)
        lease = job->body.lease;
    return lease != DUEQ_DEFAULT
               ? lease
               : settings_number(queue, topic, DUEQ_SET_LEASE, queue->defaults.lease);
}

/* A job may be pushed with a due time that is over: it waits from its push on. It is late when
 * a claim has waited for it at the same time. */
static void note_wait(struct queue *queue, struct topic *topic, const struct job *job,
                      int64_t waits_since, struct dueq_time time)
{
    int64_t due = queue_clock_of(queue, job->state.clock, job->state.due);

    if (due < job->body.stamp)
        due = job->body.stamp;
    queue_note_span(queue, DUEQ_SPAN_WAIT, time.now - due);
    latencies_note(queue, topic, DUEQ_SPAN_WAIT, time.now - due, time.now);
    if (waits_since != DUEQ_NEVER)
        latencies_note(queue, topic, DUEQ_SPAN_LATE,
                       time.now - (due > waits_since ? due : waits_since), time.now);
}

enum dueq_status queue_claim(struct queue *queue, const struct dueq_claim *claim,
                             struct dueq_time time, struct dueq_job *ret_job)
{
    struct topic *found;
    struct job job;
    enum dueq_status status;

    if (!queue_valid_name(claim->topic) || claim->lease < DUEQ_DEFAULT)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = topics_find(queue, claim->topic, &found);
    if (status == DUEQ_OK && (found->paused & TOPIC_PAUSED_OUT))
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        status = pick_job(queue, found, claim->yields, time, &job);
    if (status == DUEQ_OK && !claim->leaves)
        status = kv_room_moves(queue->kv, false);
    if (status != DUEQ_OK)
        return status;
    QUEUE_COUNT(queue, found, claimed);
    note_wait(queue, found, &job, claim->waits_since, time);
    status = take(queue, found, &job, choose_lease(queue, found, &job, claim->lease),
                  claim->worker, time);
    if (status == DUEQ_OK) {
        note_claim(queue, found, &job);
        queue_note_event(queue, found, &job, DUEQ_EVENT_CLAIMED);
        lookup_show(queue, found, &job, time, ret_job);
    }
    return status;
}

/* ---- by token */

/* The job, when the token is that of its last claim and it was not given back since. */
static enum dueq_status find_held(struct queue *queue, struct dueq_slice topic,
                                  struct dueq_slice id, int64_t token, struct topic **ret_topic,
                                  struct job *ret_job)
{
    enum dueq_status status = lookup_job(queue, topic, id, ret_topic, ret_job);

    if (status == DUEQ_OK && (!ret_job->state.token_valid || ret_job->state.token != token))
        return DUEQ_STALE;
    return status;
}

static enum dueq_status load_held_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                        int64_t token, struct job_state *ret_state)
{
    enum dueq_status status = job_load_state(queue, topic, seq, ret_state);

    if (status == DUEQ_NOTFOUND ||
        (status == DUEQ_OK && (!ret_state->token_valid || ret_state->token != token)))
        return DUEQ_STALE;
    return status;
}

/* By a caller's id. Should ids have one hash, the token tells them apart. */
static enum dueq_status find_claimed(struct queue *queue, struct topic *topic,
                                     struct dueq_slice id, int64_t token, struct job *ret_job)
{
    struct id_index_key name;
    enum dueq_status status = DUEQ_STALE;

    id_index_key(&queue->ids, topic->id, id, &name);
    ret_job->seq = recent_claims_find(&queue->claims, topic->id, &name, token);
    if (ret_job->seq != 0)
        status = load_held_state(queue, topic, ret_job->seq, token, &ret_job->state);
    if (status != DUEQ_STALE)
        return status;
    status = id_index_find(&queue->ids, &name, &ret_job->seq);
    return status == DUEQ_OK
               ? load_held_state(queue, topic, ret_job->seq, token, &ret_job->state)
               : status;
}

/* The same for an ack, which needs nothing of the body: by a caller's id it is not read. */
static enum dueq_status find_done(struct queue *queue, struct dueq_slice topic,
                                  struct dueq_slice id, int64_t token, struct topic **ret_topic,
                                  struct job *ret_job)
{
    struct job job = {.moved = true, .body = {.id = id}};
    uint64_t given;
    enum dueq_status status;

    if (!queue_valid_name(topic) || given_id_read(id, &given))
        return find_held(queue, topic, id, token, ret_topic, ret_job);
    status = queue_valid_name(id) ? topics_find(queue, topic, ret_topic) : DUEQ_INVALID;
    if (status == DUEQ_OK)
        status = find_claimed(queue, *ret_topic, id, token, &job);
    if (status == DUEQ_OK)
        *ret_job = job;
    return status;
}

/* As find_held, when the job can still go on. */
static enum dueq_status find_unexpired(struct queue *queue, struct dueq_slice topic,
                                       struct dueq_slice id, int64_t token,
                                       struct topic **ret_topic, struct job *ret_job)
{
    enum dueq_status status = find_held(queue, topic, id, token, ret_topic, ret_job);

    return status == DUEQ_OK && job_has_ended(ret_job) ? DUEQ_STALE : status;
}

/* Until when the id of a done job stays taken, on the queue's clock. */
static int64_t window_end(const struct job_body *body, struct dueq_time time)
{
    if (body->window == DUEQ_DEFAULT)
        return time.now;
    return safe_time_add(body->throttle ? body->stamp : time.now,
                         safe_time_clamp(body->window));
}

/* How long the done job is kept, ms; 0: not. done: NULL says nothing. */
static int64_t choose_keep(struct queue *queue, struct topic *topic,
                           const struct dueq_done *done)
{
    int64_t keep;

    if (done != NULL && done->keep != DUEQ_DEFAULT)
        return done->keep;
    keep = settings_number(queue, topic, DUEQ_SET_KEEP, 0);
    return keep <= 0 && done != NULL && done->has_result ? DUEQ_RESULT_KEEP : keep;
}

static void put_result(struct queue *queue, struct topic *topic, const struct job *job,
                       const struct dueq_done *done)
{
    struct kv_key key;

    if (done != NULL && done->has_result)
        kv_put(queue->kv, queue_key_job(&key, TABLE_RESULT, topic->id, job->seq), done->result,
               true);
}

static void remove_done(struct queue *queue, struct topic *topic, const struct job *job)
{
    queue_note_end(queue, topic, job->seq, DUEQ_END_DONE);
    job_remove(queue, topic, job);
}

/* Until when the done job is kept, for its result or for its window; not later than now: not at
 * all. */
static enum dueq_status find_kept_until(struct queue *queue, struct topic *topic,
                                        struct job *job, int64_t keep, struct dueq_time time,
                                        int64_t *ret_until)
{
    enum dueq_status status = job_load_body(queue, topic, job->seq, &job->body);
    int64_t kept, taken;

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    kept = safe_time_add(time.now, safe_time_clamp(keep));
    taken = window_end(&job->body, time);
    *ret_until = kept > taken ? kept : taken;
    return DUEQ_OK;
}

static bool may_be_kept(const struct job *job, int64_t keep)
{
    return keep > 0 || job->state.windowed;
}

static enum dueq_status keep_job(struct queue *queue, struct topic *topic, struct job *job,
                                 const struct dueq_done *done, int64_t keep,
                                 struct dueq_time time)
{
    int64_t until;
    enum dueq_status status = find_kept_until(queue, topic, job, keep, time, &until);

    if (status != DUEQ_OK)
        return status;
    if (until <= time.now) {
        remove_done(queue, topic, job);
        return DUEQ_OK;
    }
    status = job_finish(queue, topic, job, until, keep == 0, time);
    if (status == DUEQ_OK)
        put_result(queue, topic, job, done);
    return status;
}

/* A job that is done goes, unless its ack, its id or its topic keeps it, or a follow-up takes
 * its place, which leaves no place for a result. */
static enum dueq_status end_job(struct queue *queue, struct topic *topic, struct job *job,
                                const struct dueq_done *done, struct dueq_time time)
{
    int64_t keep = choose_keep(queue, topic, done);
    int64_t claimed = job->state.state == PHASE_CLAIMED ? job->state.since : DUEQ_NEVER;
    uint64_t before = topic->ring.next;
    enum dueq_status status = DUEQ_OK;

    queue_note_event(queue, topic, job, DUEQ_EVENT_ACKED);
    if (job->state.followed)
        status = job_take_follow_up(queue, topic, job, time);
    else if (may_be_kept(job, keep))
        status = keep_job(queue, topic, job, done, keep, time);
    else
        remove_done(queue, topic, job);
    if (status == DUEQ_OK)
        QUEUE_COUNT(queue, topic, acked);
    else
        queue_forget_events(queue, topic, before);
    if (status == DUEQ_OK && claimed != DUEQ_NEVER) {
        queue_note_span(queue, DUEQ_SPAN_RUN, time.now - claimed);
        latencies_note(queue, topic, DUEQ_SPAN_RUN, time.now - claimed, time.now);
    }
    return status;
}

/* As find_done, for an ack that must be the first one. */
static enum dueq_status find_first_ack(struct queue *queue, struct dueq_slice topic,
                                       struct dueq_slice id, int64_t token,
                                       struct topic **ret_topic, struct job *ret_job)
{
    enum dueq_status status = find_done(queue, topic, id, token, ret_topic, ret_job);

    if (status == DUEQ_OK && ret_job->state.state == PHASE_DONE)
        return DUEQ_STALE;
    return status == DUEQ_OK && ret_job->state.cancelled ? DUEQ_CANCELLED : status;
}

enum dueq_status queue_holds(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token)
{
    struct topic *found;
    struct job job;

    return find_first_ack(queue, topic, id, token, &found, &job);
}

/* A body that is kept stays; a follow-up is one job more that waits. */
enum dueq_status queue_foresee_ack(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_slice id, int64_t token,
                                   const struct dueq_done *done, struct dueq_time time,
                                   struct held_job *ret_held)
{
    struct topic *found;
    struct job job;
    int64_t keep, until = 0;
    bool is_counted;
    enum dueq_status status = find_first_ack(queue, topic, id, token, &found, &job);

    time = queue_time(queue, time);
    if (status != DUEQ_OK)
        return status;
    keep = choose_keep(queue, found, done);
    if (!job.state.followed && may_be_kept(&job, keep))
        status = find_kept_until(queue, found, &job, keep, time, &until);
    if (status != DUEQ_OK)
        return status;
    is_counted = job.state.state != PHASE_DEAD;
    *ret_held = (struct held_job){.seq = job.seq,
                                  .frees = !job.state.followed && until <= time.now,
                                  .jobs = is_counted && !job.state.followed};
    if (job.state.followed || keep <= 0)
        ret_held->bytes = job_bytes(queue, found, &job);
    return DUEQ_OK;
}

/* What a result takes beside its bytes: the records that an ack writes. */
enum { FINISH_RECORDS_MOST = 8192 };

/* A result and a done job grow the store, other acks drain it. */
size_t queue_finish_room(const struct dueq_done *done)
{
    if (!done->has_result && done->keep <= 0)
        return 0;
    return FINISH_RECORDS_MOST + (done->has_result ? done->result.size : 0);
}

static enum dueq_status check_room(struct queue *queue, const struct dueq_done *done)
{
    size_t bytes = done == NULL ? 0 : queue_finish_room(done);

    return bytes == 0 ? DUEQ_OK : kv_room(queue->kv, bytes);
}

static enum dueq_status ack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token, const struct dueq_done *done, struct dueq_time time)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = find_done(queue, topic, id, token, &found, &job);

    time = queue_time(queue, time);
    if (status != DUEQ_OK || job.state.state == PHASE_DONE)
        return status;
    if (job.state.cancelled) {
        status = job_end_cancelled(queue, found, &job, time);
        return status == DUEQ_OK ? DUEQ_CANCELLED : status;
    }
    status = check_room(queue, done);
    return status == DUEQ_OK ? end_job(queue, found, &job, done, time) : status;
}

enum dueq_status queue_ack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, struct dueq_time time)
{
    return ack(queue, topic, id, token, NULL, time);
}

enum dueq_status queue_finish(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, int64_t token, const struct dueq_done *done,
                              struct dueq_time time)
{
    if (done->keep < DUEQ_DEFAULT || (done->has_result && done->keep == 0))
        return DUEQ_INVALID;
    if (done->has_result && done->result.size > DUEQ_BODY_MAX)
        return DUEQ_TOOBIG;
    return ack(queue, topic, id, token, done, time);
}

enum dueq_status queue_nack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                            enum dueq_state *ret_state)
{
    struct topic *found;
    struct job job;
    int64_t wait;
    uint64_t before;
    enum dueq_status status;

    if (nack->delay < DUEQ_DEFAULT)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = find_unexpired(queue, topic, id, token, &found, &job);
    if (status != DUEQ_OK)
        return status;
    (void)job_has_expired(queue, found, &job, time);
    wait = nack->delay;
    if (wait == DUEQ_DEFAULT)
        wait = nack->outcome == DUEQ_SILENT ? 0 : job_backoff(queue, found, &job);
    job.state.token_valid = false;
    before = found->ring.next;
    if (!job.state.cancelled)
        queue_note_event(queue, found, &job, DUEQ_EVENT_NACKED);
    if (nack->progress.size > 0 && kv_room_moves(queue->kv, true) == DUEQ_OK)
        job.state.progress = nack->progress; /* job_reschedule cuts it */
    status = job_give_back(queue, found, &job, queue_after(time, wait),
                           nack->unseen ? JOB_UNSEEN : (int)nack->outcome, nack->error, time,
                           ret_state);
    if (status == DUEQ_OK)
        QUEUE_COUNT(queue, found, nacked);
    else if (status != DUEQ_CANCELLED)
        queue_forget_events(queue, found, before);
    return status;
}

/* A job that was given back goes on when one more of its topic and group may be claimed.
 * DUEQ_STALE: others have its place. */
static enum dueq_status check_place(struct queue *queue, struct topic *topic,
                                    const struct job *job)
{
    struct group_rules rules = groups_rules(queue, topic);
    enum dueq_status status;
    bool waits;

    if (job->state.state == PHASE_CLAIMED)
        return DUEQ_OK;
    if (topic->claimed >= schedule_most_claimed(queue, topic))
        return DUEQ_STALE;
    rules.rate.count = 0; /* the claim that goes on has had its permit */
    status = groups_blocks(queue, topic, &rules, &job->state, &waits);
    return status == DUEQ_OK && waits ? DUEQ_STALE : status;
}

/* A claim whose lease has ended goes on, when nobody else has claimed the job since. */
static enum dueq_status extend(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t lease, struct dueq_slice progress, struct dueq_time time)
{
    struct job_state state;

    (void)job_has_expired(queue, topic, job, time);
    state = job->state;
    if (progress.size > 0 && kv_room_moves(queue->kv, true) == DUEQ_OK)
        state.progress = progress; /* job_reschedule cuts it */
    job_forget_crash(&state);
    state.state = PHASE_CLAIMED;
    state.due = queue_after(time, lease);
    return job_reschedule(queue, topic, job, state, time);
}

enum dueq_status queue_extend(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, int64_t token, int64_t lease,
                              struct dueq_slice progress, struct dueq_time time,
                              int64_t *ret_end)
{
    struct topic *found;
    struct job job;
    enum dueq_status status;

    if (lease < 0)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = find_unexpired(queue, topic, id, token, &found, &job);
    if (status == DUEQ_OK && job.state.cancelled)
        return DUEQ_CANCELLED;
    if (status == DUEQ_OK)
        status = check_place(queue, found, &job);
    if (status == DUEQ_OK)
        status = extend(queue, found, &job, lease, progress, time);
    if (status == DUEQ_OK)
        *ret_end = queue_wall_of(queue, CLOCK_QUEUE, job.state.due);
    return status;
}

enum dueq_status queue_end_lease(struct queue *queue, struct dueq_slice topic,
                                 struct dueq_slice id, int64_t token, struct dueq_time time)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = find_held(queue, topic, id, token, &found, &job);

    time = queue_time(queue, time);
    if (status == DUEQ_OK && job.state.state != PHASE_CLAIMED)
        return DUEQ_STALE;
    return status == DUEQ_OK ? job_end_lease(queue, found, &job, time.now, time) : status;
}
