/* libdueq: a durable delay and work queue in a directory. The public C API; the dueq server is
 * its first user.
 *
 * One thread owns a store; several stores may live in one process. Every change gathers in a
 * batch that dueq_commit writes to the journal as one atomic record. What a commit covers is
 * settled (on disk, with `durability always`) when dueq_settled reaches the LSN it gave; do not
 * tell anybody about a result before that: also not about one that was only read.
 *
 * Time is given, never read: struct dueq_time. Durations and times are milliseconds; moments
 * that are returned are unix ms of the wall clock.
 *
 * Names and ids are 1 to 255 bytes of anything; bodies up to DUEQ_BODY_MAX. Slices returned
 * live until the next call that changes the store (push, claim, ack, nack, extend, del, flush,
 * tick, commit, maintain). On any status but DUEQ_OK outputs are untouched and nothing has
 * changed. */
#ifndef DUEQ_H
#define DUEQ_H

/* Beside this file, in the source tree and where it is installed (as <dueq/dueq.h>). */
#include "kv/options.h"
#include "slice.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dueq;
struct kv;

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

/* ---- the store */

/* Fills in the defaults: every commit synced, two memtables of 48 MiB at most and beside them a
 * filter of job ids of a quarter of one (two while one is filled), a journal of 512 MiB. A
 * small device wants less of everything: see kv/options.h. */
void dueq_options_init(struct kv_options *options);

/* kv: NULL for the defaults. The directory is made when it is not there. Topics are armed from
 * the directory of topics; no backlog is read. time.now before dueq_time_floor, DUEQ_DEFAULT
 * say, is taken for that; for a new store DUEQ_DEFAULT is the wall clock. */
enum dueq_status dueq_open(const char *dir, const struct kv_options *kv, struct dueq_time time,
                           struct dueq **ret_store, struct dueq_error *error);
/* Commits what has gathered, settles and checkpoints. The status is that of the commit, else of
 * the checkpoint. Of a commit that fails nothing is left; what was committed before is in the
 * journal, and the next opening replays it. Memory is freed whatever it is. store may be NULL.
 */
enum dueq_status dueq_close(struct dueq *store);
/* As a crash would: what has gathered is lost. For a failed store, and to give up a batch. */
void dueq_abandon(struct dueq *store);

void dueq_get_defaults(const struct dueq *store, struct dueq_defaults *ret_defaults);
void dueq_set_defaults(struct dueq *store, const struct dueq_defaults *defaults);

/* The last moment of the queue's clock that this store knows of; 0 when new. */
int64_t dueq_time_floor(const struct dueq *store);

/* What dueq_keep_timeline was given last; false: nothing yet. */
bool dueq_get_timeline(const struct dueq *store, struct dueq_timeline *ret_line);
/* Takes it into the batch when it is another than the one kept. */
void dueq_keep_timeline(struct dueq *store, const struct dueq_timeline *line);

/* DUEQ_FULL, DUEQ_NOMEM: there is no room, memory or descriptor for the batch at this moment;
 * it stays, commit again later, or give it up with dueq_abandon. Others: the store failed. */
enum dueq_status dueq_commit(struct dueq *store, struct dueq_time time, uint64_t *ret_lsn);
size_t dueq_batch_bytes(const struct dueq *store);
uint64_t dueq_settled(const struct dueq *store);
enum dueq_status dueq_wait(struct dueq *store, uint64_t lsn);
void dueq_maintain(struct dueq *store, bool idle); /* once a turn: see kv_maintain */
/* Commits, and waits until the checkpoint has everything: the next start has nothing to replay.
 */
enum dueq_status dueq_checkpoint(struct dueq *store, struct dueq_time time);
enum dueq_status dueq_status(const struct dueq *store);
const char *dueq_failure(const struct dueq *store);

/* The key space beneath, for durability changes, checkpoints and statistics: for programs built
 * from this source tree, as the server is (storage/kv/kv.h is not installed). */
struct kv *dueq_kv(struct dueq *store);

/* ---- jobs */

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

/* *ret_id: the job's id. DUEQ_DUPLICATE (nothing of the existing job changes), DUEQ_FULL,
 * DUEQ_TOOBIG, DUEQ_INVALID. O(log n). */
enum dueq_status dueq_push(struct dueq *store, const struct dueq_push *push,
                           struct dueq_time time, struct dueq_slice *ret_id);

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

/* Gives out one due job of the topic: least priority number first, then due, then order of
 * arrival. lease: DUEQ_DEFAULT for the job's own. DUEQ_NOTFOUND when nothing is due; DUEQ_BUSY
 * when a thousand jobs whose ttl has run out, or tens of thousands that were removed just now,
 * were in the way and more may be: call again, after a dueq_tick if there is other work. The
 * token is greater than every token given in this topic before. O(log n). */
enum dueq_status dueq_claim(struct dueq *store, struct dueq_slice topic, int64_t lease,
                            struct dueq_time time, struct dueq_job *ret_job);

/* Removes a finished job. DUEQ_NOTFOUND: no such job. DUEQ_STALE: it was claimed again, or
 * given back, since that token. A late ack with nobody in between is accepted. */
enum dueq_status dueq_ack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          int64_t token, struct dueq_time time);

struct dueq_nack {
    int64_t delay;           /* DUEQ_DEFAULT: the job's backoff */
    struct dueq_slice error; /* kept with the job, cut at DUEQ_ERROR_MAX */
    bool dead;               /* no more retries */
    bool unseen;             /* nobody got the job: the claim does not count as an attempt */
};
/* Gives a claimed job back; past its retries it is dead. *ret_state: what became of it. */
enum dueq_status dueq_nack(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                           int64_t token, const struct dueq_nack *nack, struct dueq_time time,
                           enum dueq_state *ret_state);

/* The lease ends `lease` ms from now. *ret_end: that moment. */
enum dueq_status dueq_extend(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                             int64_t token, int64_t lease, struct dueq_time time,
                             int64_t *ret_end);

enum dueq_status dueq_get(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time, struct dueq_job *ret_job);

/* Removes a job in whatever state. */
enum dueq_status dueq_del(struct dueq *store, struct dueq_slice topic, struct dueq_slice id,
                          struct dueq_time time);

/* ---- topics */

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
/* Delayed and ready are exact at the given time, unless thousands have fallen due since the
 * last tick: then `counting` is true, some that are ready count as delayed, the age and
 * next_due are of what has been counted, and dueq_tick or another call goes on. The sum of both
 * is exact always. Leases and lives that have ended count when dueq_tick has come to them.
 * Bounded, a millisecond or so. */
enum dueq_status dueq_topic_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_time time, struct dueq_topic_stats *ret_stats);

/* The same of all topics together; totals also of those that are no more. Above
 * DUEQ_TOPICS_AGED topics delayed and ready are as of the last dueq_tick (`counting`: it has
 * not come to everything), next_due is DUEQ_NEVER and the age DUEQ_DEFAULT: not known. */
enum { DUEQ_TOPICS_AGED = 1000 };
enum dueq_status dueq_total_stats(struct dueq *store, struct dueq_time time,
                                  struct dueq_topic_stats *ret_stats);

/* Names of the topics, in byte order; one without jobs is dropped when a thousand others became
 * empty after it, and its totals with it: the first after `after` (size 0: the
 * first). DUEQ_NOTFOUND at the end. */
enum dueq_status dueq_topic_after(struct dueq *store, struct dueq_slice after,
                                  struct dueq_slice *ret_name);
size_t dueq_topic_count(const struct dueq *store);

/* Removes everything. Space is given back in slices by dueq_tick. */
enum dueq_status dueq_flush(struct dueq *store, struct dueq_time time);

/* ---- time and waiting */

/* Does what is due (leases that ended, ttls, jobs falling due) in at most `budget` steps. True:
 * there is more, call again. */
bool dueq_tick(struct dueq *store, struct dueq_time time, unsigned budget);

/* How many ms after `time` dueq_tick wants to be called; DUEQ_NEVER: nothing is scheduled.
 * O(1). */
int64_t dueq_next_tick(const struct dueq *store, struct dueq_time time);

/* A topic in which a job became claimable since the last call (push, nack, lease end, a job
 * falling due); DUEQ_NOTFOUND when there is none left. Each is named once, in order. */
enum dueq_status dueq_next_signal(struct dueq *store, struct dueq_slice *ret_topic);

#ifdef __cplusplus
}
#endif

#endif
