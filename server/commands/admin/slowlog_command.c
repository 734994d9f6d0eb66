/* SLOWLOG: GET, LEN, RESET. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/docs/command_help.h"
#include "server/server.h"

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
        !arguments_integer(
            context, 2,
            INTEGER_OR(-1, INT64_MAX, "ERR count should be greater than or equal to -1"),
            &count))
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
     .run = run_container_help},
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

/* ---- commands */

static const struct command entries[] = {{.name = "slowlog",
                                          .arity = -2,
                                          .flags = 0,
                                          .group = "server",
                                          .since = "2.2.12",
                                          .summary = "A container for slow log commands",
                                          .complexity = "Depends on subcommand.",
                                          .syntax = "",
                                          .subcommands = slowlog_subcommands},
                                         {.name = NULL}};

COMMANDS(slowlog, entries)
