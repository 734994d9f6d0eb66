#include "server/commands/database.h"
#include "storage/store.h"

#include "protocol/number.h"
#include "server/session/notifications.h"
#include "server/server.h"
#include "server/session/waiters.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define CURSOR_LAST ((UINT64_C(1) << 48) - 1)

struct keys_view database_view(const struct context *context)
{
    return (struct keys_view){store_keys(context->store), context->session->database,
                              context->now};
}

void database_notify(struct context *context, enum keyspace_event type, const char *event,
                     struct dueq_slice key)
{
    notifications_publish(context->server, type, event, context->session->database, key);
}

bool arguments_integer_within(struct context *context, size_t index, int64_t least,
                              int64_t most, int64_t *ret_number)
{
    int64_t number;

    if (!arguments_integer(context, index, &number))
        return false;
    if (number < least || number > most) {
        resp_errorf(context->reply,
                    "ERR value is out of range, value must between %" PRId64 " and %" PRId64,
                    least, most);
        return false;
    }
    *ret_number = number;
    return true;
}

bool arguments_database(struct context *context, size_t index, const char *not_integer,
                        unsigned *ret_database)
{
    int64_t number;

    if (not_integer != NULL) {
        if (!arguments_integer_or(context, index, INT32_MIN, INT32_MAX, not_integer, &number))
            return false;
    } else if (!arguments_integer_within(context, index, INT32_MIN, INT32_MAX, &number)) {
        return false;
    }
    if (number < 0 || number >= context->server->config.databases) {
        resp_error(context->reply, "ERR DB index is out of range");
        return false;
    }
    *ret_database = (unsigned)number;
    return true;
}

bool context_check_status(struct context *context, enum dueq_status status)
{
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        return true;
    context_status(context, status);
    return false;
}

void database_notify_in(struct context *context, unsigned database, enum keyspace_event type,
                        const char *event, struct dueq_slice key)
{
    notifications_publish(context->server, type, event, database, key);
}

bool database_contains(const struct keys_view *view, struct dueq_slice key)
{
    struct keys_info info;

    return keys_info(view, key, &info) == DUEQ_OK;
}

enum dueq_status database_count_elements(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.count = 0};
    enum dueq_status status = keys_info(&view, key, &info);

    if (status == DUEQ_OK && info.type != type)
        return DUEQ_WRONGTYPE;
    *ret_count = info.count;
    return status;
}

enum dueq_status database_count_for_wait(struct context *context, struct dueq_slice key,
                                         enum keys_type type, uint64_t *ret_count)
{
    enum dueq_status status = database_count_elements(context, key, type, ret_count);

    return status == DUEQ_WRONGTYPE && context->waiter != NULL ? DUEQ_NOTFOUND : status;
}

bool database_read_count(struct context *context, struct dueq_slice key, enum keys_type type,
                         uint64_t *ret_count)
{
    return context_check_status(context,
                                database_count_elements(context, key, type, ret_count));
}

void database_notify_if_removed(struct context *context, struct dueq_slice key)
{
    struct keys_view view = database_view(context);
    struct keys_info info;

    if (keys_info(&view, key, &info) == DUEQ_NOTFOUND)
        database_notify(context, EVENT_GENERIC, "del", key);
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

bool arguments_float(struct context *context, size_t index, double *ret_number)
{
    struct argument argument = context_argument(context, index);

    if (number_parse_double(argument.data, argument.size, ret_number))
        return true;
    resp_error(context->reply, "ERR value is not a valid float");
    return false;
}

bool arguments_integer_or(struct context *context, size_t index, int64_t least, int64_t most,
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

/* As strtoul reads it, which Redis uses: nothing at all is 0, a minus wraps. A cursor of ours
 * has 48 bits: one beyond is behind the last element. */
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

/* What Redis refuses: what cannot be reckoned in ms from a base. */
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

    if (!arguments_integer(context, index, &number))
        return false;
    if (!to_milliseconds(absolute ? 0 : context->now.wall, seconds, least, &number)) {
        resp_errorf(context->reply, "ERR invalid expire time in '%s' command",
                    command_full_name(context->command));
        return false;
    }
    *ret_expires = absolute ? expiry_at(number) : expiry_after(context->now, number);
    return true;
}

bool arguments_timeout(struct context *context, size_t index, int64_t *ret_deadline)
{
    struct argument argument = context_argument(context, index);
    long double seconds, milliseconds;

    if (!number_parse_long_double(argument.data, argument.size, &seconds)) {
        resp_error(context->reply, "ERR timeout is not a float or out of range");
        return false;
    }
    /* What exceeds 64 bits has become negative when Redis looks at the sign. */
    milliseconds = ceill(seconds * 1000);
    if (milliseconds < 0 || milliseconds >= 0x1p63L) {
        resp_error(context->reply, "ERR timeout is negative");
        return false;
    }
    *ret_deadline =
        milliseconds == 0 ? DUEQ_NEVER : context_deadline(context, (int64_t)milliseconds);
    return true;
}

enum outcome context_reply_integer(struct context *context, int64_t number)
{
    resp_integer(context->reply, number);
    return OUTCOME_DONE;
}
