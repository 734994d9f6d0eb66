/* MEMORY: USAGE, DOCTOR, PURGE. */
#include "server/commands/database.h"
#include "server/commands/key_size.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/docs/command_help.h"

struct usage {
    uint64_t samples;
};

static const struct argument_option usage_options[] = {
    {"samples", OPTION_COUNT(struct usage, samples),
     .rule = INTEGER_BOUND(0, INT64_MAX, ARGUMENTS_SYNTAX_ERROR)},
    {.name = NULL}};

static enum outcome run_memory_usage(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 2);
    struct keys_info info;
    struct usage usage = {KEY_SIZE_SAMPLES};

    if (!argument_options_read(context, 3, usage_options, &usage))
        return OUTCOME_DONE;
    if (keys_info(&view, name, &info) == DUEQ_OK)
        resp_integer(context->reply, key_size_estimate(&view, name, &info, usage.samples));
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

static enum outcome run_memory_doctor(struct context *context)
{
    static const char text[] =
        "dueq keeps its data on disk; memory is two memtables at most and "
        "a few caches. INFO memory has the figures.\n";

    resp_verbatim(context->reply, "txt", text, sizeof(text) - 1);
    return OUTCOME_DONE;
}

/* Freed memory goes back to the system by itself; what can be purged is on the disk. INFO
 * journal shows how far it is. */
static enum outcome run_memory_purge(struct context *context)
{
    enum dueq_status status = dueq_compact(context->store);

    if (status == DUEQ_OK)
        return context_ok(context);
    if (status != DUEQ_FULL)
        return context_status(context, status);
    resp_error(context->reply, "ERR the disk has no room for a compact copy of data.mdb");
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command memory_subcommands[] = {
    {.name = "doctor",
     .arity = 2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "Outputs memory problems report",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
     .run = run_memory_doctor},
    {.name = "purge",
     .arity = 2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "Ask the allocator to release memory",
     .complexity = "Depends on how much memory is allocated, could be slow",
     .syntax = "",
     .tips = "request_policy:all_shards response_policy:all_succeeded",
     .run = run_memory_purge},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "4.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    {.name = "usage",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH,
     .keys = {2, 2, 1},
     .key_specs = "RO@2/r0:1:0",
     .group = "server",
     .since = "4.0.0",
     .summary = "Estimate the memory usage of a key",
     .complexity = "O(N) where N is the number of samples.",
     .syntax = "key [SAMPLES count]",
     .run = run_memory_usage},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "memory",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "A container for memory diagnostics commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = memory_subcommands},
    {.name = NULL}};

COMMANDS(memory, entries)
