/* Q.PUSH. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/push_options.h"

static bool read_push(struct context *context, struct dueq_push *push)
{
    if (!arguments_name(context, 1, "topic"))
        return false;
    dueq_push_init(push);
    push->topic = context_slice(context, 1);
    push->body = context_slice(context, 2);
    return push_options_read(context, 3, PUSH_OPTIONS_FOR_ONE, push);
}

static enum outcome run_q_push(struct context *context)
{
    struct dueq_push push;
    struct dueq_slice id;
    enum dueq_status status;

    if (!read_push(context, &push))
        return OUTCOME_DONE;
    status = dueq_push(context->store, &push, context->now, &id);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_bulk(context->reply, id.data, id.size);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.push",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push a job, to be due now, after a delay, or at a moment",
     .complexity = "O(log(N))",
     .syntax = "topic body [ID id] " PUSH_OPTIONS_SYNTAX,
     .categories = "queue",
     .run = run_q_push},
    {.name = NULL}};

COMMANDS(queue_push, entries)
