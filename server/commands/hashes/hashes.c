/* Hashes. Fields that contain numbers: hash_numbers.c. */
#include "server/commands/database.h"
#include "server/commands/hashes/hash_fields.h"
#include "server/dispatch/command_list.h"

#include "storage/glob.h"
#include "server/commands/long_read.h"
#include "server/commands/picks.h"
#include "server/commands/scan.h"
#include "server/commands/wide.h"
#include "server/process/random.h"
#include "storage/keys/hash.h"

#include <string.h>

/* The number of fields; 0 when there is no such key. False: the error is written. */
static bool hash_size(struct context *context, uint64_t *ret_count)
{
    return database_read_count(context, context_slice(context, 1), KEYS_HASH, ret_count);
}

/* ---- writing */

static bool set_field(struct context *context, struct wide *wide)
{
    bool added;

    if (!hash_fields_write(context, context_slice(context, wide->at),
                           context_slice(context, wide->at + 1), &added))
        return false;
    wide->count += added;
    return true;
}

static enum outcome end_hset(struct context *context, const struct wide *wide)
{
    database_notify(context, EVENT_HASH, "hset", context_slice(context, 1));
    return context_reply_integer(context, wide->count);
}

static enum outcome end_hmset(struct context *context, const struct wide *wide)
{
    (void)wide;
    database_notify(context, EVENT_HASH, "hset", context_slice(context, 1));
    return context_ok(context);
}

static enum outcome set_fields(struct context *context, const struct wide_form *form)
{
    return context_count(context) % 2 == 0 ? wide_run(context, form)
                                           : context_arity_error(context);
}

static enum outcome run_hset(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 2, .take = set_field, .end = end_hset};

    return set_fields(context, &form);
}

static enum outcome run_hmset(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 2, .take = set_field, .end = end_hmset};

    return set_fields(context, &form);
}

static enum outcome run_hsetnx(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!hash_fields_read(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found)
        return context_reply_integer(context, 0);
    if (!hash_fields_write(context, context_slice(context, 2), context_slice(context, 3),
                           &found))
        return OUTCOME_DONE;
    database_notify(context, EVENT_HASH, "hset", context_slice(context, 1));
    return context_reply_integer(context, 1);
}

static bool remove_field(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    enum dueq_status status =
        hash_del(&view, context_slice(context, 1), context_slice(context, wide->at));

    wide->count += status == DUEQ_OK;
    return context_check_status(context, status);
}

static enum outcome end_hdel(struct context *context, const struct wide *wide)
{
    if (wide->count > 0) {
        database_notify(context, EVENT_HASH, "hdel", context_slice(context, 1));
        database_notify_if_removed(context, context_slice(context, 1));
    }
    return context_reply_integer(context, wide->count);
}

static enum outcome run_hdel(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .take = remove_field, .end = end_hdel};

    return wide_run(context, &form);
}

/* ---- reading */

static enum outcome run_hget(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!hash_fields_read(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    if (found)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

static bool begin_values(struct context *context, struct wide *wide)
{
    uint64_t count;

    (void)wide;
    if (!hash_size(context, &count))
        return false;
    resp_array(context->reply, context_count(context) - 2);
    return true;
}

static bool write_value(struct context *context, struct wide *wide)
{
    struct dueq_slice value;
    bool found;

    if (hash_fields_read(context, context_slice(context, wide->at), &value, &found) && found)
        resp_slice(context->reply, value);
    else
        resp_null(context->reply);
    return true;
}

static enum outcome run_hmget(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .begin = begin_values, .take = write_value, .end = wide_end};

    return wide_run(context, &form);
}

static enum outcome run_hexists(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!hash_fields_read(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    return context_reply_integer(context, found);
}

static enum outcome run_hstrlen(struct context *context)
{
    struct dueq_slice value;
    bool found;

    if (!hash_fields_read(context, context_slice(context, 2), &value, &found))
        return OUTCOME_DONE;
    return context_reply_integer(context, found ? (int64_t)value.size : 0);
}

static enum outcome run_hlen(struct context *context)
{
    uint64_t count;

    return hash_size(context, &count) ? context_reply_integer(context, (int64_t)count)
                                      : OUTCOME_DONE;
}

static bool take_field(struct long_read *read, const struct long_read_element *element)
{
    resp_slice(read->reply, element->name);
    return true;
}

static bool take_value(struct long_read *read, const struct long_read_element *element)
{
    resp_slice(read->reply, element->value);
    return true;
}

static bool take_both(struct long_read *read, const struct long_read_element *element)
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
                                          const struct long_read_element *element))
{
    struct long_read read = {.source = LONG_READ_HASH,
                             .key = context_slice(context, 1),
                             .begin = begin,
                             .take = take};

    if (!hash_size(context, &read.count))
        return OUTCOME_DONE;
    read.steps = read.count;
    return long_read_run(context, &read);
}

static enum outcome run_hkeys(struct context *context)
{
    return read_all(context, begin_list, take_field);
}

static enum outcome run_hvals(struct context *context)
{
    return read_all(context, begin_list, take_value);
}

static enum outcome run_hgetall(struct context *context)
{
    return read_all(context, begin_map, take_both);
}

static enum outcome run_hscan(struct context *context)
{
    return scan_elements(context, KEYS_HASH);
}

/* ---- HRANDFIELD */

static void write_picked(struct context *context, struct resp_writer *reply,
                         const struct long_read_element *element)
{
    if (picks_with_option(context) && reply->version >= 3)
        resp_array(reply, 2);
    resp_slice(reply, element->name);
    if (picks_with_option(context))
        resp_slice(reply, element->value);
}

static enum dueq_status write_any(struct context *context, struct resp_writer *reply)
{
    struct keys_view view = database_view(context);
    struct long_read_element element = {.score = 0};
    enum dueq_status status = hash_random(&view, context_slice(context, 1), random_number(),
                                          &element.name, &element.value);

    if (status == DUEQ_OK)
        write_picked(context, reply, &element);
    return status;
}

static enum outcome run_hrandfield(struct context *context)
{
    static const struct picks_type type = {KEYS_HASH, LONG_READ_HASH, "withvalues", write_any,
                                           write_picked};

    return picks_run(context, &type);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "hset",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Set the string value of a hash field",
     .complexity = "O(1) for each field/value pair added, so O(N) to add N field/value pairs "
                   "when the command is called with multiple field/value pairs.",
     .syntax = "key field value [field value ...]",
     .categories = "hash",
     .run = run_hset},
    {.name = "hsetnx",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,insert@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Set the value of a hash field, only if the field does not exist",
     .complexity = "O(1)",
     .syntax = "key field value",
     .categories = "hash",
     .run = run_hsetnx},
    {.name = "hmset",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Set multiple hash fields to multiple values",
     .complexity = "O(N) where N is the number of fields being set.",
     .syntax = "key field value [field value ...]",
     .categories = "hash",
     .run = run_hmset},
    {.name = "hget",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Get the value of a hash field",
     .complexity = "O(1)",
     .syntax = "key field",
     .categories = "hash",
     .run = run_hget},
    {.name = "hmget",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Get the values of all the given hash fields",
     .complexity = "O(N) where N is the number of fields being requested.",
     .syntax = "key field [field ...]",
     .categories = "hash",
     .run = run_hmget},
    {.name = "hgetall",
     .arity = 2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Get all the fields and values in a hash",
     .complexity = "O(N) where N is the size of the hash.",
     .syntax = "key",
     .categories = "hash",
     .tips = "nondeterministic_output_order",
     .run = run_hgetall},
    {.name = "hdel",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Delete one or more hash fields",
     .complexity = "O(N) where N is the number of fields to be removed.",
     .syntax = "key field [field ...]",
     .categories = "hash",
     .run = run_hdel},
    {.name = "hexists",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Determine if a hash field exists",
     .complexity = "O(1)",
     .syntax = "key field",
     .categories = "hash",
     .run = run_hexists},
    {.name = "hlen",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Get the number of fields in a hash",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "hash",
     .run = run_hlen},
    {.name = "hkeys",
     .arity = 2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Get all the fields in a hash",
     .complexity = "O(N) where N is the size of the hash.",
     .syntax = "key",
     .categories = "hash",
     .tips = "nondeterministic_output_order",
     .run = run_hkeys},
    {.name = "hvals",
     .arity = 2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "2.0.0",
     .summary = "Get all the values in a hash",
     .complexity = "O(N) where N is the size of the hash.",
     .syntax = "key",
     .categories = "hash",
     .tips = "nondeterministic_output_order",
     .run = run_hvals},
    {.name = "hstrlen",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "hash",
     .since = "3.2.0",
     .summary = "Get the length of the value of a hash field",
     .complexity = "O(1)",
     .syntax = "key field",
     .categories = "hash",
     .run = run_hstrlen},
    {.name = "hrandfield",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "6.2.0",
     .summary = "Get one or multiple random fields from a hash",
     .complexity = "O(N) where N is the number of fields returned",
     .syntax = "key [count [WITHVALUES]]",
     .categories = "hash",
     .tips = "nondeterministic_output",
     .run = run_hrandfield},
    {.name = "hscan",
     .arity = -3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "hash",
     .since = "2.8.0",
     .summary = "Incrementally iterate hash fields and associated values",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough "
                   "command calls for the cursor to return back to 0. N is the number of "
                   "elements inside the collection..",
     .syntax = "key cursor [MATCH pattern] [COUNT count]",
     .categories = "hash",
     .tips = "nondeterministic_output",
     .run = run_hscan},
    {.name = NULL}};

COMMANDS(hashes, entries)
