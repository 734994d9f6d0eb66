#include "storage/queue/push_batch.h"

#include "storage/kv/room.h"
#include "storage/queue/after.h"
#include "storage/xxh3.h"

#include <stdlib.h>

enum { RECORDS_USUAL = 512 }; /* what a job takes beside its body and, twice, its id */

struct planned_push {
    struct topic *topic; /* NULL: not made yet */
    uint64_t seq;
    bool taken;  /* a job has the id: the push changes that */
    size_t read; /* bytes of bodies of the store that a look at it reads */
    struct limits_change change;
    struct after_failure failure;
};

/* ---- the bytes that a call reads and writes */

static void spend(struct push_batch *batch, size_t bytes)
{
    if (SLICES_KNOWN)
        batch->spent += bytes;
}

static bool is_enough(const struct push_batch *batch, size_t bytes)
{
    return SLICES_KNOWN && batch->spent >= bytes;
}

/* ---- the names of the batch, so that no two of its jobs get one id */

/* At least twice as many slots as names. */
static enum dueq_status make_names(struct push_batch *batch)
{
    size_t slots = 8;

    while (slots < 2 * batch->count)
        slots *= 2;
    batch->name_slots = slots;
    batch->names = calloc(slots, sizeof(*batch->names));
    return batch->names == NULL ? DUEQ_NOMEM : DUEQ_OK;
}

/* The slot of the name, or the free one where it would be. */
static uint32_t *find_name(const struct push_batch *batch, struct dueq_slice topic,
                           struct dueq_slice id)
{
    uint64_t seed = kv_seed(batch->queue->kv);
    uint64_t hash = XXH3_64bits_withSeed(id.data, id.size,
                                         XXH3_64bits_withSeed(topic.data, topic.size, seed));

    for (size_t at = hash & (batch->name_slots - 1);; at = (at + 1) & (batch->name_slots - 1)) {
        const struct dueq_push *other;

        if (batch->names[at] == 0)
            return &batch->names[at];
        other = &batch->pushes[batch->names[at] - 1];
        if (dueq_slice_equal(other->id, id) && dueq_slice_equal(other->topic, topic))
            return &batch->names[at];
    }
}

static enum dueq_status add_name(struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];
    enum dueq_status status = batch->names == NULL ? make_names(batch) : DUEQ_OK;
    uint32_t *slot;

    if (status != DUEQ_OK)
        return status;
    slot = find_name(batch, push->topic, push->id);
    if (*slot != 0)
        return DUEQ_DUPLICATE;
    *slot = (uint32_t)index + 1;
    return DUEQ_OK;
}

static bool has_name(const struct push_batch *batch, struct dueq_slice topic,
                     struct dueq_slice id)
{
    return batch->names != NULL && *find_name(batch, topic, id) != 0;
}

/* ---- jobs that the batch itself takes care of */

static bool is_leaving(const struct push_batch *batch, struct dueq_slice topic,
                       struct dueq_slice id)
{
    return batch->leaving != NULL && dueq_slice_equal(batch->leaving->topic, topic) &&
           dueq_slice_equal(batch->leaving->id, id);
}

/* For limits_drops. */
static bool may_go(const void *arg, const struct topic *topic, const struct job *job)
{
    const struct push_batch *batch = arg;
    char text[GIVEN_ID_SIZE];
    struct dueq_slice id = job_id(job, text);

    return !has_name(batch, topic_name(topic), id) && !is_leaving(batch, topic_name(topic), id);
}

/* ---- checking */

/* Most batches have one topic: it is looked up once in a call. NULL: it is not made yet. */
static struct topic *topic_of(const struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];
    struct topic *topic;

    if (index > batch->from && dueq_slice_equal(push->topic, push[-1].topic))
        return batch->planned[index - 1].topic;
    return topics_find(batch->queue, push->topic, &topic) == DUEQ_OK ? topic : NULL;
}

/* The push changes the job of the plan. */
static enum dueq_status keep_plan(struct push_batch *batch, size_t index,
                                  const struct push_plan *plan)
{
    struct planned_push *planned = &batch->planned[index];

    planned->taken = true;
    planned->read = SLICES_KNOWN ? plan->job.body.body.size : 0;
    planned->change = plan->change;
    return push_onto_reserve(batch->queue, planned->topic, &batch->pushes[index], &plan->job,
                             batch->time);
}

static enum dueq_status check_taken(struct push_batch *batch, size_t index)
{
    struct push_plan plan;
    enum dueq_status status =
        push_onto_plan(batch->queue, batch->planned[index].topic, &batch->pushes[index], &plan);

    return status == DUEQ_OK ? keep_plan(batch, index, &plan) : status;
}

/* The acked job is kept as done, or a follow-up takes its place: whatever it is now, its id is
 * taken then. */
static enum dueq_status check_left_id(struct push_batch *batch, size_t index)
{
    struct push_plan plan;
    enum dueq_status status = push_onto_plan_after_ack(
        batch->queue, batch->planned[index].topic, &batch->pushes[index], &plan);

    return status == DUEQ_OK ? keep_plan(batch, index, &plan) : status;
}

/* What it reserves in its topic goes when that is put to sleep. */
static enum dueq_status check_there(struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];

    return is_leaving(batch, push->topic, push->id) ? check_left_id(batch, index)
                                                    : check_taken(batch, index);
}

static enum dueq_status check_id(struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];
    struct topic *topic = batch->planned[index].topic;
    struct id_index_key name;
    enum dueq_status status;

    if (push->id.size == 0)
        return DUEQ_OK;
    status = add_name(batch, index);
    if (status != DUEQ_OK || topic == NULL)
        return status;
    if (is_leaving(batch, push->topic, push->id))
        return batch->leaving->held.frees ? DUEQ_OK : check_left_id(batch, index);
    status = push_take_id(batch->queue, topic, push->id, &name);
    return status == DUEQ_DUPLICATE ? check_taken(batch, index) : status;
}

/* A job waits for no later one of its batch. */
static enum dueq_status check_order(const struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];

    for (size_t i = 0; i < push->after_count && batch->names != NULL; i++) {
        const struct dueq_prerequisite *of = &push->after[i];
        struct dueq_slice topic = of->topic.size == 0 ? push->topic : of->topic;

        if (*find_name(batch, topic, of->id) > index)
            return DUEQ_INVALID;
    }
    return DUEQ_OK;
}

static enum dueq_status check_one(struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];
    struct planned_push *planned = &batch->planned[index];
    enum dueq_status status = push_check(batch->queue, push);

    if (status != DUEQ_OK)
        return status;
    planned->topic = topic_of(batch, index);
    planned->change = push_adds(push);
    if (planned->topic != NULL)
        status = push_refusal(planned->topic);
    if (status == DUEQ_OK)
        status = check_id(batch, index);
    if (status == DUEQ_OK && AFTERS_KNOWN && push->after_count > 0)
        status = after_plan(batch->queue, push, &planned->read);
    spend(batch, 1 + planned->read);
    return status;
}

/* Nothing is made yet, not even a topic: one of the later jobs may be refused. */
static enum dueq_status check_some(struct push_batch *batch, size_t bytes)
{
    enum dueq_status status = DUEQ_OK;

    for (; batch->checked < batch->count && status == DUEQ_OK && !is_enough(batch, bytes);
         batch->checked++)
        status = check_one(batch, batch->checked);
    if (status == DUEQ_OK && batch->checked < batch->count)
        return DUEQ_BUSY;
    for (size_t i = 0; AFTERS_KNOWN && i < batch->count && status == DUEQ_OK; i++)
        status = check_order(batch, i);
    return status;
}

/* ---- reserving */

static enum dueq_status reserve_room(struct push_batch *batch)
{
    size_t bytes = batch->leaving == NULL ? 0 : queue_finish_room(batch->leaving->done);

    for (size_t i = 0; i < batch->count; i++)
        bytes +=
            batch->pushes[i].body.size + 2 * batch->pushes[i].id.size + RECORDS_USUAL +
            (AFTERS_KNOWN && batch->pushes[i].after_count > 0 ? after_room(&batch->pushes[i])
                                                              : 0);
    return kv_room_grant(batch->queue->kv, bytes);
}

/* An id of the store's own may look like one that a caller gives in the same batch. */
static enum dueq_status find_seq(struct push_batch *batch, struct topic *topic,
                                 const struct dueq_push *push)
{
    struct queue *queue = batch->queue;
    uint64_t seq;
    enum dueq_status status;

    if (push->id.size > 0) {
        topic->lookalikes |= given_id_read(push->id, &seq);
        return DUEQ_OK;
    }
    for (;; topic->next_seq++) {
        status = push_give_id(queue, topic, batch->time.now);
        if (status != DUEQ_OK ||
            !has_name(batch, push->topic, dueq_slice(queue->id, GIVEN_ID_SIZE)))
            return status;
    }
}

/* A seq that a refused batch has taken is never used. */
static enum dueq_status reserve_job(struct push_batch *batch, size_t index)
{
    const struct dueq_push *push = &batch->pushes[index];
    struct planned_push *planned = &batch->planned[index];
    bool is_anew = SLICES_KNOWN && batch->from > 0;
    struct job_body body;
    struct job_state state;
    enum dueq_status status = DUEQ_OK;

    if (planned->topic == NULL || is_anew)
        status = topics_open(batch->queue, push->topic, &planned->topic);
    if (status == DUEQ_OK && is_anew && planned->taken &&
        push->on_duplicate == DUEQ_DEBOUNCE) /* the job keeps its priority */
        status = check_there(batch, index);
    if (status != DUEQ_OK)
        return status;
    body = push_body(batch->queue, planned->topic, push, batch->time);
    state = job_record_first_state(&body);
    status = schedule_reserve(batch->queue, planned->topic, &state, batch->time);
    if (status == DUEQ_OK)
        status = find_seq(batch, planned->topic, push);
    if (status != DUEQ_OK)
        return status;
    planned->seq = planned->topic->next_seq++;
    if (planned->topic->next_seq > batch->queue->most_seq)
        batch->queue->most_seq = planned->topic->next_seq;
    return DUEQ_OK;
}

/* ---- limits: all topics exist by now */

static enum dueq_status add_up(struct push_batch *batch, size_t index)
{
    const struct planned_push *planned = &batch->planned[index];

    planned->topic->adding.jobs += planned->change.jobs;
    planned->topic->adding.bytes += planned->change.bytes;
    return limits_check_body(batch->queue, planned->topic, batch->pushes[index].body.size);
}

static enum dueq_status admit(struct push_batch *batch, struct topic *topic)
{
    struct limits_change change = {.jobs = topic->adding.jobs, .bytes = topic->adding.bytes};

    if (!limits_any(batch->queue, topic))
        return DUEQ_OK;
    if (batch->leaving != NULL && dueq_slice_equal(batch->leaving->topic, topic_name(topic)))
        change.leaving = &batch->leaving->held;
    return limits_admit(batch->queue, topic, &change, &batch->drops);
}

static enum dueq_status admit_all(struct push_batch *batch)
{
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < batch->count && status == DUEQ_OK; i++)
        status = add_up(batch, i);
    for (size_t i = 0; i < batch->count; i++) {
        struct topic *topic = batch->planned[i].topic;

        if (status == DUEQ_OK)
            status = admit(batch, topic);
        topic->adding.jobs = topic->adding.bytes = 0;
    }
    return status;
}

/* ---- the batch */

enum dueq_status push_batch_begin(struct queue *queue, const struct dueq_push *pushes,
                                  size_t count, struct dueq_time time,
                                  struct push_batch *ret_batch)
{
    *ret_batch = (struct push_batch){.queue = queue,
                                     .pushes = pushes,
                                     .count = count,
                                     .time = queue_time(queue, time),
                                     .drops = {.may_go = may_go, .arg = ret_batch}};
    if (count > UINT32_MAX / 4)
        return DUEQ_INVALID;
    ret_batch->planned = calloc(count + 1, sizeof(*ret_batch->planned));
    return ret_batch->planned == NULL ? DUEQ_NOMEM : DUEQ_OK;
}

enum dueq_status push_batch_follow(struct push_batch *batch, struct leaving_job *leaving)
{
    enum dueq_status status =
        queue_foresee_ack(batch->queue, leaving->topic, leaving->id, leaving->token,
                          leaving->done, leaving->time, &leaving->held);

    batch->leaving = leaving;
    return status == DUEQ_CANCELLED ? queue_ack(batch->queue, leaving->topic, leaving->id,
                                                leaving->token, leaving->time)
                                    : status;
}

static enum dueq_status reserve(struct push_batch *batch)
{
    enum dueq_status status = reserve_room(batch);

    batch->reserved = true;
    for (size_t i = 0; i < batch->count && status == DUEQ_OK; i++)
        status = reserve_job(batch, i);
    return status == DUEQ_OK ? admit_all(batch) : status;
}

static enum dueq_status leave(struct push_batch *batch)
{
    const struct leaving_job *leaving = batch->leaving;

    return leaving == NULL ? DUEQ_OK
                           : queue_finish(batch->queue, leaving->topic, leaving->id,
                                          leaving->token, leaving->done, leaving->time);
}

enum dueq_status push_batch_check(struct push_batch *batch, size_t bytes)
{
    enum dueq_status status;

    batch->spent = 0;
    batch->from = batch->checked;
    status = check_some(batch, bytes);
    if (status == DUEQ_OK)
        status = reserve(batch);
    return status == DUEQ_OK ? leave(batch) : status;
}

/* False: the id is free now. What the job is like is found out again: if it was the one that
 * left, a follow-up may be in its place. */
static bool change_job(struct push_batch *batch, size_t index, struct dueq_pushed *ret_pushed)
{
    const struct dueq_push *push = &batch->pushes[index];
    struct topic *topic = batch->planned[index].topic;
    struct push_plan plan;

    if (!batch->planned[index].taken ||
        push_onto_plan(batch->queue, topic, push, &plan) != DUEQ_OK ||
        push_onto(batch->queue, topic, push, &plan, batch->time) != DUEQ_OK)
        return false;
    ret_pushed->outcome = plan.outcome;
    return plan.outcome != DUEQ_CREATED;
}

static void add_one(struct push_batch *batch, size_t index, struct dueq_pushed *ret_pushed)
{
    struct queue *queue = batch->queue;
    const struct dueq_push *push = &batch->pushes[index];
    struct topic *topic = batch->planned[index].topic;
    struct job_body body = push_body(queue, topic, push, batch->time);
    struct job_state state = job_record_first_state(&body);
    struct id_index_key name;

    ret_pushed->id = push->id;
    if (change_job(batch, index, ret_pushed))
        return;
    ret_pushed->outcome = DUEQ_CREATED;
    if (push->id.size > 0) {
        id_index_key(&queue->ids, topic->id, push->id, &name);
    } else {
        given_id_write(ret_pushed->given_id, body.stamp, batch->planned[index].seq);
        ret_pushed->id = dueq_slice(ret_pushed->given_id, GIVEN_ID_SIZE);
    }
    topic->next_seq = batch->planned[index].seq;
    push_expect(queue, topic, push->id, &state, &name);
    push_add(queue, topic, &body, &state, &name, batch->time);
}

/* They come when all are there: one that dies may take a place in a topic of the batch. */
static void add_edges(struct push_batch *batch, size_t index, const struct dueq_pushed *pushed)
{
    struct planned_push *planned = &batch->planned[index];
    const struct dueq_push *push = &batch->pushes[index];

    if (push->after_count == 0 || pushed->outcome != DUEQ_CREATED)
        return;
    after_add(batch->queue, planned->topic, planned->seq, push, batch->time, &planned->failure);
    spend(batch, push->after_count + planned->read);
}

static void fail_some(struct push_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct planned_push *planned = &batch->planned[i];

        after_fail(batch->queue, planned->topic, planned->seq, &batch->pushes[i],
                   &planned->failure, batch->time);
    }
}

/* A new job may wait for one that is dropped. */
static void add_last(struct push_batch *batch)
{
    limits_apply(batch->queue, &batch->drops);
    if (AFTERS_KNOWN)
        fail_some(batch);
}

static void add_jobs(struct push_batch *batch, size_t bytes, struct dueq_pushed *pushed)
{
    for (; batch->added < batch->count && !is_enough(batch, bytes); batch->added++) {
        size_t index = batch->added;

        add_one(batch, index, &pushed[index]);
        spend(batch, 1 + batch->pushes[index].body.size + batch->planned[index].read);
    }
}

static void link_jobs(struct push_batch *batch, size_t bytes, const struct dueq_pushed *pushed)
{
    while (batch->linked < batch->added &&
           (batch->pushes[batch->linked].after_count == 0 || !is_enough(batch, bytes))) {
        add_edges(batch, batch->linked, &pushed[batch->linked]);
        batch->linked++;
    }
}

bool push_batch_add_some(struct push_batch *batch, size_t bytes, struct dueq_pushed *ret_pushed)
{
    bool done;

    batch->spent = 0;
    add_jobs(batch, bytes, ret_pushed);
    done = batch->added >= batch->count;
    if (AFTERS_KNOWN && done) {
        link_jobs(batch, bytes, ret_pushed);
        done = batch->linked == batch->count;
    }
    if (SLICES_KNOWN)
        batch->queue->is_adding = !done;
    if (done)
        add_last(batch);
    return done;
}

/* By name: several pushes may have one topic. */
static void take_back_topics(const struct push_batch *batch)
{
    struct topic *topic;

    for (size_t i = 0; i < batch->count; i++)
        if (topics_find(batch->queue, batch->pushes[i].topic, &topic) == DUEQ_OK)
            topics_take_back(batch->queue, topic);
}

void push_batch_release(struct push_batch *batch)
{
    if (batch->reserved && batch->added == 0)
        take_back_topics(batch);
    free(batch->planned);
    free(batch->names);
    limits_release(&batch->drops);
}

enum dueq_status push_batch_run(struct push_batch *batch, enum dueq_status begun,
                                struct dueq_pushed *ret_pushed)
{
    enum dueq_status status = begun == DUEQ_OK ? push_batch_check(batch, SIZE_MAX) : begun;

    if (status == DUEQ_OK)
        push_batch_add_some(batch, SIZE_MAX, ret_pushed);
    push_batch_release(batch);
    return status;
}
