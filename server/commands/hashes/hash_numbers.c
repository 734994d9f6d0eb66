/* Fields that contain numbers: HINCRBY, HINCRBYFLOAT. */
#include "server/commands/database.h"
#include "server/commands/hashes/hash_fields.h"
#include "server/commands/increment.h"
#include "server/dispatch/command_list.h"

#include "protocol/number.h"

#include <math.h>

static enum outcome run_hincrby(struct context *context)
{
    struct dueq_slice value;
    char text[NUMBER_TEXT_MAX];
    int64_t number = 0, amount;
    bool found;

    if (!arguments_integer(context, 3, NULL, &amount) ||
        !hash_fields_read(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found && !number_parse_integer(value.data, value.size, &number)) {
        resp_error(context->reply, "ERR hash value is not an integer");
        return OUTCOME_DONE;
    }
    if (__builtin_add_overflow(number, amount, &number)) {
        resp_error(context->reply, "ERR increment or decrement would overflow");
        return OUTCOME_DONE;
    }
    value = dueq_slice(text, number_format_integer(text, number));
    if (!hash_fields_write(context, context_slice(context, 2), value, &found))
        return OUTCOME_DONE;
    database_notify(context, EVENT_HASH, "hincrby", context_slice(context, 1));
    return context_reply_integer(context, number);
}

static enum outcome run_hincrbyfloat(struct context *context)
{
    struct argument argument = context_argument(context, 3);
    struct dueq_slice value;
    char text[NUMBER_LONG_TEXT_MAX];
    long double number = 0, amount;
    bool found;

    if (!number_parse_long_double(argument.data, argument.size, &amount)) {
        resp_error(context->reply, "ERR value is not a valid float");
        return OUTCOME_DONE;
    }
    if (isnan(amount) || isinf(amount)) {
        resp_error(context->reply, "ERR value is NaN or Infinity");
        return OUTCOME_DONE;
    }
    if (!hash_fields_read(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found && !number_parse_long_double(value.data, value.size, &number)) {
        resp_error(context->reply, "ERR hash value is not a float");
        return OUTCOME_DONE;
    }
    if (!increment_sum(context, number, amount, text, &value) ||
        !hash_fields_write(context, context_slice(context, 2), value, &found))
        return OUTCOME_DONE;
    database_notify(context, EVENT_HASH, "hincrbyfloat", context_slice(context, 1));
    resp_slice(context->reply, value);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "hincrby",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Increment the integer value of a hash field by the given number",
     .complexity = "O(1)",
     .syntax = "key field increment",
     .categories = "hash",
     .run = run_hincrby},
    {.name = "hincrbyfloat",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "hash",
     .since = "2.6.0",
     .summary = "Increment the float value of a hash field by the given amount",
     .complexity = "O(1)",
     .syntax = "key field increment",
     .categories = "hash",
     .run = run_hincrbyfloat},
    {.name = NULL}};

COMMANDS(hash_numbers, entries)
