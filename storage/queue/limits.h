/* Limits that settings put on a topic: the size of a body, the number of jobs (delayed, ready,
 * claimed), the bytes of all bodies. What puts jobs or larger bodies into a topic looks at them
 * before it changes anything. Private to storage/queue. */
#ifndef DUEQ_QUEUE_LIMITS_H
#define DUEQ_QUEUE_LIMITS_H

#include "storage/queue/queue.h"

/* By how much a step changes a topic, all that comes and goes in it together. */
struct limits_change {
    int64_t jobs; /* that wait or are claimed */
    int64_t bytes;
    const struct held_job *leaving; /* goes before; NULL: none does */
};

/* Waiting jobs that are to make room. Set it to zero, but for: */
struct limits_drops {
    /* May this job go? Not one that the same step changes or ends. NULL: any may. */
    bool (*may_go)(const void *arg, const struct topic *topic, const struct job *job);
    const void *arg;
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

/* Is there room for the change, without a drop? A limit refuses only what grows: a topic that
 * exceeds its limit may still change as long as it gets neither more jobs nor more bytes. O(1).
 */
bool limits_fit(struct queue *queue, struct topic *topic, const struct limits_change *change);

/* May the change be made? DUEQ_LIMIT: no. When the topic drops its oldest jobs, those that have
 * to go, the ones due first, are added to *drops; claimed jobs are none of them. At most 200
 * and one for each new job go in a call: a topic whose limit was lowered shrinks over several
 * pushes. DUEQ_NOMEM. Changes nothing. O((drops + jobs that may not go) * (lanes + log n)). */
enum dueq_status limits_admit(struct queue *queue, struct topic *topic,
                              const struct limits_change *change, struct limits_drops *drops);
/* A body of that size comes too: DUEQ_TOOBIG. */
enum dueq_status limits_admit_body(struct queue *queue, struct topic *topic, size_t size,
                                   const struct limits_change *change,
                                   struct limits_drops *drops);
/* For may_go: arg is the sequence number of the only job that stays. */
bool limits_spare_one(const void *arg, const struct topic *topic, const struct job *job);
/* Removes them. O(drops * log n). */
void limits_apply(struct queue *queue, const struct limits_drops *drops);
void limits_release(struct limits_drops *drops);

#endif
