/* What dueq does not have, answered so that clients fall back and people know what to use. */
#include "server/command.h"

static const char no_lua[] = "ERR dueq runs no Lua. What the scripts of a delay queue do are "
                             "commands here: Q.PUSH (zadd + "
                             "hset), Q.CLAIM (zrangebyscore + zadd + hget), Q.ACK (zrem + "
                             "hdel). See COMMAND DOCS q.push";

static enum outcome run_refused(struct context *context)
{
    resp_error(context->reply, no_lua);
    return OUTCOME_DONE;
}

/* NOSCRIPT makes clients send the text by EVAL, whose answer then says it all. */
static enum outcome run_evalsha(struct context *context)
{
    resp_error(context->reply, "NOSCRIPT No matching script. dueq runs no Lua: see Q.PUSH, "
                               "Q.CLAIM, Q.ACK.");
    return OUTCOME_DONE;
}

static enum outcome run_script_exists(struct context *context)
{
    resp_array(context->reply, context_count(context) - 2);
    for (size_t i = 2; i < context_count(context); i++)
        resp_integer(context->reply, 0);
    return OUTCOME_DONE;
}

static const struct command script_commands[] = {
    {.name = "exists",
     .arity = -3,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING,
     .group = "scripting",
     .since = "2.6.0",
     .summary = "Check existence of scripts in the script cache.",
     .complexity = "O(N)",
     .syntax = "sha1 [sha1 ...]",
     .categories = "scripting",
     .run = run_script_exists},
    {.name = "load",
     .arity = 3,
     .flags = COMMAND_NOSCRIPT | COMMAND_STALE | COMMAND_LOADING,
     .group = "scripting",
     .since = "2.6.0",
     .summary = "Load the specified Lua script into the script cache.",
     .complexity = "O(1)",
     .syntax = "script",
     .categories = "scripting",
     .run = run_refused},
    {.name = NULL}};

#define REFUSED(command_name, command_arity, command_syntax, handler)                          \
    {                                                                                          \
        .name = command_name, .arity = command_arity,                                          \
        .flags = COMMAND_NOSCRIPT | COMMAND_STALE | COMMAND_LOADING | COMMAND_SKIP_MONITOR |   \
                 COMMAND_MOVABLEKEYS,                                                          \
        .keys = {.count_at = 2}, .group = "scripting", .since = "2.6.0",                       \
        .summary = "Not in dueq: see Q.PUSH, Q.CLAIM, Q.ACK", .complexity = "O(1)",            \
        .syntax = command_syntax, .categories = "scripting", .run = handler                    \
    }

const struct command refused_commands[] = {
    REFUSED("eval", -3, "script numkeys [key ...] [arg ...]", run_refused),
    REFUSED("eval_ro", -3, "script numkeys [key ...] [arg ...]", run_refused),
    REFUSED("evalsha", -3, "sha1 numkeys [key ...] [arg ...]", run_evalsha),
    REFUSED("evalsha_ro", -3, "sha1 numkeys [key ...] [arg ...]", run_evalsha),
    REFUSED("fcall", -3, "function numkeys [key ...] [arg ...]", run_refused),
    REFUSED("fcall_ro", -3, "function numkeys [key ...] [arg ...]", run_refused),
    {.name = "function",
     .arity = -2,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING,
     .group = "scripting",
     .since = "7.0.0",
     .summary = "Not in dueq: see Q.PUSH, Q.CLAIM, Q.ACK",
     .complexity = "O(1)",
     .syntax = "subcommand [arg ...]",
     .categories = "scripting",
     .run = run_refused},
    {.name = "script",
     .arity = -2,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING,
     .group = "scripting",
     .since = "2.6.0",
     .summary = "A container for Lua scripts management commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .categories = "slow",
     .run = run_refused,
     .subcommands = script_commands},
    {.name = NULL}};
