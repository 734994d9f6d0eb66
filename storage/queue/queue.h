/* Topics and their jobs, stored in a key space: what storage/store.c calls. The functions that
 * dueq.h has under the same name with dueq_ are specified there. */
#ifndef DUEQ_QUEUE_H
#define DUEQ_QUEUE_H

#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"
#include "storage/queue/id_index.h"
#include "storage/queue/topic.h"
#include "storage/status.h"
#include "storage/types.h"

struct kv;
struct queue;

/* ---- the queue as a whole (queue.c) */

/* Loads the topics of the key space and arms their timers; reads no jobs. kv must live longer
 * than the queue. DUEQ_NOMEM, DUEQ_CORRUPT, DUEQ_IO. O(topics). */
enum dueq_status queue_new(struct kv *kv, struct dueq_time time, struct queue **ret_queue);
/* Saves nothing. NULL is fine. */
void queue_free(struct queue *queue);

/* Returns the time that the queue works with, and remembers it: `now` never goes backward, all
 * three are clamped (safe_time.h), `ceiling` is `now` or later. The offset between the clocks
 * changes when one of them is stepped, but not by their rounding. */
struct dueq_time queue_time(struct queue *queue, struct dueq_time time);
/* The last time that was given. */
struct dueq_time queue_last_time(const struct queue *queue);

bool queue_get_timeline(const struct queue *queue, struct dueq_timeline *ret_line);
void queue_keep_timeline(struct queue *queue, const struct dueq_timeline *line);
void queue_get_defaults(const struct queue *queue, struct dueq_defaults *ret_defaults);
void queue_set_defaults(struct queue *queue, const struct dueq_defaults *defaults);
enum dueq_status queue_next_signal(struct queue *queue, struct dueq_slice *ret_topic);

/* ---- jobs (push.c, claim.c, lookup.c) */

enum dueq_status queue_push(struct queue *queue, const struct dueq_push *push,
                            struct dueq_time time, struct dueq_slice *ret_id);
enum dueq_status queue_claim(struct queue *queue, struct dueq_slice topic, int64_t lease,
                             struct dueq_time time, struct dueq_job *ret_job);
enum dueq_status queue_ack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, struct dueq_time time);
enum dueq_status queue_nack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                            enum dueq_state *ret_state);
enum dueq_status queue_extend(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, int64_t token, int64_t lease,
                              struct dueq_time time, int64_t *ret_end);
enum dueq_status queue_get(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time, struct dueq_job *ret_job);
enum dueq_status queue_del(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time);

/* ---- topics (topic_stats.c, topics.c) */

enum dueq_status queue_topic_stats(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_time time, struct dueq_topic_stats *ret_stats);
enum dueq_status queue_total_stats(struct queue *queue, struct dueq_time time,
                                   struct dueq_topic_stats *ret_stats);
enum dueq_status queue_topic_after(struct queue *queue, struct dueq_slice after,
                                   struct dueq_slice *ret_name);
size_t queue_topic_count(const struct queue *queue);

/* ---- time (tick.c) */

/* Does the queue's share of dueq_tick. *budget: steps; what is left of them is returned in it,
 * and 0 means that there may be more to do. */
void queue_tick(struct queue *queue, struct dueq_time time, unsigned *budget);
/* ms after `time`; DUEQ_NEVER: nothing is scheduled. O(1). */
int64_t queue_next_tick(const struct queue *queue, struct dueq_time time);

/* Compares all counts, entries, indexes and timers. Returns NULL when they agree, else what is
 * wrong (static text). For tests. O(jobs). (check.c) */
const char *queue_check(struct queue *queue);

#endif
