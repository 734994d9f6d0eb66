/* Sorted sets and sets put together: union, intersection, difference. */
#include "server/commands/combine.h"
#include "server/commands/handlers.h"
#include "server/long_work.h"

#include "protocol/number.h"

/* ---- options */

static bool parse_weights(struct context *context, struct combination *combination,
                          size_t index)
{

    for (size_t i = 0; i < combination->count; i++) {
        struct argument argument = context_argument(context, index + i);

        if (!number_parse_double(argument.data, argument.size,
                                 &combination->sources[i].weight)) {
            resp_error(context->reply, "ERR weight value is not a float");
            return false;
        }
    }
    return true;
}

static bool parse_aggregate(struct context *context, struct combination *combination,
                            size_t index)
{

    if (context_is(context, index, "sum"))
        combination->aggregate = COMBINE_SUM;
    else if (context_is(context, index, "min"))
        combination->aggregate = COMBINE_LEAST;
    else if (context_is(context, index, "max"))
        combination->aggregate = COMBINE_GREATEST;
    else
        return context_syntax_error(context), false;
    return true;
}

static bool parse_limit(struct context *context, struct combination *combination, size_t index)
{
    int64_t limit;

    if (!context_range_integer(context, index, 0, INT64_MAX, "ERR LIMIT can't be negative",
                               &limit))
        return false;
    combination->limit = (uint64_t)limit;
    return true;
}

/* The option at `index`; *ret_next: the argument behind it. False: the error is written. */
static bool parse_option(struct context *context, struct combination *combination, size_t index,
                         size_t *ret_next)
{
    size_t left = context_count(context) - index;
    bool is_counted = combination->use == COMBINE_COUNTED;
    bool weighed = combination->operation != COMBINE_DIFFERENCE && !is_counted;

    if (weighed && left > combination->count && context_is(context, index, "weights")) {
        *ret_next = index + 1 + combination->count;
        return parse_weights(context, combination, index + 1);
    }
    *ret_next = index + 2;
    if (weighed && left >= 2 && context_is(context, index, "aggregate"))
        return parse_aggregate(context, combination, index + 1);
    if (is_counted && left >= 2 && context_is(context, index, "limit"))
        return parse_limit(context, combination, index + 1);
    if (combination->use == COMBINE_REPLIED && context_is(context, index, "withscores")) {
        *ret_next = index + 1;
        combination->with_scores = true;
        return true;
    }
    context_syntax_error(context);
    return false;
}

/* numkeys and the keys, from argument `index` on. False: the error is written. */
static bool parse_keys(struct context *context, struct combination *combination, size_t index)
{
    int64_t count;

    if (!context_integer(context, index, &count))
        return false;
    if (count < 1) {
        resp_errorf(context->reply, "ERR at least 1 input key is needed for '%s' command",
                    command_full_name(context->command));
        return false;
    }
    if ((uint64_t)count > context_count(context) - index - 1) {
        context_syntax_error(context);
        return false;
    }
    return combine_read_sources(context, combination, index + 1, (size_t)count);
}

static bool parse_combination(struct context *context, struct combination *combination,
                              size_t index)
{
    size_t next;

    if (!parse_keys(context, combination, index))
        return false;
    next = index + 1 + combination->count;
    while (next < context_count(context))
        if (!parse_option(context, combination, next, &next))
            return false;
    return true;
}

/* ---- the commands: numkeys is the first argument, or stands behind the destination */

static enum outcome run(struct context *context, struct combination combination)
{
    size_t index = combination.use == COMBINE_STORED ? 2 : 1;

    if (context_state(context) != NULL)
        return combine_go_on(context);
    combination.type = KEYS_ZSET;
    if (parse_combination(context, &combination, index))
        return combine(context, &combination);
    combine_release(&combination);
    return OUTCOME_DONE;
}

enum outcome run_zunion(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_UNION});
}

enum outcome run_zinter(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_INTERSECTION});
}

enum outcome run_zintercard(struct context *context)
{
    return run(context,
               (struct combination){.operation = COMBINE_INTERSECTION, .use = COMBINE_COUNTED});
}

enum outcome run_zdiff(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_DIFFERENCE});
}

enum outcome run_zunionstore(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_UNION,
                                             .use = COMBINE_STORED,
                                             .event = "zunionstore"});
}

enum outcome run_zinterstore(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_INTERSECTION,
                                             .use = COMBINE_STORED,
                                             .event = "zinterstore"});
}

enum outcome run_zdiffstore(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_DIFFERENCE,
                                             .use = COMBINE_STORED,
                                             .event = "zdiffstore"});
}
