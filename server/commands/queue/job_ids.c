#include "server/commands/queue/job_ids.h"

bool job_ids_fit(struct context *context, size_t count)
{
    if (count > JOB_IDS_MAX)
        resp_error(context->reply, "ERR a command takes at most " TEXT_OF(JOB_IDS_MAX) " jobs");
    return count <= JOB_IDS_MAX;
}

bool job_ids_begin(struct context *context, struct wide *wide)
{
    if (!job_ids_fit(context, context_count(context) - wide->at) ||
        !arguments_name(context, 1, "topic"))
        return false;
    for (size_t at = wide->at; at < context_count(context); at++)
        if (!arguments_name(context, at, "id"))
            return false;
    return true;
}
