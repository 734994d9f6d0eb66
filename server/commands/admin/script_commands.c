/* Commands of scripts and functions, which dueq does not run. The errors name the commands to
 * use instead, and have the codes on which clients fall back. */
#include "server/commands/wide.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/docs/command_help.h"

#define INSTEAD "Not in dueq: see Q.PUSH, Q.CLAIM, Q.ACK"

static const char no_lua[] = "ERR dueq runs no Lua. What the scripts of a delay queue do are "
                             "commands here: Q.PUSH (zadd + "
                             "hset), Q.CLAIM (zrangebyscore + zadd + hget), Q.ACK (zrem + "
                             "hdel). See COMMAND DOCS q.push";

static enum outcome run_unsupported(struct context *context)
{
    resp_error(context->reply, no_lua);
    return OUTCOME_DONE;
}

/* NOSCRIPT makes clients send the script by EVAL, whose error explains more. */
static enum outcome run_evalsha(struct context *context)
{
    resp_error(context->reply, "NOSCRIPT No matching script. dueq runs no Lua: see Q.PUSH, "
                               "Q.CLAIM, Q.ACK.");
    return OUTCOME_DONE;
}

static bool does_not_exist(struct context *context, struct wide *wide)
{
    (void)wide;
    resp_integer(context->reply, 0);
    return true;
}

static enum outcome run_script_exists(struct context *context)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .lets_others = true,
                                          .begin = wide_begin_array,
                                          .take = does_not_exist,
                                          .end = wide_end};

    return wide_run(context, &form);
}

#define SCRIPT(sub_name, sub_arity, sub_flags, sub_syntax, handler)                            \
    {                                                                                          \
        .name = sub_name, .arity = sub_arity,                                                  \
        .flags = COMMAND_NOSCRIPT | COMMAND_STORELESS | (sub_flags), .group = "scripting",     \
        .since = "2.6.0", .summary = INSTEAD, .complexity = "O(1)", .syntax = sub_syntax,      \
        .categories = "scripting", .run = handler                                              \
    }

#define UNSUPPORTED(command_name, extra_flags, first, handler)                                 \
    {                                                                                          \
        .name = command_name, .arity = -3,                                                     \
        .flags = COMMAND_NOSCRIPT | COMMAND_STALE | COMMAND_SKIP_MONITOR |                     \
                 COMMAND_NO_MANDATORY_KEYS | COMMAND_MOVABLEKEYS | COMMAND_STORELESS |         \
                 (extra_flags),                                                                \
        .key_specs = "RW,access,update@2/n0:1:1", .group = "scripting", .since = "2.6.0",      \
        .summary = INSTEAD, .complexity = "O(1)",                                              \
        .syntax = first " numkeys [key [key ...]] [arg [arg ...]]", .categories = "scripting", \
        .run = handler                                                                         \
    }

/* ---- commands */

static const struct command script_subcommands[] = {
    SCRIPT("debug", 3, 0, "<YES|SYNC|NO>", run_unsupported),
    SCRIPT("exists", -3, 0, "sha1 [sha1 ...]", run_script_exists),
    SCRIPT("flush", -2, 0, "[ASYNC|SYNC]", run_unsupported),
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "scripting",
     .since = "5.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "scripting",
     .run = run_container_help},
    SCRIPT("kill", 2, COMMAND_ALLOW_BUSY, "", run_unsupported),
    SCRIPT("load", 3, COMMAND_STALE, "script", run_unsupported),
    {.name = NULL}};

static const struct command entries[] = {
    UNSUPPORTED("eval", 0, "script", run_unsupported),
    UNSUPPORTED("eval_ro", COMMAND_READONLY, "script", run_unsupported),
    UNSUPPORTED("evalsha", 0, "sha1", run_evalsha),
    UNSUPPORTED("evalsha_ro", COMMAND_READONLY, "sha1", run_evalsha),
    UNSUPPORTED("fcall", 0, "function", run_unsupported),
    UNSUPPORTED("fcall_ro", COMMAND_READONLY, "function", run_unsupported),
    {.name = "function",
     .arity = -2,
     .flags = COMMAND_STORELESS,
     .group = "scripting",
     .since = "7.0.0",
     .summary = INSTEAD,
     .complexity = "O(1)",
     .syntax = "subcommand [arg [arg ...]]",
     .run = run_unsupported},
    {.name = "script",
     .arity = -2,
     .flags = COMMAND_STORELESS,
     .group = "scripting",
     .since = "2.6.0",
     .summary = "A container for Lua scripts management commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = script_subcommands},
    {.name = NULL}};

COMMANDS(script, entries)
