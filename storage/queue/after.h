/* Jobs that wait for others: how they come to wait, and how they go on or die. core/afters.h
 * has their edges. Private to storage/queue. */
#ifndef DUEQ_AFTER_H
#define DUEQ_AFTER_H

#include "storage/queue/core/queue_state.h"

/* What the edges of a push take on the disk at most, bytes. */
size_t after_room(const struct dueq_push *push);
/* Can a job be pushed so? O(prerequisites). */
bool after_is_valid(const struct dueq_push *push);
/* Can the jobs be read that the push waits for? Adds the bytes of their bodies to *bytes.
 * O(prerequisites * log n). */
enum dueq_status after_plan(struct queue *queue, const struct dueq_push *push, size_t *bytes);
/* Which of them is not done, and never will be. */
struct after_failure {
    bool is;
    size_t index; /* of push->after */
    enum dueq_end end;
};
/* The job was just pushed: it waits, if there is anything to wait for. Or it has failed, and
 * after_fail is to be called when all of the step is done: a death may take a place in another
 * topic. O(prerequisites * log n). */
void after_add(struct queue *queue, struct topic *topic, uint64_t seq,
               const struct dueq_push *push, struct dueq_time time,
               struct after_failure *ret_failure);
void after_fail(struct queue *queue, struct topic *topic, uint64_t seq,
                const struct dueq_push *push, const struct after_failure *failure,
                struct dueq_time time);

/* Lets the waiting job go on now, whatever it waits for. */
enum dueq_status after_run(struct queue *queue, struct topic *topic, struct job *job,
                           struct dueq_time time);

/* Settles edges of jobs that have ended. *budget: steps of ticks, some for an edge. False:
 * there were none. */
bool after_settle(struct queue *queue, struct dueq_time time, unsigned *budget);
/* Has it something to do? ms from now; DUEQ_NEVER. */
int64_t after_next(const struct queue *queue);

/* For queue_restore_edge (restore.h): a waiting job dies, as one that it waited for has ended.
 * of, id: what that one is called; id of size 0: it is not known. */
void after_die(struct queue *queue, struct topic *topic, struct job *job, struct dueq_slice of,
               struct dueq_slice id, enum dueq_end end, struct dueq_time time);
/* A job that waits for nothing goes on. */
enum dueq_status after_release(struct queue *queue, struct topic *topic, struct job *job,
                               struct dueq_time time);

enum dueq_status queue_awaited(struct queue *queue, struct dueq_slice topic,
                               struct dueq_slice id, struct dueq_time time, unsigned most,
                               struct dueq_awaited_place *place, dueq_awaited_fn fn, void *arg);

/* After a call that may have ended jobs: most have few others that wait for them. */
enum { AFTER_STEPS = 400 };
static inline void after_follow(struct queue *queue, struct dueq_time time)
{
    unsigned budget = AFTER_STEPS;

    if (AFTERS_KNOWN && queue->afters.any)
        (void)after_settle(queue, queue_time(queue, time), &budget);
}

#endif
