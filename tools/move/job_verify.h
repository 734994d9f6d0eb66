/* Compares jobs of another server with what a dueq has of them. */
#ifndef DUEQ_JOB_VERIFY_H
#define DUEQ_JOB_VERIFY_H

#include "tools/move/move.h"
#include "tools/move/moved_job.h"

enum { VERIFY_AHEAD = 500 };

struct job_verify {
    struct move *move;
    uint64_t step; /* each step-th job is looked at */
    uint64_t seen, compared, different;
    struct awaited {
        struct dueq_slice id; /* a copy */
        uint64_t body;        /* hash */
        int64_t due;
        bool dead;
    } awaited[VERIFY_AHEAD];
    size_t count;
};

/* A job_fn; arg is a job_verify. */
bool job_verify(void *arg, const struct moved_job *job);
/* Reads the replies that are left. */
bool job_verify_settle(struct job_verify *verify);

#endif
