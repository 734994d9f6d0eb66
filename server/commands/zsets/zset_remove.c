/* Removes members and ranges: ZREM and its relatives. */
#include "server/commands/range.h"
#include "server/commands/removals.h"
#include "server/commands/wide.h"
#include "server/commands/zsets/zset_bounds.h"
#include "server/commands/zsets/zset_weight.h"
#include "server/dispatch/arguments.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/zset/zset.h"

enum { FEW = 32 }; /* entries that are removed at once, however large they are */

static enum outcome reply_removed(struct context *context, uint64_t removed, const char *event)
{
    struct dueq_slice name = context_slice(context, 1);

    if (removed > 0) {
        database_notify(context, EVENT_ZSET, event, name);
        database_notify_if_removed(context, name);
    }
    return context_reply_integer(context, (int64_t)removed);
}

static bool remove_member(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    enum dueq_status status =
        zset_remove(&view, context_slice(context, 1), context_slice(context, wide->at));

    wide->count += status == DUEQ_OK;
    return context_check_status(context, status);
}

static enum outcome end_zrem(struct context *context, const struct wide *wide)
{
    return reply_removed(context, (uint64_t)wide->count, "zrem");
}

static enum outcome run_zrem(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .take = remove_member, .end = end_zrem};

    return wide_run(context, &form);
}

/* ---- ranges */

struct ranging {
    const char *event;
    struct zset_range range;
    uint64_t first, count; /* KEYS_REMOVAL_RANKS */
};

static void end_removal(struct context *context, const struct removals_request *request,
                        uint64_t removed)
{
    const struct ranging *ranging = request->arg;

    reply_removed(context, removed, ranging->event);
}

static enum outcome remove_at_once(struct context *context,
                                   const struct removals_request *request)
{
    const struct ranging *ranging = request->arg;
    struct keys_view view = database_view(context);
    struct dueq_slice name = context_slice(context, 1);
    uint64_t removed = 0;
    enum dueq_status status =
        request->part.kind == KEYS_REMOVAL_RANGE
            ? zset_remove_range(&view, name, &ranging->range, &removed)
            : zset_remove_from(&view, name, ranging->first, ranging->count, &removed);

    return context_check_status(context, status)
               ? reply_removed(context, removed, ranging->event)
               : OUTCOME_DONE;
}

static const struct removals_form form = {NULL, NULL, end_removal, remove_at_once};

static struct removals_request request_of(const struct ranging *ranging)
{
    return (struct removals_request){
        .form = &form,
        .arg = ranging,
        .key = 1,
        .type = KEYS_ZSET,
        .range = &ranging->range,
        .part = {.kind = ranging->count > 0 ? KEYS_REMOVAL_RANKS : KEYS_REMOVAL_RANGE,
                 .first = ranging->first,
                 .most = ranging->count > 0 ? ranging->count : UINT64_MAX}};
}

/* Does the range contain too many entries, or too large ones, to remove them at once? */
static bool is_long(struct context *context, const struct zset_range *range, uint64_t size)
{
    struct keys_view view = database_view(context);
    struct zset_weight weight = {.look_at = LONG_ENOUGH + 1, .most = LONG_ENOUGH_BYTES};

    if (size > FEW)
        zset_each(&view, context_slice(context, 1), range, zset_weight_add, &weight);
    return weight.entries > LONG_ENOUGH || weight.bytes > LONG_ENOUGH_BYTES;
}

static enum outcome remove_range(struct context *context, const struct ranging *ranging)
{
    struct removals_request request = request_of(ranging);
    uint64_t size;

    if (removals_is_running(context))
        return removals_continue(context, &request);
    if (!database_read_count(context, context_slice(context, 1), KEYS_ZSET, &size))
        return OUTCOME_DONE;
    return is_long(context, &ranging->range, size) ? removals_begin(context, &request, size)
                                                   : remove_at_once(context, &request);
}

static enum outcome run_zremrangebyscore(struct context *context)
{
    struct ranging ranging = {.event = "zremrangebyscore"};

    return zset_bounds_scores(context, 2, 3, &ranging.range) ? remove_range(context, &ranging)
                                                             : OUTCOME_DONE;
}

static enum outcome run_zremrangebylex(struct context *context)
{
    struct ranging ranging = {.event = "zremrangebylex"};

    return zset_bounds_members(context, 2, 3, &ranging.range) ? remove_range(context, &ranging)
                                                              : OUTCOME_DONE;
}

/* Entries that are passed on the way to the ranks, and those that are removed. */
static uint64_t steps_of(const struct ranging *ranging, uint64_t size)
{
    uint64_t up = ranging->first + ranging->count, down = size - ranging->first;

    return up < down ? up : down;
}

static bool are_large(struct context *context, const struct ranging *ranging)
{
    struct keys_view view = database_view(context);
    struct zset_weight weight = {.look_at = ranging->count, .most = LONG_ENOUGH_BYTES};

    if (ranging->count > FEW)
        zset_each_from(&view, context_slice(context, 1), ranging->first, false, zset_weight_add,
                       &weight);
    return weight.bytes > LONG_ENOUGH_BYTES;
}

static enum outcome remove_ranks(struct context *context, const struct ranging *ranging,
                                 uint64_t size)
{
    struct removals_request request = request_of(ranging);
    uint64_t steps = steps_of(ranging, size);

    if (removals_is_running(context))
        return removals_continue(context, &request);
    return steps <= LONG_ENOUGH && !are_large(context, ranging)
               ? remove_at_once(context, &request)
               : removals_begin(context, &request, steps);
}

static enum outcome run_zremrangebyrank(struct context *context)
{
    struct ranging ranging = {.event = "zremrangebyrank"};
    int64_t start, stop;
    uint64_t size;

    if (!arguments_integer(context, 2, NULL, &start) ||
        !arguments_integer(context, 3, NULL, &stop) ||
        !database_read_count(context, context_slice(context, 1), KEYS_ZSET, &size))
        return OUTCOME_DONE;
    if (range_clamp(start, stop, size, &ranging.first, &ranging.count))
        return remove_ranks(context, &ranging, size);
    return reply_removed(context, 0, ranging.event);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "zrem",
     .arity = -3,
     .flags = COMMAND_WRITE | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Remove one or more members from a sorted set",
     .complexity = "O(M*log(N)) with N being the number of elements in the "
                   "sorted set and M the number of elements to be removed.",
     .syntax = "key member [member ...]",
     .categories = "sortedset",
     .run = run_zrem},
    {.name = "zremrangebyrank",
     .arity = 4,
     .flags = COMMAND_WRITE,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.0.0",
     .summary = "Remove all members in a sorted set within the given indexes",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set "
                   "and M the number of elements removed by the operation.",
     .syntax = "key start stop",
     .categories = "sortedset",
     .run = run_zremrangebyrank},
    {.name = "zremrangebyscore",
     .arity = 4,
     .flags = COMMAND_WRITE,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Remove all members in a sorted set within the given scores",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set "
                   "and M the number of elements removed by the operation.",
     .syntax = "key min max",
     .categories = "sortedset",
     .run = run_zremrangebyscore},
    {.name = "zremrangebylex",
     .arity = 4,
     .flags = COMMAND_WRITE,
     .keys = {1, 1, 1},
     .key_specs = "RW,delete@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.8.9",
     .summary = "Remove all members in a sorted set between the given "
                "lexicographical range",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set "
                   "and M the number of elements removed by the operation.",
     .syntax = "key min max",
     .categories = "sortedset",
     .run = run_zremrangebylex},
    {.name = NULL}};

COMMANDS(zset_remove, entries)
