#include "storage/queue/job_end.h"

#include "storage/kv/room.h"
#include "storage/queue/job_move.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- death */

/* False: it has no such topic, or the job has no room there. */
static bool goes_to_dead_topic(struct queue *queue, struct topic *topic, struct job *job,
                               struct dueq_time time)
{
    const struct dueq_settings *settings = settings_of(queue, topic);
    struct job_move move = {.from = topic, .job = job};
    struct dueq_slice name;

    if (settings == NULL || settings->dead_topic_size == 0)
        return false;
    name = dueq_slice(settings->dead_topic, settings->dead_topic_size);
    if (dueq_slice_equal(name, topic_name(topic)) ||
        job_move_open(queue, job, name, &move.to) != DUEQ_OK)
        return false;
    job_move_anew(&move, time.now, time);
    if (job_move_plan(queue, &move, JOB_MOVE_RENAMES, time) != DUEQ_OK) {
        topics_take_back(queue, move.to);
        return false;
    }
    job_move_do(queue, &move, time);
    return true;
}

/* Dying cannot fail: a job that cannot leave stays here. */
static void die(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_slice error, struct dueq_time time)
{
    struct job_state state;

    queue_note_end(queue, topic, job->seq, DUEQ_END_DEAD);
    QUEUE_COUNT(queue, topic, dead);
    queue_note_event(queue, topic, job, DUEQ_EVENT_DEAD);
    job->state.error = error;
    if (error.size > DUEQ_ERROR_MAX)
        job->state.error.size = DUEQ_ERROR_MAX;
    if (goes_to_dead_topic(queue, topic, job, time))
        return;
    state = job->state;
    state.state = PHASE_DEAD;
    state.due = state.since = time.now;
    state.expires = DUEQ_NEVER;
    (void)job_reschedule(queue, topic, job, state, time); /* to be dead needs no memory */
}

void job_fail(struct queue *queue, struct topic *topic, struct job *job,
              struct dueq_slice error, struct dueq_time time)
{
    die(queue, topic, job, error, time);
}

void job_expire(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_time time)
{
    QUEUE_COUNT(queue, topic, jobs_expired);
    queue_note_event(queue, topic, job, DUEQ_EVENT_LAPSED);
    if (settings_number(queue, topic, DUEQ_SET_TTL_ACTION, DUEQ_TTL_DEAD) == DUEQ_TTL_DROP)
        job_remove(queue, topic, job);
    else
        die(queue, topic, job, dueq_slice("expired", 7), time);
}

/* ---- the end of a claim */

/* Without room only the counters remember it. */
static void remember_attempt(struct queue *queue, struct job_state *state, int outcome,
                             bool has_room, struct dueq_time time)
{
    struct dueq_attempt attempt = {.ended = queue_wall_of(queue, CLOCK_QUEUE, time.now),
                                   .duration = time.now - state->since,
                                   .outcome = (enum dueq_outcome)outcome,
                                   .worker = state->worker};

    if (outcome == JOB_UNSEEN) {
        state->attempt -= state->attempt > 0;
        return;
    }
    if (has_room)
        state->history = job_record_append_attempt(queue->history, state->history, &attempt);
    state->failures += outcome == DUEQ_FAILED || outcome == DUEQ_FATAL;
    state->crashes += outcome == DUEQ_CRASHED;
}

/* The attempt was remembered as a crash, if there was room. */
void job_forget_crash(struct job_state *state)
{
    if (state->state != PHASE_PENDING)
        return;
    state->crashes -= state->crashes > 0;
    state->history = job_record_forget_crash(state->history);
}

static void quarantine(struct queue *queue, struct topic *topic, struct job *job,
                       struct dueq_time time)
{
    char error[64];
    int size = snprintf(error, sizeof(error), "crashed: %" PRId64 " leases expired",
                        job->state.crashes);

    die(queue, topic, job, dueq_slice(error, (size_t)size), time);
}

static enum dueq_status end_claim(struct queue *queue, struct topic *topic, struct job *job,
                                  struct job_state state, struct dueq_time time,
                                  enum dueq_state *ret_state)
{
    enum dueq_status status = job_reschedule(queue, topic, job, state, time);

    if (status == DUEQ_OK)
        *ret_state = state.due <= time.now ? DUEQ_READY : DUEQ_DELAYED;
    return status;
}

static enum dueq_status follow(struct queue *queue, struct topic *topic, struct job *job,
                               struct dueq_time time, enum dueq_state *ret_state)
{
    enum dueq_status status = job_take_follow_up(queue, topic, job, time);

    if (status == DUEQ_OK)
        *ret_state = queue_clock_of(queue, job->state.clock, job->state.due) <= time.now
                         ? DUEQ_READY
                         : DUEQ_DELAYED;
    return status;
}

enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, int outcome, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state)
{
    struct job_options options;
    struct job_state state = job->state;
    bool has_room = kv_room_moves(queue->kv, true) == DUEQ_OK;

    if (state.cancelled) {
        enum dueq_status status = job_end_cancelled(queue, topic, job, time);

        return status == DUEQ_OK ? DUEQ_CANCELLED : status;
    }
    if (state.followed)
        return follow(queue, topic, job, time, ret_state);
    options = job_options(queue, topic, &job->body);
    job_forget_crash(&state);
    remember_attempt(queue, &state, outcome, has_room, time);
    if (error.size > 0 && has_room)
        state.error = error;
    *ret_state = DUEQ_DEAD;
    job->state.attempt = state.attempt;
    job->state.failures = state.failures;
    job->state.crashes = state.crashes;
    job->state.history = state.history;
    if (outcome == DUEQ_FATAL || state.failures > options.retries)
        die(queue, topic, job, state.error, time);
    else if (state.crashes > options.crashes)
        quarantine(queue, topic, job, time);
    else if (state.expires <= time.now)
        job_expire(queue, topic, job, time);
    else {
        state.state = PHASE_PENDING;
        state.clock = CLOCK_QUEUE;
        state.due = due;
        state.holds = state.group != 0 && groups_rules(queue, topic).holds;
        return end_claim(queue, topic, job, state, time, ret_state);
    }
    return DUEQ_OK;
}

enum dueq_status job_end_lease(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, struct dueq_time time)
{
    struct dueq_slice error =
        job->state.error.size > 0 ? job->state.error : dueq_slice("lease expired", 13);
    uint64_t before = topic->ring.next;
    enum dueq_state state;
    enum dueq_status status;

    queue_note_event(queue, topic, job, DUEQ_EVENT_EXPIRED);
    status = job_give_back(queue, topic, job, due, DUEQ_CRASHED, error, time, &state);

    if (status == DUEQ_CANCELLED)
        status = DUEQ_OK;
    if (status == DUEQ_OK)
        QUEUE_COUNT(queue, topic, leases_expired);
    else
        queue_forget_events(queue, topic, before);
    return status;
}
