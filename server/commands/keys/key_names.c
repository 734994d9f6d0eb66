/* Names of keys of any type: remove, rename, count and list them. */
#include "server/commands/database.h"
#include "server/commands/long_read.h"
#include "server/commands/scan.h"
#include "server/commands/wide.h"
#include "server/dispatch/command_list.h"
#include "server/process/random.h"
#include "storage/store.h"

#include "storage/glob.h"

static enum outcome no_such_key(struct context *context)
{
    resp_error(context->reply, "ERR no such key");
    return OUTCOME_DONE;
}

/* ---- request, counting */

static bool delete_one(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    enum dueq_status status = keys_del(&view, context_slice(context, wide->at));

    if (!context_check_status(context, status))
        return false;
    if (status == DUEQ_NOTFOUND)
        return true;
    database_notify(context, EVENT_GENERIC, "del", context_slice(context, wide->at));
    wide->count++;
    return true;
}

static enum outcome run_del(struct context *context)
{
    static const struct wide_form form = {
        .first = 1, .stride = 1, .takes_keys = true, .take = delete_one, .end = wide_end_count};

    return wide_run(context, &form);
}

/* DEL, too, reclaims elements after the reply. */
static enum outcome run_unlink(struct context *context)
{
    return run_del(context);
}

static bool look_for_one(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);

    wide->count += database_contains(&view, context_slice(context, wide->at));
    return true;
}

static enum outcome run_exists(struct context *context)
{
    static const struct wide_form form = {.first = 1,
                                          .stride = 1,
                                          .takes_keys = true,
                                          .take = look_for_one,
                                          .end = wide_end_count};

    return wide_run(context, &form);
}

static enum outcome run_touch(struct context *context)
{
    return run_exists(context);
}

static enum outcome run_type(struct context *context)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.type = KEYS_NONE};

    if (context_check_status(context, keys_info(&view, context_slice(context, 1), &info)))
        resp_simple(context->reply, keys_type_name(info.type));
    return OUTCOME_DONE;
}

/* ---- renaming */

static enum outcome rename_key(struct context *context, bool only_if_free)
{
    struct keys_view view = database_view(context);
    struct dueq_slice from = context_slice(context, 1), to = context_slice(context, 2);
    bool same = dueq_slice_equal(from, to);

    if (!database_contains(&view, from))
        return no_such_key(context);
    if (only_if_free && database_contains(&view, to))
        return context_reply_integer(context, 0);
    if (!same) {
        if (!context_check_status(context, keys_rename(&view, from, to)))
            return OUTCOME_DONE;
        database_notify(context, EVENT_GENERIC, "rename_from", from);
        database_notify(context, EVENT_GENERIC, "rename_to", to);
    }
    return only_if_free ? context_reply_integer(context, 1) : context_ok(context);
}

static enum outcome run_rename(struct context *context)
{
    return rename_key(context, false);
}

static enum outcome run_renamenx(struct context *context)
{
    return rename_key(context, true);
}

/* ---- listing */

static bool take_match(struct long_read *read, const struct long_read_element *element)
{
    struct argument pattern = context_argument(read->context, 1);

    if (!argument_is(pattern, "*") &&
        !glob_match(pattern.data, pattern.size, element->name.data, element->name.size, false))
        return true;
    resp_slice(read->reply, element->name);
    read->at.found++;
    return true;
}

static void end_matches(struct long_read *read)
{
    long_read_end_array(read, read->at.found);
}

static enum outcome run_keys(struct context *context)
{
    struct long_read read = {
        .source = LONG_READ_NAMES,
        .steps = keys_count(store_keys(context->store), context->session->database),
        .begin = long_read_begin_array,
        .take = take_match,
        .end = end_matches};

    return long_read_run(context, &read);
}

static enum outcome run_scan(struct context *context)
{
    return scan_keys(context);
}

static enum outcome run_randomkey(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name;
    enum dueq_status status = keys_random(&view, random_number(), &name);

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_NOTFOUND)
        resp_null(context->reply);
    else
        resp_slice(context->reply, name);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "del",
     .arity = -2,
     .flags = COMMAND_WRITE,
     .keys = {1, -1, 1},
     .key_specs = "RM,delete@1/r-1:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Delete a key",
     .complexity =
         "O(N) where N is the number of keys that will be removed. When a key to remove holds "
         "a value other than a string, the individual complexity for this key is O(M) where M "
         "is the number of elements in the list, set, sorted set or hash. Removing a single "
         "key that holds a string value is O(1).",
     .syntax = "key [key ...]",
     .categories = "keyspace",
     .tips = "request_policy:multi_shard response_policy:agg_sum",
     .run = run_del},
    {.name = "unlink",
     .arity = -2,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, -1, 1},
     .key_specs = "RM,delete@1/r-1:1:0",
     .group = "generic",
     .since = "4.0.0",
     .summary = "Delete a key asynchronously in another thread. Otherwise it is just as DEL, "
                "but non blocking.",
     .complexity = "O(1) for each key removed regardless of its size. Then the command does "
                   "O(N) work in a different thread in order to reclaim memory, where N is the "
                   "number of allocations the deleted objects where composed of.",
     .syntax = "key [key ...]",
     .categories = "keyspace",
     .tips = "request_policy:multi_shard response_policy:agg_sum",
     .run = run_unlink},
    {.name = "exists",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH | COMMAND_FAST,
     .keys = {1, -1, 1},
     .key_specs = "RO@1/r-1:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Determine if a key exists",
     .complexity = "O(N) where N is the number of keys to check.",
     .syntax = "key [key ...]",
     .categories = "keyspace",
     .tips = "request_policy:multi_shard response_policy:agg_sum",
     .run = run_exists},
    {.name = "type",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_NO_TOUCH | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Determine the type stored at key",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "keyspace",
     .run = run_type},
    {.name = "touch",
     .arity = -2,
     .flags = COMMAND_READONLY | COMMAND_TOUCHES | COMMAND_FAST,
     .keys = {1, -1, 1},
     .key_specs = "RO@1/r-1:1:0",
     .group = "generic",
     .since = "3.2.1",
     .summary = "Alters the last access time of a key(s). Returns the number of existing keys "
                "specified.",
     .complexity = "O(N) where N is the number of keys that will be touched.",
     .syntax = "key [key ...]",
     .categories = "keyspace",
     .tips = "request_policy:multi_shard response_policy:agg_sum",
     .run = run_touch},
    {.name = "rename",
     .arity = 3,
     .flags = COMMAND_WRITE,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 OW,update@2/r0:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Rename a key",
     .complexity = "O(1)",
     .syntax = "key newkey",
     .categories = "keyspace",
     .run = run_rename},
    {.name = "renamenx",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 OW,insert@2/r0:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Rename a key, only if the new key does not exist",
     .complexity = "O(1)",
     .syntax = "key newkey",
     .categories = "keyspace",
     .run = run_renamenx},
    {.name = "keys",
     .arity = 2,
     .flags = COMMAND_READONLY,
     .group = "generic",
     .since = "1.0.0",
     .summary = "Find all keys matching the given pattern",
     .complexity =
         "O(N) with N being the number of keys in the database, under the assumption that the "
         "key names in the database and the given pattern have limited length.",
     .syntax = "pattern",
     .categories = "keyspace dangerous",
     .tips = "request_policy:all_shards nondeterministic_output_order",
     .run = run_keys},
    {.name = "scan",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .group = "generic",
     .since = "2.8.0",
     .summary = "Incrementally iterate the keys space",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough "
                   "command calls for the cursor to return back to 0. N is the number of "
                   "elements inside the collection.",
     .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
     .categories = "keyspace",
     .tips = "nondeterministic_output request_policy:special",
     .run = run_scan},
    {.name = "randomkey",
     .arity = 1,
     .flags = COMMAND_READONLY,
     .group = "generic",
     .since = "1.0.0",
     .summary = "Return a random key from the keyspace",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "keyspace",
     .tips = "request_policy:all_shards nondeterministic_output",
     .run = run_randomkey},
    {.name = NULL}};

COMMANDS(key_names, entries)
