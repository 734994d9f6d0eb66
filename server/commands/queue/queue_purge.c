/* Empties topics: Q.PURGE, Q.DROP. */
#include "server/dispatch/command_list.h"

#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"

#include <stdlib.h>

/* A slice is 250 jobs at first and 60 later: each has records in several places of the disk,
 * and takes 2 to 40 us. */
enum { STEPS_A_JOB = 4, FIRST_SLICE = LONG_STEPS, SLICE_STEPS = LONG_STEPS / 4 };

/* ---- Q.PURGE */

static const char *const states[] = {"delayed", "ready", "dead", "done", "waiting", NULL};

struct purge {
    unsigned state; /* index in states */
    struct dueq_slice match;
};

enum { ANY = sizeof(states) / sizeof(*states) };

static const struct argument_option options[] = {
    {"state", OPTION_CHOICE(struct purge, state), .words = states},
    {"match", OPTION_BYTES(struct purge, match)},
    {.name = NULL}};

static bool read_purge(struct context *context, struct dueq_purge *ret_purge)
{
    static const int of_word[] = {DUEQ_DELAYED, DUEQ_READY, DUEQ_DEAD, DUEQ_DONE, DUEQ_WAITING};
    struct purge purge = {.state = ANY, .match = {NULL, 0}};

    if (!arguments_name(context, 1, "topic") ||
        !argument_options_read(context, 2, options, &purge))
        return false;
    *ret_purge =
        (struct dueq_purge){.topic = context_slice(context, 1),
                            .state = purge.state == ANY ? DUEQ_DEFAULT : of_word[purge.state],
                            .match = purge.match};
    return true;
}

static enum outcome reply(struct context *context, enum dueq_status status,
                          const struct dueq_purge_progress *progress)
{
    return status == DUEQ_OK ? context_reply_integer(context, (int64_t)progress->removed)
                             : context_status(context, status);
}

static enum outcome run_slice(struct context *context, const struct dueq_purge *purge,
                              struct dueq_purge_progress *progress)
{
    enum dueq_status status =
        dueq_purge(context->store, purge, context->now, SLICE_STEPS, progress);

    if (status == DUEQ_OK && !progress->is_over)
        return OUTCOME_WAIT;
    return reply(context, status, progress);
}

static enum outcome continue_later(struct context *context,
                                   const struct dueq_purge_progress *progress)
{
    struct dueq_purge_progress *kept = malloc(sizeof(*kept));

    if (kept == NULL)
        return context_status(context, DUEQ_NOMEM);
    *kept = *progress;
    return long_work_continue(context, kept, free, LONG_HOLDS_NOTHING);
}

/* Each job of the topic is looked at. */
static bool fits_transaction(struct context *context, const struct dueq_purge *purge)
{
    struct dueq_topic_stats stats;
    uint64_t jobs = 0;

    if (dueq_topic_stats(context->store, purge->topic, context->now, &stats) != DUEQ_OK)
        return true;
    for (int state = 0; state < DUEQ_STATES; state++)
        jobs += stats.counts[state];
    return long_work_fits(context, jobs * STEPS_A_JOB);
}

static enum outcome run_q_purge(struct context *context)
{
    struct dueq_purge purge;
    struct dueq_purge_progress progress = {.topic = 0};
    enum dueq_status status;

    if (!read_purge(context, &purge))
        return OUTCOME_DONE;
    if (long_work_state(context) != NULL)
        return run_slice(context, &purge, long_work_state(context));
    if (!context->may_wait && !fits_transaction(context, &purge))
        return OUTCOME_DONE;
    status = dueq_purge(context->store, &purge, context->now, FIRST_SLICE, &progress);
    if (status == DUEQ_OK && !progress.is_over)
        return continue_later(context, &progress);
    return reply(context, status, &progress);
}

/* ---- Q.DROP */

static enum outcome run_q_drop(struct context *context)
{
    enum dueq_status status;

    if (!arguments_name(context, 1, "topic"))
        return OUTCOME_DONE;
    status = dueq_drop(context->store, context_slice(context, 1), context->now);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    return context_reply_integer(context, status == DUEQ_OK);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.purge",
     .arity = -2,
     .flags = COMMAND_WRITE,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Remove the jobs of a topic that are not claimed",
     .complexity = "O(N*log(N))",
     .syntax = "topic [STATE delayed|ready|dead|done|waiting] [MATCH pattern]",
     .categories = "queue",
     .run = run_q_purge},
    {.name = "q.drop",
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Remove a topic: its jobs, totals, settings and pause",
     .complexity = "O(1), the records are removed in the background",
     .syntax = "topic",
     .categories = "queue",
     .run = run_q_drop},
    {.name = NULL}};

COMMANDS(queue_purge, entries)
