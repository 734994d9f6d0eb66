/* All topics, by name: in RAM, and on disk as one record each. A topic lives from its first job
 * until it is dropped because it is empty and others were used more recently, or until all are
 * flushed. A topic with jobs that nobody uses sleeps: RAM has its name and timer only, and its
 * record has the rest. Private to storage/queue. */
#ifndef DUEQ_TOPICS_H
#define DUEQ_TOPICS_H

#include "storage/queue/core/topic.h"

struct queue;

enum {
    TOPICS_EMPTY_KEPT = 1000, /* empty topics that are kept for their totals: those used last */
    TOPICS_AWAKE_KEPT = 10000, /* other topics that are kept awake: those used last */
};

/* Loads the counters and all topics. O(topics); reads each record once, and no jobs. */
enum dueq_status topics_load(struct queue *queue);
/* Frees the memory of all topics; saves nothing. */
void topics_release(struct queue *queue);
/* The topic, awake. DUEQ_NOTFOUND: there is no such topic. Others: it cannot be read now. O(1),
 * or O(log n) when it slept. */
enum dueq_status topics_find(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic);
/* Makes the topic when there is none. Its seqs and tokens are greater than those that a dropped
 * topic of that name may have given. */
enum dueq_status topics_open(struct queue *queue, struct dueq_slice name,
                             struct topic **ret_topic);
/* Takes back a topic that was made in this batch and has had no job: what was asked of it is
 * refused. Any other one stays. O(topics changed in the batch). */
void topics_take_back(struct queue *queue, struct topic *topic);
/* Writes the records of changed topics into the batch. */
void topics_save(struct queue *queue);
/* To be called before each commit: saves, drops empty topics and puts others to sleep above the
 * numbers that are kept. Pointers to topics are invalid afterwards. Does nothing while a batch
 * of pushes is being added, which is committed as a whole. */
void topics_prepare_commit(struct queue *queue);
/* Drops a topic: what it had is garbage. O(changed topics). */
void topics_drop(struct queue *queue, struct topic *topic);
/* Frees the memory of a table that was flushed. *budget: steps. True: it is done. */
bool topics_free(struct topic_table *table, unsigned *budget);
/* Drops all topics. O(1): later ticks free the memory and delete the records. */
void topics_flush(struct queue *queue);

/* ---- entries */

/* The topic of an entry, awake until the next commit at least. DUEQ_CORRUPT, DUEQ_IO,
 * DUEQ_NOMEM. */
enum dueq_status topics_wake(struct queue *queue, struct topic_entry *entry,
                             struct topic **ret_topic);
/* Lets an awake topic sleep that has nothing to keep it awake. Pointers to it are invalid. */
void topics_rest(struct queue *queue, struct topic_entry *entry);
/* The topic is awake from now on. */
void topics_adopt(struct queue *queue, struct topic_entry *entry, struct topic *topic,
                  bool is_empty);
/* The next token of a topic that takes its place, which gives no number of an event twice. */
uint64_t topics_most_token(const struct topic *topic);
/* False: nothing but its totals would be lost with it. */
bool topics_has_jobs(const struct topic *topic);
/* Has it any, or a bucket that is not full? If not, it may go. */
bool topics_is_needed(const struct topic *topic);
/* TOPIC_*, those that matter to an entry. */
uint8_t topics_flags(const struct topic *topic);
/* See queue_event_at. */
void topics_event_at(struct queue *queue, struct topic_entry *entry, int64_t at);

/* ---- in order */

enum dueq_status queue_topic_after(struct queue *queue, struct dueq_slice after,
                                   struct dueq_slice *ret_name);
enum dueq_status queue_claimed_topic_after(struct queue *queue, struct dueq_slice after,
                                           unsigned *budget, struct dueq_slice *ret_name);
size_t queue_topic_count(const struct queue *queue);

#endif
