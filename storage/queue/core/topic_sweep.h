/* A look at every topic, asleep or awake, a part in each tick: those whose next event has
 * changed for another reason than their jobs are armed to be looked at now. Private to
 * storage/queue. */
#ifndef DUEQ_TOPIC_SWEEP_H
#define DUEQ_TOPIC_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

struct queue;

struct topic_sweep {
    bool any;
    size_t next;    /* the bucket that it goes on with */
    size_t buckets; /* that there were so far: with fewer of them it begins again */
};

/* The clocks, or the settings of topics, have changed. O(1). */
void topic_sweep_begin(struct queue *queue);
/* *budget: steps of ticks. */
void topic_sweep_run(struct queue *queue, unsigned *budget);

#endif
