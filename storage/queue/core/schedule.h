/* The schedule of a topic: which of its jobs is pending, claimed, dead or done, and in which
 * order they come. Searches have a budget as those of cursors do (kv_cursor_seek_within):
 * DUEQ_NOTFOUND with a budget of 0 afterwards means that another call may find more. A NULL
 * budget has no end. Private to storage/queue. */
#ifndef DUEQ_SCHEDULE_H
#define DUEQ_SCHEDULE_H

#include "storage/queue/core/topic.h"

struct queue;

/* The present time on the lane's clock, ms. */
static inline int64_t schedule_lane_now(const struct lane *lane, struct dueq_time time)
{
    return lane->clock == CLOCK_QUEUE ? time.now : time.wall;
}

/* The time of the job's entry, ms: of a done job when it is removed, else when it is due. */
static inline int64_t schedule_time(const struct job_state *state)
{
    return state->state == PHASE_DONE ? state->expires : state->due;
}

/* Makes room for an entry of that state, so that schedule_add cannot fail. DUEQ_NOMEM;
 * DUEQ_CORRUPT, DUEQ_IO: its group cannot be read. */
enum dueq_status schedule_reserve(struct queue *queue, struct topic *topic,
                                  const struct job_state *state, struct dueq_time time);
/* An entry of that state will be added soon (kv_expect). */
void schedule_expect(struct queue *queue, const struct topic *topic,
                     const struct job_state *state, uint64_t seq);
/* Adds the job's entry and counts it; schedule_reserve comes before. */
void schedule_add(struct queue *queue, struct topic *topic, const struct job_state *state,
                  uint64_t seq, struct dueq_time time);
/* Removes the job's entry. state: the one that the entry was added with. */
void schedule_remove(struct queue *queue, struct topic *topic, const struct job_state *state,
                     uint64_t seq);

/* How many jobs of the topic may be claimed at a time; UINT64_MAX: any number. O(1). */
uint64_t schedule_most_claimed(struct queue *queue, struct topic *topic);
/* So many jobs of the topic were claimed before: wakes claims when the limit has a place again.
 */
void schedule_freed(struct queue *queue, struct topic *topic, uint64_t before);

/* The entry of a pending job that is due moves from its lane to the list of its group, where it
 * is on the queue's clock. */
void schedule_park(struct queue *queue, struct topic *topic, const struct job_state *state,
                   uint64_t seq);

/* The first entry of the lane that is due. DUEQ_NOTFOUND: none is. */
enum dueq_status schedule_first(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget,
                                struct position *ret_position);
/* Counts the jobs that have fallen due since the last count (or, with a wall clock that was set
 * back, those that are not due any more). *moved grows by the jobs that became ready. A budget
 * of 0 afterwards: there may be more. */
enum dueq_status schedule_count(struct queue *queue, struct topic *topic, struct lane *lane,
                                struct dueq_time time, unsigned *budget, uint64_t *moved);
/* The first entry of the lane at or after a position, due or not. DUEQ_NOTFOUND: there is none.
 */
enum dueq_status schedule_lane_first(struct queue *queue, const struct topic *topic,
                                     const struct lane *lane, struct position from,
                                     struct position *ret_position);
/* Makes lane->next_due exact. All jobs that are due must have been counted. */
enum dueq_status schedule_find_next_due(struct queue *queue, struct topic *topic,
                                        struct lane *lane, unsigned *budget);
/* The first entry of a class at or after a position. DUEQ_NOTFOUND: there is none. */
enum dueq_status schedule_class_first(struct queue *queue, const struct topic *topic,
                                      uint8_t class, struct position from, unsigned *budget,
                                      struct position *ret_position);
/* When the topic's settings let the dead job at topic->next_dead be removed, on the queue's
 * clock; DUEQ_NEVER: it is kept. */
int64_t schedule_dead_end(struct queue *queue, struct topic *topic);
/* No job of the topic needs a tick before, on the queue's clock; DUEQ_NEVER. O(lanes). */
int64_t schedule_next_event(struct queue *queue, struct topic *topic);

#endif
