/* Rate limits of claims: a topic, and each of its groups, has a bucket of permits. A claim
 * takes one; a full bucket has `burst` of them, and `count` come back in each `period`. A
 * bucket is one moment (bucket.h), so that nothing is written when permits come back. A job
 * without a permit stays ready. What is less than a ms counts as the ms in which it is, so that
 * rates above 1,000 a second are kept too. Private to storage/queue. */
#ifndef DUEQ_RATES_H
#define DUEQ_RATES_H

#include "storage/queue/record/bucket.h"
#include "storage/status.h"
#include "storage/types.h"

struct queue;
struct topic;

struct rate {
    int64_t count, period, burst; /* jobs, ms, jobs; count 0: there is no limit */
};

/* Of the numbers of both rates. DUEQ_CORRUPT: one is out of range. DUEQ_FORMAT: this build
 * knows no rates (rates_none.c). */
enum dueq_status rates_check(const struct dueq_settings *settings);
/* setting: DUEQ_SET_RATE or DUEQ_SET_GROUP_RATE. settings: NULL: none. */
struct rate rates_read(const struct dueq_settings *settings, enum dueq_setting setting);
/* A number of the rate, by which it is told from others; 0: no limit. */
uint64_t rates_number(const struct rate *rate);

/* ---- a bucket. All O(1). */

/* Since when, or from when on, it has a permit, on the queue's clock; INT64_MIN: it is full, or
 * there is no limit. */
int64_t rates_next(const struct rate *rate, const struct bucket *bucket);
/* How many it has. */
uint64_t rates_permits(const struct rate *rate, const struct bucket *bucket, int64_t now);
void rates_take(const struct rate *rate, struct bucket *bucket, int64_t now);
/* What time has filled is full, and after a change of the rate no bucket lacks more than all of
 * its permits. */
void rates_settle(const struct rate *rate, struct bucket *bucket, int64_t now);

/* ---- that of a topic */

/* Has it a permit? If not, the topic is signalled as soon as it has. */
bool rates_allow(struct queue *queue, struct topic *topic, int64_t now);
/* A job of the topic was claimed. */
void rates_note_claim(struct queue *queue, struct topic *topic, int64_t now);
/* Part of a tick: wakes claims that were refused, and lets a topic without jobs go when its
 * bucket is full. */
void rates_tick(struct queue *queue, struct topic *topic, int64_t now);
/* When that is to be called again; DUEQ_NEVER. */
int64_t rates_next_event(struct queue *queue, struct topic *topic);

#endif
