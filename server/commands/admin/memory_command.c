/* Looking into the server: MONITOR, SLOWLOG, MEMORY; and checkpoints, under the names
 * that Redis has for saving. */
#include "server/dispatch/command_list.h"
#include "server/commands/clients/client_filter.h"
#include "server/dispatch/command.h"
#include "server/commands/key_size.h"
#include "server/commands/database.h"
#include "server/session/monitors.h"
#include "server/server.h"
#include "storage/kv/kv.h"

#include <utlist.h>

static enum outcome run_monitor(struct context *context)
{
    if (!context->may_wait) {
        resp_error(context->reply, "ERR MONITOR isn't allowed for DENY BLOCKING client");
        return OUTCOME_DONE;
    }
    monitors_add(context->server, context->session);
    return context_ok(context);
}

/* ---- SLOWLOG */

static void write_entry(struct context *context, const struct slowlog_entry *entry)
{
    resp_array(context->reply, 6);
    resp_integer(context->reply, (int64_t)entry->id);
    resp_integer(context->reply, entry->time);
    resp_integer(context->reply, (int64_t)entry->usec);
    resp_array(context->reply, entry->count);
    for (size_t i = 0; i < entry->count; i++)
        resp_bulk(context->reply, entry->arguments[i].data, entry->arguments[i].size);
    resp_string(context->reply, entry->address == NULL ? "" : entry->address);
    resp_string(context->reply, entry->name == NULL ? "" : entry->name);
}

static enum outcome run_slowlog_get(struct context *context)
{
    const struct slowlog *slowlog = &context->server->slowlog;
    const struct slowlog_entry *entry;
    int64_t count = 10;

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (context_count(context) == 3 &&
        !arguments_integer_or(context, 2, -1, INT64_MAX,
                              "ERR count should be greater than or equal to -1", &count))
        return OUTCOME_DONE;
    if (count < 0 || (uint64_t)count > slowlog->count)
        count = (int64_t)slowlog->count;
    resp_array(context->reply, (size_t)count);
    for (entry = slowlog->entries; count > 0; entry = entry->next, count--)
        write_entry(context, entry);
    return OUTCOME_DONE;
}

static enum outcome run_slowlog_len(struct context *context)
{
    return context_reply_integer(context, (int64_t)context->server->slowlog.count);
}

static enum outcome run_slowlog_reset(struct context *context)
{
    slowlog_reset(&context->server->slowlog);
    return context_ok(context);
}

static enum outcome run_slowlog_help(struct context *context)
{
    return run_container_help(context);
}

/* ---- MEMORY */

enum { KEY_COST = 64, ELEMENT_COST = 48, SAMPLES_DEFAULT = 5 }; /* bytes, roughly */

/* Looks at a few elements; 0 of them: at all. */
struct sampling {
    uint64_t left, seen, bytes;
};

static bool sample_element(void *arg, struct dueq_slice element, struct dueq_slice value)
{
    struct sampling *sampling = arg;

    sampling->seen++;
    sampling->bytes += element.size + value.size;
    return --sampling->left > 0;
}

static bool sample_scored(void *arg, const struct zset_entry *entry)
{
    return sample_element(arg, entry->member, dueq_slice(NULL, 8));
}

static void sample(const struct keys_view *view, struct dueq_slice name, enum keys_type type,
                   struct sampling *sampling)
{
    uint64_t next;

    if (type == KEYS_LIST)
        list_each(view, name, 0, LIST_TAIL, sample_element, sampling);
    else if (type == KEYS_SET)
        set_each(view, name, sample_element, sampling);
    else if (type == KEYS_HASH)
        hash_each(view, name, sample_element, sampling);
    else if (type == KEYS_ZSET)
        zset_scan(view, name, 0, UINT64_MAX, sample_scored, sampling, &next);
}

/* What the key takes on disk and in caches, by a sample of its elements. */
static int64_t estimate(const struct keys_view *view, struct dueq_slice name,
                        const struct keys_info *info, uint64_t samples)
{
    struct sampling sampling = {.left = samples == 0 ? UINT64_MAX : samples};

    if (info->type == KEYS_STRING)
        return (int64_t)(KEY_COST + name.size + info->count);
    sample(view, name, info->type, &sampling);
    if (sampling.seen == 0)
        return (int64_t)(KEY_COST + name.size);
    return (int64_t)(KEY_COST + name.size +
                     info->count * (ELEMENT_COST + sampling.bytes / sampling.seen));
}

uint64_t key_size_estimate_value(const struct keys_view *view, struct dueq_slice name,
                                 const struct keys_info *info)
{
    struct sampling sampling = {.left = SAMPLES_DEFAULT};

    if (info->type == KEYS_STRING)
        return info->count;
    sample(view, name, info->type, &sampling);
    return sampling.seen == 0 ? 0 : info->count * sampling.bytes / sampling.seen;
}

static enum outcome run_memory_usage(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 2);
    struct keys_info info;
    int64_t samples = SAMPLES_DEFAULT;

    for (size_t at = 3; at < context_count(context); at += 2) {
        if (!arguments_is(context, at, "samples") || at + 1 == context_count(context))
            return context_syntax_error(context);
        if (!arguments_integer(context, at + 1, &samples))
            return OUTCOME_DONE;
        if (samples < 0)
            return context_syntax_error(context);
    }
    if (keys_info(&view, name, &info) == DUEQ_OK)
        resp_integer(context->reply, estimate(&view, name, &info, (uint64_t)samples));
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

static enum outcome run_memory_purge(struct context *context)
{
    return context_ok(context); /* freed memory goes back to the system by itself */
}

static enum outcome run_memory_help(struct context *context)
{
    return run_container_help(context);
}

/* ---- checkpoints */

static enum outcome run_lastsave(struct context *context)
{
    return context_reply_integer(context, server_last_save(context->server));
}

/* All that was accepted is on disk already; a checkpoint makes the next start a quick one. */
static enum outcome run_save(struct context *context)
{
    enum dueq_status status = dueq_checkpoint(context->store, context->now);

    return status == DUEQ_OK ? context_ok(context) : context_status(context, status);
}

/* Nothing is committed within a command, so the checkpoint begins when the turn ends. */
static enum outcome run_bgsave(struct context *context)
{
    struct dueq_stats stats;

    if (context_count(context) > 2 ||
        (context_count(context) == 2 && !arguments_is(context, 1, "schedule")))
        return context_syntax_error(context);
    dueq_get_stats(context->store, &stats);
    context->server->checkpoint_wanted = true;
    resp_simple(context->reply, stats.checkpoint_running ? "Background saving scheduled"
                                                         : "Background saving started");
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command slowlog_subcommands[] = {
    {.name = "len",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.2.12",
     .summary = "Get the slow log's length",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "request_policy:all_nodes response_policy:agg_sum nondeterministic_output",
     .run = run_slowlog_len},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.2.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_slowlog_help},
    {.name = "get",
     .arity = -2,
     .flags = COMMAND_ADMIN | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.2.12",
     .summary = "Get the slow log's entries",
     .complexity = "O(N) where N is the number of entries returned",
     .syntax = "[count]",
     .tips = "request_policy:all_nodes nondeterministic_output",
     .run = run_slowlog_get},
    {.name = "reset",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "2.2.12",
     .summary = "Clear all entries from the slow log",
     .complexity = "O(N) where N is the number of entries in the slowlog",
     .syntax = "",
     .tips = "request_policy:all_nodes response_policy:all_succeeded",
     .run = run_slowlog_reset},
    {.name = NULL}};

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
     .run = run_memory_help},
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
    {.name = "monitor",
     .arity = 1,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "1.0.0",
     .summary = "Listen for all requests received by the server in real time",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_monitor},
    {.name = "slowlog",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "2.2.12",
     .summary = "A container for slow log commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = slowlog_subcommands},
    {.name = "memory",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "4.0.0",
     .summary = "A container for memory diagnostics commands",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = memory_subcommands},
    {.name = "lastsave",
     .arity = 1,
     .flags = COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "server",
     .since = "1.0.0",
     .summary = "Get the UNIX time stamp of the last successful save to disk",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "admin dangerous",
     .tips = "nondeterministic_output",
     .run = run_lastsave},
    {.name = "save",
     .arity = 1,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_NO_ASYNC_LOADING | COMMAND_NO_MULTI,
     .group = "server",
     .since = "1.0.0",
     .summary = "Synchronously save the dataset to disk",
     .complexity = "O(N) where N is the total number of keys in all databases",
     .syntax = "",
     .run = run_save},
    {.name = "bgsave",
     .arity = -1,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_NO_ASYNC_LOADING,
     .group = "server",
     .since = "1.0.0",
     .summary = "Asynchronously save the dataset to disk",
     .complexity = "O(1)",
     .syntax = "[SCHEDULE]",
     .run = run_bgsave},
    {.name = NULL}};

COMMANDS(memory, entries)
