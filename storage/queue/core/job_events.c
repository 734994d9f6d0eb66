#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

/* Of a tick, beside the step of the count. A body that is read for the first time since an
 * opening is checked. */
enum { LOAD_STEPS = 1, LOAD_BYTES = 4096 /* in a step */ };

struct queue_event {
    struct queue_event *prev, *next;
    enum dueq_event_type type;
    uint8_t topic_size, id_size;
    char bytes[]; /* topic, id */
};

static void drop_first(struct events *events)
{
    struct queue_event *event = events->list;

    assert(event != NULL && events->count > 0);
    DL_DELETE(events->list, event);
    events->count--;
    free(event);
}

void events_want(struct queue *queue, bool wanted)
{
    queue->events.wanted = wanted;
    while (!wanted && queue->events.count > 0)
        drop_first(&queue->events);
    if (!wanted)
        queue->events.lent = false;
}

/* The one that was taken last stays at the head until the next call: its bytes are lent. */
bool events_next(struct queue *queue, struct dueq_event *ret_event)
{
    struct events *events = &queue->events;
    struct queue_event *event;

    if (events->lent) {
        drop_first(events);
        events->lent = false;
    }
    event = events->list;
    if (event == NULL)
        return false;
    *ret_event =
        (struct dueq_event){.type = event->type,
                            .topic = dueq_slice(event->bytes, event->topic_size),
                            .id = dueq_slice(event->bytes + event->topic_size, event->id_size)};
    events->lent = true;
    return true;
}

static void add(struct queue *queue, const struct topic *topic, const struct job *job,
                enum dueq_event_type type)
{
    struct events *events = &queue->events;
    struct dueq_slice name = topic_name(topic), id;
    char text[GIVEN_ID_SIZE];
    struct queue_event *event;

    id = job_id(job, text);
    if (events->count >= DUEQ_EVENTS_MOST)
        return;
    event = malloc(sizeof(*event) + name.size + id.size);
    if (event == NULL)
        return;
    event->type = type;
    event->topic_size = (uint8_t)name.size;
    event->id_size = (uint8_t)id.size;
    memcpy(event->bytes, name.data, name.size);
    memcpy(event->bytes + name.size, id.data, id.size);
    DL_APPEND(events->list, event);
    events->count++;
}

void events_note(struct queue *queue, struct topic *topic, const struct job *job,
                 enum dueq_event_type type)
{
    if (queue->events.wanted)
        add(queue, topic, job, type);
    if (queue_has_rings(queue))
        rings_add(queue, topic, job, type);
}

static void pay(size_t size, unsigned *budget)
{
    size_t steps = LOAD_STEPS + size / LOAD_BYTES;

    *budget -= steps < *budget ? (unsigned)steps : *budget;
}

/* A state that was never written is that of the push, without attempts. */
enum dueq_status events_note_due(struct queue *queue, struct topic *topic, uint64_t seq,
                                 unsigned *budget)
{
    struct job job = {.seq = seq};
    bool is_heard = queue->events.wanted && queue->events.count < DUEQ_EVENTS_MOST;
    enum dueq_status status;
    bool own;

    if (!is_heard && rings_size(queue, topic) == 0)
        return DUEQ_OK;
    own = queue_begin_parts(queue);
    status = job_load_body(queue, topic, seq, &job.body);
    queue_end_parts(queue, own);
    if (status == DUEQ_BUSY)
        return DUEQ_BUSY;
    pay(status == DUEQ_OK ? job.body.body.size : 0, budget);
    if (status != DUEQ_OK) {
        rings_skip(queue, topic);
        return DUEQ_OK;
    }
    (void)job_load_state(queue, topic, seq, &job.state);
    events_note(queue, topic, &job, DUEQ_EVENT_DUE);
    return DUEQ_OK;
}
