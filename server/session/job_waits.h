/* Which jobs a waiter waits for, and which of them have ended. Several waiters may wait for one
 * job: the store watches it once. The end of a job costs O(1) for each of its waiters. */
#ifndef DUEQ_JOB_WAITS_H
#define DUEQ_JOB_WAITS_H

#include "storage/dueq.h"

struct job_waits; /* of one waiter */
struct session;
struct watched_job;

/* All jobs that any waiter waits for. */
struct job_watches {
    struct watched_job *jobs;   /* by topic and id (uthash) */
    struct job_waits *finished; /* all their jobs have ended; to be answered, in order */
    uint64_t steps;             /* entries joined and ended since the start, for tests */
};

/* What is known of a job; the first ones are set by the caller. */
enum job_wait_state {
    JOB_WAIT_OPEN, /* it has not ended */
    JOB_WAIT_MISSING,
    JOB_WAIT_DONE,
    JOB_WAIT_DEAD,
    JOB_WAIT_CANCELLED,
    JOB_WAIT_GONE
};

/* `count` open ones. NULL: out of memory. */
struct job_waits *job_waits_new(struct session *session, size_t count);
/* Leaves the jobs. NULL is fine. */
void job_waits_free(struct job_watches *watches, struct dueq *store, struct job_waits *waits);

size_t job_waits_open(const struct job_waits *waits); /* how many */
size_t job_waits_count(const struct job_waits *waits);
enum job_wait_state job_waits_state(const struct job_waits *waits, size_t index);
/* Before the waits join. */
void job_waits_set(struct job_waits *waits, size_t index, enum job_wait_state state);

/* Waits for one of the open jobs; the same one may come twice. On failure the caller frees the
 * waits. Statuses: dueq_watch_end. */
enum dueq_status job_waits_join(struct job_watches *watches, struct dueq *store,
                                struct job_waits *waits, size_t index, struct dueq_slice topic,
                                struct dueq_slice id);
/* Memory that the waits hold, in bytes. */
size_t job_waits_bytes(const struct job_waits *waits);

/* Takes over the ends that the store has to tell. */
void job_watches_note_ends(struct job_watches *watches, struct dueq *store);
/* The next session of which all jobs have ended; each is returned once. NULL: no more. */
struct session *job_watches_next(struct job_watches *watches);
/* Is there one? */
bool job_watches_any(const struct job_watches *watches);

#endif
