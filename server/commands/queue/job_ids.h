/* How many jobs or topics one command may name. It works on all of them in one turn, for which
 * other clients wait: some 3 ms. */
#ifndef DUEQ_JOB_IDS_H
#define DUEQ_JOB_IDS_H

#include "server/dispatch/arguments.h"
#include "server/dispatch/context.h"

#define JOB_IDS_MAX 1000

/* False: the error is written. */
static inline bool job_ids_fit(struct context *context, size_t count)
{
    if (count > JOB_IDS_MAX)
        resp_error(context->reply, "ERR a command takes at most " TEXT_OF(JOB_IDS_MAX) " jobs");
    return count <= JOB_IDS_MAX;
}

#endif
