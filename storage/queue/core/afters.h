/* Jobs that wait for others: an edge leads from each job that is not done yet to each that
 * waits for it. It is two records, one from each side, so that both find the other. A waiting
 * job has a count of its edges in its state, and its entry of the schedule where no claim and
 * no timer looks. When a job ends that others wait for, that is written down (TABLE_ENDED), and
 * its edges are settled a part at a time (after.h), so that no end of a job takes long; a
 * restart goes on.
 *
 * Who waits is younger than what it waits for: there are no cycles. Topics that are dropped
 * leave edges, which lead nowhere then. Private to storage/queue. */
#ifndef DUEQ_AFTERS_H
#define DUEQ_AFTERS_H

#include "storage/kv/key.h"
#include "storage/queue/core/topic.h"

struct queue;

struct afters {
    bool any;            /* jobs may have ended whose edges are there */
    struct kv_key ended; /* no record of them comes before; size 0: not known */
    struct kv_key edge;  /* of the first of them: where the search goes on; size 0: anywhere */
    int64_t held;        /* ms, on the queue's clock: nothing is settled before; it failed */
    uint64_t steps;      /* edges that were settled, for tests of the cost */
};

/* Between a job and one that waits for it. */
struct after_edge {
    uint64_t topic, seq;               /* the job that comes first */
    uint64_t waiter_topic, waiter_seq; /* the one that waits */
};

/* What is known of a job that has ended. The slices lie in its record. */
struct after_ended {
    uint64_t topic, seq;
    enum dueq_end end;
    int64_t died; /* DUEQ_END_DEAD: when, on the queue's clock: younger jobs are not told */
    struct dueq_slice topic_name, id; /* size 0: not known */
};

/* To be called at the opening. DUEQ_FORMAT: jobs wait, and this build knows none of that. */
enum dueq_status afters_load(struct queue *queue);

/* Does the waiting job wait for that one? */
bool afters_has(struct queue *queue, const struct after_edge *edge);
/* Adds an edge that is not there. The caller counts it in the state of the job that waits. */
void afters_add(struct queue *queue, struct topic *of, uint64_t seq, struct topic *waiter,
                uint64_t waiter_seq);
/* Removes both records of an edge, or only the one of the job that comes first. of: the name of
 * its topic, as far as it is known. No-op without an edge. */
void afters_del(struct queue *queue, const struct after_edge *edge, struct dueq_slice of);
void afters_del_end(struct queue *queue, const struct after_edge *edge, struct dueq_slice of);
/* Removes all edges of a job that waits. O(edges log n). */
void afters_drop(struct queue *queue, const struct topic *topic, uint64_t seq);

/* For queue_note_end: a job of a topic with edges has ended. O(log n). */
void afters_end(struct queue *queue, struct topic *topic, uint64_t seq, enum dueq_end end);

/* The topic of the job was dropped or flushed: those who wait for it are told. */
void afters_end_gone(struct queue *queue, uint64_t topic, uint64_t seq);
/* Is the end of the job written down? */
bool afters_has_end(struct queue *queue, uint64_t topic, uint64_t seq);

/* Keys and values of the tables. False: malformed. */
bool afters_read_awaited(struct dueq_slice key, struct after_edge *ret_edge);
bool afters_read_dependent(struct dueq_slice key, struct after_edge *ret_edge);
bool afters_read_ended(struct dueq_slice key, struct dueq_slice value,
                       struct after_ended *ret_ended);

#endif
