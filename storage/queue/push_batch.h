/* Several pushes of which all happen or none. Private to storage/queue. */
#ifndef DUEQ_PUSH_BATCH_H
#define DUEQ_PUSH_BATCH_H

#include "storage/queue/limits.h"
#include "storage/queue/push.h"

/* A job that goes right before the pushes: one of them may have its id, and its place. */
struct leaving_job {
    struct dueq_slice topic, id;
    struct held_job held;
    size_t room; /* bytes on the disk that its end takes */
};

struct push_batch {
    struct queue *queue;
    const struct dueq_push *pushes; /* the caller's */
    size_t count;
    struct dueq_time time;
    const struct leaving_job *leaving; /* NULL: none */
    struct planned_push *planned;
    struct limits_drops drops;
    size_t added;    /* jobs that are there already */
    uint32_t *names; /* hash table: index + 1 of the pushes with ids of the caller */
    size_t name_slots;
};

/* Checks everything, reserves room on the disk, memory and ids, and adds nothing. Statuses: as
 * queue_push. Whatever it answers, push_batch_release follows: without push_batch_add it takes
 * back the topics that were made. O(count). */
enum dueq_status push_batch_plan(struct queue *queue, const struct dueq_push *pushes,
                                 size_t count, const struct leaving_job *leaving,
                                 struct dueq_time time, struct push_batch *ret_batch);
/* Adds all jobs; cannot fail. ret_pushed: `count` of them. O(count log n). */
void push_batch_add(struct push_batch *batch, struct dueq_pushed *ret_pushed);
/* The same in several calls, between which nothing else changes the queue: adds jobs until
 * their bodies have `bytes` together, but at least one. True: all are there. */
bool push_batch_add_some(struct push_batch *batch, size_t bytes,
                         struct dueq_pushed *ret_pushed);
void push_batch_release(struct push_batch *batch);

#endif
