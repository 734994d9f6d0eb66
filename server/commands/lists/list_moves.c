/* Moves an element from one list to another or to the other end of the same list: LMOVE and its
 * relatives. The source is argument 1, the destination argument 2. */
#include "server/commands/lists/list_ends.h"
#include "server/dispatch/command_list.h"
#include "server/session/waiters.h"
#include "storage/keys/list.h"

struct transfer {
    enum list_end from, to;
};

/* Publishes the push before the pop, as Redis does. */
static enum outcome transfer(struct context *context, const struct transfer *ends)
{
    struct dueq_slice source = context_slice(context, 1), target = context_slice(context, 2);
    struct keys_view view = database_view(context);
    struct dueq_slice value;
    enum dueq_status status = list_move(&view, source, ends->from, target, ends->to, &value);

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_NOTFOUND) {
        resp_null(context->reply);
        return OUTCOME_DONE;
    }
    resp_slice(context->reply, value);
    database_notify(context, EVENT_LIST, ends->to == LIST_HEAD ? "lpush" : "rpush", target);
    list_ends_notify_popped(context, source, ends->from);
    return OUTCOME_DONE;
}

static enum outcome transfer_or_wait(struct context *context, const struct transfer *ends,
                                     int64_t deadline)
{
    uint64_t size;
    enum dueq_status status;

    if (context->timed_out) {
        resp_null_array(context->reply);
        return OUTCOME_DONE;
    }
    status = database_count_for_wait(context, context_slice(context, 1), KEYS_LIST, &size);
    if (status == DUEQ_NOTFOUND && context->may_wait)
        return waiters_wait_for_keys(context, KEYS_LIST, 1, 1, deadline);
    return transfer(context, ends);
}

static bool parse_transfer(struct context *context, struct transfer *ret_ends)
{
    return list_ends_read(context, 3, &ret_ends->from) &&
           list_ends_read(context, 4, &ret_ends->to);
}

static enum outcome run_lmove(struct context *context)
{
    struct transfer ends;

    return parse_transfer(context, &ends) ? transfer(context, &ends) : OUTCOME_DONE;
}

static enum outcome run_rpoplpush(struct context *context)
{
    return transfer(context, &(struct transfer){LIST_TAIL, LIST_HEAD});
}

static enum outcome run_blmove(struct context *context)
{
    struct transfer ends;
    int64_t deadline;

    if (!parse_transfer(context, &ends) || !arguments_timeout(context, 5, &deadline))
        return OUTCOME_DONE;
    return transfer_or_wait(context, &ends, deadline);
}

static enum outcome run_brpoplpush(struct context *context)
{
    int64_t deadline;

    if (!arguments_timeout(context, 3, &deadline))
        return OUTCOME_DONE;
    return transfer_or_wait(context, &(struct transfer){LIST_TAIL, LIST_HEAD}, deadline);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "lmove",
     .arity = 5,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 RW,insert@2/r0:1:0",
     .group = "list",
     .since = "6.2.0",
     .summary = "Pop an element from a list, push it to another list and return it",
     .complexity = "O(1)",
     .syntax = "source destination <LEFT|RIGHT> <LEFT|RIGHT>",
     .categories = "list",
     .run = run_lmove},
    {.name = "rpoplpush",
     .arity = 3,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 RW,insert@2/r0:1:0",
     .group = "list",
     .since = "1.2.0",
     .summary = "Remove the last element in a list, prepend it to another list "
                "and return it",
     .complexity = "O(1)",
     .syntax = "source destination",
     .categories = "list",
     .run = run_rpoplpush},
    {.name = "blmove",
     .arity = 6,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 RW,insert@2/r0:1:0",
     .group = "list",
     .since = "6.2.0",
     .summary = "Pop an element from a list, push it to another list and "
                "return it; or block until one is available",
     .complexity = "O(1)",
     .syntax = "source destination <LEFT|RIGHT> <LEFT|RIGHT> timeout",
     .categories = "list",
     .run = run_blmove},
    {.name = "brpoplpush",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_NOSCRIPT | COMMAND_BLOCKING,
     .keys = {1, 2, 1},
     .key_specs = "RW,access,delete@1/r0:1:0 RW,insert@2/r0:1:0",
     .group = "list",
     .since = "2.2.0",
     .summary = "Pop an element from a list, push it to another list and "
                "return it; or block until one is available",
     .complexity = "O(1)",
     .syntax = "source destination timeout",
     .categories = "list",
     .run = run_brpoplpush},
    {.name = NULL}};

COMMANDS(list_moves, entries)
