#include "server/keyspace.h"

#include "protocol/number.h"
#include "server/notify.h"

#include <math.h>
#include <stdlib.h>

struct keys_view context_view(const struct context *context)
{
    return (struct keys_view){context->store, context->session->database, context->now.now};
}

void context_notify(struct context *context, enum keyspace_event type, const char *event,
                    struct dueq_slice key)
{
    notify_event(context->server, type, event, context->session->database, key);
}

bool context_check(struct context *context, enum dueq_status status)
{
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        return true;
    if (status == DUEQ_WRONGTYPE)
        resp_error(context->reply,
                   "WRONGTYPE Operation against a key holding the wrong kind of value");
    else
        context_status(context, status);
    return false;
}

bool context_is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

bool context_double(struct context *context, size_t index, double *ret_number)
{
    struct argument argument = context_argument(context, index);

    if (number_parse_double(argument.data, argument.size, ret_number))
        return true;
    resp_error(context->reply, "ERR value is not a valid float");
    return false;
}

bool context_range_integer(struct context *context, size_t index, int64_t least, int64_t most,
                           const char *error, int64_t *ret_number)
{
    struct argument argument = context_argument(context, index);
    int64_t number;

    if (number_parse_integer(argument.data, argument.size, &number) && number >= least &&
        number <= most) {
        *ret_number = number;
        return true;
    }
    resp_error(context->reply, error);
    return false;
}

/* Redis reads cursors with strtoul: digits only, no more than 64 bits. */
bool context_cursor(struct context *context, size_t index, uint64_t *ret_cursor)
{
    struct argument argument = context_argument(context, index);
    uint64_t cursor = 0;

    for (size_t i = 0; i < argument.size; i++) {
        if (argument.data[i] < '0' || argument.data[i] > '9' || cursor > UINT64_MAX / 10 - 1)
            goto invalid;
        cursor = cursor * 10 + (uint64_t)(argument.data[i] - '0');
    }
    if (argument.size == 0 || cursor >> 48 != 0)
        goto invalid;
    *ret_cursor = cursor;
    return true;
invalid:
    resp_error(context->reply, "ERR invalid cursor");
    return false;
}

bool context_timeout(struct context *context, size_t index, int64_t *ret_deadline)
{
    struct argument argument = context_argument(context, index);
    long double seconds;

    if (!number_parse_long_double(argument.data, argument.size, &seconds)) {
        resp_error(context->reply, "ERR timeout is not a float or out of range");
        return false;
    }
    if (seconds < 0 || isinf(seconds)) {
        resp_error(context->reply, "ERR timeout is negative");
        return false;
    }
    seconds = ceill(seconds * 1000);
    if (seconds > (long double)(INT64_MAX - context->now.now)) {
        resp_error(context->reply, "ERR timeout is out of range");
        return false;
    }
    *ret_deadline = seconds == 0 ? DUEQ_NEVER : context->now.now + (int64_t)seconds;
    return true;
}

bool clamp_range(int64_t start, int64_t stop, uint64_t count, uint64_t *ret_first,
                 uint64_t *ret_count)
{
    int64_t size = (int64_t)count;

    if (start < 0)
        start = start < -size ? 0 : start + size;
    if (stop < 0)
        stop = stop < -size ? -1 : stop + size;
    if (stop >= size)
        stop = size - 1;
    if (start > stop || start >= size)
        return false;
    *ret_first = (uint64_t)start;
    *ret_count = (uint64_t)(stop - start) + 1;
    return true;
}

enum outcome context_integer_reply(struct context *context, int64_t number)
{
    resp_integer(context->reply, number);
    return OUTCOME_DONE;
}
