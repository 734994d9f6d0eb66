#include "server/dispatch/arguments.h"

#include "protocol/number.h"
#include "server/server.h"
#include "storage/keys/keys.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define CURSOR_LAST ((UINT64_C(1) << 48) - 1)

/* ---- words */

bool arguments_has_value(struct context *context, size_t index)
{
    if (index + 1 < context_count(context))
        return true;
    context_syntax_error(context);
    return false;
}

bool arguments_choice(struct context *context, size_t index, const char *const *words,
                      unsigned *ret_choice)
{
    for (unsigned i = 0; index < context_count(context) && words[i] != NULL; i++)
        if (arguments_is(context, index, words[i])) {
            *ret_choice = i;
            return true;
        }
    context_syntax_error(context);
    return false;
}

bool arguments_flush_form(struct context *context)
{
    if (context_count(context) == 1 ||
        (context_count(context) == 2 &&
         (arguments_is(context, 1, "async") || arguments_is(context, 1, "sync"))))
        return true;
    context_syntax_error(context);
    return false;
}

/* ---- numbers */

static bool reply_not_integer(struct context *context, const struct integer_rule *rule)
{
    resp_error(context->reply, rule != NULL && rule->not_integer != NULL
                                   ? rule->not_integer
                                   : "ERR value is not an integer or out of range");
    return false;
}

/* Digits, with or without a sign: how many does not matter. */
static bool is_number(struct argument argument)
{
    size_t sign = argument.size > 0 && argument.data[0] == '-';

    for (size_t i = sign; i < argument.size; i++)
        if (argument.data[i] < '0' || argument.data[i] > '9')
            return false;
    return argument.size > sign;
}

static bool reply_no_such_integer(struct context *context, struct argument argument,
                                  const struct integer_rule *rule)
{
    if (rule == NULL || rule->beyond == NULL || !is_number(argument))
        return reply_not_integer(context, rule);
    resp_error(context->reply, rule->beyond);
    return false;
}

static bool reply_outside(struct context *context, const struct integer_rule *rule)
{
    if (rule->outside != NULL)
        resp_error(context->reply, rule->outside);
    else
        resp_errorf(context->reply,
                    "ERR value is out of range, value must between %" PRId64 " and %" PRId64,
                    rule->least, rule->most);
    return false;
}

bool arguments_integer(struct context *context, size_t index, const struct integer_rule *rule,
                       int64_t *ret_number)
{
    struct argument argument = context_argument(context, index);
    int64_t number;

    assert(rule == NULL || rule->least <= rule->most);
    if (!number_parse_integer(argument.data, argument.size, &number))
        return reply_no_such_integer(context, argument, rule);
    if (rule != NULL && (number < rule->least || number > rule->most))
        return reply_outside(context, rule);
    *ret_number = number;
    return true;
}

bool arguments_float(struct context *context, size_t index, double *ret_number)
{
    struct argument argument = context_argument(context, index);

    if (number_parse_double(argument.data, argument.size, ret_number))
        return true;
    resp_error(context->reply, "ERR value is not a valid float");
    return false;
}

bool arguments_number_of(struct context *context, size_t index, size_t after,
                         const struct integer_rule *rule, const char *too_many,
                         size_t *ret_number)
{
    size_t left = context_count(context) - index - 1;
    int64_t number;

    assert(rule->least >= 1);
    if (!arguments_integer(context, index, rule, &number))
        return false;
    if (left < after || (uint64_t)number > left - after) {
        resp_error(context->reply, too_many);
        return false;
    }
    *ret_number = (size_t)number;
    return true;
}

/* ---- times */

bool arguments_duration(struct context *context, size_t index, int64_t *ret_ms)
{
    struct argument argument = context_argument(context, index);

    if (number_parse_duration(argument.data, argument.size, ret_ms))
        return true;
    resp_errorf(
        context->reply,
        "ERR invalid duration '%.64s': from 0 to 100 years, milliseconds or a number with "
        "ms, s, m, h or d",
        argument.data);
    return false;
}

bool arguments_timeout(struct context *context, size_t index, int64_t *ret_deadline)
{
    struct argument argument = context_argument(context, index);
    long double seconds, milliseconds;

    if (!number_parse_long_double(argument.data, argument.size, &seconds)) {
        resp_error(context->reply, "ERR timeout is not a float or out of range");
        return false;
    }
    /* In Redis what exceeds 64 bits is negative before it looks at the sign. */
    milliseconds = ceill(seconds * 1000);
    if (milliseconds < 0 || milliseconds >= 0x1p63L) {
        resp_error(context->reply, "ERR timeout is negative");
        return false;
    }
    *ret_deadline =
        milliseconds == 0 ? DUEQ_NEVER : context_deadline(context, (int64_t)milliseconds);
    return true;
}

/* False for what Redis rejects: below `least`, or beyond 64 bits in ms or after `base`. */
static bool to_milliseconds(int64_t base, bool seconds, int64_t least, int64_t *number)
{
    int64_t moment;

    if (*number < least || (seconds && __builtin_mul_overflow(*number, 1000, number)))
        return false;
    return *number < 0 || !__builtin_add_overflow(*number, base, &moment);
}

bool arguments_expiry(struct context *context, size_t index, bool seconds, bool absolute,
                      int64_t least, int64_t *ret_expires)
{
    int64_t number;

    if (!arguments_integer(context, index, NULL, &number))
        return false;
    if (!to_milliseconds(absolute ? 0 : context->now.wall, seconds, least, &number)) {
        resp_errorf(context->reply, "ERR invalid expire time in '%s' command",
                    command_full_name(context->command));
        return false;
    }
    *ret_expires = absolute ? expiry_at(number) : expiry_after(context->now, number);
    return true;
}

/* ---- names, databases, cursors */

bool arguments_name(struct context *context, size_t index, const char *what)
{
    struct argument argument = context_argument(context, index);

    if (argument.size > 0 && argument.size <= DUEQ_NAME_MAX)
        return true;
    resp_errorf(context->reply, "ERR %s must be 1 to %d bytes long", what, DUEQ_NAME_MAX);
    return false;
}

bool arguments_database(struct context *context, size_t index, const char *not_integer,
                        unsigned *ret_database)
{
    const struct integer_rule rule = {INT32_MIN, INT32_MAX, not_integer, not_integer, NULL};
    int64_t number;

    if (!arguments_integer(context, index, &rule, &number))
        return false;
    if (number < 0 || number >= context->server->config.databases) {
        resp_error(context->reply, "ERR DB index is out of range");
        return false;
    }
    *ret_database = (unsigned)number;
    return true;
}

/* Redis reads a cursor with strtoul: no text at all is 0, a minus wraps. A cursor has 48 bits
 * here; a greater one is after the last element. */
bool arguments_cursor(struct context *context, size_t index, uint64_t *ret_cursor)
{
    struct argument argument = context_argument(context, index);
    uint64_t cursor;
    char *end;

    errno = 0;
    cursor = strtoull(argument.data, &end, 10);
    if (isspace((unsigned char)argument.data[0]) || *end != '\0' || errno == ERANGE) {
        resp_error(context->reply, "ERR invalid cursor");
        return false;
    }
    *ret_cursor = cursor < CURSOR_LAST ? cursor : CURSOR_LAST;
    return true;
}
