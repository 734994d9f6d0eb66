/* OBJECT: encoding, reference count and idle time of a key, as Redis would report them. */
#include "server/commands/database.h"
#include "server/commands/key_object.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/context.h"
#include "server/dispatch/docs/command_help.h"

/* False: the reply is written. */
static bool find(struct context *context, struct keys_info *ret_info)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = keys_info(&view, context_slice(context, 2), ret_info);

    if (status == DUEQ_NOTFOUND)
        resp_null(context->reply);
    return context_check_status(context, status) && status == DUEQ_OK;
}

static enum outcome run_object_encoding(struct context *context)
{
    struct keys_info info;

    if (find(context, &info))
        resp_string(context->reply, keys_encoding_name(info.encoding));
    return OUTCOME_DONE;
}

static enum outcome run_object_refcount(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (!find(context, &info))
        return OUTCOME_DONE;
    return context_reply_integer(
        context, key_object_references(&view, context_slice(context, 2), &info));
}

static enum outcome run_object_idletime(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (!find(context, &info))
        return OUTCOME_DONE;
    return context_reply_integer(context, key_object_idle(&view, context_slice(context, 2)));
}

static enum outcome run_object_freq(struct context *context)
{
    struct keys_info info;

    if (find(context, &info))
        resp_error(context->reply,
                   "ERR An LFU maxmemory policy is not selected, access frequency not tracked. "
                   "Please note that when switching between policies at runtime LRU and LFU "
                   "data will take some time to adjust.");
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command object_subcommands[] = {
    {.name = "idletime",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "2.2.3",
     .summary = "Get the time since a Redis object was last accessed",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_idletime},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "generic",
     .since = "6.2.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "keyspace",
     .run = run_container_help},
    {.name = "encoding",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "2.2.3",
     .summary = "Inspect the internal encoding of a Redis object",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_encoding},
    {.name = "freq",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "4.0.0",
     .summary = "Get the logarithmic access frequency counter of a Redis object",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_freq},
    {.name = "refcount",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "generic",
     .since = "2.2.3",
     .summary = "Get the number of references to the value of the key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .tips = "nondeterministic_output",
     .run = run_object_refcount},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "object",
     .arity = -2,
     .flags = 0,
     .group = "generic",
     .since = "2.2.3",
     .summary = "A container for object introspection commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = object_subcommands},
    {.name = NULL}};

COMMANDS(object, entries)
