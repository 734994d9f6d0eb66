/* All topics, by name: in RAM, and on disk as one record each. A topic lives from its first job
 * until it is dropped because it is empty and others were used more recently, or until all are
 * flushed. Private to storage/queue. */
#ifndef DUEQ_TOPICS_H
#define DUEQ_TOPICS_H

#include "storage/queue/core/topic.h"

struct queue;

/* The number of empty topics that are kept for their totals: those used last. */
enum { TOPICS_EMPTY_KEPT = 1000 };

/* Loads the counters and all topics. O(topics). */
enum dueq_status topics_load(struct queue *queue);
/* Frees the memory of all topics; saves nothing. */
void topics_release(struct queue *queue);
/* DUEQ_NOTFOUND: there is no such topic. */
enum dueq_status topics_find(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic);
/* Makes the topic when there is none. Its seqs and tokens are greater than those that a dropped
 * topic of that name may have given. */
enum dueq_status topics_open(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic);
/* Writes the records of changed topics into the batch. */
void topics_save(struct queue *queue);
/* To be called before each commit: saves, and drops empty topics above the number that is kept.
 * Pointers to topics are invalid afterwards. */
void topics_prepare_commit(struct queue *queue);
/* Drops a topic: what it had is garbage. O(changed topics). */
void topics_drop(struct queue *queue, struct topic *topic);
/* Drops all topics. O(1): later ticks free the memory and delete the records. */
void topics_flush(struct queue *queue);

enum dueq_status queue_topic_after(struct queue *queue, struct dueq_slice after,
                                   struct dueq_slice *ret_name);
size_t queue_topic_count(const struct queue *queue);

#endif
