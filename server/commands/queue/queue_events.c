/* The events that a topic keeps: Q.EVENTS. */
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"

#include <stdlib.h>

#define COUNT_MOST 10000

enum { COUNT_USUAL = 100, FROM = 2, FROM_VALUE = 3, OPTIONS = 4 };

struct reading {
    int64_t count, block; /* ms; block DUEQ_DEFAULT: does not wait */
    bool is_new;          /* only what comes from now on */
    uint64_t after;
    size_t found; /* written so far */
    struct context *context;
};

static const struct argument_option options[] = {
    {"count", OPTION_INTEGER(struct reading, count),
     .rule = INTEGER_RANGE(1, COUNT_MOST, RANGE_TEXT(1, COUNT_MOST))},
    {"block", OPTION_DURATION(struct reading, block)},
    {.name = NULL}};

/* ---- reading the request */

static bool read_from(struct context *context, struct reading *reading)
{
    struct argument text = context_argument(context, FROM_VALUE);
    int64_t number;

    reading->is_new = argument_is(text, "$");
    if (reading->is_new)
        return true;
    if (!number_parse_integer(text.data, text.size, &number) || number < 0) {
        resp_error(context->reply,
                   "ERR FROM must be $ or a number from 0 on: that of the last event seen");
        return false;
    }
    reading->after = (uint64_t)number;
    return true;
}

static bool read_request(struct context *context, struct reading *reading)
{
    *reading =
        (struct reading){.count = COUNT_USUAL, .block = DUEQ_DEFAULT, .context = context};
    if (!arguments_name(context, 1, "topic"))
        return false;
    if (!arguments_is(context, FROM, "from")) {
        context_syntax_error(context);
        return false;
    }
    return read_from(context, reading) &&
           argument_options_read(context, OPTIONS, options, reading);
}

/* ---- the reply */

/* What is not kept any more looks like an event of its own. */
static void write_gap(struct resp_writer *reply, const struct dueq_kept_event *event)
{
    resp_array(reply, 3);
    resp_integer(reply, (int64_t)event->number);
    resp_string(reply, "dropped");
    resp_integer(reply, (int64_t)event->dropped);
}

static bool write_event(void *arg, const struct dueq_kept_event *event)
{
    struct reading *reading = arg;
    struct resp_writer *reply = reading->context->reply;

    reading->found++;
    reading->after = event->number;
    if (event->dropped > 0) {
        write_gap(reply, event);
        return true;
    }
    resp_array(reply, 5);
    resp_integer(reply, (int64_t)event->number);
    resp_string(reply, dueq_event_name(event->type));
    resp_integer(reply, event->at);
    resp_slice(reply, event->id);
    resp_integer(reply, event->attempt);
    return !reply->out->overflowed;
}

static enum outcome refuse(struct context *context, enum dueq_status status)
{
    if (status != DUEQ_WRONGSTATE)
        return context_status(context, status);
    resp_error(context->reply, "ERR the topic keeps no events: see the setting events of "
                               "Q.CONFIG SET");
    return OUTCOME_DONE;
}

/* At most `most` events more. */
static enum dueq_status read_part(struct context *context, struct reading *reading, size_t most)
{
    size_t left = (size_t)reading->count - reading->found;

    reading->context = context;
    return dueq_events(context->store, context_slice(context, 1), reading->after,
                       left < most ? left : most, write_event, reading);
}

/* ---- many events: a part in each turn, from the first one on again, as nothing of the reply
 * may be written before */

static enum outcome read_on(struct context *context, struct reading *reading)
{
    size_t mark = long_work_reply_begin(context), before = reading->found;
    enum dueq_status status;

    if (before == 0)
        resp_reserved(context->reply);
    status = read_part(context, reading, LONG_STEPS);
    if (status != DUEQ_OK) {
        buffer_truncate(context->reply->out, mark);
        return refuse(context, status);
    }
    if (reading->found - before == LONG_STEPS && reading->found < (size_t)reading->count)
        return OUTCOME_WAIT;
    resp_reserved_array(context->reply, mark, reading->found);
    return OUTCOME_DONE;
}

static enum outcome read_later(struct context *context, const struct reading *reading)
{
    struct reading *state = malloc(sizeof(*state));

    if (state == NULL)
        return context_status(context, DUEQ_NOMEM);
    *state = *reading;
    return long_work_continue(context, state, free, LONG_HOLDS_NOTHING);
}

/* ---- waiting */

static bool waits(const struct reading *reading)
{
    return reading->block != DUEQ_DEFAULT;
}

static enum outcome wait_for_events(struct context *context, const struct reading *reading)
{
    int64_t deadline =
        reading->block == 0 ? DUEQ_NEVER : context_deadline(context, reading->block);

    return waiters_wait_for_events(context, context_slice(context, 1), reading->after,
                                   deadline);
}

static enum outcome find_nothing(struct context *context, const struct reading *reading)
{
    if (!waits(reading))
        resp_array(context->reply, 0);
    else if (context->may_wait && !context->stops)
        return wait_for_events(context, reading);
    else
        resp_null_array(context->reply);
    return OUTCOME_DONE;
}

static enum outcome read_or_wait(struct context *context, const struct reading *request)
{
    size_t begin = buffer_size(context->reply->out), mark = resp_deferred(context->reply);
    struct reading reading = *request;
    enum dueq_status status = read_part(context, &reading, LONG_STEPS);

    if (status == DUEQ_OK && reading.found > 0 &&
        (reading.found < LONG_STEPS || reading.found == (size_t)reading.count)) {
        resp_deferred_array(context->reply, mark, reading.found);
        return OUTCOME_DONE;
    }
    buffer_truncate(context->reply->out, begin);
    if (status != DUEQ_OK)
        return refuse(context, status);
    return reading.found == 0 ? find_nothing(context, request) : read_later(context, request);
}

static enum dueq_status find_begin(struct context *context, struct reading *reading)
{
    if (context->waiter != NULL)
        reading->after = waiters_after(context->waiter);
    else if (reading->is_new)
        return dueq_last_event(context->store, context_slice(context, 1), &reading->after);
    return DUEQ_OK;
}

static enum outcome run_q_events(struct context *context)
{
    struct reading reading, *state = long_work_state(context);
    enum dueq_status status;

    if (state != NULL)
        return read_on(context, state);
    if (!read_request(context, &reading))
        return OUTCOME_DONE;
    if (context->timed_out) {
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    status = find_begin(context, &reading);
    return status == DUEQ_OK ? read_or_wait(context, &reading) : refuse(context, status);
}

static const struct command entries[] = {
    {.name = "q.events",
     .arity = -4,
     .flags = COMMAND_READONLY | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "What has happened to the jobs of a topic that keeps its events, in order",
     .complexity = "O(log(N)+COUNT)",
     .syntax = "topic FROM number [COUNT count] [BLOCK duration]",
     .categories = "queue",
     .run = run_q_events},
    {.name = NULL}};

COMMANDS(queue_events, entries)
