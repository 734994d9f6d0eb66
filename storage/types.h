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
    DUEQ_NAME_MAX = 255,      /* topic names and job ids, bytes */
    DUEQ_ERROR_MAX = 1024,    /* error text kept with a job; longer is cut */
    DUEQ_PROGRESS_MAX = 1024, /* progress text kept with a job; longer is cut */
    DUEQ_WORKER_MAX = 64,     /* name of a worker; longer is cut */
    DUEQ_ATTEMPTS_KEPT = 8,   /* attempts remembered with a job */
    DUEQ_STEPS_MAX = 16       /* steps of a backoff */
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

/* The values for what neither a job nor its topic sets. They are looked up when they are used,
 * so that a change applies to jobs that wait. Times are ms. */
struct dueq_defaults {
    int64_t lease;       /* 60 s */
    int64_t retries;     /* 20: a job is dead after retries + 1 failures */
    int64_t crashes;     /* 3: a job is dead after crashes + 1 leases that ended */
    int64_t backoff;     /* 1 s, doubling with every failure */
    int64_t backoff_max; /* 1 h */
};

/* A done job is kept for its result, or for its id, as long as the ack or the topic says. */
/* A waiting job is to run after others that are not done yet (dueq_push.after). */
enum dueq_state { DUEQ_DELAYED, DUEQ_READY, DUEQ_CLAIMED, DUEQ_DEAD, DUEQ_DONE, DUEQ_WAITING };
enum { DUEQ_STATES = 6 };
/* "delayed", "ready", "claimed", "dead", "done" or "waiting"; static text. */
const char *dueq_state_name(enum dueq_state state);

/* What can be set for a topic, or for all topics that match a pattern. Times are ms. */
enum dueq_setting {
    DUEQ_SET_LEASE,
    DUEQ_SET_RETRIES,
    DUEQ_SET_CRASHES,
    DUEQ_SET_BACKOFF, /* this, the next two and the steps come from one scope */
    DUEQ_SET_BACKOFF_MAX,
    DUEQ_SET_JITTER,            /* percent */
    DUEQ_SET_TTL,               /* of new jobs without one */
    DUEQ_SET_TTL_ACTION,        /* enum dueq_ttl_action */
    DUEQ_SET_KEEP,              /* how long done jobs are kept */
    DUEQ_SET_DEAD_KEEP,         /* how long dead jobs are kept */
    DUEQ_SET_DEAD_MAX,          /* how many dead jobs are kept */
    DUEQ_SET_MAX_LENGTH,        /* delayed, ready and claimed jobs */
    DUEQ_SET_MAX_BYTES,         /* of the bodies of all jobs */
    DUEQ_SET_OVERFLOW,          /* enum dueq_overflow */
    DUEQ_SET_MAX_BODY,          /* bytes of one body */
    DUEQ_SET_DURABILITY,        /* DUEQ_SYNC_ALWAYS or DUEQ_SYNC_INTERVAL */
    DUEQ_SET_GROUP_MODE,        /* enum dueq_group_mode */
    DUEQ_SET_GROUP_ON_FAILURE,  /* enum dueq_group_failure */
    DUEQ_SET_CONCURRENCY,       /* jobs of the topic that are claimed at a time */
    DUEQ_SET_GROUP_CONCURRENCY, /* jobs of a group that are claimed at a time, 1 to DUEQ_CAP_MAX
                                 */
    DUEQ_SET_AGE_AFTER,   /* a ready job gains a priority each time it has waited so long */
    DUEQ_SET_RATE,        /* jobs of the topic that may be claimed in each period, 1 to
                             DUEQ_RATE_MAX; this and the next two come from one scope */
    DUEQ_SET_RATE_PERIOD, /* 1 to DUEQ_RATE_PERIOD_MAX */
    DUEQ_SET_RATE_BURST,  /* at once, 1 to DUEQ_RATE_MAX; not set: as many as the rate */
    DUEQ_SET_GROUP_RATE,  /* these three: the same for each group */
    DUEQ_SET_GROUP_RATE_PERIOD,
    DUEQ_SET_GROUP_RATE_BURST,
    DUEQ_SET_EVENTS /* the topic keeps so many events, 0 to DUEQ_RING_MAX; 0: none */
};
enum { DUEQ_SETTINGS = DUEQ_SET_EVENTS + 1 };
enum { DUEQ_RING_MAX = 1000000 };
enum dueq_ttl_action { DUEQ_TTL_DEAD, DUEQ_TTL_DROP };
enum dueq_overflow { DUEQ_OVERFLOW_REJECT, DUEQ_OVERFLOW_DROP_OLDEST };

/* Which jobs of groups can be claimed. */
enum dueq_group_mode {
    DUEQ_GROUP_NONE,
    DUEQ_GROUP_SERIAL, /* one job of a group at a time, in the order in which they come */
    DUEQ_GROUP_FAIR    /* groups take turns, by the weights of their jobs */
};
/* n jobs of a group at a time, 1 to DUEQ_CAP_MAX: another value of DUEQ_SET_GROUP_MODE. */
#define DUEQ_GROUP_CAP(n) (DUEQ_GROUP_FAIR + (int64_t)(n))
#define DUEQ_CAP_MAX      INT64_C(1000000000)
/* Of DUEQ_GROUP_SERIAL: what a job does that is given back, or whose lease ended, until it is
 * claimed again, dead or removed. */
enum dueq_group_failure {
    DUEQ_GROUP_HOLD, /* no other job of its group is claimed */
    DUEQ_GROUP_PASS  /* the others go on */
};
enum { DUEQ_WEIGHT_MAX = 1000 };
enum { DUEQ_RATE_MAX = 1000000 };                   /* jobs in a period */
#define DUEQ_RATE_PERIOD_MAX INT64_C(3162240000000) /* 100 years of 366 days */

enum { DUEQ_SCOPES_MAX = 10000 }; /* names and patterns with settings */

struct dueq_settings {
    int64_t numbers[DUEQ_SETTINGS]; /* DUEQ_DEFAULT: not set */
    int64_t steps[DUEQ_STEPS_MAX];  /* of the backoff */
    size_t step_count;              /* 0: not set */
    uint8_t dead_topic[DUEQ_NAME_MAX];
    size_t dead_topic_size; /* 0: not set */
};
/* Nothing is set. */
void dueq_settings_init(struct dueq_settings *settings);

/* What a push does when the topic has a job with its id. */
enum dueq_on_duplicate {
    DUEQ_REJECT,   /* it is refused: DUEQ_DUPLICATE */
    DUEQ_IGNORE,   /* nothing happens */
    DUEQ_REPLACE,  /* the job takes its body, options and due time, and has no attempts */
    DUEQ_DEBOUNCE, /* the job takes its due time */
    DUEQ_THROTTLE  /* as DUEQ_IGNORE; its window counts from the push */
};

/* A job that another one runs after. */
struct dueq_prerequisite {
    struct dueq_slice topic; /* size 0: that of the job that waits */
    struct dueq_slice id;
};
/* What a waiting job does when one of those that it waits for is dead, or is removed before it
 * was done: cancelled, deleted, purged, dropped, moved to another topic. */
enum dueq_on_dead {
    DUEQ_ON_DEAD_FAIL, /* it is dead, too */
    DUEQ_ON_DEAD_RUN,  /* it goes on as if that one were done */
    DUEQ_ON_DEAD_WAIT  /* it waits until the dead one was redriven and is done. One that was
                          removed it waits for until somebody lets it run: dueq_reschedule */
};
enum { DUEQ_AFTER_MAX = 10000 }; /* jobs that one waits for */

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
    int64_t crashes;
    int64_t backoff;
    int64_t backoff_max;
    int64_t jitter; /* percent of a wait that varies either way, 0 to 100; DUEQ_DEFAULT: 20,
                       with steps 0 */
    /* ms; instead of backoff: the wait after the first failure, after the second ...; the last
     * repeats. Only the first step_count are looked at; 0: none. */
    int64_t steps[DUEQ_STEPS_MAX];
    size_t step_count;
    int64_t ttl; /* ms after the due time, also when the wall clock was set back: a job that is
                    not claimed by then is dead. DUEQ_DEFAULT: no limit */
    enum dueq_on_duplicate on_duplicate;
    int64_t window;   /* ms for which the id stays taken after the job is done, or from the push
                         on   (DUEQ_THROTTLE); DUEQ_DEFAULT: none */
    bool ignore_dead; /* a dead job with the id is removed first */
    struct dueq_slice group; /* up to DUEQ_NAME_MAX bytes; size 0: none */
    int64_t weight; /* 1 to DUEQ_WEIGHT_MAX: in a fair topic the job takes 1/weight of a turn of
                       its group; DUEQ_DEFAULT: 1 */
    /* The job waits until these are done; then its delay begins, and its ttl after that. One
     * that is not there counts as done: it was never pushed, or it is done and was not kept. So
     * a job waits only for older ones, or for earlier ones of the same batch, and cycles cannot
     * be made: DUEQ_INVALID for the job's own id or a later one of the batch, and together with
     * DUEQ_REPLACE or DUEQ_DEBOUNCE. A follow-up that takes the place of one is waited for,
     * too. Up to DUEQ_AFTER_MAX; NULL, 0: none. */
    const struct dueq_prerequisite *after;
    size_t after_count;
    enum dueq_on_dead on_dead;
};
/* All defaults, no delay; topic, id and body are empty. */
void dueq_push_init(struct dueq_push *push);

/* What a push did. */
enum dueq_push_outcome {
    DUEQ_CREATED,
    DUEQ_IGNORED,   /* the topic has a job with the id, or it was done a short time ago */
    DUEQ_REPLACED,  /* the job has the new body, options and due time */
    DUEQ_DEBOUNCED, /* the job has the new due time */
    DUEQ_FOLLOWS    /* the job is claimed: the new one takes its place when the claim ends */
};
/* "created", "ignored", "replaced", "debounced" or "follows"; static text. */
const char *dueq_push_outcome_name(enum dueq_push_outcome outcome);

struct dueq_pushed {
    struct dueq_slice id; /* the caller's bytes, or those of given_id */
    char given_id[24];    /* a copy of the struct still refers to those of the original */
    enum dueq_push_outcome outcome;
};

/* How a job is done. */
struct dueq_done {
    bool has_result;
    struct dueq_slice result; /* kept with the job; up to DUEQ_BODY_MAX bytes */
    /* ms for which the done job is kept. DUEQ_DEFAULT: as its topic says, and with a result
     * DUEQ_RESULT_KEEP if the topic keeps none. 0: it is not kept, and can have no result. */
    int64_t keep;
};
#define DUEQ_RESULT_KEEP INT64_C(3600000)

/* How a watched job has ended. */
enum dueq_end {
    DUEQ_END_NONE, /* it has not */
    DUEQ_END_DONE,
    DUEQ_END_DEAD,
    DUEQ_END_CANCELLED,
    DUEQ_END_GONE /* removed, or moved to another topic */
};
enum { DUEQ_WATCHES_MAX = 10000000 };

/* How a claim ended that was no ack. */
enum dueq_outcome { DUEQ_FAILED, DUEQ_SILENT, DUEQ_FATAL, DUEQ_CRASHED };
enum { DUEQ_OUTCOMES = 4 };
/* "failed", "silent", "fatal" or "crashed"; static text. */
const char *dueq_outcome_name(enum dueq_outcome outcome);

/* A claim that ended without an ack. */
struct dueq_attempt {
    int64_t ended;    /* unix ms */
    int64_t duration; /* ms since the claim */
    enum dueq_outcome outcome;
    struct dueq_slice worker; /* size 0: not named */
};

/* A job as it is now. Times are unix ms of the wall clock as it is set now: after it was set
 * forward or back, times that are measured on the queue's clock are shown differently. */
struct dueq_job {
    struct dueq_slice id, body, error; /* error: of the last nack or expiry; size 0: none */
    char given_id[24]; /* the bytes of `id` when the store gave it; a copy of the struct still
                          refers to those of the original */
    enum dueq_state state;
    int64_t due; /* when it can be claimed; claimed: end of the lease; dead, done, waiting:
                    since when */
    int64_t pushed;
    int64_t token;                    /* of the last claim; 0: never claimed */
    int64_t attempt;                  /* claims so far */
    int64_t failures, leases_expired; /* how many claims ended so */
    int priority;
    int64_t lease, retries, crashes, backoff, backoff_max; /* in effect */
    int64_t jitter;                                        /* percent */
    const int64_t *steps;                                  /* valid as long as the slices */
    size_t step_count;
    int64_t ttl;                /* DUEQ_DEFAULT: none */
    int64_t window;             /* ms for which the id stays taken; DUEQ_DEFAULT: none */
    int64_t claimed_at;         /* claimed: since when; else 0 */
    int64_t kept_until;         /* done: when it is removed; else 0 */
    struct dueq_slice worker;   /* of the last claim; size 0: not named */
    struct dueq_slice progress; /* as the worker told it last */
    bool cancelled;             /* claimed, and not to be tried again */
    bool has_result;            /* done: its worker gave one. Only dueq_get shows it ... */
    struct dueq_slice result;   /* ... here; may have size 0 */
    bool followed; /* claimed, and a job of the same id takes its place afterwards */
    struct dueq_slice history; /* the last attempts: see dueq_job_attempts */
    struct dueq_slice group;   /* size 0: none */
    int64_t weight;
    uint64_t awaits; /* waiting: how many jobs it waits for (dueq_awaited tells which); else 0
                      */
    enum dueq_on_dead on_dead; /* waiting: what it does when one of them dies */
    int64_t delay; /* waiting: ms that it waits after the last of them, unless it is due at a
                      moment of the wall clock: */
    int64_t at;    /* waiting: that moment, unix ms; 0: there is none */
};
/* Reads job->history, the oldest first; returns how many there are. */
size_t dueq_job_attempts(const struct dueq_job *job,
                         struct dueq_attempt ret_attempts[DUEQ_ATTEMPTS_KEPT]);

struct dueq_nack {
    int64_t delay;              /* ms; DUEQ_DEFAULT: the job's backoff; silent: 0 */
    struct dueq_slice error;    /* stored with the job; cut to DUEQ_ERROR_MAX bytes */
    struct dueq_slice progress; /* the same, cut to DUEQ_PROGRESS_MAX; size 0: as it was */
    /* DUEQ_FAILED (0) counts against the retries, DUEQ_SILENT does not, DUEQ_FATAL makes the
     * job dead. */
    enum dueq_outcome outcome;
    bool unseen; /* true: no worker received the job; the claim is no attempt */
};

/* What a group of a topic has now. */
struct dueq_group_stats {
    uint64_t claimed; /* jobs */
    uint64_t most;    /* that may be claimed at a time; UINT64_MAX: any number */
    uint64_t holding; /* jobs that were given back and hold the group until they are claimed */
    bool waits;       /* its other jobs must wait */
    /* Which setting makes them wait, or would: DUEQ_SET_GROUP_MODE, ..._GROUP_CONCURRENCY, or
     * ..._GROUP_ON_FAILURE while a job holds the group. */
    enum dueq_setting limit;
    uint64_t topic_claimed, topic_most; /* the same of the topic */
    /* When the rate of the group and that of the topic let the next job be claimed, unix ms; 0:
     * at once. */
    int64_t next, topic_next;
};

struct dueq_topic_stats {
    uint64_t counts[DUEQ_STATES]; /* jobs by state */
    int64_t oldest_ready_age;     /* ms since the oldest ready job fell due; 0: none */
    int64_t next_due;             /* due time of the next delayed job; DUEQ_NEVER: none */
    uint64_t pushed, claimed, acked, nacked, deleted;
    uint64_t leases_expired; /* leases that ran out */
    uint64_t jobs_expired;   /* jobs whose ttl ran out */
    uint64_t dead;           /* jobs that became dead, for any reason */
    uint64_t cancelled;      /* jobs removed by a cancel */
    uint64_t dead_removed;   /* dead jobs removed by the topic's limits of age and number */
    uint64_t dropped;        /* jobs removed to make room for others (overflow) */
    uint64_t bytes;          /* of the bodies of all jobs */
    bool purging;            /* a dueq_purge is under way: its last call was in this second */
    uint64_t purged;         /* jobs that it has removed so far */
    bool paused_in, paused_out;
    int64_t paused_until; /* unix ms; DUEQ_NEVER: until it is resumed. 0: not paused */
    bool counting;        /* delayed and ready are not exact: see dueq_topic_stats */
    bool rated;           /* claims of the topic have a rate (DUEQ_SET_RATE): */
    uint64_t rate_left;   /* jobs that it lets be claimed now */
    int64_t rate_next;    /* unix ms: when it lets the next one be; 0: now */
};

/* What happens to a job: dueq_listen, dueq_events. The numbers are on disk. */
enum dueq_event_type {
    DUEQ_EVENT_PUSHED, /* it came into the topic: by a push, a move or a death elsewhere */
    DUEQ_EVENT_DUE,    /* its due time has come */
    DUEQ_EVENT_CLAIMED,
    DUEQ_EVENT_ACKED,
    DUEQ_EVENT_NACKED,  /* given back, by a nack */
    DUEQ_EVENT_EXPIRED, /* its lease has ended */
    DUEQ_EVENT_LAPSED,  /* its ttl has run out */
    DUEQ_EVENT_DEAD,
    DUEQ_EVENT_CANCELLED, /* a job that is claimed: when the claim ends */
    DUEQ_EVENT_TYPES
};
const char *dueq_event_name(enum dueq_event_type type); /* "pushed" */

struct dueq_event {
    enum dueq_event_type type;
    struct dueq_slice topic, id;
};

enum { DUEQ_EVENTS_MOST = 10000 }; /* that wait to be taken; more are lost */

/* An event that a topic has kept, or a gap: events that it has not. */
struct dueq_kept_event {
    uint64_t number;  /* of the event; of the last one in a gap */
    uint64_t dropped; /* numbers in the gap; 0: this is an event, and it has the rest */
    enum dueq_event_type type;
    int64_t at;           /* unix ms, as the wall clock was then */
    int64_t attempt;      /* claims of the job so far */
    struct dueq_slice id; /* of the job */
    char given_id[24];    /* the bytes of `id` when the store gave it */
};
/* Gets each event or gap; its slices are valid during the call, which must not change the
 * store. False: no more are wanted. */
typedef bool (*dueq_kept_fn)(void *arg, const struct dueq_kept_event *event);

/* What dueq_claim_with asks for. */
struct dueq_claim {
    struct dueq_slice topic;
    int64_t lease;            /* ms; DUEQ_DEFAULT: the job's own */
    struct dueq_slice worker; /* its name, kept with the job: the first DUEQ_WORKER_MAX bytes */
    int64_t waits_since;      /* a blocked claim: since when, on the queue's clock, ms;
                                 DUEQ_NEVER: it has not waited */
    bool leaves;              /* the caller acks the job before the next commit */
    bool yields; /* DUEQ_BUSY also when claims since the last commit have taken long
                    (dueq_claims_are_enough) */
};
/* Any worker's; topic is empty. */
void dueq_claim_init(struct dueq_claim *claim);

/* A large value that the store may take over (dueq_lend). A write takes the memory over when
 * its last part is exactly these bytes; it writes the parts before into the free bytes in
 * front. */
struct dueq_loan {
    void *memory; /* to be freed with free(); NULL: the store has taken it over */
    uint8_t *data;
    size_t size;   /* bytes of the value */
    size_t before; /* free bytes in front of data */
};

/* The last job that dueq_awaited has shown. Zero: none. */
struct dueq_awaited_place {
    uint64_t topic, seq;
};

/* Gets a job that another one waits for: its topic, its id and its state. is_gone: it was
 * removed, and its id is not known any more (size 0). The slices are valid during the call,
 * which must not change the store. False: no more are wanted. */
typedef bool (*dueq_awaited_fn)(void *arg, const struct dueq_prerequisite *of,
                                enum dueq_state state, bool is_gone);

/* Gets each job that a look finds; its slices are valid during the call, which must not change
 * the store. False: no more jobs are wanted. */
typedef bool (*dueq_job_fn)(void *arg, const struct dueq_job *job);

/* Which jobs of a topic dueq_scan returns. */
struct dueq_scan {
    struct dueq_slice topic;
    int state;        /* enum dueq_state; DUEQ_DEFAULT: any */
    bool by_due;      /* only jobs with a due time from `from` to `to` (both included) ... */
    int64_t from, to; /* ... unix ms, as dueq_job.due shows it */
    size_t count;     /* how many jobs the call looks at; 1 or more */
};
/* All jobs, 10 a call; topic is empty. */
void dueq_scan_init(struct dueq_scan *scan);
enum { DUEQ_CURSOR_SIZE = 64 }; /* bytes of a cursor's text, the NUL included */

/* Which jobs of a topic dueq_peek returns. */
struct dueq_peek {
    struct dueq_slice topic;
    int state;    /* enum dueq_state; DUEQ_DEFAULT: ready ones, then delayed ones */
    size_t count; /* at most so many */
};

/* Which jobs dueq_purge removes. */
struct dueq_purge {
    struct dueq_slice topic;
    int state;               /* any but DUEQ_CLAIMED; DUEQ_DEFAULT: all of these */
    struct dueq_slice match; /* glob pattern for the id; data NULL: any */
};
/* How far it has come. Set it to zero before the first call. */
struct dueq_purge_progress {
    uint64_t removed; /* jobs so far */
    bool is_over;
    uint64_t topic, next, end; /* for the store */
};

/* How far a forecast has come; for the store only. */
struct dueq_forecast_place {
    uint8_t priority, clock;
    size_t bucket;
    int64_t due;
    uint64_t seq;
};

/* How many jobs fall due in each of the next buckets. Set it to zero, then the first four
 * fields. */
struct dueq_forecast {
    struct dueq_slice topic;
    int64_t bucket;   /* its length, ms; 1 or more */
    size_t count;     /* of buckets */
    uint64_t *counts; /* the caller's, `count` of them, zeroed */
    bool begun;
    struct dueq_time begin; /* set by the first call: there the first bucket begins */
    struct dueq_forecast_place at;
};

/* Which dead jobs dueq_dead takes, and what it does with them. The slices are the caller's. */
enum dueq_dead_action { DUEQ_DEAD_LOOK, DUEQ_DEAD_PURGE, DUEQ_DEAD_REDRIVE };
struct dueq_dead {
    struct dueq_slice topic;
    enum dueq_dead_action action;
    bool dry_run;            /* finds out what the action would do, and does nothing */
    struct dueq_slice match; /* glob pattern for the id; data NULL: any */
    struct dueq_slice error; /* glob pattern for the last error; data NULL: any */
    int64_t older;           /* ms; only jobs that have been dead for so long; 0: all */
    uint64_t limit;          /* at most so many jobs; UINT64_MAX: all */
    /* Redrive: */
    struct dueq_slice to; /* another topic, which is made when missing; size 0: the same one */
    int64_t rate, period; /* `rate` jobs fall due in each `period` ms; rate 0: all now */
};
/* All jobs, and only a look; topic is empty. */
void dueq_dead_init(struct dueq_dead *dead);

/* How far dueq_dead has come. All zero: not begun. */
struct dueq_dead_progress {
    bool is_over;
    uint64_t found;   /* jobs that were looked at, purged or redriven, or would be */
    uint64_t skipped; /* jobs that a redrive leaves: the other topic has their id, or a limit of
                         the topic has no room for them */
    uint64_t bytes;   /* room that a redrive would need, counted by its dry run */
    /* The store's: */
    bool begun;
    int64_t began, until; /* ms, on the queue's clock */
    uint64_t left;        /* dead jobs at the beginning that it has not come to */
    uint64_t bodies;      /* bytes of those that a dry run would move */
    int64_t due;
    uint64_t seq;
};

/* With more topics, dueq_total_stats returns some figures of the last dueq_tick. */
enum { DUEQ_TOPICS_AGED = 1000 };

#ifdef __cplusplus
}
#endif

#endif
