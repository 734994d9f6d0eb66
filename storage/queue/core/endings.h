/* Watched jobs: callers who wait for the end of a job are told of it once. In RAM only. Private
 * to storage/queue; dueq.h has the rules for callers. */
#ifndef DUEQ_ENDINGS_H
#define DUEQ_ENDINGS_H

#include "storage/status.h"
#include "storage/types.h"

struct queue;
struct topic;
struct dueq_watch;

struct endings {
    struct dueq_watch *jobs;  /* not ended, by topic and seq (uthash) */
    struct dueq_watch *ended; /* to be handed out, in order (utlist) */
    uint64_t steps; /* watches that endings_end_topic has ended, for tests of the cost */
};

/* The job is pending or claimed. DUEQ_DUPLICATE: it is watched already. DUEQ_NOMEM. O(1). */
enum dueq_status endings_add(struct queue *queue, struct topic *topic, uint64_t seq, void *arg,
                             struct dueq_watch **ret_watch);
void endings_remove(struct queue *queue, struct dueq_watch *watch);
/* False: no watched job has ended. */
bool endings_next(struct queue *queue, void **ret_arg, enum dueq_end *ret_end);
void endings_free(struct queue *queue);

/* For queue_note_end. */
void endings_end(struct queue *queue, uint64_t topic, uint64_t seq, enum dueq_end end);
/* All jobs of the topic are gone. O(its watches). */
void endings_end_topic(struct queue *queue, struct topic *topic);
/* All jobs are gone. O(watches). */
void endings_end_all(struct queue *queue);

#endif
