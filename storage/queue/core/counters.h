/* What outlives topics: one record on disk. Private to storage/queue. */
#ifndef DUEQ_COUNTERS_H
#define DUEQ_COUNTERS_H

#include "storage/slice.h"
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
/* Reads the record; `record` empty: what a new store has. False: no such record. */
bool counters_decode(struct dueq_slice record, struct counters *ret_counters);
enum dueq_status counters_load(struct queue *queue);
/* The least seq, token or number of an event that this epoch gives. */
uint64_t counters_floor(const struct queue *queue);
/* Of a topic that is loaded: none of them was given in an earlier epoch, by another store that
 * this one is a copy of. What is on disk follows with the topic's next change. */
void counters_raise(const struct queue *queue, uint64_t *next_seq, uint64_t *next_token);
/* The epoch of the store that gives these numbers next. */
uint64_t counters_epoch(uint64_t next_seq, uint64_t next_token);

#endif
