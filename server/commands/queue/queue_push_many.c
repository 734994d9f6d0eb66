/* Q.MPUSH. It checks all jobs and makes place for them in one turn, which bounds their number.
 * Many bytes of bodies are written in slices, alone with the store (server/dispatch/alone.h):
 * one record, and one step for all other clients. */
#include "server/dispatch/command_list.h"

#include "server/commands/queue/job_ids.h"
#include "server/commands/queue/push_after.h"
#include "server/commands/queue/push_options.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "storage/store.h"

#include <stdlib.h>

enum {
    EACH_WIDTH = 4, /* arguments of a job after EACH: id, delay, priority, body */
    SLICE_BYTES = ALONE_STEPS * LONG_STEP_BYTES
};

struct many {
    size_t first, width; /* the argument that begins the first job, and how many a job has */
    size_t count;
    struct after_rights *rights;
    struct dueq_push common; /* the topic, and what the options say for all */
    struct dueq_push *pushes;
    struct dueq_pushed *pushed;
    struct push_batch *batch; /* NULL: not begun */
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

static void release(struct many *many)
{
    store_push_end(many->batch);
    free(many->pushes);
    free(many->pushed);
    push_after_release(&many->common);
}

static void free_many(void *state)
{
    release(state);
    free(state);
}

/* Reads the jobs, checks them and makes place for them. False: the error is written. */
static bool begin_push(struct context *context, struct many *many)
{
    enum dueq_status status;

    many->pushes = malloc(many->count * sizeof(*many->pushes));
    many->pushed = malloc(many->count * sizeof(*many->pushed));
    if (many->pushes == NULL || many->pushed == NULL)
        return context_check_status(context, DUEQ_NOMEM);
    if (!read_jobs(context, many))
        return false;
    status =
        store_push_begin(context->store, many->pushes, many->count, context->now, &many->batch);
    if (status != DUEQ_INVALID || many->common.after_count == 0)
        return context_check_status(context, status);
    resp_error(context->reply, "ERR a job cannot wait for another one of its command");
    return false;
}

static enum outcome push_some(struct context *context, struct many *many, size_t bytes)
{
    if (!store_push_some(context->store, many->batch, bytes, many->pushed))
        return OUTCOME_WAIT;
    resp_array(context->reply, many->count);
    for (size_t i = 0; i < many->count; i++)
        resp_slice(context->reply, many->pushed[i].id);
    return OUTCOME_DONE;
}

/* Does it take slices? From then on its arguments stay where they are, so the first slice
 * reads them again. (A command that was barred before has a waiter.) */
static bool is_put_off(struct context *context, const struct many *many)
{
    static const struct many none = {.first = 0};

    return context_copied_of_all(context) > LONG_ENOUGH_BYTES && many->count > 1 &&
           many->common.after_count == 0 && context->waiter == NULL &&
           !alone_hurries(context) && alone_put_off(context, &none, sizeof(none), free_many);
}

static enum outcome read_and_push(struct context *context, struct after_rights *rights,
                                  void *arg)
{
    struct many many = {.rights = rights};
    enum outcome outcome = OUTCOME_DONE;

    dueq_push_init(&many.common);
    if (read_form(context, &many) && after_rights_known(rights)) {
        *(bool *)arg = is_put_off(context, &many);
        if (!*(bool *)arg && begin_push(context, &many))
            outcome = push_some(context, &many, SIZE_MAX);
    }
    release(&many);
    return outcome;
}

/* It waits for no other jobs, so nobody is asked for rights. */
static enum outcome push_slice(struct context *context, struct many *many)
{
    struct after_rights rights = {.count = 0};
    bool is_first = many->batch == NULL;
    bool good;

    if (is_first) {
        dueq_push_init(&many->common);
        many->rights = &rights;
        good = read_form(context, many) && begin_push(context, many);
        many->rights = NULL;
        if (!good)
            return OUTCOME_DONE;
    }
    return push_some(context, many, alone_hurries(context) ? SIZE_MAX : SLICE_BYTES);
}

static enum outcome run_q_mpush(struct context *context)
{
    struct many *many = long_work_state_of(context, free_many);
    bool put_off = false;
    enum outcome outcome;

    if (many != NULL)
        return push_slice(context, many);
    outcome = after_rights_run(context, read_and_push, &put_off);
    return put_off ? OUTCOME_WAIT : outcome;
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
