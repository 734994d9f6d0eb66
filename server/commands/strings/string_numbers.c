/* Strings that contain numbers: INCR, DECR and their relatives. */
#include "server/commands/database.h"
#include "server/commands/increment.h"
#include "server/commands/string_value.h"
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "storage/keys/string.h"

static enum outcome add_integer(struct context *context, int64_t amount)
{
    struct dueq_slice name = context_slice(context, 1), value;
    char text[NUMBER_TEXT_MAX];
    int64_t number = 0;
    bool found;

    if (!string_value_read(context, name, &value, &found))
        return OUTCOME_DONE;
    if (found && !number_parse_integer(value.data, value.size, &number)) {
        resp_error(context->reply, "ERR value is not an integer or out of range");
        return OUTCOME_DONE;
    }
    if (__builtin_add_overflow(number, amount, &number)) {
        resp_error(context->reply, "ERR increment or decrement would overflow");
        return OUTCOME_DONE;
    }
    value = dueq_slice(text, number_format_integer(text, number));
    if (!string_value_write(context, name, value, KEYS_KEEP_EXPIRY, STRING_GIVEN, "incrby"))
        return OUTCOME_DONE;
    return context_reply_integer(context, number);
}

static enum outcome run_incr(struct context *context)
{
    return add_integer(context, 1);
}

static enum outcome run_decr(struct context *context)
{
    return add_integer(context, -1);
}

static enum outcome run_incrby(struct context *context)
{
    int64_t amount;

    return arguments_integer(context, 2, NULL, &amount) ? add_integer(context, amount)
                                                        : OUTCOME_DONE;
}

static enum outcome run_decrby(struct context *context)
{
    int64_t amount;

    if (!arguments_integer(context, 2, NULL, &amount))
        return OUTCOME_DONE;
    if (amount == INT64_MIN) {
        resp_error(context->reply, "ERR decrement would overflow");
        return OUTCOME_DONE;
    }
    return add_integer(context, -amount);
}

static enum outcome run_incrbyfloat(struct context *context)
{
    struct dueq_slice name = context_slice(context, 1), value;
    struct argument argument = context_argument(context, 2);
    char text[NUMBER_LONG_TEXT_MAX];
    long double number = 0, amount;
    bool found;

    if (!string_value_read(context, name, &value, &found))
        return OUTCOME_DONE;
    if ((found && !number_parse_long_double(value.data, value.size, &number)) ||
        !number_parse_long_double(argument.data, argument.size, &amount)) {
        resp_error(context->reply, "ERR value is not a valid float");
        return OUTCOME_DONE;
    }
    if (!increment_sum(context, number, amount, text, &value))
        return OUTCOME_DONE;
    if (string_value_write(context, name, value, KEYS_KEEP_EXPIRY, STRING_MADE, "incrbyfloat"))
        resp_slice(context->reply, value);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "incr",
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Increment the integer value of a key by one",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "string",
     .run = run_incr},
    {.name = "decr",
     .arity = 2,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Decrement the integer value of a key by one",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "string",
     .run = run_decr},
    {.name = "incrby",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Increment the integer value of a key by the given amount",
     .complexity = "O(1)",
     .syntax = "key increment",
     .categories = "string",
     .run = run_incrby},
    {.name = "decrby",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "string",
     .since = "1.0.0",
     .summary = "Decrement the integer value of a key by the given number",
     .complexity = "O(1)",
     .syntax = "key decrement",
     .categories = "string",
     .run = run_decrby},
    {.name = "incrbyfloat",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "string",
     .since = "2.6.0",
     .summary = "Increment the float value of a key by the given amount",
     .complexity = "O(1)",
     .syntax = "key increment",
     .categories = "string",
     .run = run_incrbyfloat},
    {.name = NULL}};

COMMANDS(string_numbers, entries)
