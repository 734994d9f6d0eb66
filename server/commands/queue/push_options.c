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
            INTEGER_RANGE(0, 255, "ERR value is out of range, must be between 0 and 255"),
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

/* ---- BACKOFF */

/* Durations begin with a digit, options do not. */
static bool is_duration(const struct context *context, size_t at)
{
    struct argument argument;

    if (at >= context_count(context))
        return false;
    argument = context_argument(context, at);
    return argument.size > 0 && argument.data[0] >= '0' && argument.data[0] <= '9';
}

/* Are there so many more arguments? */
static bool has_more(struct context *context, size_t at, size_t count)
{
    if (context_count(context) - at >= count)
        return true;
    context_syntax_error(context);
    return false;
}

static bool read_maximum(struct context *context, size_t *at, struct dueq_push *push)
{
    if (!arguments_duration(context, (*at)++, &push->backoff_max))
        return false;
    if (push->backoff_max >= push->backoff)
        return true;
    resp_error(context->reply, "ERR BACKOFF waits longer at first than at most");
    return false;
}

/* A second duration, the maximum, may follow. */
static bool read_doubling(struct context *context, size_t *at, struct dueq_push *push)
{
    return arguments_duration(context, (*at)++, &push->backoff) &&
           (!is_duration(context, *at) || read_maximum(context, at, push));
}

/* A wait that never doubles and that varies by nothing. */
static bool read_fixed(struct context *context, size_t *at, struct dueq_push *push)
{
    if (!has_more(context, *at, 1) || !arguments_duration(context, (*at)++, &push->backoff))
        return false;
    push->backoff_max = push->backoff;
    push->jitter = 0;
    return true;
}

static bool read_exponential(struct context *context, size_t *at, struct dueq_push *push)
{
    if (!has_more(context, *at, 2) || !arguments_duration(context, (*at)++, &push->backoff) ||
        !read_maximum(context, at, push))
        return false;
    if (*at >= context_count(context) || !arguments_is(context, *at, "jitter"))
        return true;
    ++*at;
    return has_more(context, *at, 1) &&
           arguments_integer(
               context, (*at)++,
               INTEGER_RANGE(0, 100, "ERR JITTER is out of range, must be between 0 and 100"),
               &push->jitter);
}

static bool read_steps(struct context *context, size_t *at, struct dueq_push *push)
{
    if (!has_more(context, *at, 1))
        return false;
    do {
        if (push->step_count == DUEQ_STEPS_MAX) {
            resp_errorf(context->reply, "ERR BACKOFF STEPS takes 1 to %d durations",
                        DUEQ_STEPS_MAX);
            return false;
        }
        if (!arguments_duration(context, (*at)++, &push->steps[push->step_count]))
            return false;
        push->step_count++;
    } while (is_duration(context, *at));
    return true;
}

/* The last of several BACKOFF wins as a whole: nothing of an earlier one stays. */
bool push_options_backoff(struct context *context, size_t *at, struct dueq_push *push)
{
    static const struct {
        const char *word;
        bool (*read)(struct context *context, size_t *at, struct dueq_push *push);
    } kinds[] = {{"fixed", read_fixed}, {"exp", read_exponential}, {"steps", read_steps}};

    push->backoff = push->backoff_max = push->jitter = DUEQ_DEFAULT;
    push->step_count = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (arguments_is(context, *at, kinds[i].word)) {
            ++*at;
            return kinds[i].read(context, at, push);
        }
    return read_doubling(context, at, push);
}

static bool read_backoff(struct context *context, size_t *at,
                         const struct argument_option *option, void *form)
{
    (void)option;
    return push_options_backoff(context, at, form);
}

/* ---- all of them */

static const char *const on_duplicate[] = {"reject",   "ignore",   "replace",
                                           "debounce", "throttle", NULL};

/* In order: for one job only, for a new job, for a recurring one, for all. */
static const struct argument_option options[] = {
    {"id", OPTION_NAME(struct dueq_push, id, "id")},
    {"ondup", OPTION_CHOICE(struct dueq_push, on_duplicate), .words = on_duplicate},
    {"window", OPTION_DURATION(struct dueq_push, window)},
    {"ignoredead", OPTION_FLAG(struct dueq_push, ignore_dead)},
    {"delay", OPTION_DURATION(struct dueq_push, delay), .group = MOMENT},
    {"at", OPTION_CUSTOM, .group = MOMENT, .values = 1, .read = read_at},
    {"group", OPTION_NAME(struct dueq_push, group, "group")},
    {"weight", OPTION_INTEGER(struct dueq_push, weight),
     .rule = INTEGER_RANGE(1, DUEQ_WEIGHT_MAX,
                           "ERR WEIGHT is out of range, must be between 1 and 1000")},
    {"priority", OPTION_CUSTOM, .values = 1, .read = read_priority},
    {"lease", OPTION_DURATION(struct dueq_push, lease)},
    {"retries", OPTION_INTEGER(struct dueq_push, retries),
     .rule = INTEGER_RANGE(0, INT32_MAX,
                           "ERR RETRIES is out of range, must be between 0 and 2147483647")},
    {"crashes", OPTION_INTEGER(struct dueq_push, crashes),
     .rule = INTEGER_RANGE(0, INT32_MAX,
                           "ERR CRASHES is out of range, must be between 0 and 2147483647")},
    {"backoff", OPTION_CUSTOM, .values = 1, .read = read_backoff},
    {"ttl", OPTION_DURATION(struct dueq_push, ttl)},
    {.name = NULL}};

static const struct argument_option *table(enum push_options_for which)
{
    static const size_t first[] = {0, 1, 6, 8};

    return options + first[which];
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

bool push_options_fit(struct context *context, const struct dueq_push *push)
{
    if (push->weight != DUEQ_DEFAULT && push->group.size == 0) {
        resp_error(context->reply, "ERR WEIGHT needs a GROUP");
        return false;
    }
    if (push->id.size > 0 || (push->on_duplicate == DUEQ_REJECT && !push->ignore_dead &&
                              push->window == DUEQ_DEFAULT))
        return true;
    resp_error(context->reply, "ERR ONDUP, WINDOW and IGNOREDEAD need an ID");
    return false;
}
