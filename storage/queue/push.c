#include "storage/kv/kv.h"
#include "storage/kv/room.h"
#include "storage/queue/after.h"
#include "storage/queue/push.h"

enum {
    PRIORITY_MAX = 255,
    JITTER_MAX = 100 /* percent */
};

static bool valid_steps(const struct dueq_push *push)
{
    if (push->step_count > DUEQ_STEPS_MAX)
        return false;
    for (size_t i = 0; i < push->step_count; i++)
        if (push->steps[i] < 0)
            return false;
    return true;
}

enum dueq_status push_check(const struct queue *queue, const struct dueq_push *push)
{
    if (!queue_valid_name(push->topic) || push->id.size > DUEQ_NAME_MAX || push->delay < 0 ||
        push->priority < DUEQ_DEFAULT || push->priority > PRIORITY_MAX ||
        push->lease < DUEQ_DEFAULT || push->retries < DUEQ_DEFAULT ||
        push->backoff < DUEQ_DEFAULT || push->backoff_max < DUEQ_DEFAULT ||
        push->ttl < DUEQ_DEFAULT || push->crashes < DUEQ_DEFAULT ||
        push->window < DUEQ_DEFAULT || push->jitter < DUEQ_DEFAULT ||
        push->jitter > JITTER_MAX || !valid_steps(push) || push->group.size > DUEQ_NAME_MAX ||
        (push->weight != DUEQ_DEFAULT &&
         (push->weight < 1 || push->weight > DUEQ_WEIGHT_MAX)) ||
        !after_is_valid(push))
        return DUEQ_INVALID;
    if (push->body.size > DUEQ_BODY_MAX)
        return DUEQ_TOOBIG;
    return kv_room(queue->kv,
                   push->body.size + PUSH_RECORDS_MOST +
                       (AFTERS_KNOWN && push->after_count > 0 ? after_room(push) : 0));
}

enum dueq_status push_refusal(const struct topic *topic)
{
    return (topic->paused & TOPIC_PAUSED_IN) ? DUEQ_PAUSED : DUEQ_OK;
}

void push_set_due(bool absolute, int64_t delay, int64_t at, struct dueq_time time,
                  uint8_t *ret_clock, int64_t *ret_due)
{
    *ret_clock = CLOCK_QUEUE;
    *ret_due = time.now;
    if (absolute && at > time.wall) {
        *ret_clock = CLOCK_WALL;
        *ret_due = safe_time_clamp(at);
    } else if (!absolute) {
        *ret_due = queue_after(time, delay);
    }
}

struct job_body push_plain_body(const struct dueq_push *push)
{
    struct job_body body = {
        .body = push->body,
        .group = push->group,
        .weight = queue_or_default(push->weight, 1),
        .priority = (uint8_t)queue_or_default(push->priority, PUSH_PRIORITY_DEFAULT),
        .lease = push->lease,
        .retries = push->retries,
        .crashes = push->crashes,
        .backoff = push->backoff,
        .backoff_max = push->backoff_max,
        .jitter = push->jitter,
        .ttl = push->ttl,
        .window = DUEQ_DEFAULT,
        .step_count = push->step_count};

    if (push->step_count > 0)
        memcpy(body.steps, push->steps, push->step_count * sizeof(*push->steps));
    return body;
}

/* What the push does not set stays open; the ttl counts from now on, so it is chosen now. */
struct job_body push_body(struct queue *queue, struct topic *topic,
                          const struct dueq_push *push, struct dueq_time time)
{
    struct job_body body = push_plain_body(push);

    body.id = push->id;
    body.group_id = groups_number(queue, push->group);
    if (push->ttl == DUEQ_DEFAULT)
        body.ttl = settings_number(queue, topic, DUEQ_SET_TTL, DUEQ_DEFAULT);
    body.window = push->window;
    body.throttle = push->on_duplicate == DUEQ_THROTTLE;
    body.pushed = time.wall;
    body.stamp = time.now;
    push_set_due(push->absolute, push->delay, push->at, time, &body.clock, &body.due);
    return body;
}

/* ---- ids */

static enum dueq_status take_id(struct queue *queue, struct topic *topic, struct dueq_slice id,
                                const struct id_index_key *name)
{
    struct job job;
    uint64_t seq;
    enum dueq_status status = lookup_given(queue, topic, id, &job);

    if (status == DUEQ_NOTFOUND)
        status = id_index_find(&queue->ids, name, &seq);
    if (status == DUEQ_OK)
        return DUEQ_DUPLICATE;
    if (status != DUEQ_NOTFOUND)
        return status;
    if (given_id_read(id, &seq))
        topic->lookalikes = true;
    return DUEQ_OK;
}

enum dueq_status push_take_id(struct queue *queue, struct topic *topic, struct dueq_slice id,
                              struct id_index_key *ret_name)
{
    id_index_key(&queue->ids, topic->id, id, ret_name);
    return take_id(queue, topic, id, ret_name);
}

enum dueq_status push_give_id(struct queue *queue, struct topic *topic, int64_t stamp)
{
    for (;; topic->next_seq++) {
        enum dueq_status status = DUEQ_NOTFOUND;
        uint64_t seq;

        given_id_write(queue->id, stamp, topic->next_seq);
        if (topic->lookalikes)
            status = lookup_seq(queue, topic, dueq_slice(queue->id, GIVEN_ID_SIZE), &seq);
        if (status != DUEQ_OK)
            return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    }
}

/* DUEQ_DUPLICATE: it is refused. The plan's job is looked up only when it matters. */
static enum dueq_status plan_push(struct queue *queue, struct topic *topic,
                                  const struct dueq_push *push, struct dueq_time time,
                                  const struct id_index_key *name, struct push_plan *ret_plan)
{
    enum dueq_status status;

    ret_plan->outcome = DUEQ_CREATED;
    ret_plan->taken = false;
    ret_plan->change = push_adds(push);
    if (push->id.size == 0)
        return push_give_id(queue, topic, time.now);
    status = take_id(queue, topic, push->id, name);
    if (status != DUEQ_DUPLICATE || (push->on_duplicate == DUEQ_REJECT && !push->ignore_dead))
        return status;
    return push_onto_plan(queue, topic, push, ret_plan);
}

/* ---- push */

void push_expect(struct queue *queue, const struct topic *topic, struct dueq_slice id,
                 const struct job_state *state, const struct id_index_key *name)
{
    if (!KV_EXPECTS)
        return;
    if (id.size > 0)
        id_index_expect(&queue->ids, name);
    schedule_expect(queue, topic, state, topic->next_seq);
}

void push_add(struct queue *queue, struct topic *topic, const struct job_body *body,
              const struct job_state *state, const struct id_index_key *name,
              struct dueq_time time)
{
    uint64_t seq = topic->next_seq++;

    if (topic->next_seq > queue->most_seq)
        queue->most_seq = topic->next_seq;
    QUEUE_COUNT(queue, topic, pushed);
    queue_count_bytes(queue, topic, 0, body->body.size);
    job_put_body(queue, topic, TABLE_BODY, seq, body, true);
    schedule_add(queue, topic, state, seq, time);
    if (state->expires != DUEQ_NEVER)
        job_put_ttl(queue, topic, seq, state->expires);
    if (body->id.size > 0)
        id_index_put(&queue->ids, name, seq);
    if (queue_notes_events(queue))
        events_note(queue, topic, &(struct job){.seq = seq, .body = *body, .state = *state},
                    DUEQ_EVENT_PUSHED);
}

static void tell(const struct queue *queue, const struct dueq_push *push,
                 enum dueq_push_outcome outcome, struct dueq_pushed *ret_pushed)
{
    ret_pushed->outcome = outcome;
    ret_pushed->id = push->id;
    if (push->id.size > 0)
        return;
    memcpy(ret_pushed->given_id, queue->id, GIVEN_ID_SIZE);
    ret_pushed->id = dueq_slice(ret_pushed->given_id, GIVEN_ID_SIZE);
}

/* A push for which others were dropped needs no memory: its lane is reserved. */
static enum dueq_status carry_out(struct queue *queue, struct topic *topic,
                                  const struct dueq_push *push, struct push_plan *plan,
                                  const struct job_body *body, const struct job_state *state,
                                  const struct id_index_key *name, struct dueq_time time)
{
    enum dueq_status status = plan->taken ? push_onto(queue, topic, push, plan, time) : DUEQ_OK;

    if (status == DUEQ_OK && plan->outcome == DUEQ_CREATED)
        push_add(queue, topic, body, state, name, time);
    return status;
}

/* Before the others are dropped: it may wait for one of them. */
static void drop_others(struct queue *queue, struct topic *topic, const struct dueq_push *push,
                        bool waits, const struct limits_drops *drops, struct dueq_time time)
{
    uint64_t seq = topic->next_seq - 1;
    struct after_failure failure = {.is = false};

    if (AFTERS_KNOWN && waits)
        after_add(queue, topic, seq, push, time, &failure);
    limits_apply(queue, drops);
    if (AFTERS_KNOWN)
        after_fail(queue, topic, seq, push, &failure, time);
}

/* Is there room for the job itself, and may it wait for those that it names? */
static enum dueq_status check_job(struct queue *queue, struct topic *topic,
                                  const struct dueq_push *push, const struct job_state *state,
                                  struct dueq_time time)
{
    enum dueq_status status = schedule_reserve(queue, topic, state, time);
    size_t read = 0;

    if (status == DUEQ_OK)
        status = limits_check_body(queue, topic, push->body.size);
    if (status == DUEQ_OK && AFTERS_KNOWN && push->after_count > 0)
        status = after_plan(queue, push, &read);
    return status;
}

/* What it will look at and write at random places is fetched while the rest is prepared. */
static enum dueq_status push_to(struct queue *queue, struct topic *topic,
                                const struct dueq_push *push, struct dueq_time time,
                                enum dueq_push_outcome *ret_outcome)
{
    struct job_body body;
    struct job_state state;
    struct push_plan plan;
    struct id_index_key name;
    struct limits_drops drops = {.jobs = NULL};
    enum dueq_status status;

    if (push->id.size > 0)
        id_index_key(&queue->ids, topic->id, push->id, &name);
    body = push_body(queue, topic, push, time);
    state = job_record_first_state(&body);
    push_expect(queue, topic, push->id, &state, &name);
    status = check_job(queue, topic, push, &state, time);
    if (status == DUEQ_OK)
        status = plan_push(queue, topic, push, time, &name, &plan);
    if (status != DUEQ_OK)
        return status;
    if (plan.taken) {
        drops.may_go = limits_spare_one;
        drops.arg = &plan.job.seq;
    }
    if (limits_any(queue, topic))
        status = limits_admit(queue, topic, &plan.change, &drops);
    if (status == DUEQ_OK)
        status = carry_out(queue, topic, push, &plan, &body, &state, &name, time);
    if (status == DUEQ_OK)
        drop_others(queue, topic, push, push->after_count > 0 && plan.outcome == DUEQ_CREATED,
                    &drops, time);
    limits_release(&drops);
    *ret_outcome = plan.outcome;
    return status;
}

enum dueq_status queue_push(struct queue *queue, const struct dueq_push *push,
                            struct dueq_time time, struct dueq_pushed *ret_pushed)
{
    enum dueq_push_outcome outcome;
    struct topic *topic;
    enum dueq_status status = push_check(queue, push);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(queue, time);
    status = topics_open(queue, push->topic, &topic);
    if (status != DUEQ_OK)
        return status;
    status = push_refusal(topic);
    if (status == DUEQ_OK)
        status = push_to(queue, topic, push, time, &outcome);
    if (status == DUEQ_OK)
        tell(queue, push, outcome, ret_pushed);
    else
        topics_take_back(queue, topic);
    return status;
}
