/* A job's two records: the body, as it was pushed, and the state. Encodings:
 * storage/FORMAT.md. Private to storage/queue. */
#ifndef DUEQ_JOB_RECORD_H
#define DUEQ_JOB_RECORD_H

#include "storage/kv/key.h"
#include "storage/queue/record/numbers.h"
#include "storage/queue/record/safe_time.h"
#include "storage/status.h"
#include "storage/types.h"

/* The clock that the due time of a pending job is on. */
enum { CLOCK_QUEUE = 0, CLOCK_WALL = 1 };

enum job_phase {
    PHASE_PENDING,
    PHASE_CLAIMED,
    PHASE_DEAD,
    PHASE_DONE,
    PHASE_WAITING /* for other jobs (afters.h) */
};

/* What a push says. It changes only when the job is replaced or updated. Options are
 * DUEQ_DEFAULT when the push did not set them. */
struct job_body {
    struct dueq_slice id; /* size 0: given by the store, made of stamp and seq */
    struct dueq_slice body;
    struct dueq_slice group; /* size 0: none */
    uint64_t group_id;       /* its number (groups.h), no part of the record; 0: none */
    int64_t weight;          /* of the group's turn that it takes */
    uint8_t priority;
    uint8_t clock; /* that `due` is on */
    bool throttle; /* the window counts from the push */
    bool stripped; /* done; the body is removed, only the id is kept */
    int64_t due;   /* at first */
    int64_t lease, retries, crashes, backoff, backoff_max, jitter, ttl;
    int64_t window;                /* ms for which the id stays taken; DUEQ_DEFAULT: none */
    int64_t pushed;                /* on the wall clock */
    int64_t stamp;                 /* the same moment on the queue's clock: ids sort by it */
    int64_t steps[DUEQ_STEPS_MAX]; /* the first step_count */
    size_t step_count;
};

/* libdueq-small has no jobs that wait for others (afters_none.c). */
#ifdef DUEQ_SMALL
enum { AFTERS_KNOWN = 0 };
#else
enum { AFTERS_KNOWN = 1 };
#endif

struct job_state {
    enum job_phase state;
    bool token_valid; /* false: never claimed, or given back by a nack */
    bool cancelled;   /* claimed, and not to be tried again */
    bool followed;    /* claimed, and a follow-up waits for the end of the claim */
    bool windowed;    /* the body has a window; known from the first claim on */
    bool holds;       /* pending after a failure, and the others of its group wait for it */
    uint64_t group;   /* number of the body's group; 0: none */
    int64_t weight;   /* that of the body, no part of the record */
    uint8_t priority;
    uint8_t clock;
    /* Waiting: what it does when another job is not done and will not be (enum dueq_on_dead),
     * how many it waits for, and its delay after the last of them, ms. */
    uint8_t on_dead;
    uint32_t awaits;
    int64_t delay;
    /* Pending: due; claimed: end of the lease; dead, done, waiting: since when. */
    int64_t due;
    int64_t since; /* of the last claim, also after it; never claimed: any time */
    int64_t attempt, token;
    int64_t failures, crashes;
    int64_t expires; /* end of the ttl; done: when it is removed; DUEQ_NEVER: none */
    int64_t size;    /* of the body; DUEQ_DEFAULT: not known (version 1) */
    struct dueq_slice worker, progress, history, error;
};

enum {
    JOB_RECORD_HISTORY_MAX = DUEQ_ATTEMPTS_KEPT * (2 * NUMBERS_MAX + 2 + DUEQ_WORKER_MAX),
    JOB_RECORD_HEAD_MAX = 4 + 8 * NUMBERS_MAX + 2 + (5 + DUEQ_STEPS_MAX) * (NUMBERS_MAX + 1) +
                          NUMBERS_MAX + 1 + DUEQ_NAME_MAX,
    JOB_RECORD_STATE_MAX = 5 + 11 * NUMBERS_MAX + 9 + 3 * 2 + DUEQ_WORKER_MAX +
                           DUEQ_PROGRESS_MAX + JOB_RECORD_HISTORY_MAX + DUEQ_ERROR_MAX
};

/* Writes what comes before id and body; returns its size. */
size_t job_record_write_head(uint8_t *bytes, const struct job_body *body);
bool job_record_read_body(struct dueq_slice record, struct job_body *ret_body);
/* The state that a job has from its push until something happens to it: no record of its own
 * says so, which spares most jobs a quarter of what is written for them. */
struct job_state job_record_first_state(const struct job_body *body);
/* When the ttl of a job that is due then, on the queue's clock, runs out. */
int64_t job_record_ttl_end(const struct job_body *body, int64_t due);

/* bytes: JOB_RECORD_STATE_MAX of them. worker, progress, history and error have at most their
 * maximal sizes. */
size_t job_record_write_state(uint8_t *bytes, const struct job_state *state);
bool job_record_read_state(struct dueq_slice record, struct job_state *ret_state);

/* Appends an attempt to a history; the oldest goes when there are DUEQ_ATTEMPTS_KEPT. bytes:
 * JOB_RECORD_HISTORY_MAX of them, not those of `history`. Returns the new history. */
struct dueq_slice job_record_append_attempt(uint8_t *bytes, struct dueq_slice history,
                                            const struct dueq_attempt *attempt);
/* The history without its last attempt, when that was a crash. */
struct dueq_slice job_record_forget_crash(struct dueq_slice history);

#endif
