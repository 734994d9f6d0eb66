/* Which job a claim gets. Private to storage/queue. */
#ifndef DUEQ_QUEUE_PICK_H
#define DUEQ_QUEUE_PICK_H

#include "storage/queue/core/queue_state.h"

/* The best of the due jobs that are still to live and need not wait for their groups.
 * DUEQ_NOTFOUND: there is none. DUEQ_BUSY: there may be one after what was in the way; the next
 * tick signals the topic. Jobs that are in the way expire, or are parked: a bounded number in a
 * call. */
enum dueq_status pick_job(struct queue *queue, struct topic *topic, bool yields,
                          struct dueq_time time, struct job *ret_job);
/* Calls that yield do little from now on, until the next commit: they have done much. */
bool pick_is_enough(const struct queue *queue);

#endif
