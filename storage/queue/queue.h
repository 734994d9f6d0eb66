/* What can be done with topics and their jobs: what storage/store.c calls. The functions that
 * dueq.h has under the same name with dueq_ are specified there. */
#ifndef DUEQ_QUEUE_H
#define DUEQ_QUEUE_H

#include "storage/queue/core/queue_state.h"
#include "storage/status.h"
#include "storage/types.h"

/* ---- jobs (push.c, claim.c, get.c) */

enum dueq_status queue_push(struct queue *queue, const struct dueq_push *push,
                            struct dueq_time time, struct dueq_pushed *ret_pushed);
enum dueq_status queue_claim(struct queue *queue, const struct dueq_claim *claim,
                             struct dueq_time time, struct dueq_job *ret_job);
enum dueq_status queue_ack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, struct dueq_time time);
enum dueq_status queue_finish(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, int64_t token, const struct dueq_done *done,
                              struct dueq_time time);
/* Bytes of room that queue_finish asks for; 0: none. */
size_t queue_finish_room(const struct dueq_done *done);
/* What an ack of a claimed job would do. */
struct held_job {
    uint64_t seq;
    bool frees;           /* the id is free then */
    uint64_t jobs, bytes; /* that count for the limits of the topic: so many less */
};
enum dueq_status queue_holds(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token);
/* The same, and what the ack of queue_finish would do. done: NULL as of queue_ack. */
enum dueq_status queue_foresee_ack(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_slice id, int64_t token,
                                   const struct dueq_done *done, struct dueq_time time,
                                   struct held_job *ret_held);
enum dueq_status queue_nack(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                            enum dueq_state *ret_state);
enum dueq_status queue_extend(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, int64_t token, int64_t lease,
                              struct dueq_slice progress, struct dueq_time time,
                              int64_t *ret_end);
enum dueq_status queue_end_lease(struct queue *queue, struct dueq_slice topic,
                                 struct dueq_slice id, int64_t token, struct dueq_time time);
enum dueq_status queue_get(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time, struct dueq_job *ret_job);
enum dueq_status queue_watch_end(struct queue *queue, struct dueq_slice topic,
                                 struct dueq_slice id, void *arg,
                                 struct dueq_watch **ret_watch);
enum dueq_status queue_del(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time);

/* change.c */
enum dueq_status queue_reschedule(struct queue *queue, struct dueq_slice topic,
                                  struct dueq_slice id, bool absolute, int64_t when,
                                  struct dueq_time time, int64_t *ret_due);
enum dueq_status queue_update(struct queue *queue, const struct dueq_push *changes,
                              bool with_body, struct dueq_time time);
enum dueq_status queue_move(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            struct dueq_slice other, struct dueq_time time);
enum dueq_status queue_cancel(struct queue *queue, struct dueq_slice topic,
                              struct dueq_slice id, struct dueq_time time, bool *ret_claimed);

/* Bounded by `budget`. (dead.c) */
enum dueq_status queue_dead(struct queue *queue, const struct dueq_dead *query,
                            struct dueq_time time, unsigned budget, dueq_job_fn fn, void *arg,
                            struct dueq_dead_progress *progress);

/* ---- topics (topic_stats.c; core/topics.h has more) */

enum dueq_status queue_topic_stats(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_time time, struct dueq_topic_stats *ret_stats);
enum dueq_status queue_topic_latencies(struct queue *queue, struct dueq_slice topic,
                                       struct dueq_time time,
                                       struct dueq_latencies *ret_latencies);
enum dueq_status queue_total_stats(struct queue *queue, struct dueq_time time,
                                   struct dueq_topic_stats *ret_stats);

size_t queue_recent_topics(const struct queue *queue, struct dueq_slice *ret_names,
                           size_t most);

enum dueq_status queue_pause(struct queue *queue, struct dueq_slice topic, bool in, bool out,
                             int64_t wait, struct dueq_time time); /* pause.c */

enum dueq_status queue_purge(struct queue *queue, const struct dueq_purge *purge,
                             struct dueq_time time, unsigned budget,
                             struct dueq_purge_progress *progress); /* purge.c */
/* pause.c */
enum dueq_status queue_drop(struct queue *queue, struct dueq_slice topic,
                            struct dueq_time time);

/* ring_read.c */
enum dueq_status queue_events(struct queue *queue, struct dueq_slice topic, uint64_t after,
                              size_t count, dueq_kept_fn fn, void *arg);
enum dueq_status queue_last_event(struct queue *queue, struct dueq_slice topic,
                                  uint64_t *ret_number);

/* ---- time (tick.c) */

/* Does the queue's share of dueq_tick. *budget: steps; what is left of them is returned in it,
 * and 0 means that there may be more to do. */
void queue_tick(struct queue *queue, struct dueq_time time, unsigned *budget);
/* ms after `time`; DUEQ_NEVER: nothing is scheduled. O(1). */
int64_t queue_next_tick(const struct queue *queue, struct dueq_time time);

/* Compares all counts, entries, indexes and timers. Returns NULL when they agree, else what is
 * wrong (static text). For tests. O(jobs). (check.c) */
const char *queue_check(struct queue *queue);
/* The same, for dueq_verify: reports all that is wrong, and what belongs to no topic. Topics
 * that sleep go on to sleep. */
struct findings;
void queue_verify(struct queue *queue, struct findings *findings);

#endif
