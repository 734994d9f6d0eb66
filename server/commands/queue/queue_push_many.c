/* Q.MPUSH. It makes place for all jobs in one turn, which bounds their number. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/job_ids.h"
#include "server/commands/queue/push_after.h"
#include "server/commands/queue/push_options.h"
#include "server/commands/queue/push_slices.h"

#include <stdlib.h>

enum { EACH_WIDTH = 4 }; /* arguments of a job after EACH: id, delay, priority, body */

struct many {
    size_t first, width; /* the argument that begins the first job, and how many a job has */
    size_t count;
    struct after_rights *rights;
    struct dueq_push common; /* the topic, and what the options say for all */
    struct dueq_push *pushes;
    struct push_slices slices;
};

/* ---- reading */

/* Reads the number of jobs at argument `at`, and finds out where they are. */
static bool read_count(struct context *context, size_t at, struct many *many)
{
    int64_t count;

    if (!arguments_integer(
            context, at,
            INTEGER_RANGE(1, JOB_IDS_MAX,
                          "ERR number of jobs is out of range, must be between 1 and " TEXT_OF(
                              JOB_IDS_MAX)),
            &count))
        return false;
    many->first = at + 1;
    many->count = (size_t)count;
    if (many->count <= (context_count(context) - many->first) / many->width)
        return true;
    resp_error(context->reply, "ERR there are fewer jobs than their number says");
    return false;
}

/* AFTER is the last one, and holds for all jobs. The edges of all have the bound of one job. */
static bool read_options(struct context *context, size_t at, struct many *many)
{
    struct push_after_place place = push_after_alone(context, many->rights);
    bool is_after = true;

    while (is_after) {
        if (!push_options_read_leading(context, &at, PUSH_OPTIONS_FOR_ALL, &many->common))
            return false;
        if (at == context_count(context))
            break;
        if (!push_after_read(context, &at, &place, &many->common, &is_after))
            return false;
    }
    if (!is_after) {
        context_syntax_error(context);
        return false;
    }
    if (many->common.after_count * many->count <= DUEQ_AFTER_MAX)
        return true;
    resp_errorf(context->reply, "ERR all jobs together can wait for others %d times at most",
                DUEQ_AFTER_MAX);
    return false;
}

static bool read_form(struct context *context, struct many *many)
{
    bool each = arguments_is(context, 2, "each");

    many->width = each ? EACH_WIDTH : 1;
    if (!arguments_name(context, 1, "topic") || !read_count(context, each ? 3 : 2, many))
        return false;
    many->common.topic = context_slice(context, 1);
    return read_options(context, many->first + many->count * many->width, many);
}

static bool is_empty(const struct context *context, size_t at)
{
    return context_argument(context, at).size == 0;
}

/* What is empty is as the options say. */
static bool read_each(struct context *context, size_t at, struct dueq_push *push)
{
    if (!is_empty(context, at)) {
        if (!arguments_name(context, at, "id"))
            return false;
        push->id = context_slice(context, at);
    }
    if (!is_empty(context, at + 1)) {
        if (!arguments_duration(context, at + 1, &push->delay))
            return false;
        push->absolute = false;
    }
    return is_empty(context, at + 2) || push_options_priority(context, at + 2, &push->priority);
}

static bool read_jobs(struct context *context, struct many *many)
{
    for (size_t i = 0; i < many->count; i++) {
        size_t at = many->first + i * many->width;
        struct dueq_push *push = &many->pushes[i];

        *push = many->common;
        if (many->width == EACH_WIDTH && !read_each(context, at, push))
            return false;
        push->body = context_slice(context, at + many->width - 1);
        if (!push_options_fit(context, push))
            return false;
    }
    return true;
}

/* ---- pushing */

static void free_many(void *state)
{
    struct many *many = state;

    push_slices_release(&many->slices);
    free(many->pushes);
    push_after_release(&many->common);
    free(many);
}

/* Reads the command. False: an error is written, or rights are not known yet. */
static bool read(struct context *context, struct after_rights *rights, struct many *many)
{
    bool good;

    dueq_push_init(&many->common);
    many->rights = rights;
    good = read_form(context, many) && after_rights_known(rights);
    many->rights = NULL;
    return good;
}

static bool begin_push(struct context *context, struct many *many)
{
    struct push_slices *slices = &many->slices;

    slices->count = many->count;
    slices->pushed = malloc(many->count * sizeof(*slices->pushed));
    many->pushes = malloc(many->count * sizeof(*many->pushes));
    if (many->pushes == NULL || slices->pushed == NULL)
        return context_check_status(context, DUEQ_NOMEM);
    return read_jobs(context, many) &&
           context_check_status(context,
                                store_push_begin(context->store, many->pushes, many->count,
                                                 context->now, &slices->batch));
}

static enum outcome refuse(struct context *context, const struct many *many,
                           enum dueq_status status)
{
    if (status != DUEQ_INVALID || many->common.after_count == 0)
        return context_status(context, status);
    resp_error(context->reply, "ERR a job cannot wait for another one of its command");
    return OUTCOME_DONE;
}

/* Takes `many`. */
static enum outcome push_some(struct context *context, struct after_rights *rights,
                              struct many *many)
{
    enum dueq_status status = DUEQ_OK;
    enum outcome outcome = OUTCOME_DONE;

    if (push_slices_have_more(context, rights, &many->slices, many, free_many, &status))
        return OUTCOME_WAIT;
    if (status != DUEQ_OK)
        outcome = refuse(context, many, status);
    free_many(many);
    return outcome;
}

static enum outcome read_and_push(struct context *context, struct after_rights *rights,
                                  void *arg)
{
    struct many *many = rights->work;
    enum outcome outcome = OUTCOME_DONE;

    (void)arg;
    if (many != NULL)
        return push_some(context, rights, many);
    many = calloc(1, sizeof(*many));
    if (many == NULL)
        return context_status(context, DUEQ_NOMEM);
    if (read(context, rights, many)) {
        if (push_slices_must_wait(context, many->count))
            outcome = OUTCOME_WAIT;
        else if (begin_push(context, many))
            return push_some(context, rights, many);
    }
    free_many(many);
    return outcome;
}

static enum outcome run_q_mpush(struct context *context)
{
    return after_rights_run(context, read_and_push, NULL);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.mpush",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push several jobs, or none when one of them is refused",
     .complexity = "O(log(N)) for each job",
     .syntax = "topic <count body [body ...]|EACH <count id delay priority body [id delay "
               "priority body ...]>> " PUSH_OPTIONS_SYNTAX " " PUSH_AFTER_SYNTAX,
     .categories = "queue",
     .run = run_q_mpush},
    {.name = NULL}};

COMMANDS(queue_push_many, entries)
