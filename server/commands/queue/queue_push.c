/* Q.PUSH. */
#include "server/dispatch/command_list.h"

#include "server/dispatch/arguments.h"

enum value_kind {
    VALUE_DURATION,
    VALUE_BACKOFF, /* one duration or two */
    VALUE_COUNT,
    VALUE_MOMENT,
    VALUE_NAME,
    VALUE_PRIORITY
};

struct push_option {
    const char *name;
    enum value_kind kind;
    size_t offset; /* of the number in struct dueq_push */
};

static const struct push_option options[] = {
    {"id", VALUE_NAME, 0},
    {"delay", VALUE_DURATION, offsetof(struct dueq_push, delay)},
    {"at", VALUE_MOMENT, offsetof(struct dueq_push, at)},
    {"priority", VALUE_PRIORITY, 0},
    {"lease", VALUE_DURATION, offsetof(struct dueq_push, lease)},
    {"retries", VALUE_COUNT, offsetof(struct dueq_push, retries)},
    {"backoff", VALUE_BACKOFF, offsetof(struct dueq_push, backoff)},
    {"ttl", VALUE_DURATION, offsetof(struct dueq_push, ttl)},
};

static const struct push_option *find_option(struct context *context, size_t index)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (arguments_is(context, index, options[i].name))
            return &options[i];
    context_syntax_error(context);
    return NULL;
}

static bool read_priority(struct context *context, size_t index, int *ret_priority)
{
    int64_t number;

    if (!arguments_integer(
            context, index,
            INTEGER_BOUND(0, 255, "ERR value is out of range, must be between 0 and 255"),
            &number))
        return false;
    *ret_priority = (int)number;
    return true;
}

/* A second duration, the maximum, may follow: durations begin with a digit, options do not. */
static bool read_backoff(struct context *context, size_t *at, struct dueq_push *push)
{
    struct argument next;

    if (!arguments_duration(context, (*at)++, &push->backoff))
        return false;
    if (*at >= context_count(context))
        return true;
    next = context_argument(context, *at);
    if (next.size == 0 || next.data[0] < '0' || next.data[0] > '9')
        return true;
    return arguments_duration(context, (*at)++, &push->backoff_max);
}

/* Reads the value at *at; *at then is the last argument that it used. */
static bool read_value(struct context *context, const struct push_option *option, size_t *at,
                       struct dueq_push *push)
{
    int64_t *number = (int64_t *)(void *)((char *)push + option->offset);

    switch (option->kind) {
    case VALUE_DURATION:
        return arguments_duration(context, (*at)++, number);
    case VALUE_BACKOFF:
        return read_backoff(context, at, push);
    case VALUE_COUNT:
        return arguments_integer(
            context, (*at)++, INTEGER_BOUND(0, INT32_MAX, "ERR value is out of range"), number);
    case VALUE_MOMENT:
        push->absolute = true;
        return arguments_integer(context, (*at)++, NULL, number);
    case VALUE_NAME:
        push->id = context_slice(context, *at);
        return arguments_name(context, (*at)++, "id");
    case VALUE_PRIORITY:
        break;
    }
    return read_priority(context, (*at)++, &push->priority);
}

static bool read_options(struct context *context, struct dueq_push *push)
{
    for (size_t at = 3; at < context_count(context);) {
        const struct push_option *option = find_option(context, at);

        if (option == NULL || !arguments_has_value(context, at))
            return false;
        at++;
        if (!read_value(context, option, &at, push))
            return false;
    }
    return true;
}

static bool read_push(struct context *context, struct dueq_push *push)
{
    if (!arguments_name(context, 1, "topic"))
        return false;
    dueq_push_init(push);
    push->topic = context_slice(context, 1);
    push->body = context_slice(context, 2);
    push->delay = DUEQ_DEFAULT; /* to know whether it was given */
    if (!read_options(context, push))
        return false;
    if (push->absolute && push->delay != DUEQ_DEFAULT) {
        context_syntax_error(context);
        return false;
    }
    if (push->delay == DUEQ_DEFAULT)
        push->delay = 0;
    return true;
}

static enum outcome run_q_push(struct context *context)
{
    struct dueq_push push;
    struct dueq_slice id;
    enum dueq_status status;

    if (!read_push(context, &push))
        return OUTCOME_DONE;
    status = dueq_push(context->store, &push, context->now, &id);
    if (status != DUEQ_OK)
        return context_status(context, status);
    resp_bulk(context->reply, id.data, id.size);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "q.push",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "queue",
     .since = "1.0.0",
     .summary = "Push a job, to be due now, after a delay, or at a moment",
     .complexity = "O(log(N))",
     .syntax =
         "topic body [ID id] [DELAY duration|AT unix-ms] [PRIORITY 0-255] [LEASE duration] "
         "[RETRIES count] [BACKOFF duration [max]] [TTL duration]",
     .categories = "queue",
     .run = run_q_push},
    {.name = NULL}};

COMMANDS(queue_push, entries)
