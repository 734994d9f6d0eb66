/* What happens to jobs, for a caller that listens: in RAM, until it takes them. Nothing is
 * noted while nobody listens. Private to storage/queue. */
#ifndef DUEQ_JOB_EVENTS_H
#define DUEQ_JOB_EVENTS_H

#include "storage/status.h"
#include "storage/types.h"

struct job;
struct queue;
struct queue_event;
struct topic;

struct events {
    bool wanted;
    struct queue_event *list; /* the oldest first (utlist) */
    size_t count;
    bool lent; /* the caller has the first one */
};

/* True: somebody listens from now on. False: what is there is forgotten. */
void events_want(struct queue *queue, bool wanted);
/* False: there is none. Its slices are valid until the next call. O(1). */
bool events_next(struct queue *queue, struct dueq_event *ret_event);

/* For queue_note_event: of the job its seq, its body's id and stamp, and the attempt are used.
 * Tells who listens, and the topic's ring (rings.h). */
void events_note(struct queue *queue, struct topic *topic, const struct job *job,
                 enum dueq_event_type type);
/* The job has fallen due; loads what is needed of it, when anybody wants to know, and takes the
 * steps from the budget. Of one that does not read a ring has a number without a record.
 * DUEQ_BUSY: a part of its large body was checked, nothing is noted, and another call goes on.
 */
enum dueq_status events_note_due(struct queue *queue, struct topic *topic, uint64_t seq,
                                 unsigned *budget);

#endif
