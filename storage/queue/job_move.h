/* Takes a job to another topic. Private to storage/queue. */
#ifndef DUEQ_JOB_MOVE_H
#define DUEQ_JOB_MOVE_H

#include "storage/queue/core/queue_state.h"

/* The room that a move needs, bytes. */
size_t job_move_room(const struct job *job);

/* The topic that it moves to, which is made when missing: not without room for the job, so that
 * a move that is refused makes no topic. DUEQ_FULL, DUEQ_TOOBIG, DUEQ_NOMEM. */
enum dueq_status job_move_open(struct queue *queue, const struct job *job,
                               struct dueq_slice name, struct topic **ret_to);

/* Is there a job in the other topic with the id that this one has? DUEQ_DUPLICATE. An id that
 * the store gave counts there as one of a caller. */
enum dueq_status job_move_check(struct queue *queue, const struct job *job, struct topic *to);

/* A move: checked first, then made. */
struct job_move {
    struct topic *from, *to;
    struct job *job;  /* as it is */
    struct job moved; /* as it will be; seq and id are set by the check */
    struct id_index_key name;
    char id[GIVEN_ID_SIZE];
};

/* Sets move->moved to a job that begins anew: pending, due at `due` on the queue's clock, no
 * claims, failures, crashes and worker so far, and no end of its ttl. Its options, the body,
 * the error and history of the state go along. */
void job_move_anew(struct job_move *move, int64_t due, struct dueq_time time);

/* What becomes of a job whose id is taken in the other topic. */
enum job_move_taken { JOB_MOVE_REFUSES, JOB_MOVE_RENAMES };

/* May move->moved be in the other topic? Neither a pause nor a limit of it is asked.
 * DUEQ_DUPLICATE: JOB_MOVE_REFUSES, and the id is taken; JOB_MOVE_RENAMES: the store gives it
 * another one. DUEQ_FULL, DUEQ_TOOBIG: see kv_room. DUEQ_NOMEM. Changes nothing. */
enum dueq_status job_move_plan(struct queue *queue, struct job_move *move,
                               enum job_move_taken taken, struct dueq_time time);
/* Makes it, right after the plan. The job counts as pushed there. O(size of the body + log n).
 */
void job_move_do(struct queue *queue, struct job_move *move, struct dueq_time time);

#endif
