/* SAVE, BGSAVE, LASTSAVE: checkpoints of the store. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/server.h"

static enum outcome run_lastsave(struct context *context)
{
    return context_reply_integer(context, server_last_save(context->server));
}

/* All accepted data is on disk already: a checkpoint only makes the next start faster. */
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

static const struct command entries[] = {
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

COMMANDS(save, entries)
