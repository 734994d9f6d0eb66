/* Intersections, unions and differences of sets, replied, counted or stored. */
#include "server/commands/combine.h"
#include "server/commands/handlers.h"
#include "server/long_work.h"

/* The keys are the `count` arguments from `first` on. */
static enum outcome run(struct context *context, struct combination combination, size_t first,
                        size_t count)
{
    combination.type = KEYS_SET;
    if (combine_read_sources(context, &combination, first, count))
        return combine(context, &combination);
    combine_release(&combination);
    return OUTCOME_DONE;
}

static enum outcome reply(struct context *context, struct combination combination)
{
    if (context_state(context) != NULL)
        return combine_go_on(context);
    return run(context, combination, 1, context_count(context) - 1);
}

enum outcome run_sinter(struct context *context)
{
    return reply(context, (struct combination){.operation = COMBINE_INTERSECTION});
}

enum outcome run_sunion(struct context *context)
{
    return reply(context, (struct combination){.operation = COMBINE_UNION});
}

enum outcome run_sdiff(struct context *context)
{
    return reply(context, (struct combination){.operation = COMBINE_DIFFERENCE});
}

/* ---- counted */

/* [LIMIT limit] from the argument `at` on; 0: no limit. */
static bool parse_limit(struct context *context, size_t at, int64_t *ret_limit)
{
    for (; at < context_count(context); at += 2) {
        if (at + 1 == context_count(context) || !context_is(context, at, "limit")) {
            context_syntax_error(context);
            return false;
        }
        if (!context_range_integer(context, at + 1, 0, INT64_MAX, "ERR LIMIT can't be negative",
                                   ret_limit))
            return false;
    }
    return true;
}

enum outcome run_sintercard(struct context *context)
{
    struct combination counted = {.operation = COMBINE_INTERSECTION, .use = COMBINE_COUNTED};
    int64_t keys, limit = 0;

    if (context_state(context) != NULL)
        return combine_go_on(context);
    if (!context_range_integer(context, 1, 1, INT64_MAX, "ERR numkeys should be greater than 0",
                               &keys))
        return OUTCOME_DONE;
    if ((uint64_t)keys > context_count(context) - 2) {
        resp_error(context->reply, "ERR Number of keys can't be greater than number of args");
        return OUTCOME_DONE;
    }
    if (!parse_limit(context, 2 + (size_t)keys, &limit))
        return OUTCOME_DONE;
    counted.limit = (uint64_t)limit;
    return run(context, counted, 2, (size_t)keys);
}

/* ---- stored */

static enum outcome store(struct context *context, struct combination combination,
                          const char *event)
{
    if (context_state(context) != NULL)
        return combine_go_on(context);
    combination.use = COMBINE_STORED;
    combination.event = event;
    return run(context, combination, 2, context_count(context) - 2);
}

enum outcome run_sinterstore(struct context *context)
{
    return store(context, (struct combination){.operation = COMBINE_INTERSECTION},
                 "sinterstore");
}

enum outcome run_sunionstore(struct context *context)
{
    return store(context, (struct combination){.operation = COMBINE_UNION}, "sunionstore");
}

enum outcome run_sdiffstore(struct context *context)
{
    return store(context, (struct combination){.operation = COMBINE_DIFFERENCE}, "sdiffstore");
}
