/* Keys of any type: what there is, under which name, in which database. */
#include "storage/store.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/command.h"
#include "server/commands/database.h"
#include "server/commands/long_reads.h"
#include "server/dispatch/long_work.h"
#include "server/process/random.h"
#include "server/commands/scan.h"

#include "protocol/glob.h"

#include <string.h>

#include <stdlib.h>

enum { COPIED_AT_ONCE = 128 }; /* elements, which may be large each */

static bool exists(const struct keys_view *view, struct dueq_slice name)
{
    struct keys_info info;

    return keys_info(view, name, &info) == DUEQ_OK;
}

static enum outcome no_such_key(struct context *context)
{
    resp_error(context->reply, "ERR no such key");
    return OUTCOME_DONE;
}

/* ---- removing, counting */

static enum outcome run_del(struct context *context)
{
    struct keys_view view = database_view(context);
    int64_t removed = 0;

    for (size_t i = 1; i < context_count(context); i++) {
        enum dueq_status status = keys_del(&view, context_slice(context, i));

        if (!context_check_status(context, status))
            return OUTCOME_DONE;
        if (status == DUEQ_NOTFOUND)
            continue;
        database_notify(context, EVENT_GENERIC, "del", context_slice(context, i));
        removed++;
    }
    return context_reply_integer(context, removed);
}

/* Elements are reclaimed behind the reply for DEL as well. */
static enum outcome run_unlink(struct context *context)
{
    return run_del(context);
}

static enum outcome run_exists(struct context *context)
{
    struct keys_view view = database_view(context);
    int64_t found = 0;

    for (size_t i = 1; i < context_count(context); i++)
        found += exists(&view, context_slice(context, i));
    return context_reply_integer(context, found);
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

/* ---- names */

static enum outcome rename_key(struct context *context, bool only_if_free)
{
    struct keys_view view = database_view(context);
    struct dueq_slice from = context_slice(context, 1), to = context_slice(context, 2);
    bool same = dueq_slice_equal(from, to);

    if (!exists(&view, from))
        return no_such_key(context);
    if (only_if_free && exists(&view, to))
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

struct copy_options {
    unsigned database;
    bool replace;
};

static bool parse_copy(struct context *context, struct copy_options *options)
{
    for (size_t at = 3; at < context_count(context); at++) {
        if (arguments_is(context, at, "replace")) {
            options->replace = true;
        } else if (arguments_is(context, at, "db") && at + 1 < context_count(context)) {
            if (!arguments_database(context, ++at, NULL, &options->database))
                return false;
        } else {
            context_syntax_error(context);
            return false;
        }
    }
    return true;
}

static enum outcome same_objects(struct context *context)
{
    resp_error(context->reply, "ERR source and destination objects are the same");
    return OUTCOME_DONE;
}

static void notify_in(struct context *context, unsigned database, const char *event,
                      struct dueq_slice key)
{
    unsigned current = context->session->database;

    context->session->database = database;
    database_notify(context, EVENT_GENERIC, event, key);
    context->session->database = current;
}

static enum outcome answer_copy(struct context *context, const struct copy_options *options)
{
    notify_in(context, options->database, "copy_to", context_slice(context, 2));
    return context_reply_integer(context, 1);
}

static enum outcome copy_at_once(struct context *context, const struct copy_options *options)
{
    struct keys_view view = database_view(context);

    if (!context_check_status(context, keys_copy(&view, context_slice(context, 1),
                                                 options->database, context_slice(context, 2))))
        return OUTCOME_DONE;
    return answer_copy(context, options);
}

/* A copy that is made in slices. */
struct copying {
    struct keys_build *build; /* NULL: it is to begin, again when the source has changed */
};

static void free_copying(void *state)
{
    struct copying *copying = state;

    keys_build_free(copying->build);
    free(copying);
}

/* DUEQ_NOTFOUND: it has to begin anew. */
static enum dueq_status copy_slice(const struct keys_view *view, struct dueq_slice from,
                                   struct copying *copying, bool *ret_finished)
{
    enum dueq_status status = DUEQ_OK;

    if (copying->build == NULL)
        status = keys_build_new(view, from, NULL, &copying->build);
    if (status == DUEQ_OK)
        status = keys_build_step(copying->build, view, LONG_STEPS, ret_finished);
    if (status != DUEQ_NOTFOUND)
        return status;
    keys_build_free(copying->build);
    copying->build = NULL;
    return status;
}

static enum outcome go_on_copying(struct context *context, const struct copy_options *options,
                                  struct copying *copying)
{
    struct keys_view view = database_view(context);
    bool finished = false;
    enum dueq_status status = copy_slice(&view, context_slice(context, 1), copying, &finished);

    if (status == DUEQ_OK && finished)
        status = keys_build_copy(copying->build, &view, options->database,
                                 context_slice(context, 2));
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    return finished && status == DUEQ_OK
               ? answer_copy(context, options)
               : long_work_continue(context, copying, free_copying, LONG_HOLDS_SOURCES);
}

static enum outcome begin_copying(struct context *context)
{
    struct copying *copying = calloc(1, sizeof(*copying));

    return copying == NULL
               ? context_status(context, DUEQ_NOMEM)
               : long_work_continue(context, copying, free_copying, LONG_HOLDS_SOURCES);
}

/* A large key is copied by later turns; others see the target as it was until the end. */
static enum outcome copy_key(struct context *context, const struct copy_options *options)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.type = KEYS_NONE};

    if (!context_check_status(context, keys_info(&view, context_slice(context, 1), &info)))
        return OUTCOME_DONE;
    if (info.count <= COPIED_AT_ONCE || !keys_build_possible(&view, context_slice(context, 1)))
        return copy_at_once(context, options);
    if (long_work_state(context) != NULL)
        return go_on_copying(context, options, long_work_state(context));
    if (context->may_wait)
        return begin_copying(context);
    return long_work_fits_transaction(context, info.count) ? copy_at_once(context, options)
                                                           : OUTCOME_DONE;
}

static enum outcome run_copy(struct context *context)
{
    struct keys_view view = database_view(context), there = view;
    struct copy_options options = {.database = view.database};
    struct dueq_slice from = context_slice(context, 1), to = context_slice(context, 2);

    if (!parse_copy(context, &options))
        return OUTCOME_DONE;
    there.database = options.database;
    if (options.database == view.database && dueq_slice_equal(from, to))
        return same_objects(context);
    if (!exists(&view, from) || (!options.replace && exists(&there, to)))
        return context_reply_integer(context, 0);
    return copy_key(context, &options);
}

/* ---- databases */

static enum outcome run_move(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1);
    enum dueq_status status;
    unsigned to;

    if (!arguments_database(context, 2, NULL, &to))
        return OUTCOME_DONE;
    if (to == view.database)
        return same_objects(context);
    status = keys_move(&view, name, to);
    if (status == DUEQ_DUPLICATE || status == DUEQ_NOTFOUND)
        return context_reply_integer(context, 0);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    database_notify(context, EVENT_GENERIC, "move_from", name);
    notify_in(context, to, "move_to", name);
    return context_reply_integer(context, 1);
}

static enum outcome run_swapdb(struct context *context)
{
    unsigned a, b;
    int64_t number;

    /* both are numbers before either is a database */
    if (!arguments_integer_or(context, 1, INT32_MIN, INT32_MAX, "ERR invalid first DB index",
                              &number) ||
        !arguments_integer_or(context, 2, INT32_MIN, INT32_MAX, "ERR invalid second DB index",
                              &number))
        return OUTCOME_DONE;
    if (!arguments_database(context, 1, "ERR invalid first DB index", &a) ||
        !arguments_database(context, 2, "ERR invalid second DB index", &b))
        return OUTCOME_DONE;
    if (a != b)
        keys_swap(store_keys(context->store), a, b);
    return context_ok(context);
}

static enum outcome run_flushdb(struct context *context)
{
    if (!arguments_flush_form(context) ||
        !context_check_status(
            context, keys_flush(store_keys(context->store), context->session->database)))
        return OUTCOME_DONE;
    return context_ok(context);
}

/* ---- looking around */

static bool take_match(struct long_read *read, const struct long_element *element)
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
        .source = LONG_NAMES,
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

/* ---- WAIT: there are no replicas, so nobody ever acknowledges */

static enum outcome run_wait(struct context *context)
{
    int64_t replicas, timeout;

    if (context->timed_out)
        return context_reply_integer(context, 0);
    if (!arguments_integer(context, 1, &replicas))
        return OUTCOME_DONE;
    if (!arguments_integer_or(context, 2, INT64_MIN, INT64_MAX,
                              "ERR timeout is not an integer or out of range", &timeout))
        return OUTCOME_DONE;
    if (timeout < 0) {
        resp_error(context->reply, "ERR timeout is negative");
        return OUTCOME_DONE;
    }
    if (replicas <= 0 || !context->may_wait)
        return context_reply_integer(context, 0);
    return waiters_wait_for_keys(context, KEYS_NONE, 0, 0,
                                 timeout == 0 ? DUEQ_NEVER
                                              : context_deadline(context, timeout));
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
    {.name = "copy",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 2, 1},
     .key_specs = "RO,access@1/r0:1:0 OW,update@2/r0:1:0",
     .group = "generic",
     .since = "6.2.0",
     .summary = "Copy a key",
     .complexity = "O(N) worst case for collections, where N is the number of nested items. "
                   "O(1) for string values.",
     .syntax = "source destination [DB destination-db] [REPLACE]",
     .categories = "keyspace",
     .run = run_copy},
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
    {.name = "move",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "generic",
     .since = "1.0.0",
     .summary = "Move a key to another database",
     .complexity = "O(1)",
     .syntax = "key db",
     .categories = "keyspace",
     .run = run_move},
    {.name = "swapdb",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .group = "server",
     .since = "4.0.0",
     .summary = "Swaps two Redis databases",
     .complexity = "O(N) where N is the count of clients watching or blocking on keys from "
                   "both databases.",
     .syntax = "index1 index2",
     .categories = "keyspace dangerous",
     .run = run_swapdb},
    {.name = "flushdb",
     .arity = -1,
     .flags = COMMAND_WRITE,
     .group = "server",
     .since = "1.0.0",
     .summary = "Remove all keys from the current database",
     .complexity = "O(N) where N is the number of keys in the selected database",
     .syntax = "[ASYNC|SYNC]",
     .categories = "keyspace dangerous",
     .tips = "request_policy:all_shards response_policy:all_succeeded",
     .run = run_flushdb},
    {.name = "wait",
     .arity = 3,
     .flags = COMMAND_NOSCRIPT,
     .group = "generic",
     .since = "3.0.0",
     .summary = "Wait for the synchronous replication of all the write commands sent in the "
                "context of the current connection",
     .complexity = "O(1)",
     .syntax = "numreplicas timeout",
     .categories = "connection",
     .tips = "request_policy:all_shards response_policy:agg_min",
     .run = run_wait},
    {.name = NULL}};

COMMANDS(key_names, entries)
