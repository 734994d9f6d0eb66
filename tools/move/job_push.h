/* Pushes jobs into a dueq: each under its id, which nothing else may have, so that a second
 * push of a job does nothing. */
#ifndef DUEQ_JOB_PUSH_H
#define DUEQ_JOB_PUSH_H

#include "tools/move/move.h"
#include "tools/move/moved_job.h"
#include "tools/move/seen.h"

struct job_push {
    struct move *move;
    uint64_t pushed, there;
    struct dead_topic *dead; /* topics whose jobs are dead */
};

/* A job_fn; arg is a job_push. */
bool job_push(void *arg, const struct moved_job *job);
/* Notes that the jobs of this topic are dead. False: out of memory. */
bool job_push_remember(struct job_push *push, struct dueq_slice topic);
/* Waits for the replies of all pushes: what they were for is on disk then. */
bool job_push_settle(struct job_push *push);
/* Makes the jobs of the dead topics dead; only those that were seen. */
bool job_push_bury(struct job_push *push, const struct seen *seen);
void job_push_release(struct job_push *push);

#endif
