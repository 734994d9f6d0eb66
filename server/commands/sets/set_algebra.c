/* Intersections, unions and differences of sets, replied, counted or stored. */
#include "server/commands/combine.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"

/* The keys are `count` arguments from `first` on. */
static enum outcome run(struct context *context, struct combination combination, size_t first,
                        size_t count)
{
    combination.type = KEYS_SET;
    return combine(context, &combination, first, count);
}

static enum outcome reply(struct context *context, struct combination combination)
{
    if (long_work_state(context) != NULL)
        return combine_continue(context);
    return run(context, combination, 1, context_count(context) - 1);
}

static enum outcome run_sinter(struct context *context)
{
    return reply(context, (struct combination){.operation = COMBINE_INTERSECTION});
}

static enum outcome run_sunion(struct context *context)
{
    return reply(context, (struct combination){.operation = COMBINE_UNION});
}

static enum outcome run_sdiff(struct context *context)
{
    return reply(context, (struct combination){.operation = COMBINE_DIFFERENCE});
}

/* ---- counted */

static const struct argument_option options[] = {
    {"limit", OPTION_COUNT(struct combination, limit),
     .rule = INTEGER_OR(0, INT64_MAX, "ERR LIMIT can't be negative")},
    {.name = NULL}};

static bool read_option(struct context *context, struct combination *combination)
{
    return argument_options_read_one(context, &combination->option, options, combination);
}

static enum outcome run_sintercard(struct context *context)
{
    struct combination counted = {.operation = COMBINE_INTERSECTION,
                                  .use = COMBINE_COUNTED,
                                  .read_option = read_option,
                                  .options_first = true};
    size_t keys;

    if (long_work_state(context) != NULL)
        return combine_continue(context);
    if (!arguments_number_of(context, 1, 0, ARGUMENTS_NUMKEYS,
                             "ERR Number of keys can't be greater than number of args", &keys))
        return OUTCOME_DONE;
    counted.option = 2 + keys;
    return run(context, counted, 2, keys);
}

/* ---- stored */

static enum outcome store(struct context *context, struct combination combination,
                          const char *event)
{
    if (long_work_state(context) != NULL)
        return combine_continue(context);
    combination.use = COMBINE_STORED;
    combination.event = event;
    return run(context, combination, 2, context_count(context) - 2);
}

static enum outcome run_sinterstore(struct context *context)
{
    return store(context, (struct combination){.operation = COMBINE_INTERSECTION},
                 "sinterstore");
}

static enum outcome run_sunionstore(struct context *context)
{
    return store(context, (struct combination){.operation = COMBINE_UNION}, "sunionstore");
}

static enum outcome run_sdiffstore(struct context *context)
{
    return store(context, (struct combination){.operation = COMBINE_DIFFERENCE}, "sdiffstore");
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "sinter",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, -1, 1},
     .key_specs = "RO,access@1/r-1:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Intersect multiple sets",
     .complexity = "O(N*M) worst case where N is the cardinality of the "
                   "smallest set and M is the number of sets.",
     .syntax = "key [key ...]",
     .categories = "set",
     .tips = "nondeterministic_output_order",
     .run = run_sinter},
    {.name = "sintercard",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_MOVABLEKEYS,
     .key_specs = "RO,access@1/n0:1:1",
     .group = "set",
     .since = "7.0.0",
     .summary = "Intersect multiple sets and return the cardinality of the result",
     .complexity = "O(N*M) worst case where N is the cardinality of the "
                   "smallest set and M is the number of sets.",
     .syntax = "numkeys key [key ...] [LIMIT limit]",
     .categories = "set",
     .run = run_sintercard},
    {.name = "sunion",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, -1, 1},
     .key_specs = "RO,access@1/r-1:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Add multiple sets",
     .complexity = "O(N) where N is the total number of elements in all given sets.",
     .syntax = "key [key ...]",
     .categories = "set",
     .tips = "nondeterministic_output_order",
     .run = run_sunion},
    {.name = "sdiff",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, -1, 1},
     .key_specs = "RO,access@1/r-1:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Subtract multiple sets",
     .complexity = "O(N) where N is the total number of elements in all given sets.",
     .syntax = "key [key ...]",
     .categories = "set",
     .tips = "nondeterministic_output_order",
     .run = run_sdiff},
    {.name = "sinterstore",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, -1, 1},
     .key_specs = "RW,update@1/r0:1:0 RO,access@2/r-1:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Intersect multiple sets and store the resulting set in a key",
     .complexity = "O(N*M) worst case where N is the cardinality of the "
                   "smallest set and M is the number of sets.",
     .syntax = "destination key [key ...]",
     .categories = "set",
     .run = run_sinterstore},
    {.name = "sunionstore",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, -1, 1},
     .key_specs = "OW,update@1/r0:1:0 RO,access@2/r-1:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Add multiple sets and store the resulting set in a key",
     .complexity = "O(N) where N is the total number of elements in all given sets.",
     .syntax = "destination key [key ...]",
     .categories = "set",
     .run = run_sunionstore},
    {.name = "sdiffstore",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, -1, 1},
     .key_specs = "OW,update@1/r0:1:0 RO,access@2/r-1:1:0",
     .group = "set",
     .since = "1.0.0",
     .summary = "Subtract multiple sets and store the resulting set in a key",
     .complexity = "O(N) where N is the total number of elements in all given sets.",
     .syntax = "destination key [key ...]",
     .categories = "set",
     .run = run_sdiffstore},
    {.name = NULL}};

COMMANDS(set_algebra, entries)
