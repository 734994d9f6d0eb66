/* Limits that settings put on a topic: the size of a body, the number of jobs (delayed, ready,
 * claimed), the bytes of all bodies. Pushes look at them before they change anything. Private
 * to storage/queue. */
#ifndef DUEQ_QUEUE_LIMITS_H
#define DUEQ_QUEUE_LIMITS_H

#include "storage/queue/queue.h"

/* What is about to be added to a topic, and removed by the same call. */
struct limits_change {
    uint64_t jobs, bytes;
    const struct held_job *leaving; /* NULL: none */
};

/* Waiting jobs that are to make room. Set it to zero. */
struct limits_drops {
    struct limits_drop {
        struct topic *topic;
        uint64_t seq;
    } * jobs;
    size_t count, room;
};

/* Does the topic limit its jobs or bytes? O(1). */
bool limits_any(struct queue *queue, struct topic *topic);
/* DUEQ_TOOBIG: the topic takes no body of that size. O(1). */
enum dueq_status limits_check_body(struct queue *queue, struct topic *topic, size_t size);

/* May the change be made? DUEQ_LIMIT: no. When the topic drops its oldest jobs, those that have
 * to go, the ones due first, are added to *drops; claimed jobs are none of them. At most 200
 * and one for each new job go in a call: a topic whose limit was lowered shrinks over several
 * pushes. DUEQ_NOMEM. Changes nothing. O(drops * (lanes + log n)). */
enum dueq_status limits_admit(struct queue *queue, struct topic *topic,
                              const struct limits_change *change, struct limits_drops *drops);
/* Removes them. O(drops * log n). */
void limits_apply(struct queue *queue, const struct limits_drops *drops);
void limits_release(struct limits_drops *drops);

#endif
