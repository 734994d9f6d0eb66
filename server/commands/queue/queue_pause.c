/* Stops and starts topics: Q.PAUSE, Q.RESUME. */
#include "server/dispatch/command_list.h"

#include "server/dispatch/argument_options.h"

enum { PAUSE_IN = 1, PAUSE_OUT = 2, PAUSE_ALL = PAUSE_IN | PAUSE_OUT };

struct pause {
    unsigned what;
    int64_t wait;
};

enum { WHAT = 1 };

static const struct argument_option options[] = {
    {"in", OPTION_SETS(struct pause, what), .number = PAUSE_IN, .group = WHAT, .once = true},
    {"out", OPTION_SETS(struct pause, what), .number = PAUSE_OUT, .group = WHAT, .once = true},
    {"all", OPTION_SETS(struct pause, what), .number = PAUSE_ALL, .group = WHAT, .once = true},
    {"for", OPTION_DURATION(struct pause, wait)},
    {.name = NULL}};

static enum outcome run_q_pause(struct context *context)
{
    struct pause pause = {.what = PAUSE_ALL, .wait = DUEQ_DEFAULT};
    enum dueq_status status;

    if (!arguments_name(context, 1, "topic") ||
        !argument_options_read(context, 2, options, &pause))
        return OUTCOME_DONE;
    status = dueq_pause(context->store, context_slice(context, 1), pause.what & PAUSE_IN,
                        pause.what & PAUSE_OUT, pause.wait, context->now);
    return status == DUEQ_OK ? context_ok(context) : context_status(context, status);
}

static enum outcome run_q_resume(struct context *context)
{
    if (!arguments_name(context, 1, "topic") ||
        !context_check_status(context, dueq_pause(context->store, context_slice(context, 1),
                                                  false, false, DUEQ_DEFAULT, context->now)))
        return OUTCOME_DONE;
    return context_ok(context);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.pause",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Refuse pushes, hold back claims, or both, for a while or until Q.RESUME",
     .complexity = "O(1)",
     .syntax = "topic [IN|OUT|ALL] [FOR duration]",
     .categories = "queue",
     .run = run_q_pause},
    {.name = "q.resume",
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "End a pause",
     .complexity = "O(1)",
     .syntax = "topic",
     .categories = "queue",
     .run = run_q_resume},
    {.name = NULL}};

COMMANDS(queue_pause, entries)
