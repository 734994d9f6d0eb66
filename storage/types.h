/* The types of the public API, shared by the layers of storage. Installed beside dueq.h. */
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
#define DUEQ_DEFAULT  (-1) /* "as the store's defaults say" */

/* The two clocks of one moment, ms. `now`: the queue's clock, never going backward, not even
 * across restarts (start it at dueq_time_floor or later): delays, leases and backoff are
 * measured on it. `wall`: the wall clock, unix ms, which may step either way: only jobs pushed
 * with `at` follow it. Both rounded down; a millisecond gained between the two is taken for
 * rounding. `ceiling`: `now` rounded up: what takes a while is counted from there, so that it
 * does not end early by the part of a ms that had gone by. Less than `now`, 0 say: `now`
 * itself. Where there is but one clock, in whole ms, give the same thrice. */
struct dueq_time {
    int64_t now;
    int64_t wall;
    int64_t ceiling;
};

/* What ties the queue's clock to others, so that it can go on after a restart: the caller's,
 * kept with the store. */
enum { DUEQ_BOOT_SIZE = 16 };
struct dueq_timeline {
    int64_t ahead;      /* ms by which the wall clock is ahead of the queue's */
    int64_t since_boot; /* usec by which it is ahead of the machine's clock since boot */
    uint8_t boot[DUEQ_BOOT_SIZE]; /* of which boot; all zero: none */
};

/* What a push takes when it does not say; retries and backoff are copied into the job. */
struct dueq_defaults {
    int64_t lease;       /* 60 s */
    int64_t retries;     /* 20: a job is given out at most retries + 1 times */
    int64_t backoff;     /* 1 s, doubling with every attempt */
    int64_t backoff_max; /* 1 h */
};

enum dueq_state { DUEQ_DELAYED, DUEQ_READY, DUEQ_CLAIMED, DUEQ_DEAD };
enum { DUEQ_STATES = 4 };
const char *dueq_state_name(enum dueq_state state); /* "delayed" ... */

struct dueq_push {
    struct dueq_slice topic;
    struct dueq_slice id; /* size 0: the store gives one, sortable by time */
    struct dueq_slice body;
    bool absolute; /* due = at, on the wall clock; else due = now + delay */
    int64_t delay; /* >= 0 */
    int64_t at;    /* unix ms; the past is now */
    int priority;  /* 0 (most urgent) to 255; DUEQ_DEFAULT: 128 */
    int64_t lease; /* the rest: DUEQ_DEFAULT or a value */
    int64_t retries;
    int64_t backoff;
    int64_t backoff_max;
    int64_t ttl; /* counted from due, also when the wall clock has been set back: a job still
                  * unclaimed then is dead. DEFAULT: none */
};
void dueq_push_init(struct dueq_push *push); /* everything default, nothing delayed */

/* Moments are unix ms of the wall clock, as it stands: after a step, what is measured on the
 * queue's clock is shown at another moment. */
struct dueq_job {
    struct dueq_slice id, body, error; /* error: of the last nack or expiry; size 0: none */
    char given_id[24]; /* where `id` lies, when the store gave it: a copy of this structure has
                          the id of the original */
    enum dueq_state state;
    int64_t due; /* when it can be claimed; claimed: end of the lease; dead: when it died */
    int64_t pushed;
    int64_t token;   /* of the last claim; 0: never claimed */
    int64_t attempt; /* claims so far */
    int priority;
    int64_t lease, retries, backoff, backoff_max;
    int64_t ttl; /* DUEQ_DEFAULT: none */
};

struct dueq_nack {
    int64_t delay;           /* DUEQ_DEFAULT: the job's backoff */
    struct dueq_slice error; /* kept with the job, cut at DUEQ_ERROR_MAX */
    bool dead;               /* no more retries */
    bool unseen;             /* nobody got the job: the claim does not count as an attempt */
};

struct dueq_topic_stats {
    uint64_t counts[DUEQ_STATES]; /* jobs by state */
    int64_t oldest_ready_age;     /* ms since the longest waiting ready job fell due; 0: none */
    int64_t next_due;             /* moment of the next delayed job; DUEQ_NEVER: none */
    uint64_t pushed, claimed, acked, nacked, deleted;
    uint64_t expired; /* leases that ran out */
    uint64_t lapsed;  /* jobs whose ttl ran out */
    uint64_t dead;    /* jobs that became dead, for whatever reason */
    bool counting;    /* delayed and ready are not yet exact: see below */
};

/* Memory that a large value lies in. A put whose last slice is all of its bytes takes it over
 * instead of copying it, and writes the slices before into the room in front. */
struct dueq_loan {
    void *memory; /* for free(); NULL: taken over */
    uint8_t *data;
    size_t size, before; /* bytes; of the room in front */
};

/* Topics in use above which their sums are as of the last dueq_tick: dueq_total_stats. */
enum { DUEQ_TOPICS_AGED = 1000 };

#ifdef __cplusplus
}
#endif

#endif
