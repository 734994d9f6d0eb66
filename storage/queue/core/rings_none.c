/* A store whose topics keep no events, for `make libdueq-small`: in place of
 * storage/store_events.c, storage/queue/ring_read.c, storage/queue/core/rings.c and
 * storage/queue/record/event_record.c. No setting may ask for them, and a directory with one
 * that does is refused. */
#include "storage/dueq.h"
#include "storage/queue/core/queue_state.h"
#include "storage/store.h"

int64_t rings_most(void)
{
    return 0;
}

enum dueq_status rings_load(const struct queue *queue)
{
    return queue->ring_scopes == 0 ? DUEQ_OK : DUEQ_FORMAT;
}

uint64_t rings_size(struct queue *queue, struct topic *topic)
{
    (void)queue;
    (void)topic;
    return 0;
}

void rings_add(struct queue *queue, struct topic *topic, const struct job *job,
               enum dueq_event_type type)
{
    (void)queue;
    (void)topic;
    (void)job;
    (void)type;
}

void rings_skip(struct queue *queue, struct topic *topic)
{
    (void)queue;
    (void)topic;
}

void rings_take_back(struct queue *queue, struct topic *topic, uint64_t next)
{
    (void)queue;
    (void)topic;
    (void)next;
}

enum dueq_status rings_follow(struct queue *queue, struct topic *topic, unsigned *budget)
{
    (void)queue;
    (void)topic;
    (void)budget;
    return DUEQ_OK;
}

void rings_raise(struct topic *topic, uint64_t floor)
{
    if (topic->ring.next > 0 && topic->ring.next < floor)
        topic->ring.next = floor;
}

void rings_unwatch(struct queue *queue, struct topic *topic)
{
    (void)queue;
    (void)topic;
}

const char *rings_flaw(const struct topic *topic, uint64_t number, struct dueq_slice record)
{
    (void)topic;
    (void)number;
    (void)record;
    return NULL;
}

/* ---- the public functions */

enum dueq_status dueq_events(struct dueq *store, struct dueq_slice topic, uint64_t after,
                             size_t count, dueq_kept_fn fn, void *arg)
{
    (void)store;
    (void)topic;
    (void)after;
    (void)count;
    (void)fn;
    (void)arg;
    return DUEQ_WRONGSTATE;
}

enum dueq_status dueq_last_event(struct dueq *store, struct dueq_slice topic,
                                 uint64_t *ret_number)
{
    (void)store;
    (void)topic;
    (void)ret_number;
    return DUEQ_WRONGSTATE;
}

/* ---- of a server that is built without events, to measure them */

void store_watch_events(struct dueq *store, bool watches)
{
    (void)store;
    (void)watches;
}

enum dueq_status store_next_events(struct dueq *store, struct dueq_slice *ret_topic)
{
    (void)store;
    (void)ret_topic;
    return DUEQ_NOTFOUND;
}
