#include "server/commands/queue/push_options.h"

enum { MOMENT = 1 }; /* a group: DELAY or AT */

static bool read_at(struct context *context, size_t *at, const struct argument_option *option,
                    void *form)
{
    struct dueq_push *push = form;

    (void)option;
    push->absolute = true;
    return arguments_integer(context, (*at)++, NULL, &push->at);
}

bool push_options_priority(struct context *context, size_t index, int *ret_priority)
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

static bool read_priority(struct context *context, size_t *at,
                          const struct argument_option *option, void *form)
{
    (void)option;
    return push_options_priority(context, (*at)++, &((struct dueq_push *)form)->priority);
}

/* A second duration, the maximum, may follow: durations begin with a digit, options do not. */
static bool read_backoff(struct context *context, size_t *at,
                         const struct argument_option *option, void *form)
{
    struct dueq_push *push = form;
    struct argument next;

    (void)option;
    if (!arguments_duration(context, (*at)++, &push->backoff))
        return false;
    if (*at >= context_count(context))
        return true;
    next = context_argument(context, *at);
    if (next.size == 0 || next.data[0] < '0' || next.data[0] > '9')
        return true;
    return arguments_duration(context, (*at)++, &push->backoff_max);
}

/* The first one is for one job only. */
static const struct argument_option options[] = {
    {"id", OPTION_NAME(struct dueq_push, id), .what = "id"},
    {"delay", OPTION_DURATION(struct dueq_push, delay), .group = MOMENT},
    {"at", OPTION_CUSTOM, .group = MOMENT, .values = 1, .read = read_at},
    {"priority", OPTION_CUSTOM, .values = 1, .read = read_priority},
    {"lease", OPTION_DURATION(struct dueq_push, lease)},
    {"retries", OPTION_INTEGER(struct dueq_push, retries),
     .rule = INTEGER_BOUND(0, INT32_MAX, "ERR value is out of range")},
    {"backoff", OPTION_CUSTOM, .values = 1, .read = read_backoff},
    {"ttl", OPTION_DURATION(struct dueq_push, ttl)},
    {.name = NULL}};

static const struct argument_option *table(enum push_options_for which)
{
    return which == PUSH_OPTIONS_FOR_ONE ? options : options + 1;
}

bool push_options_read_leading(struct context *context, size_t *at, enum push_options_for which,
                               struct dueq_push *push)
{
    return argument_options_read_leading(context, at, table(which), push);
}

bool push_options_read(struct context *context, size_t at, enum push_options_for which,
                       struct dueq_push *push)
{
    return argument_options_read(context, at, table(which), push);
}
