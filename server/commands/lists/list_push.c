/* LPUSH, RPUSH, LPUSHX, RPUSHX. */
#include "server/commands/database.h"
#include "server/commands/wide.h"
#include "server/dispatch/command_list.h"
#include "storage/keys/list.h"

/* The count is that of the list, as it will be. */
static bool begin_push(struct context *context, struct wide *wide)
{
    uint64_t size;

    if (!database_read_count(context, context_slice(context, 1), KEYS_LIST, &size))
        return false;
    wide->count = (int64_t)(size + context_count(context) - 2);
    return true;
}

static bool begin_push_if_there(struct context *context, struct wide *wide)
{
    if (!begin_push(context, wide))
        return false;
    if ((size_t)wide->count > context_count(context) - 2)
        return true;
    context_reply_integer(context, 0);
    return false;
}

struct side {
    enum list_end end;
    const char *event;
};

static bool push_one(struct context *context, struct wide *wide)
{
    const struct side *side = wide->arg;
    struct keys_view view = database_view(context);

    return context_check_status(context, list_push(&view, context_slice(context, 1), side->end,
                                                   context_slice(context, wide->at)));
}

static enum outcome end_push(struct context *context, const struct wide *wide)
{
    const struct side *side = wide->arg;

    database_notify(context, EVENT_LIST, side->event, context_slice(context, 1));
    return context_reply_integer(context, wide->count);
}

static enum outcome push(struct context *context, struct side side)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .begin = begin_push, .take = push_one, .end = end_push};

    return wide_run_with(context, &form, &side);
}

static enum outcome push_if_there(struct context *context, struct side side)
{
    static const struct wide_form form = {.first = 2,
                                          .stride = 1,
                                          .begin = begin_push_if_there,
                                          .take = push_one,
                                          .end = end_push};

    return wide_run_with(context, &form, &side);
}

static enum outcome run_lpush(struct context *context)
{
    return push(context, (struct side){LIST_HEAD, "lpush"});
}

static enum outcome run_rpush(struct context *context)
{
    return push(context, (struct side){LIST_TAIL, "rpush"});
}

static enum outcome run_lpushx(struct context *context)
{
    return push_if_there(context, (struct side){LIST_HEAD, "lpush"});
}

static enum outcome run_rpushx(struct context *context)
{
    return push_if_there(context, (struct side){LIST_TAIL, "rpush"});
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
