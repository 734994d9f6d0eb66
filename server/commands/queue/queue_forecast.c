/* How many jobs fall due when: Q.FORECAST. */
#include "server/dispatch/command_list.h"

#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"

#include <stdlib.h>

/* A step may be a page that comes from the disk: a slice of them takes a few ms then, and some
 * 0.1 ms otherwise. */
#define BUCKETS_MOST 1000

enum { SLICE_STEPS = LONG_STEPS / 4 };

struct buckets {
    int64_t length, count;
};

static const struct argument_option options[] = {
    {"bucket", OPTION_DURATION(struct buckets, length)},
    {"count", OPTION_INTEGER(struct buckets, count),
     .rule = INTEGER_RANGE(1, BUCKETS_MOST, RANGE_TEXT(1, BUCKETS_MOST))},
    {.name = NULL}};

static bool read_buckets(struct context *context, struct buckets *buckets)
{
    *buckets = (struct buckets){.length = 3600000, .count = 24};
    if (!arguments_name(context, 1, "topic") ||
        !argument_options_read(context, 2, options, buckets))
        return false;
    if (buckets->length < 1)
        resp_error(context->reply, "ERR BUCKET must be 1 ms or more");
    return buckets->length >= 1;
}

/* The counts follow the struct. */
static struct dueq_forecast *make_forecast(const struct buckets *buckets)
{
    size_t count = (size_t)buckets->count;
    struct dueq_forecast *forecast = calloc(1, sizeof(*forecast) + count * sizeof(uint64_t));

    if (forecast == NULL)
        return NULL;
    forecast->bucket = buckets->length;
    forecast->count = count;
    forecast->counts = (uint64_t *)(forecast + 1);
    return forecast;
}

/* A bucket so far in the future that its begin is no time has the last time that is one. */
static int64_t begin_of(const struct dueq_forecast *forecast, size_t bucket)
{
    int64_t begin;

    if (__builtin_mul_overflow((int64_t)bucket, forecast->bucket, &begin) ||
        __builtin_add_overflow(begin, forecast->begin.wall, &begin))
        return INT64_MAX;
    return begin;
}

static enum outcome write_forecast(struct context *context,
                                   const struct dueq_forecast *forecast)
{
    resp_array(context->reply, forecast->count);
    for (size_t i = 0; i < forecast->count; i++) {
        resp_array(context->reply, 2);
        resp_integer(context->reply, begin_of(forecast, i));
        resp_integer(context->reply, (int64_t)forecast->counts[i]);
    }
    return OUTCOME_DONE;
}

/* DUEQ_BUSY: there is more to count. An unknown topic counts as empty. */
static enum dueq_status count_on(struct context *context, struct dueq_forecast *forecast,
                                 unsigned steps)
{
    enum dueq_status status;

    forecast->topic = context_slice(context, 1);
    status = dueq_forecast(context->store, forecast, context->now, &steps);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum outcome finish(struct context *context, const struct dueq_forecast *forecast,
                           enum dueq_status status)
{
    return status == DUEQ_OK ? write_forecast(context, forecast)
                             : context_status(context, status);
}

static enum outcome run_at_once(struct context *context)
{
    struct buckets buckets;
    struct dueq_forecast *forecast;
    enum dueq_status status;
    enum outcome outcome;

    if (!read_buckets(context, &buckets))
        return OUTCOME_DONE;
    forecast = make_forecast(&buckets);
    if (forecast == NULL)
        return context_status(context, DUEQ_NOMEM);
    status = count_on(context, forecast, SLICE_STEPS);
    if (status == DUEQ_BUSY)
        return long_work_continue(context, forecast, free, LONG_HOLDS_NOTHING);
    outcome = finish(context, forecast, status);
    free(forecast);
    return outcome;
}

static enum outcome run_q_forecast(struct context *context)
{
    struct dueq_forecast *forecast = long_work_state(context);
    enum dueq_status status;

    if (forecast == NULL)
        return run_at_once(context);
    status = count_on(context, forecast, SLICE_STEPS);
    return status == DUEQ_BUSY ? OUTCOME_WAIT : finish(context, forecast, status);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.forecast",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "How many jobs of a topic fall due in each of the next hours",
     .complexity = "O(L*COUNT*log(N)+P) with L the number of priorities in use and P the pages "
                   "of the schedule that are counted, about a hundredth of the jobs",
     .syntax = "topic [BUCKET duration] [COUNT count]",
     .categories = "queue",
     .run = run_q_forecast},
    {.name = NULL}};

COMMANDS(queue_forecast, entries)
