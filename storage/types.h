/* The types of the public API. Installed beside dueq.h. */
#ifndef DUEQ_TYPES_H
#define DUEQ_TYPES_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DUEQ_NAME_MAX = 255,  /* topic names and job ids, bytes */
    DUEQ_ERROR_MAX = 1024 /* error text kept with a job; longer is cut */
};
#define DUEQ_BODY_MAX ((size_t)512 << 20)
#define DUEQ_NEVER    INT64_MAX
#define DUEQ_DEFAULT  (-1) /* use the store's default */

/* One point in time on two clocks, ms.
 *
 * `now` is the queue's clock: delays, leases and backoff are measured on it. It never goes
 * backward, not even across restarts: start it at dueq_time_floor or later. `wall` is the wall
 * clock (unix ms), which may be set forward or back; only jobs pushed with `at` follow it. Both
 * are rounded down; a difference of 1 ms between their steps counts as rounding.
 *
 * `ceiling` is `now` rounded up: waits count from it, so that none ends a part of a ms early. A
 * value less than `now` (0, for instance) means `now`. A program with one clock in whole ms
 * gives the same value three times. */
struct dueq_time {
    int64_t now;
    int64_t wall;
    int64_t ceiling;
};

/* Relates the queue's clock to others, so that it can go on after a restart. The store keeps it
 * for the caller, and does not use it. */
enum { DUEQ_BOOT_SIZE = 16 };
struct dueq_timeline {
    int64_t ahead;                /* wall clock minus the queue's clock, ms */
    int64_t since_boot;           /* queue's clock minus the time since boot, us */
    uint8_t boot[DUEQ_BOOT_SIZE]; /* id of that boot; all zero: none */
};

/* For fields of a push that are DUEQ_DEFAULT. Retries and backoff are copied into the job at
 * the push; the lease is looked up at the claim. Times are ms. */
struct dueq_defaults {
    int64_t lease;       /* 60 s */
    int64_t retries;     /* 20: a job is claimed at most retries + 1 times */
    int64_t backoff;     /* 1 s, doubling with every attempt */
    int64_t backoff_max; /* 1 h */
};

enum dueq_state { DUEQ_DELAYED, DUEQ_READY, DUEQ_CLAIMED, DUEQ_DEAD };
enum { DUEQ_STATES = 4 };
/* "delayed", "ready", "claimed" or "dead"; static text. */
const char *dueq_state_name(enum dueq_state state);

struct dueq_push {
    struct dueq_slice topic;
    struct dueq_slice id; /* size 0: the store gives one; those sort by time */
    struct dueq_slice body;
    bool absolute; /* true: due at `at` on the wall clock; false: due after `delay` */
    int64_t delay; /* ms, 0 or more */
    int64_t at;    /* unix ms; a past time means now */
    int priority;  /* 0 (most urgent) to 255; DUEQ_DEFAULT: 128 */
    int64_t lease; /* ms; this and the following: DUEQ_DEFAULT or 0 and more */
    int64_t retries;
    int64_t backoff;
    int64_t backoff_max;
    int64_t ttl; /* ms after the due time, also when the wall clock was set back: a job that is
                    not claimed by then is dead. DUEQ_DEFAULT: no limit */
};
/* All defaults, no delay; topic, id and body are empty. */
void dueq_push_init(struct dueq_push *push);

/* A job as it is now. Times are unix ms of the wall clock as it is set now: after it was set
 * forward or back, times that are measured on the queue's clock are shown differently. */
struct dueq_job {
    struct dueq_slice id, body, error; /* error: of the last nack or expiry; size 0: none */
    char given_id[24]; /* the bytes of `id` when the store gave it; a copy of the struct still
                          refers to those of the original */
    enum dueq_state state;
    int64_t due; /* when it can be claimed; claimed: end of the lease; dead: since when */
    int64_t pushed;
    int64_t token;   /* of the last claim; 0: never claimed */
    int64_t attempt; /* claims so far */
    int priority;
    int64_t lease, retries, backoff, backoff_max;
    int64_t ttl; /* DUEQ_DEFAULT: none */
};

struct dueq_nack {
    int64_t delay;           /* ms; DUEQ_DEFAULT: the job's backoff */
    struct dueq_slice error; /* stored with the job; cut to DUEQ_ERROR_MAX bytes */
    bool dead;               /* true: no more retries */
    bool unseen;             /* true: no worker received the job; the claim is no attempt */
};

struct dueq_topic_stats {
    uint64_t counts[DUEQ_STATES]; /* jobs by state */
    int64_t oldest_ready_age;     /* ms since the oldest ready job fell due; 0: none */
    int64_t next_due;             /* due time of the next delayed job; DUEQ_NEVER: none */
    uint64_t pushed, claimed, acked, nacked, deleted;
    uint64_t leases_expired; /* leases that ran out */
    uint64_t jobs_expired;   /* jobs whose ttl ran out */
    uint64_t dead;           /* jobs that became dead, for any reason */
    bool counting;           /* delayed and ready are not exact: see dueq_topic_stats */
};

/* A large value that the store may take over (dueq_lend). A write takes the memory over when
 * its last part is exactly these bytes; it writes the parts before into the free bytes in
 * front. */
struct dueq_loan {
    void *memory; /* to be freed with free(); NULL: the store has taken it over */
    uint8_t *data;
    size_t size;   /* bytes of the value */
    size_t before; /* free bytes in front of data */
};

/* With more topics, dueq_total_stats returns some figures of the last dueq_tick. */
enum { DUEQ_TOPICS_AGED = 1000 };

#ifdef __cplusplus
}
#endif

#endif
