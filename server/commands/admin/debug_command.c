/* DEBUG, for tests of clients. */
#include "server/commands/clients/client_filter.h"
#include "server/commands/database.h"
#include "server/commands/keys/object_command.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"

#include <errno.h>
#include <math.h>
#include <time.h>

/* Blocks the whole server on purpose; a signal does not shorten it. */
static void sleep_for(double seconds)
{
    struct timespec wait = {(time_t)seconds, (long)(fmod(seconds, 1) * 1e9)};

    while (nanosleep(&wait, &wait) != 0 && errno == EINTR)
        continue;
}

static enum outcome run_debug(struct context *context)
{
    double seconds;

    if (arguments_is(context, 1, "object") && context_count(context) == 3)
        return reply_debug_object(context);
    if (!arguments_is(context, 1, "sleep") || context_count(context) != 3)
        return context_subcommand_error(context);
    if (!arguments_float(context, 2, &seconds))
        return OUTCOME_DONE;
    if (seconds > 0 && seconds < 3600)
        sleep_for(seconds);
    return context_ok(context);
}

/* ---- commands */

static const struct command entries[] = {{.name = "debug",
                                          .arity = -2,
                                          .flags = COMMAND_PROTECTED | COMMAND_ADMIN |
                                                   COMMAND_NOSCRIPT | COMMAND_LOADING |
                                                   COMMAND_STALE,
                                          .group = "server",
                                          .since = "1.0.0",
                                          .summary = "A container for debugging commands",
                                          .complexity = "Depends on subcommand.",
                                          .syntax = "subcommand [arg [arg ...]]",
                                          .run = run_debug},
                                         {.name = NULL}};

COMMANDS(debug, entries)
