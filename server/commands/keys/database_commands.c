/* Databases: choose, count, swap and empty them, and move a key to another one. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/server.h"
#include "storage/store.h"

static enum outcome run_select(struct context *context)
{
    if (!arguments_database(context, 1, NULL, &context->session->database))
        return OUTCOME_DONE;
    return context_ok(context);
}

/* Topics belong to no database and are not counted. */
static enum outcome run_dbsize(struct context *context)
{
    resp_integer(context->reply,
                 (int64_t)keys_count(store_keys(context->store), context->session->database));
    return OUTCOME_DONE;
}

static enum outcome run_flushall(struct context *context)
{
    enum dueq_status status;

    if (!arguments_flush_form(context))
        return OUTCOME_DONE;
    status = dueq_flush(context->store, context->now);
    return status == DUEQ_OK ? context_ok(context) : context_status(context, status);
}

static enum outcome run_move(struct context *context)
{
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1);
    enum dueq_status status;
    unsigned to;

    if (!arguments_database(context, 2, NULL, &to))
        return OUTCOME_DONE;
    if (to == view.database) {
        resp_error(context->reply, "ERR source and destination objects are the same");
        return OUTCOME_DONE;
    }
    status = keys_move(&view, name, to);
    if (status == DUEQ_DUPLICATE || status == DUEQ_NOTFOUND)
        return context_reply_integer(context, 0);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    database_notify(context, EVENT_GENERIC, "move_from", name);
    database_notify_in(context, to, EVENT_GENERIC, "move_to", name);
    return context_reply_integer(context, 1);
}

static enum outcome run_swapdb(struct context *context)
{
    unsigned a, b;
    int64_t number;

    /* both are numbers before either is a database */
    if (!arguments_integer(context, 1,
                           INTEGER_OR(INT32_MIN, INT32_MAX, "ERR invalid first DB index"),
                           &number) ||
        !arguments_integer(context, 2,
                           INTEGER_OR(INT32_MIN, INT32_MAX, "ERR invalid second DB index"),
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

/* ---- commands */

static const struct command entries[] = {
    {.name = "select",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE | COMMAND_FAST,
     .group = "connection",
     .since = "1.0.0",
     .summary = "Change the selected database for the current connection",
     .complexity = "O(1)",
     .syntax = "index",
     .categories = "connection",
     .run = run_select},
    {.name = "dbsize",
     .arity = 1,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .group = "server",
     .since = "1.0.0",
     .summary = "Return the number of keys in the selected database",
     .complexity = "O(1)",
     .syntax = "",
     .categories = "keyspace",
     .tips = "request_policy:all_shards response_policy:agg_sum",
     .run = run_dbsize},
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
    {.name = "flushall",
     .arity = -1,
     .flags = COMMAND_WRITE,
     .group = "server",
     .since = "1.0.0",
     .summary = "Remove all keys from all databases, and all topics with their jobs",
     .complexity =
         "O(N) with N the number of topics; elements and jobs are reclaimed in slices",
     .syntax = "[ASYNC|SYNC]",
     .categories = "keyspace dangerous",
     .tips = "request_policy:all_shards response_policy:all_succeeded",
     .run = run_flushall},
    {.name = NULL}};

COMMANDS(database, entries)
