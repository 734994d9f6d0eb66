/* How many jobs one command may name. It works on all of them in one turn, for which other
 * clients wait: some 5 ms. */
#ifndef DUEQ_JOB_IDS_H
#define DUEQ_JOB_IDS_H

#include "server/dispatch/context.h"
#include "server/dispatch/long_work.h"

enum { JOB_IDS_MAX = LONG_ENOUGH };

/* False: the error is written. */
static inline bool job_ids_fit(struct context *context, size_t count)
{
    if (count > JOB_IDS_MAX)
        resp_error(context->reply, "ERR a command takes at most 4000 jobs");
    return count <= JOB_IDS_MAX;
}

#endif
