/* Several pushes of which all happen or none. Private to storage/queue. */
#ifndef DUEQ_PUSH_BATCH_H
#define DUEQ_PUSH_BATCH_H

#include "storage/queue/limits.h"
#include "storage/queue/push.h"
#include "storage/queue/queue.h"

/* A job that goes right before the pushes: one of them may have its id, and its place. */
struct leaving_job {
    struct dueq_slice topic, id;
    int64_t token;
    const struct dueq_done *done; /* the caller's, not NULL */
    struct dueq_time time;        /* the caller's */
    struct held_job held;         /* what its ack will do */
};

struct push_batch {
    struct queue *queue;
    const struct dueq_push *pushes; /* the caller's */
    size_t count;
    struct dueq_time time;       /* the queue's */
    struct leaving_job *leaving; /* NULL: none */
    struct planned_push *planned;
    struct limits_drops drops;
    size_t checked, added, linked; /* so many jobs, the last with what they wait for */
    size_t from;                   /* job whose topic is looked up */
    bool reserved;
    size_t spent;    /* bytes that the present call has read or written */
    uint32_t *names; /* hash table: index + 1 of the pushes with ids of the caller */
    size_t name_slots;
};

/* Begins a batch. Whatever it answers, push_batch_release follows. */
enum dueq_status push_batch_begin(struct queue *queue, const struct dueq_push *pushes,
                                  size_t count, struct dueq_time time,
                                  struct push_batch *ret_batch);
/* After that, for a claimed job that hands over: finds out what its ack will do,
 * leaving->held. DUEQ_CANCELLED: it is gone now. Statuses: as queue_finish. */
enum dueq_status push_batch_follow(struct push_batch *batch, struct leaving_job *leaving);
/* Checks jobs until what is read of the store has `bytes`. After the last one it reserves room
 * on the disk, memory and ids, and acks the job that leaves. Between calls nothing else changes
 * the queue. DUEQ_BUSY: there is more to check. DUEQ_OK: push_batch_add_some follows, before
 * anything else. Other statuses, with which nothing has changed: as queue_push, queue_finish.
 * O(count). */
enum dueq_status push_batch_check(struct push_batch *batch, size_t bytes);
/* Adds jobs until what is read and written has `bytes`, but at least one; cannot fail. Between
 * calls nothing else changes the queue. ret_pushed: `count` of them. True: all are there.
 * O(count log n). */
bool push_batch_add_some(struct push_batch *batch, size_t bytes,
                         struct dueq_pushed *ret_pushed);
/* Takes back the topics that were made, if no job was added. */
void push_batch_release(struct push_batch *batch);

/* What is left of a batch, at once, if its beginning answered DUEQ_OK. */
enum dueq_status push_batch_run(struct push_batch *batch, enum dueq_status begun,
                                struct dueq_pushed *ret_pushed);

#endif
