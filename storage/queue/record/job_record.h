/* A job's two records: the body, which never changes, and the state. Encodings:
 * storage/FORMAT.md. Private to storage/queue. */
#ifndef DUEQ_JOB_RECORD_H
#define DUEQ_JOB_RECORD_H

#include "storage/kv/key.h"
#include "storage/queue/record/safe_time.h"
#include "storage/status.h"
#include "storage/types.h"

/* The clock that the due time of a pending job is on. */
enum { CLOCK_QUEUE = 0, CLOCK_WALL = 1 };

enum job_phase { PHASE_PENDING, PHASE_CLAIMED, PHASE_DEAD };

/* Nothing that changes while the job lives. */
struct job_body {
    struct dueq_slice id; /* size 0: given by the store, made of stamp and seq */
    struct dueq_slice body;
    uint8_t priority;
    uint8_t clock;                                     /* that `due` is on */
    int64_t due;                                       /* at first */
    int64_t lease, retries, backoff, backoff_max, ttl; /* lease, ttl: DUEQ_DEFAULT too */
    int64_t pushed;                                    /* on the wall clock */
    int64_t stamp; /* the same moment on the queue's clock: ids sort by it */
};

struct job_state {
    enum job_phase state;
    bool token_valid; /* false: never claimed, or given back by a nack */
    uint8_t priority;
    uint8_t clock;
    int64_t due; /* pending: due; claimed: end of the lease; dead: time of death */
    int64_t attempt, token;
    int64_t expires; /* end of the ttl; DUEQ_NEVER: none */
    struct dueq_slice error;
};

enum { JOB_RECORD_HEAD_MAX = 4 + 8 * 10, JOB_RECORD_STATE_MAX = 5 + 4 * 10 + DUEQ_ERROR_MAX };

/* Writes what comes before id and body; returns its size. */
size_t job_record_write_head(uint8_t *bytes, const struct job_body *body);
bool job_record_read_body(struct dueq_slice record, struct job_body *ret_body);
/* The state that a job has from its push until something happens to it: no record of its own
 * says so, which spares most jobs a quarter of what is written for them. */
struct job_state job_record_first_state(const struct job_body *body);
/* When the ttl of a job that is due then, on the queue's clock, runs out. */
int64_t job_record_ttl_end(const struct job_body *body, int64_t due);

size_t job_record_write_state(uint8_t *bytes, const struct job_state *state);
bool job_record_read_state(struct dueq_slice record, struct job_state *ret_state);

#endif
