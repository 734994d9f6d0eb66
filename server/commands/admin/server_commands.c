/* The server as a whole: INFO, SHUTDOWN, TIME. */
#include "server/dispatch/command_list.h"
#include "storage/store.h"

#include "server/commands/database.h"
#include "server/commands/wide.h"
#include "server/dispatch/argument_options.h"
#include "server/info/info.h"
#include "server/server.h"

static enum outcome run_time(struct context *context)
{
    int64_t usec = context->server->clock.wall_usec;

    resp_array(context->reply, 2);
    resp_bulk_integer(context->reply, usec / 1000000);
    resp_bulk_integer(context->reply, usec % 1000000);
    return OUTCOME_DONE;
}

/* ---- INFO */

enum { NAME_STEPS = 16 }; /* of a name, which is held against each section's */

/* count: the sections that are named. */
static bool name_sections(struct context *context, struct wide *wide)
{
    wide->count |= info_named(context_argument(context, wide->at));
    return true;
}

static enum outcome write_sections(struct context *context, const struct wide *wide)
{
    unsigned chosen = context_count(context) == 1 ? info_usual() : (unsigned)wide->count;
    struct buffer text;

    buffer_init(&text, (size_t)16 << 20);
    info_write(context, chosen, &text);
    resp_verbatim(context->reply, "txt", buffer_content(&text), buffer_size(&text));
    buffer_release(&text);
    return OUTCOME_DONE;
}

static enum outcome run_info(struct context *context)
{
    static const struct wide_form form = {.first = 1,
                                          .stride = 1,
                                          .weight = NAME_STEPS,
                                          .lets_others = true,
                                          .take = name_sections,
                                          .end = write_sections};

    return wide_run(context, &form);
}

/* ---- SHUTDOWN */

enum { SHUTDOWN_SAVE = 1, SHUTDOWN_NOSAVE = 2, SHUTDOWN_ABORT = 4, SHUTDOWN_NOW = 8 };

struct shutdown {
    unsigned options;
};

/* FORCE has no effect: a checkpoint that fails does not stop a shutdown. */
static const struct argument_option shutdown_options[] = {
    {"save", OPTION_ADDS(struct shutdown, options), .number = SHUTDOWN_SAVE},
    {"nosave", OPTION_ADDS(struct shutdown, options), .number = SHUTDOWN_NOSAVE},
    {"abort", OPTION_ADDS(struct shutdown, options), .number = SHUTDOWN_ABORT},
    {"now", OPTION_ADDS(struct shutdown, options), .number = SHUTDOWN_NOW},
    {"force", OPTION_ADDS(struct shutdown, options), .number = 0},
    {.name = NULL}};

/* Makes all records durable, sends their replies and exits. NOSAVE skips the checkpoint:
 * nothing is lost, but the next start replays more of the journal. */
static enum outcome run_shutdown(struct context *context)
{
    struct shutdown shutdown = {0};
    unsigned options;

    if (!argument_options_read(context, 1, shutdown_options, &shutdown))
        return OUTCOME_DONE;
    options = shutdown.options;
    if (((options & SHUTDOWN_SAVE) && (options & SHUTDOWN_NOSAVE)) ||
        ((options & SHUTDOWN_ABORT) && context_count(context) > 2))
        return context_syntax_error(context);
    if (options & SHUTDOWN_ABORT) {
        if (server_abort_shutdown(context->server))
            return context_ok(context);
        resp_error(context->reply, "ERR No shutdown in progress.");
        return OUTCOME_DONE;
    }
    context->session->awaits_stop = true;
    log_write_limited(LOG_NOTICE, "User requested shutdown...");
    server_shutdown(context->server, !(options & SHUTDOWN_NOSAVE), options & SHUTDOWN_NOW);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "info",
     .arity = -1,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "1.0.0",
     .summary = "Get information and statistics about the server",
     .complexity = "O(1)",
     .syntax = "[section [section ...]]",
     .categories = "dangerous",
     .tips = "nondeterministic_output request_policy:all_shards response_policy:special",
     .run = run_info},
    {.name = "shutdown",
     .arity = -1,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE |
              COMMAND_NO_MULTI | COMMAND_ALLOW_BUSY,
     .group = "server",
     .since = "1.0.0",
     .summary = "Settle, deliver, checkpoint (unless NOSAVE) and exit",
     .complexity = "O(N) with N the changes since the last checkpoint",
     .syntax = "[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]",
     .run = run_shutdown},
    {.name = "time",
     .arity = 1,
     .flags = COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "server",
     .since = "2.6.0",
     .summary = "Return the current server time",
     .complexity = "O(1)",
     .syntax = "",
     .tips = "nondeterministic_output",
     .run = run_time},
    {.name = NULL}};

COMMANDS(server, entries)
