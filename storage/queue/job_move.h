/* Takes a job to another topic. Private to storage/queue. */
#ifndef DUEQ_JOB_MOVE_H
#define DUEQ_JOB_MOVE_H

#include "storage/queue/core/queue_state.h"

/* What becomes of a job whose id is taken in the other topic. */
enum job_move_taken { JOB_MOVE_REFUSES, JOB_MOVE_RENAMES };

/* The job's id, as callers know it. text: GIVEN_ID_SIZE bytes for one that the store gave. */
struct dueq_slice job_move_id(const struct job *job, char *text);

/* The room that a move needs, bytes. */
size_t job_move_room(const struct job *job);

/* Is there a job in the other topic with the id that this one has? DUEQ_DUPLICATE. An id that
 * the store gave counts there as one of a caller. */
enum dueq_status job_move_check(struct queue *queue, const struct job *job, struct topic *to);

/* Moves the job: it is pending there, due at `due` on the queue's clock, and begins anew: no
 * claims, failures, crashes and worker so far, and no end of its ttl. Its options, the body,
 * the error and history of job->state go along. It counts as pushed there; a pause does not
 * hold it up. DUEQ_DUPLICATE: JOB_MOVE_REFUSES, and the id is taken; JOB_MOVE_RENAMES: the
 * store gives it another one. DUEQ_FULL, DUEQ_TOOBIG: see kv_room. Whatever fails, nothing has
 * changed. O(size of the body + log n). */
enum dueq_status job_move(struct queue *queue, struct topic *from, struct job *job,
                          struct topic *to, int64_t due, enum job_move_taken taken,
                          struct dueq_time time);

#endif
