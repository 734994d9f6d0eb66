/* MONITOR: the session gets a line for each command from now on. */
#include "server/dispatch/command_list.h"
#include "server/session/monitors.h"

static enum outcome run_monitor(struct context *context)
{
    if (!context->may_wait) {
        resp_error(context->reply, "ERR MONITOR isn't allowed for DENY BLOCKING client");
        return OUTCOME_DONE;
    }
    monitors_add(context->server, context->session);
    return context_ok(context);
}

/* ---- commands */

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
    {.name = NULL}};

COMMANDS(monitor, entries)
