/* How a claim ends without an ack, and how a job dies. Private to storage/queue. */
#ifndef DUEQ_JOB_END_H
#define DUEQ_JOB_END_H

#include "storage/queue/core/queue_state.h"

/* An outcome besides those of dueq_outcome: no worker has seen the job, so that the claim
 * counts as no attempt. */
enum { JOB_UNSEEN = DUEQ_OUTCOMES };

/* Ends the claim of a job that is not done. When its lease has ended before, the outcome takes
 * the place of the crash that was counted then. It is dead when the outcome is DUEQ_FATAL, or
 * when its retries, crashes or ttl are used up; else it is pending with the due time `due`. A
 * topic can send its dead jobs to another one: then the job is gone from here. error: size 0
 * keeps the last one. A follow-up takes its place in any case. DUEQ_CANCELLED: the job was
 * cancelled; it is removed. */
enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, int outcome, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state);

/* The lease of a claimed job ends, as at `due`. The token stays valid: a late ack with nobody
 * in between is accepted. */
enum dueq_status job_end_lease(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, struct dueq_time time);

/* Before its worker is heard, late, of a claim whose token still counts: when the lease has
 * ended, what the worker says takes the place of the crash that was counted, so that no claim
 * counts twice. */
void job_forget_crash(struct job_state *state);

/* Makes the job dead, with that error. */
void job_fail(struct queue *queue, struct topic *topic, struct job *job,
              struct dueq_slice error, struct dueq_time time);
/* Makes a job whose ttl has run out dead, or removes it when the topic says so. */
void job_expire(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_time time);

#endif
