/* What outlives topics: one record on disk. Private to storage/queue. */
#ifndef DUEQ_COUNTERS_H
#define DUEQ_COUNTERS_H

#include "storage/status.h"
#include "storage/types.h"

struct queue;

struct counters {
    uint64_t next_topic;            /* id of the next topic */
    uint64_t first_topic;           /* all topics with lower ids are flushed */
    uint64_t next_seq, next_token;  /* greater than those of all dropped topics */
    struct dueq_topic_stats totals; /* of dropped topics */
    bool dirty;
};

/* Writes the record into the batch, if it changed. */
void counters_save(struct queue *queue);
enum dueq_status counters_load(struct queue *queue);

#endif
