/* Recurring jobs. The functions that storage/dueq.h has under the same name with dueq_ are
 * specified there. */
#ifndef DUEQ_CRON_ENTRIES_H
#define DUEQ_CRON_ENTRIES_H

#include "storage/calendar/calendar.h"
#include "storage/dueq.h"
#include "storage/queue/core/queue_state.h"

enum dueq_status queue_cron_set(struct queue *queue, const struct dueq_cron *cron,
                                struct dueq_time time, struct dueq_error *error);
enum dueq_status queue_cron_get(struct queue *queue, struct dueq_slice name,
                                struct dueq_cron *ret_cron, struct dueq_cron_state *ret_state);
enum dueq_status queue_cron_del(struct queue *queue, struct dueq_slice name);
enum dueq_status queue_cron_pause(struct queue *queue, struct dueq_slice name, bool pause,
                                  struct dueq_time time);
enum dueq_status queue_cron_run(struct queue *queue, struct dueq_slice name,
                                struct dueq_time time, struct dueq_pushed *ret_pushed);
enum dueq_status queue_cron_next(struct queue *queue, struct dueq_slice name,
                                 struct dueq_time time, size_t count, int64_t *ret_times,
                                 size_t *ret_count);
void queue_get_cron_stats(const struct queue *queue, struct dueq_cron_stats *ret_stats);

/* Makes an entry with all that the store knows of it, for those who copy a store record by
 * record. DUEQ_DUPLICATE. DUEQ_INVALID: no entry is like that. DUEQ_FULL, DUEQ_NOMEM. */
enum dueq_status queue_restore_cron(struct queue *queue, struct dueq_slice name,
                                    const struct cron *cron);

/* The push of a firing; its slices are those of the rule. */
void cron_push(const struct cron_rule *rule, struct dueq_push *ret_push);

/* ---- times (cron_times.c) */

/* What is needed to compute times. */
struct cron_times {
    int64_t every, delay;
    struct cron_spec spec;
    struct calendar_zone zone;
    char zone_name[DUEQ_CRON_ZONE_MAX + 1];
};

/* error: CRON_SPEC_ERROR_MAX bytes. DUEQ_INVALID: the spec does not read. The slices of the
 * rule are not used later. */
enum dueq_status cron_times_begin(const struct queue *queue, struct dueq_slice name,
                                  const struct cron_rule *rule, struct cron_times *ret_times,
                                  char *error);
/* Sets state->base and ->local to the first time after `now`, which is on the clock of the
 * rule. With `every` the times before and after are a multiple of it away from state->base.
 * DUEQ_NOTFOUND: the zone cannot be read; nothing has changed. */
enum dueq_status cron_times_after(const struct cron_times *times, int64_t now,
                                  struct cron_state *state);
/* The same: to the time that follows. */
enum dueq_status cron_times_next(const struct cron_times *times, struct cron_state *state);

/* ---- firing (cron_fire.c) */

/* Fires what is due. *budget: steps; what is left of them is returned in it. */
void cron_tick(struct queue *queue, struct dueq_time time, unsigned *budget);
/* When cron_tick has something to do, ms on the queue's clock; DUEQ_NEVER. O(1). */
int64_t cron_next_tick(const struct queue *queue);
/* Pushes the job of an entry, whose rule is of no use afterwards, and counts that in the state.
 * DUEQ_WRONGSTATE: DUEQ_OVERLAP_SKIP. Others as queue_push. On failure nothing has changed. */
enum dueq_status cron_fire(struct queue *queue, struct cron *cron, struct dueq_time time,
                           struct dueq_pushed *ret_pushed);

/* The part of queue_check and queue_verify. (cron_check.c) */
struct findings;
void cron_audit(struct queue *queue, struct findings *findings);

#endif
