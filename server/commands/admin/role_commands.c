/* ROLE, REPLICAOF, SLAVEOF: the server has no replicas and is not a replica. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"

static enum outcome run_role(struct context *context)
{
    resp_array(context->reply, 3);
    resp_string(context->reply, "master");
    resp_integer(context->reply, 0);
    resp_array(context->reply, 0);
    return OUTCOME_DONE;
}

static enum outcome run_replicaof(struct context *context)
{
    int64_t port;

    if (arguments_is(context, 1, "no") && arguments_is(context, 2, "one"))
        return context_ok(context);
    if (!arguments_integer(context, 2, INTEGER_OR(0, 65535, "ERR Invalid master port"), &port))
        return OUTCOME_DONE;
    resp_error(context->reply, "ERR dueq replicates from nobody: only NO ONE makes sense here");
    return OUTCOME_DONE;
}

static enum outcome run_slaveof(struct context *context)
{
    return run_replicaof(context);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "role",
     .arity = 1,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "server",
     .since = "2.8.12",
     .summary = "Return the role of the instance in the context of replication",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "admin dangerous",
     .run = run_role},
    {.name = "replicaof",
     .arity = 3,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_STALE | COMMAND_NO_ASYNC_LOADING,
     .group = "server",
     .since = "5.0.0",
     .summary = "Make the server a replica of another instance, or promote it as master.",
     .complexity = "O(1)",
     .syntax = "host port",
     .run = run_replicaof},
    {.name = "slaveof",
     .arity = 3,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_STALE | COMMAND_NO_ASYNC_LOADING,
     .group = "server",
     .since = "1.0.0",
     .summary = "Make the server a replica of another instance, or promote it as master.",
     .complexity = "O(1)",
     .syntax = "host port",
     .run = run_slaveof},
    {.name = NULL}};

COMMANDS(role, entries)
