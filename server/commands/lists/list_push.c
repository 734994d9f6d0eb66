/* LPUSH, RPUSH, LPUSHX, RPUSHX. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/list.h"

static enum outcome push(struct context *context, enum list_end end, bool only_existing)
{
    struct keys_view view = database_view(context);
    uint64_t size;

    if (!database_read_count(context, context_slice(context, 1), KEYS_LIST, &size))
        return OUTCOME_DONE;
    if (only_existing && size == 0)
        return context_reply_integer(context, 0);
    for (size_t i = 2; i < context_count(context); i++)
        if (!context_check_status(context, list_push(&view, context_slice(context, 1), end,
                                                     context_slice(context, i))))
            return OUTCOME_DONE;
    database_notify(context, EVENT_LIST, end == LIST_HEAD ? "lpush" : "rpush",
                    context_slice(context, 1));
    return context_reply_integer(context, (int64_t)(size + context_count(context) - 2));
}

static enum outcome run_lpush(struct context *context)
{
    return push(context, LIST_HEAD, false);
}

static enum outcome run_rpush(struct context *context)
{
    return push(context, LIST_TAIL, false);
}

static enum outcome run_lpushx(struct context *context)
{
    return push(context, LIST_HEAD, true);
}

static enum outcome run_rpushx(struct context *context)
{
    return push(context, LIST_TAIL, true);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "lpush",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Prepend one or multiple elements to a list",
     .complexity = "O(1) for each element added, so O(N) to add N elements "
                   "when the command is called with multiple arguments.",
     .syntax = "key element [element ...]",
     .categories = "list",
     .run = run_lpush},
    {.name = "rpush",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "list",
     .since = "1.0.0",
     .summary = "Append one or multiple elements to a list",
     .complexity = "O(1) for each element added, so O(N) to add N elements "
                   "when the command is called with multiple arguments.",
     .syntax = "key element [element ...]",
     .categories = "list",
     .run = run_rpush},
    {.name = "lpushx",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "list",
     .since = "2.2.0",
     .summary = "Prepend an element to a list, only if the list exists",
     .complexity = "O(1) for each element added, so O(N) to add N elements "
                   "when the command is called with multiple arguments.",
     .syntax = "key element [element ...]",
     .categories = "list",
     .run = run_lpushx},
    {.name = "rpushx",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "list",
     .since = "2.2.0",
     .summary = "Append an element to a list, only if the list exists",
     .complexity = "O(1) for each element added, so O(N) to add N elements "
                   "when the command is called with multiple arguments.",
     .syntax = "key element [element ...]",
     .categories = "list",
     .run = run_rpushx},
    {.name = NULL}};

COMMANDS(list_push, entries)
