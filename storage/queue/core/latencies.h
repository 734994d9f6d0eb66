/* How long the jobs of each topic waited, ran and were late. In RAM only, for the topics that
 * were used last: within LATENCIES_BYTES, and nothing for a topic whose jobs nobody claims.
 * Private to storage/queue. */
#ifndef DUEQ_LATENCIES_H
#define DUEQ_LATENCIES_H

#include "storage/status.h"
#include "storage/stats.h"

#include <stddef.h>

struct queue;
struct topic;
struct topic_latencies; /* of one topic */

enum { LATENCIES_BYTES = 16 * 1024 * 1024 };

/* In a small store, less: a quarter of its memory for changes. */
static inline size_t latencies_limit(size_t memtable_bytes)
{
    return memtable_bytes / 4 < LATENCIES_BYTES ? memtable_bytes / 4 : LATENCIES_BYTES;
}

struct latencies {
    struct topic_latencies *by_topic; /* by id (uthash), also of topics that sleep */
    struct topic_latencies *list;     /* those with times in the latest period last (utlist) */
    size_t bytes, limit;
};

/* Counts a time in ms; a clock that was set back makes none less than 0. now: on the queue's
 * clock. O(1); now and then O(rows of the topic). */
void latencies_note(struct queue *queue, struct topic *topic, enum dueq_span span, int64_t ms,
                    int64_t now);
/* since: on the queue's clock; DUEQ_NEVER: nothing was counted. */
void latencies_read(struct queue *queue, struct topic *topic, int64_t now,
                    struct dueq_latencies *ret_latencies);
/* The topic's memory is about to be freed: it sleeps. */
void latencies_rest(struct topic *topic);
/* The topic is dropped. */
void latencies_drop(struct queue *queue, struct topic *topic);
void latencies_release(struct queue *queue);

#endif
