/* The records of recurring jobs, and their entries in RAM. Private to storage/queue. */
#ifndef DUEQ_CRON_STORE_H
#define DUEQ_CRON_STORE_H

#include "storage/kv/key.h"
#include "storage/queue/core/crons.h"
#include "storage/queue/record/cron_record.h"

struct queue;

/* The slices are valid until the next write to the key space. */
struct cron {
    struct cron_rule rule;
    struct cron_state state;
};

/* Which clock the times of a rule are on. */
static inline uint8_t cron_clock(const struct cron_rule *rule)
{
    return rule->every > 0 ? CLOCK_QUEUE : CLOCK_WALL;
}

/* By how much the entry of that name is later, ms. */
int64_t cron_delay(struct dueq_slice name, const struct cron_rule *rule);

/* Makes the entries of all records. O(entries). DUEQ_CORRUPT, DUEQ_NOMEM, DUEQ_IO. DUEQ_FORMAT:
 * there are records, and this build knows no recurring jobs (storage/crons_none.c). */
enum dueq_status crons_load(struct queue *queue);

/* DUEQ_NOTFOUND: there is no such rule. DUEQ_CORRUPT: a record is malformed or missing. */
enum dueq_status cron_load(struct queue *queue, struct dueq_slice name, struct cron *ret_cron);
/* The rule's slices lie in no record. */
void cron_save_rule(struct queue *queue, struct dueq_slice name, const struct cron_rule *rule);
/* Writes the state; the entry waits for its next time. delay: see cron_delay. */
void cron_save_state(struct queue *queue, struct cron_entry *entry, uint8_t clock,
                     int64_t delay, const struct cron_state *state);
/* Removes the records and the entry. */
void cron_remove(struct queue *queue, struct cron_entry *entry);
/* The first name after `after`; see dueq_cron_after. */
enum dueq_status cron_name_after(struct queue *queue, struct dueq_slice after,
                                 struct dueq_slice *ret_name);

#endif
