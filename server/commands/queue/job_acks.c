#include "server/commands/queue/job_acks.h"

static size_t id_of(const struct job_acks *acks, size_t at)
{
    return acks->topic == 0 ? at + 1 : at;
}

bool job_acks_check(struct context *context, const struct job_acks *acks)
{
    int64_t token;

    for (size_t at = acks->first; at < context_count(context); at += job_acks_width(acks)) {
        size_t id = id_of(acks, at);

        if ((acks->topic == 0 && !arguments_name(context, at, "topic")) ||
            !arguments_name(context, id, "id") ||
            !arguments_integer(context, id + 1, NULL, &token))
            return false;
    }
    return true;
}

enum dueq_status job_acks_run_one(struct context *context, const struct job_acks *acks,
                                  size_t at)
{
    size_t id = id_of(acks, at);
    int64_t token = 0;

    arguments_integer(context, id + 1, NULL, &token);
    return dueq_ack(context->store, context_slice(context, acks->topic == 0 ? at : acks->topic),
                    context_slice(context, id), token, context->now);
}

bool job_acks_go_on(enum dueq_status status)
{
    return status == DUEQ_OK || status == DUEQ_NOTFOUND || status == DUEQ_STALE ||
           status == DUEQ_CANCELLED;
}

enum dueq_status job_acks_run(struct context *context, const struct job_acks *acks,
                              int64_t *ret_acked)
{
    int64_t acked = 0;

    for (size_t at = acks->first; at < context_count(context); at += job_acks_width(acks)) {
        enum dueq_status status = job_acks_run_one(context, acks, at);

        acked += status == DUEQ_OK;
        if (!job_acks_go_on(status))
            return status;
    }
    *ret_acked = acked;
    return DUEQ_OK;
}
