#include "storage/queue/after.h"

#include "storage/kv/cursor.h"
#include "storage/kv/room.h"
#include "storage/queue/job_end.h"
#include "storage/queue/push.h"

#include <stdio.h>

enum {
    EDGE_STEPS = 4,  /* of a budget: an edge is two records, and a state */
    EDGE_BYTES = 96, /* of both, beside the names */
    RETRY_MS = 1000,
    ERROR_MAX = DUEQ_ERROR_MAX
};

/* ---- pushes */

bool after_is_valid(const struct dueq_push *push)
{
    if (push->after_count == 0)
        return true;
    if (!AFTERS_KNOWN || push->after_count > DUEQ_AFTER_MAX ||
        push->on_duplicate == DUEQ_REPLACE || push->on_duplicate == DUEQ_DEBOUNCE ||
        (int)push->on_dead < DUEQ_ON_DEAD_FAIL || push->on_dead > DUEQ_ON_DEAD_WAIT)
        return false;
    for (size_t i = 0; i < push->after_count; i++) {
        const struct dueq_prerequisite *of = &push->after[i];
        bool same_topic = of->topic.size == 0 || dueq_slice_equal(of->topic, push->topic);

        if (of->topic.size > DUEQ_NAME_MAX || !queue_valid_name(of->id) ||
            (same_topic && dueq_slice_equal(of->id, push->id)))
            return false;
    }
    return true;
}

size_t after_room(const struct dueq_push *push)
{
    size_t bytes = push->after_count * (EDGE_BYTES + push->topic.size);

    for (size_t i = 0; i < push->after_count; i++)
        bytes += push->after[i].topic.size == 0 ? push->topic.size : push->after[i].topic.size;
    return bytes;
}

static enum dueq_status find(struct queue *queue, const struct dueq_push *push, size_t index,
                             struct topic **ret_topic, struct job *ret_job)
{
    const struct dueq_prerequisite *of = &push->after[index];

    return lookup_job(queue, of->topic.size == 0 ? push->topic : of->topic, of->id, ret_topic,
                      ret_job);
}

enum dueq_status after_plan(struct queue *queue, const struct dueq_push *push, size_t *bytes)
{
    for (size_t i = 0; i < push->after_count; i++) {
        struct topic *topic;
        struct job job;
        enum dueq_status status = find(queue, push, i, &topic, &job);

        if (status == DUEQ_OK)
            *bytes += job.body.body.size;
        else if (status != DUEQ_NOTFOUND)
            return status;
    }
    return DUEQ_OK;
}

/* ---- one job that waits */

/* Its text, cut to what a job keeps. Who may read the job that waits may not always read other
 * topics: what they have is not named. */
static struct dueq_slice write_error(char *text, const struct topic *waiter,
                                     struct dueq_slice topic, struct dueq_slice id,
                                     enum dueq_end end)
{
    bool is_named = id.size > 0 && dueq_slice_equal(topic, topic_name(waiter));
    static const char *const ends[] = {"cannot be read", "is done", "is dead", "was cancelled",
                                       "is gone"};
    int size = !is_named ? snprintf(text, ERROR_MAX, "after: a job %s%s",
                                    topic.size == 0 || id.size == 0 ? "" : "of another topic ",
                                    ends[end])
                         : snprintf(text, ERROR_MAX, "after: %.*s:%.*s %s", (int)topic.size,
                                    (const char *)topic.data, (int)id.size,
                                    (const char *)id.data, ends[end]);

    return dueq_slice(text, size < ERROR_MAX ? (size_t)size : ERROR_MAX - 1);
}

/* Its death may give another id, in a dead-letter topic. */
static void fail(struct queue *queue, struct topic *topic, struct job *job,
                 struct dueq_slice error, struct dueq_time time)
{
    char id[GIVEN_ID_SIZE];

    memcpy(id, queue->id, sizeof(id));
    afters_drop(queue, topic, job->seq);
    job_fail(queue, topic, job, error, time);
    memcpy(queue->id, id, sizeof(id));
}

void after_die(struct queue *queue, struct topic *topic, struct job *job, struct dueq_slice of,
               struct dueq_slice id, enum dueq_end end, struct dueq_time time)
{
    char text[ERROR_MAX];

    fail(queue, topic, job, write_error(text, topic, of, id, end), time);
}

enum dueq_status after_release(struct queue *queue, struct topic *topic, struct job *job,
                               struct dueq_time time)
{
    uint8_t clock;
    int64_t due;

    push_set_due(job->body.clock == CLOCK_WALL, job->state.delay, job->body.due, time, &clock,
                 &due);
    return job_set_due(queue, topic, job, clock, due, time);
}

enum dueq_status after_run(struct queue *queue, struct topic *topic, struct job *job,
                           struct dueq_time time)
{
    return job_set_due(queue, topic, job, CLOCK_QUEUE, time.now, time);
}

/* ---- a job that begins to wait */

struct beginning {
    struct queue *queue;
    const struct dueq_push *push;
    struct topic *topic;
    uint64_t seq;
    uint32_t awaits;
    struct after_failure failure;
};

static void begin_to_wait(struct beginning *beginning, size_t index)
{
    enum dueq_on_dead on_dead = beginning->push->on_dead;
    struct after_edge edge = {.waiter_topic = beginning->topic->id,
                              .waiter_seq = beginning->seq};
    struct topic *of;
    struct job job;
    enum dueq_status status = find(beginning->queue, beginning->push, index, &of, &job);
    bool is_dead = status == DUEQ_OK && job.state.state == PHASE_DEAD;

    if (status == DUEQ_NOTFOUND || (status == DUEQ_OK && job.state.state == PHASE_DONE) ||
        (is_dead && on_dead == DUEQ_ON_DEAD_RUN))
        return;
    if (status != DUEQ_OK || (is_dead && on_dead == DUEQ_ON_DEAD_FAIL)) {
        beginning->failure =
            (struct after_failure){true, index, is_dead ? DUEQ_END_DEAD : DUEQ_END_NONE};
        return;
    }
    edge.topic = of->id;
    edge.seq = job.seq;
    if (afters_has(beginning->queue, &edge))
        return; /* it is named twice */
    afters_add(beginning->queue, of, job.seq, beginning->topic, beginning->seq);
    beginning->awaits++;
}

void after_add(struct queue *queue, struct topic *topic, uint64_t seq,
               const struct dueq_push *push, struct dueq_time time,
               struct after_failure *ret_failure)
{
    struct beginning beginning = {.queue = queue, .push = push, .topic = topic, .seq = seq};
    struct job_state state;
    struct job job;

    for (size_t i = 0; i < push->after_count && !beginning.failure.is; i++)
        begin_to_wait(&beginning, i);
    *ret_failure = beginning.failure;
    if (beginning.failure.is || beginning.awaits == 0 ||
        job_load(queue, topic, seq, &job) != DUEQ_OK) /* it was there a moment ago */
        return;
    state = job.state;
    state.state = PHASE_WAITING;
    state.clock = CLOCK_QUEUE;
    state.due = state.since = time.now;
    state.expires = DUEQ_NEVER;
    state.awaits = beginning.awaits;
    state.on_dead = (uint8_t)push->on_dead;
    state.delay = push->absolute ? 0 : safe_time_clamp(push->delay);
    (void)job_reschedule(queue, topic, &job, state, time); /* to wait needs no memory */
}

void after_fail(struct queue *queue, struct topic *topic, uint64_t seq,
                const struct dueq_push *push, const struct after_failure *failure,
                struct dueq_time time)
{
    const struct dueq_prerequisite *of;
    struct job job;

    if (!failure->is || job_load(queue, topic, seq, &job) != DUEQ_OK)
        return;
    of = &push->after[failure->index];
    after_die(queue, topic, &job, of->topic.size == 0 ? push->topic : of->topic, of->id,
              failure->end, time);
}

/* ---- edges of a job that has ended */

struct settling {
    struct queue *queue;
    struct dueq_time time;
    unsigned *budget;
    struct kv_key key; /* of its record */
    struct after_ended ended;
    uint8_t names[2 * DUEQ_NAME_MAX]; /* what the slices of it point into */
};

static void pay(struct settling *settling, uint64_t steps)
{
    *settling->budget -= steps < *settling->budget ? (unsigned)steps : *settling->budget;
}

static bool is_damage(enum dueq_status status)
{
    return status == DUEQ_NOTFOUND || status == DUEQ_CORRUPT;
}

/* The job that waits. DUEQ_NOTFOUND: it waits no more. */
static enum dueq_status find_waiter(struct settling *settling, const struct after_edge *edge,
                                    struct dueq_slice name, struct topic **ret_topic,
                                    struct job *ret_job)
{
    enum dueq_status status = topics_find(settling->queue, name, ret_topic);

    if (status == DUEQ_OK && (*ret_topic)->id != edge->waiter_topic)
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        status = queue_load_within(settling->queue, *ret_topic, edge->waiter_seq,
                                   settling->budget, ret_job);
    if (status == DUEQ_OK && ret_job->state.state != PHASE_WAITING)
        return DUEQ_NOTFOUND;
    return is_damage(status) ? DUEQ_NOTFOUND : status;
}

/* One less to wait for. */
static enum dueq_status count_down(struct settling *settling, struct topic *topic,
                                   struct job *job, const struct after_edge *edge)
{
    struct queue *queue = settling->queue;

    if (job->state.awaits <= 1)
        return after_release(queue, topic, job, settling->time);
    afters_del(queue, edge, settling->ended.topic_name);
    job->state.awaits--;
    job_save_state(queue, topic, job);
    return DUEQ_OK;
}

static void fail_waiter(struct settling *settling, struct topic *topic, struct job *job)
{
    pay(settling, (uint64_t)EDGE_STEPS * job->state.awaits);
    after_die(settling->queue, topic, job, settling->ended.topic_name, settling->ended.id,
              settling->ended.end, settling->time);
}

/* *ret_stays: the edge does. On failure nothing has changed. */
static enum dueq_status settle_edge(struct settling *settling, const struct after_edge *edge,
                                    struct dueq_slice name, bool *ret_stays)
{
    enum dueq_end end = settling->ended.end;
    struct topic *topic;
    struct job job;
    enum dueq_status status = find_waiter(settling, edge, name, &topic, &job);

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    status = kv_room_moves(settling->queue->kv, false);
    if (status != DUEQ_OK)
        return status;
    if (end == DUEQ_END_DEAD && job.state.since > settling->ended.died) {
        *ret_stays = true; /* the other one was redriven before this one came */
        return DUEQ_OK;
    }
    if (end == DUEQ_END_DONE || job.state.on_dead == DUEQ_ON_DEAD_RUN)
        return count_down(settling, topic, &job, edge);
    if (job.state.on_dead == DUEQ_ON_DEAD_FAIL)
        fail_waiter(settling, topic, &job);
    else
        *ret_stays = end == DUEQ_END_DEAD;
    return DUEQ_OK;
}

/* The edge at the cursor. */
static enum dueq_status settle_here(struct settling *settling)
{
    struct queue *queue = settling->queue;
    struct dueq_slice value = kv_cursor_value(queue->cursor);
    struct after_edge edge;
    uint8_t bytes[DUEQ_NAME_MAX];
    bool stays = false;
    uint64_t bodies = queue->body_steps;
    enum dueq_status status = DUEQ_OK;

    kv_key_copy(&queue->afters.edge, kv_cursor_key(queue->cursor));
    queue->afters.steps++;
    pay(settling, EDGE_STEPS);
    if (!afters_read_dependent(kv_key_slice(&queue->afters.edge), &edge) ||
        value.size > sizeof(bytes)) {
        kv_del(queue->kv, kv_key_slice(&queue->afters.edge));
        return DUEQ_OK;
    }
    memcpy(bytes, value.data, value.size);
    status = settle_edge(settling, &edge, dueq_slice(bytes, value.size), &stays);
    pay(settling, queue->body_steps - bodies);
    if (status == DUEQ_OK && !stays)
        afters_del_end(queue, &edge, settling->ended.topic_name);
    if (status == DUEQ_OK && queue->afters.edge.size > 0) /* else another one comes first */
        kv_key_follow(&queue->afters.edge);
    return status;
}

/* DUEQ_NOTFOUND: no edge is left, or the budget is spent. */
static enum dueq_status settle_next(struct settling *settling)
{
    struct queue *queue = settling->queue;
    struct kv_key prefix;
    enum dueq_status status;

    queue_key_job(&prefix, TABLE_DEPENDENT, settling->ended.topic, settling->ended.seq);
    if (queue->afters.edge.size == 0)
        queue->afters.edge = prefix;
    status = kv_cursor_seek_within(queue->cursor, kv_key_slice(&queue->afters.edge),
                                   settling->budget);
    if (status == DUEQ_OK && !kv_key_begins(kv_cursor_key(queue->cursor), &prefix))
        return DUEQ_NOTFOUND;
    return status == DUEQ_OK ? settle_here(settling) : status;
}

/* ---- jobs that have ended */

static bool copy_ended(struct settling *settling)
{
    struct after_ended *ended = &settling->ended;
    size_t topic_size;

    kv_key_copy(&settling->key, kv_cursor_key(settling->queue->cursor));
    if (!afters_read_ended(kv_key_slice(&settling->key),
                           kv_cursor_value(settling->queue->cursor), ended))
        return false;
    topic_size = ended->topic_name.size;
    memcpy(settling->names, ended->topic_name.data, topic_size + ended->id.size);
    ended->topic_name.data = settling->names;
    ended->id.data = settling->names + topic_size;
    return true;
}

/* The first one. DUEQ_NOTFOUND: there is none, or the budget is spent. */
static enum dueq_status find_ended(struct settling *settling)
{
    struct queue *queue = settling->queue;
    struct afters *afters = &queue->afters;
    struct kv_key table;
    enum dueq_status status;

    kv_key_start(&table, TABLE_ENDED);
    if (afters->ended.size == 0)
        afters->ended = table;
    status =
        kv_cursor_seek_within(queue->cursor, kv_key_slice(&afters->ended), settling->budget);
    if (status == DUEQ_OK && !kv_key_begins(kv_cursor_key(queue->cursor), &table))
        return DUEQ_NOTFOUND;
    if (status != DUEQ_OK)
        return status;
    if (!copy_ended(settling))
        settling->ended = (struct after_ended){.topic = 0};
    if (!dueq_slice_equal(kv_key_slice(&settling->key), kv_key_slice(&afters->ended)))
        afters->edge.size = 0;
    afters->ended = settling->key;
    return DUEQ_OK;
}

/* Settles the first of them. DUEQ_NOTFOUND: nothing is left, or the budget is spent. */
static enum dueq_status settle_first(struct settling *settling)
{
    struct queue *queue = settling->queue;
    enum dueq_status status = find_ended(settling);

    if (status != DUEQ_OK)
        return status;
    pay(settling, 1);
    do {
        status = *settling->budget > 0 ? settle_next(settling) : DUEQ_NOTFOUND;
    } while (status == DUEQ_OK && dueq_slice_equal(kv_key_slice(&queue->afters.ended),
                                                   kv_key_slice(&settling->key)));
    if (status != DUEQ_NOTFOUND || *settling->budget == 0)
        return status;
    kv_del(queue->kv, kv_key_slice(&settling->key));
    queue->afters.edge.size = 0;
    return DUEQ_OK;
}

bool after_settle(struct queue *queue, struct dueq_time time, unsigned *budget)
{
    struct afters *afters = &queue->afters;
    struct settling settling = {.queue = queue, .time = time, .budget = budget};
    enum dueq_status status = DUEQ_OK;
    uint64_t before = afters->steps;

    if (afters->held > time.now)
        return false;
    while (status == DUEQ_OK && afters->any && *budget > 0)
        status = settle_first(&settling);
    if (status == DUEQ_NOTFOUND && *budget > 0) {
        afters->any = false;
        afters->ended.size = afters->edge.size = 0;
    } else if (status != DUEQ_OK && status != DUEQ_NOTFOUND && status != DUEQ_BUSY) {
        afters->held = safe_time_add(time.now, RETRY_MS);
    }
    return afters->steps > before;
}

int64_t after_next(const struct queue *queue)
{
    const struct afters *afters = &queue->afters;

    if (!afters->any)
        return DUEQ_NEVER;
    return afters->held > queue->now ? afters->held - queue->now : 0;
}

/* ---- looking */

struct showing {
    struct queue *queue;
    struct dueq_time time;
    dueq_awaited_fn fn;
    void *arg;
};

/* False: no more are wanted. */
static bool show(const struct showing *showing, const struct after_edge *edge,
                 struct dueq_slice name)
{
    struct dueq_prerequisite of = {.topic = name, .id = {NULL, 0}};
    struct dueq_job shown = {.state = DUEQ_DEAD};
    struct topic *topic;
    struct job job;
    bool is_there = topics_find(showing->queue, name, &topic) == DUEQ_OK &&
                    topic->id == edge->topic &&
                    job_load(showing->queue, topic, edge->seq, &job) == DUEQ_OK;

    if (is_there) {
        lookup_show(showing->queue, topic, &job, showing->time, &shown);
        of.id = shown.id;
    }
    return showing->fn(showing->arg, &of, shown.state, !is_there);
}

static enum dueq_status show_some(const struct showing *showing, const struct topic *topic,
                                  uint64_t seq, unsigned most, struct dueq_awaited_place *place)
{
    struct queue *queue = showing->queue;
    struct kv_key prefix, at;
    enum dueq_status status = DUEQ_OK;

    queue_key_job(&prefix, TABLE_AWAITED, topic->id, seq);
    queue_key_edge(&at, TABLE_AWAITED, topic->id, seq, place->topic, place->seq);
    kv_key_follow(&at);
    for (unsigned i = 0; i < most && status == DUEQ_OK; i++) {
        uint8_t name[DUEQ_NAME_MAX];
        struct after_edge edge;
        struct dueq_slice value;

        status = kv_cursor_seek(queue->cursor, kv_key_slice(&at));
        if (status != DUEQ_OK || !kv_key_begins(kv_cursor_key(queue->cursor), &prefix))
            break;
        value = kv_cursor_value(queue->cursor);
        kv_key_copy(&at, kv_cursor_key(queue->cursor));
        if (!afters_read_awaited(kv_key_slice(&at), &edge) || value.size > sizeof(name))
            return DUEQ_CORRUPT;
        memcpy(name, value.data, value.size);
        *place = (struct dueq_awaited_place){edge.topic, edge.seq};
        if (!show(showing, &edge, dueq_slice(name, value.size)))
            break;
        kv_key_follow(&at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status queue_awaited(struct queue *queue, struct dueq_slice topic,
                               struct dueq_slice id, struct dueq_time time, unsigned most,
                               struct dueq_awaited_place *place, dueq_awaited_fn fn, void *arg)
{
    struct showing showing = {queue, queue_time(queue, time), fn, arg};
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    if (status != DUEQ_OK || job.state.state != PHASE_WAITING)
        return status;
    return show_some(&showing, found, job.seq, most, place);
}
