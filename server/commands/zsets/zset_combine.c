/* Union, intersection and difference of sorted sets and sets: ZUNION and its relatives. */
#include "server/commands/combine.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"

#include "protocol/number.h"

/* ---- options */

/* One weight for each source. There may be half a million: they are read one by one. */
static bool begin_weights(struct context *context, size_t *at,
                          const struct argument_option *option, void *form)
{
    struct combination *combination = form;

    (void)option;
    if (context_count(context) - *at < combination->sources.count)
        return context_syntax_error(context), false;
    combination->weights_left = combination->sources.count;
    return true;
}

static bool read_weight(struct context *context, struct combination *combination)
{
    struct argument text = context_argument(context, combination->option++);
    size_t source = combination->sources.count - combination->weights_left--;

    if (number_parse_double(text.data, text.size, &combination->sources.items[source].weight))
        return true;
    resp_error(context->reply, "ERR weight value is not a float");
    return false;
}

static const char *const aggregates[] = {
    [COMBINE_SUM] = "sum", [COMBINE_LEAST] = "min", [COMBINE_GREATEST] = "max", NULL};

/* What is stored has no scores in its reply: it knows all but the first. */
static const struct argument_option weighed_options[] = {
    {"withscores", OPTION_FLAG(struct combination, with_scores)},
    {"weights", OPTION_CUSTOM, .read = begin_weights},
    {"aggregate", OPTION_CHOICE(struct combination, aggregate), .words = aggregates},
    {.name = NULL}};

static const struct argument_option difference_options[] = {
    {"withscores", OPTION_FLAG(struct combination, with_scores)}, {.name = NULL}};

static const struct argument_option counted_options[] = {
    {"limit", OPTION_COUNT(struct combination, limit),
     .rule = INTEGER_OR(0, INT64_MAX, "ERR LIMIT can't be negative")},
    {.name = NULL}};

static const struct argument_option *options_of(const struct combination *combination)
{
    if (combination->use == COMBINE_COUNTED)
        return counted_options;
    return (combination->operation == COMBINE_DIFFERENCE ? difference_options
                                                         : weighed_options) +
           (combination->use == COMBINE_STORED);
}

/* Reads numkeys at argument `index`. False: the error is written. */
static bool parse_count(struct context *context, size_t index, size_t *ret_count)
{
    int64_t count;

    if (!arguments_integer(context, index, NULL, &count))
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
    *ret_count = (size_t)count;
    return true;
}

/* ---- handlers: numkeys is the first argument, or the second after a destination */

static size_t index_of_count(const struct combination *combination)
{
    return combination->use == COMBINE_STORED ? 2 : 1;
}

static bool read_option(struct context *context, struct combination *combination)
{
    if (combination->weights_left > 0)
        return read_weight(context, combination);
    return argument_options_read_one(context, &combination->option, options_of(combination),
                                     combination);
}

static enum outcome run(struct context *context, struct combination combination)
{
    size_t index = index_of_count(&combination), count;

    if (long_work_state(context) != NULL)
        return combine_continue(context);
    if (!parse_count(context, index, &count))
        return OUTCOME_DONE;
    combination.type = KEYS_ZSET;
    combination.read_option = read_option;
    combination.option = index + 1 + count;
    return combine(context, &combination, index + 1, count);
}

static enum outcome run_zunion(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_UNION});
}

static enum outcome run_zinter(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_INTERSECTION});
}

static enum outcome run_zintercard(struct context *context)
{
    return run(context,
               (struct combination){.operation = COMBINE_INTERSECTION, .use = COMBINE_COUNTED});
}

static enum outcome run_zdiff(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_DIFFERENCE});
}

static enum outcome run_zunionstore(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_UNION,
                                             .use = COMBINE_STORED,
                                             .event = "zunionstore"});
}

static enum outcome run_zinterstore(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_INTERSECTION,
                                             .use = COMBINE_STORED,
                                             .event = "zinterstore"});
}

static enum outcome run_zdiffstore(struct context *context)
{
    return run(context, (struct combination){.operation = COMBINE_DIFFERENCE,
                                             .use = COMBINE_STORED,
                                             .event = "zdiffstore"});
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "zunion",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_MOVABLEKEYS,
     .key_specs = "RO,access@1/n0:1:1",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Add multiple sorted sets",
     .complexity = "O(N)+O(M*log(M)) with N being the sum of the sizes of the "
                   "input sorted sets, and M being the number of elements in "
                   "the resulting sorted set.",
     .syntax = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE "
               "<SUM|MIN|MAX>] [WITHSCORES]",
     .categories = "sortedset",
     .run = run_zunion},
    {.name = "zinter",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_MOVABLEKEYS,
     .key_specs = "RO,access@1/n0:1:1",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Intersect multiple sorted sets",
     .complexity = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted "
                   "set, K being the number of input sorted sets and M being the number "
                   "of elements in the resulting sorted set.",
     .syntax = "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE "
               "<SUM|MIN|MAX>] [WITHSCORES]",
     .categories = "sortedset",
     .run = run_zinter},
    {.name = "zintercard",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_MOVABLEKEYS,
     .key_specs = "RO,access@1/n0:1:1",
     .group = "sorted-set",
     .since = "7.0.0",
     .summary = "Intersect multiple sorted sets and return the cardinality of "
                "the result",
     .complexity = "O(N*K) worst case with N being the smallest input sorted "
                   "set, K being the number of input sorted sets.",
     .syntax = "numkeys key [key ...] [LIMIT limit]",
     .categories = "sortedset",
     .run = run_zintercard},
    {.name = "zdiff",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_MOVABLEKEYS,
     .key_specs = "RO,access@1/n0:1:1",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Subtract multiple sorted sets",
     .complexity = "O(L + (N-K)log(N)) worst case where L is the total number "
                   "of elements in all the sets, N is the size of the first "
                   "set, and K is the size of the result set.",
     .syntax = "numkeys key [key ...] [WITHSCORES]",
     .categories = "sortedset",
     .run = run_zdiff},
    {.name = "zunionstore",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_MOVABLEKEYS,
     .keys = {1, 1, 1},
     .key_specs = "OW,update@1/r0:1:0 RO,access@2/n0:1:1",
     .group = "sorted-set",
     .since = "2.0.0",
     .summary = "Add multiple sorted sets and store the resulting sorted set "
                "in a new key",
     .complexity = "O(N)+O(M log(M)) with N being the sum of the sizes of the "
                   "input sorted sets, and M being the number of elements in "
                   "the resulting sorted set.",
     .syntax = "destination numkeys key [key ...] [WEIGHTS weight [weight "
               "...]] [AGGREGATE <SUM|MIN|MAX>]",
     .categories = "sortedset",
     .run = run_zunionstore},
    {.name = "zinterstore",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_MOVABLEKEYS,
     .keys = {1, 1, 1},
     .key_specs = "OW,update@1/r0:1:0 RO,access@2/n0:1:1",
     .group = "sorted-set",
     .since = "2.0.0",
     .summary = "Intersect multiple sorted sets and store the resulting sorted "
                "set in a new key",
     .complexity = "O(N*K)+O(M*log(M)) worst case with N being the smallest input sorted "
                   "set, K being the number of input sorted sets and M being the number "
                   "of elements in the resulting sorted set.",
     .syntax = "destination numkeys key [key ...] [WEIGHTS weight [weight "
               "...]] [AGGREGATE <SUM|MIN|MAX>]",
     .categories = "sortedset",
     .run = run_zinterstore},
    {.name = "zdiffstore",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_MOVABLEKEYS,
     .keys = {1, 1, 1},
     .key_specs = "OW,update@1/r0:1:0 RO,access@2/n0:1:1",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Subtract multiple sorted sets and store the resulting sorted "
                "set in a new key",
     .complexity = "O(L + (N-K)log(N)) worst case where L is the total number "
                   "of elements in all the sets, N is the size of the first "
                   "set, and K is the size of the result set.",
     .syntax = "destination numkeys key [key ...]",
     .categories = "sortedset",
     .run = run_zdiffstore},
    {.name = NULL}};

COMMANDS(zset_combine, entries)
