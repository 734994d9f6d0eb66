/* Between jobs that wait and those that they wait for: edges as a whole. */
#include "storage/kv/cursor.h"
#include "storage/kv/room.h"
#include "storage/queue/after.h"
#include "storage/queue/restore.h"

#include <stdlib.h>

enum { EDGE_ROOM = 2048 };

/* ---- reading */

static enum dueq_end end_of(struct queue *queue, const struct after_edge *edge)
{
    struct after_ended ended;
    struct dueq_slice value;
    struct kv_key key;

    queue_key_job(&key, TABLE_ENDED, edge->topic, edge->seq);
    return kv_get(queue->kv, kv_key_slice(&key), &value) == DUEQ_OK &&
                   afters_read_ended(kv_key_slice(&key), value, &ended)
               ? ended.end
               : DUEQ_END_NONE;
}

/* Is the other job there? A topic of the same name that came later has other jobs. */
static bool is_there(struct queue *queue, const struct after_edge *edge, struct dueq_slice name)
{
    struct job_body body;
    struct topic *of;

    return topics_find(queue, name, &of) == DUEQ_OK && of->id == edge->topic &&
           job_load_body(queue, of, edge->seq, &body) == DUEQ_OK;
}

/* The edges of one job, to be told by name and seq: a store and its copy have other numbers of
 * topics. */
struct listed {
    uint64_t seq;
    enum dueq_end end;
    uint8_t name[DUEQ_NAME_MAX];
    size_t size;
};

struct listing {
    struct queue *queue;
    uint64_t waiter; /* 0: none so far */
    struct listed *list;
    size_t count, room;
    whole_edge_fn fn;
    void *arg;
    bool is_over;
};

static int compare(const void *a, const void *b)
{
    const struct listed *left = a, *right = b;
    int names = dueq_slice_compare(dueq_slice(left->name, left->size),
                                   dueq_slice(right->name, right->size));

    if (names != 0)
        return names;
    return left->seq < right->seq ? -1 : left->seq > right->seq;
}

static void tell_all(struct listing *listing)
{
    if (listing->count > 0)
        qsort(listing->list, listing->count, sizeof(*listing->list), compare);
    for (size_t i = 0; i < listing->count && !listing->is_over; i++) {
        const struct listed *listed = &listing->list[i];
        const struct whole_edge whole = {.seq = listing->waiter,
                                         .of = dueq_slice(listed->name, listed->size),
                                         .of_seq = listed->seq,
                                         .end = listed->end};

        listing->is_over = !listing->fn(listing->arg, &whole);
    }
    listing->count = 0;
}

static bool make_place(struct listing *listing)
{
    size_t room = listing->room == 0 ? 16 : 2 * listing->room;
    struct listed *list;

    if (listing->count < listing->room)
        return true;
    list = realloc(listing->list, room * sizeof(*list));
    if (list == NULL)
        return false;
    listing->list = list;
    listing->room = room;
    return true;
}

static enum dueq_status list_edge(struct listing *listing, const struct after_edge *edge,
                                  struct dueq_slice name)
{
    struct listed *listed;

    if (edge->waiter_seq != listing->waiter)
        tell_all(listing);
    listing->waiter = edge->waiter_seq;
    if (!make_place(listing))
        return DUEQ_NOMEM;
    listed = &listing->list[listing->count++];
    memcpy(listed->name, name.data, name.size);
    listed->size = name.size;
    listed->seq = is_there(listing->queue, edge, name) ? edge->seq : 0;
    listed->end = end_of(listing->queue, edge);
    return DUEQ_OK;
}

static enum dueq_status list_all(struct listing *listing, const struct topic *topic,
                                 struct kv_cursor *cursor)
{
    struct kv_key prefix;
    enum dueq_status status =
        kv_cursor_seek(cursor, queue_key_topic(&prefix, TABLE_AWAITED, topic->id));

    while (status == DUEQ_OK && !listing->is_over &&
           kv_key_begins(kv_cursor_key(cursor), &prefix)) {
        struct dueq_slice name = kv_cursor_value(cursor);
        struct after_edge edge;

        if (!afters_read_awaited(kv_cursor_key(cursor), &edge) || !queue_valid_name(name))
            return DUEQ_CORRUPT;
        status = list_edge(listing, &edge, name);
        if (status == DUEQ_OK)
            status = kv_cursor_next(cursor);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status queue_each_whole_edge(struct queue *queue, struct dueq_slice name,
                                       whole_edge_fn fn, void *arg)
{
    struct listing listing = {.queue = queue, .fn = fn, .arg = arg};
    struct kv_cursor *cursor = kv_cursor_new(queue->kv);
    struct topic *topic;
    enum dueq_status status = cursor == NULL ? DUEQ_NOMEM : topics_find(queue, name, &topic);

    if (status == DUEQ_OK)
        status = list_all(&listing, topic, cursor);
    if (status == DUEQ_OK)
        tell_all(&listing);
    kv_cursor_free(cursor);
    free(listing.list);
    return status;
}

/* ---- restoring */

/* The job that is waited for. NULL: it is gone. */
static struct topic *find_of(struct queue *queue, const struct whole_edge *edge,
                             struct job *ret_job)
{
    struct topic *topic;

    if (edge->of_seq == 0 || topics_find(queue, edge->of, &topic) != DUEQ_OK ||
        job_load(queue, topic, edge->of_seq, ret_job) != DUEQ_OK)
        return NULL;
    return topic;
}

static enum dueq_end end_now(const struct whole_edge *edge, const struct topic *of,
                             const struct job *job)
{
    if (edge->end == DUEQ_END_DONE || (of != NULL && job->state.state == PHASE_DONE))
        return DUEQ_END_DONE;
    if (of == NULL)
        return DUEQ_END_GONE;
    return job->state.state == PHASE_DEAD ? DUEQ_END_DEAD : DUEQ_END_NONE;
}

/* of: NULL: only the job that waits knows of it, under any number. */
static void add_edge(struct queue *queue, struct topic *topic, struct job *job,
                     struct topic *of, const struct whole_edge *whole)
{
    struct after_edge edge = {of == NULL ? 0 : of->id,
                              of == NULL ? (uint64_t)job->state.awaits + 1 : whole->of_seq,
                              topic->id, job->seq};
    struct kv_key key;

    if (afters_has(queue, &edge))
        return;
    if (of != NULL)
        afters_add(queue, of, whole->of_seq, topic, job->seq);
    else
        kv_put(queue->kv, queue_key_edge(&key, TABLE_AWAITED, topic->id, job->seq, 0, edge.seq),
               whole->of, true);
    job->state.awaits++;
    job_save_state(queue, topic, job);
}

static void restore(struct queue *queue, struct topic *topic, struct job *job,
                    const struct whole_edge *edge, struct dueq_time time)
{
    struct job other;
    struct topic *of = find_of(queue, edge, &other);
    enum dueq_end end = end_now(edge, of, &other);
    struct dueq_slice id = {NULL, 0};
    char text[GIVEN_ID_SIZE];

    if (end == DUEQ_END_DONE ||
        (end != DUEQ_END_NONE && job->state.on_dead == DUEQ_ON_DEAD_RUN))
        return;
    if (end != DUEQ_END_NONE && job->state.on_dead == DUEQ_ON_DEAD_FAIL) {
        if (of != NULL)
            id = job_id(&other, text);
        after_die(queue, topic, job, edge->of, id, end, time);
        return;
    }
    add_edge(queue, topic, job, of, edge);
}

enum dueq_status queue_restore_edge(struct queue *queue, struct dueq_slice name,
                                    const struct whole_edge *edge, struct dueq_time time)
{
    struct topic *topic;
    struct job job;
    enum dueq_status status = topics_find(queue, name, &topic);

    if (!queue_valid_name(edge->of))
        return DUEQ_INVALID;
    if (status == DUEQ_OK)
        status = job_load(queue, topic, edge->seq, &job);
    if (status == DUEQ_OK)
        status = kv_room(queue->kv, EDGE_ROOM + job_bytes(queue, topic, &job));
    if (status == DUEQ_OK && job.state.state == PHASE_WAITING)
        restore(queue, topic, &job, edge, time);
    return status;
}

enum dueq_status queue_restore_waiting(struct queue *queue, struct dueq_slice name,
                                       struct dueq_time time)
{
    struct position at = {SAFE_TIME_MIN, 0};
    struct topic *topic;
    enum dueq_status status = topics_find(queue, name, &topic);

    while (status == DUEQ_OK) {
        struct job job;

        status = schedule_class_first(queue, topic, CLASS_WAITING, at, NULL, &at);
        if (status == DUEQ_OK)
            status = job_load(queue, topic, at.seq, &job);
        if (status == DUEQ_OK && job.state.awaits == 0)
            status = after_release(queue, topic, &job, time);
        at = position_after(at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}
