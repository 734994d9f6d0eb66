/* Hashes. */
#include "server/commands/handlers.h"
#include "server/keyspace.h"

#include "protocol/glob.h"
#include "protocol/number.h"
#include "server/long_reads.h"
#include "server/picks.h"
#include "server/random.h"
#include "server/scan.h"

#include <math.h>
#include <string.h>

/* False: the error is written. *ret_found false: no such key or field. */
static bool read_field(struct context *context, struct dueq_slice field,
                       struct dueq_slice *ret_value, bool *ret_found)
{
    struct keys_view view = context_view(context);
    enum dueq_status status = hash_get(&view, context_slice(context, 1), field, ret_value);

    *ret_found = status == DUEQ_OK;
    return context_check(context, status);
}

static bool write_field(struct context *context, struct dueq_slice field,
                        struct dueq_slice value, bool *ret_added)
{
    struct keys_view view = context_view(context);

    return context_check(context,
                         hash_set(&view, context_slice(context, 1), field, value, ret_added));
}

/* The number of fields; 0 when there is no such key. False: the error is written. */
static bool hash_size(struct context *context, uint64_t *ret_count)
{
    return context_size(context, context_slice(context, 1), KEYS_HASH, ret_count);
}

/* ---- writing */

static enum outcome set_fields(struct context *context, bool counted)
{
    bool added;
    int64_t new = 0;

    if (context_count(context) % 2 != 0)
        return context_arity_error(context);
    for (size_t i = 2; i < context_count(context); i += 2) {
        if (!write_field(context, context_slice(context, i), context_slice(context, i + 1),
                         &added))
            return OUTCOME_DONE;
        new += added;
    }
    context_notify(context, EVENT_HASH, "hset", context_slice(context, 1));
    return counted ? context_integer_reply(context, new) : context_ok(context);
}

enum outcome run_hset(struct context *context)
{
    return set_fields(context, true);
}

enum outcome run_hmset(struct context *context)
{
    return set_fields(context, false);
}

enum outcome run_hsetnx(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!read_field(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found)
        return context_integer_reply(context, 0);
    if (!write_field(context, context_slice(context, 2), context_slice(context, 3), &found))
        return OUTCOME_DONE;
    context_notify(context, EVENT_HASH, "hset", context_slice(context, 1));
    return context_integer_reply(context, 1);
}

enum outcome run_hdel(struct context *context)
{
    struct keys_view view = context_view(context);
    int64_t removed = 0;

    for (size_t i = 2; i < context_count(context); i++) {
        enum dueq_status status =
            hash_del(&view, context_slice(context, 1), context_slice(context, i));

        if (!context_check(context, status))
            return OUTCOME_DONE;
        removed += status == DUEQ_OK;
    }
    if (removed > 0) {
        context_notify(context, EVENT_HASH, "hdel", context_slice(context, 1));
        context_notify_emptied(context, context_slice(context, 1));
    }
    return context_integer_reply(context, removed);
}

enum outcome run_hincrby(struct context *context)
{
    struct dueq_slice value;
    char text[NUMBER_TEXT_MAX];
    int64_t number = 0, amount;
    bool found;

    if (!context_integer(context, 3, &amount) ||
        !read_field(context, context_slice(context, 2), &value, &found))
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
    if (!write_field(context, context_slice(context, 2), value, &found))
        return OUTCOME_DONE;
    context_notify(context, EVENT_HASH, "hincrby", context_slice(context, 1));
    return context_integer_reply(context, number);
}

enum outcome run_hincrbyfloat(struct context *context)
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
    if (!read_field(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found && !number_parse_long_double(value.data, value.size, &number)) {
        resp_error(context->reply, "ERR hash value is not a float");
        return OUTCOME_DONE;
    }
    if (!context_sum(context, number, amount, text, &value) ||
        !write_field(context, context_slice(context, 2), value, &found))
        return OUTCOME_DONE;
    context_notify(context, EVENT_HASH, "hincrbyfloat", context_slice(context, 1));
    resp_slice(context->reply, value);
    return OUTCOME_DONE;
}

/* ---- reading */

enum outcome run_hget(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!read_field(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

enum outcome run_hmget(struct context *context)
{
    struct dueq_slice value;
    uint64_t count;
    bool found;

    if (!hash_size(context, &count))
        return OUTCOME_DONE;
    resp_array(context->reply, context_count(context) - 2);
    for (size_t i = 2; i < context_count(context); i++)
        if (read_field(context, context_slice(context, i), &value, &found) && found)
            resp_slice(context->reply, value);
        else
            resp_null(context->reply);
    return OUTCOME_DONE;
}

enum outcome run_hexists(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!read_field(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    return context_integer_reply(context, found);
}

enum outcome run_hstrlen(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!read_field(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    return context_integer_reply(context, found ? (int64_t)value.size : 0);
}

enum outcome run_hlen(struct context *context)
{
    uint64_t count;

    return hash_size(context, &count) ? context_integer_reply(context, (int64_t)count)
                                      : OUTCOME_DONE;
}

static bool take_field(struct long_read *read, const struct long_element *element)
{
    resp_slice(read->reply, element->name);
    return true;
}

static bool take_value(struct long_read *read, const struct long_element *element)
{
    resp_slice(read->reply, element->value);
    return true;
}

static bool take_both(struct long_read *read, const struct long_element *element)
{
    resp_slice(read->reply, element->name);
    resp_slice(read->reply, element->value);
    return true;
}

static void begin_list(struct long_read *read)
{
    resp_array(read->reply, read->count);
}

static void begin_map(struct long_read *read)
{
    resp_map(read->reply, read->count);
}

static enum outcome read_all(struct context *context, void (*begin)(struct long_read *read),
                             bool (*take)(struct long_read *read,
                                          const struct long_element *element))
{
    struct long_read read = {
        .source = LONG_HASH, .key = context_slice(context, 1), .begin = begin, .take = take};

    if (!hash_size(context, &read.count))
        return OUTCOME_DONE;
    read.steps = read.count;
    return long_read_run(context, &read);
}

enum outcome run_hkeys(struct context *context)
{
    return read_all(context, begin_list, take_field);
}

enum outcome run_hvals(struct context *context)
{
    return read_all(context, begin_list, take_value);
}

enum outcome run_hgetall(struct context *context)
{
    return read_all(context, begin_map, take_both);
}

enum outcome run_hscan(struct context *context)
{
    return scan_elements(context, KEYS_HASH);
}

/* ---- HRANDFIELD */

static void write_picked(struct context *context, struct resp_writer *reply,
                         const struct long_element *element)
{
    if (picks_with_option(context) && reply->version >= 3)
        resp_array(reply, 2);
    resp_slice(reply, element->name);
    if (picks_with_option(context))
        resp_slice(reply, element->value);
}

static enum dueq_status write_any(struct context *context, struct resp_writer *reply)
{
    struct keys_view view = context_view(context);
    struct long_element element = {.score = 0};
    enum dueq_status status = hash_random(&view, context_slice(context, 1), random_number(),
                                          &element.name, &element.value);

    if (status == DUEQ_OK)
        write_picked(context, reply, &element);
    return status;
}

enum outcome run_hrandfield(struct context *context)
{
    static const struct picks_type type = {KEYS_HASH, LONG_HASH, "withvalues", write_any,
                                           write_picked};

    return picks_run(context, &type);
}
