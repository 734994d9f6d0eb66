/* WAIT. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/session/waiters.h"

/* There are no replicas, so none ever acknowledges: blocks until the timeout. */
static enum outcome run_wait(struct context *context)
{
    int64_t replicas, timeout;

    if (context->timed_out)
        return context_reply_integer(context, 0);
    if (!arguments_integer(context, 1, NULL, &replicas))
        return OUTCOME_DONE;
    if (!arguments_integer(
            context, 2,
            INTEGER_OR(INT64_MIN, INT64_MAX, "ERR timeout is not an integer or out of range"),
            &timeout))
        return OUTCOME_DONE;
    if (timeout < 0) {
        resp_error(context->reply, "ERR timeout is negative");
        return OUTCOME_DONE;
    }
    if (replicas <= 0 || !context->may_wait)
        return context_reply_integer(context, 0);
    return waiters_wait_for_keys(context, KEYS_NONE, 0, 0,
                                 timeout == 0 ? DUEQ_NEVER
                                              : context_deadline(context, timeout));
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "wait",
     .arity = 3,
     .flags = COMMAND_NOSCRIPT,
     .group = "generic",
     .since = "3.0.0",
     .summary = "Wait for the synchronous replication of all the write commands sent in the "
                "context of the current connection",
     .complexity = "O(1)",
     .syntax = "numreplicas timeout",
     .categories = "connection",
     .tips = "request_policy:all_shards response_policy:agg_min",
     .run = run_wait},
    {.name = NULL}};

COMMANDS(wait, entries)
