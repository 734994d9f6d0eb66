/* Acknowledgements as arguments of a command: "id token [id token ...]", or with the topic of
 * each job before its id. */
#ifndef DUEQ_JOB_ACKS_H
#define DUEQ_JOB_ACKS_H

#include "server/dispatch/arguments.h"

struct job_acks {
    size_t topic; /* the argument that is the topic of all jobs; 0: each job names its own */
    size_t first; /* argument with which the first one begins; the last one ends the request */
};

/* How many arguments one of them has. */
static inline size_t job_acks_width(const struct job_acks *acks)
{
    return acks->topic == 0 ? 3 : 2;
}

/* Checks all names and tokens, so that a bad one is found before any job is acknowledged. The
 * arguments from acks->first on are whole ones. False: the error is written. O(arguments). */
bool job_acks_check(struct context *context, const struct job_acks *acks);

/* Acknowledges the job that argument `at` begins. Statuses: dueq_ack. */
enum dueq_status job_acks_run_one(struct context *context, const struct job_acks *acks,
                                  size_t at);

/* After that status of one of several: are the others tried? So they are when the job is not
 * there, was cancelled, or its token is stale. */
bool job_acks_go_on(enum dueq_status status);

/* Acknowledges all jobs, and passes over those that are not there, were cancelled, or of which
 * the token is stale. *ret_acked: how many were. Another status: the rest was not tried. */
enum dueq_status job_acks_run(struct context *context, const struct job_acks *acks,
                              int64_t *ret_acked);

#endif
