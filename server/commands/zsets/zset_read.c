/* Reads scores, ranks and numbers of entries, random members, and ZSCAN. */
#include "server/commands/scored_members.h"
#include "server/commands/zsets/zset_bounds.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/context.h"

#include "server/commands/long_read.h"
#include "server/commands/picks.h"
#include "server/commands/scan.h"
#include "server/commands/wide.h"
#include "server/process/random.h"
#include "storage/keys/zset/zset.h"

/* ---- members */

/* Writes the score or nil. False: the error is written. */
static bool write_score(struct context *context, struct dueq_slice member)
{
    struct keys_view view = database_view(context);
    double score;
    enum dueq_status status = zset_score(&view, context_slice(context, 1), member, &score);

    if (!context_check_status(context, status))
        return false;
    if (status == DUEQ_OK)
        resp_double(context->reply, score);
    else
        resp_null(context->reply);
    return true;
}

static enum outcome run_zscore(struct context *context)
{
    write_score(context, context_slice(context, 2));
    return OUTCOME_DONE;
}

static bool begin_scores(struct context *context, struct wide *wide)
{
    uint64_t size;

    (void)wide;
    if (!database_read_count(context, context_slice(context, 1), KEYS_ZSET, &size))
        return false;
    resp_array(context->reply, context_count(context) - 2);
    return true;
}

static bool write_one(struct context *context, struct wide *wide)
{
    return write_score(context, context_slice(context, wide->at));
}

static enum outcome run_zmscore(struct context *context)
{
    static const struct wide_form form = {
        .first = 2, .stride = 1, .begin = begin_scores, .take = write_one, .end = wide_end};

    return wide_run(context, &form);
}

/* Passes entries until the member at argument 2 comes. */
static bool pass_until(struct long_read *read, const struct long_read_element *element)
{
    if (dueq_slice_equal(element->name, context_slice(read->context, 2)))
        return false;
    read->at.found++;
    return true;
}

static void end_count(struct long_read *read)
{
    resp_integer(read->reply, (int64_t)read->at.found);
}

static enum outcome reply_rank(struct context *context, bool reverse)
{
    struct keys_view view = database_view(context);
    struct long_read read = {
        .source = LONG_READ_ORDER,
        .key = context_slice(context, 1),
        .range = {{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = reverse},
        .take = pass_until,
        .end = end_count};
    double score;
    enum dueq_status status = zset_score(&view, read.key, context_slice(context, 2), &score);

    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (status == DUEQ_OK)
        return long_read_run(context, &read);
    resp_null(context->reply);
    return OUTCOME_DONE;
}

static enum outcome run_zrank(struct context *context)
{
    return reply_rank(context, false);
}

static enum outcome run_zrevrank(struct context *context)
{
    return reply_rank(context, true);
}

/* ---- counts */

static enum outcome run_zcard(struct context *context)
{
    uint64_t size;

    return database_read_count(context, context_slice(context, 1), KEYS_ZSET, &size)
               ? context_reply_integer(context, (int64_t)size)
               : OUTCOME_DONE;
}

static bool count_one(struct long_read *read, const struct long_read_element *element)
{
    (void)element;
    read->at.found++;
    return true;
}

static enum outcome count_range(struct context *context, const struct zset_range *range)
{
    struct long_read read = {.source = LONG_READ_ORDER,
                             .key = context_slice(context, 1),
                             .range = *range,
                             .take = count_one,
                             .end = end_count};
    uint64_t size;

    return database_read_count(context, read.key, KEYS_ZSET, &size)
               ? long_read_run(context, &read)
               : OUTCOME_DONE;
}

static enum outcome run_zcount(struct context *context)
{
    struct zset_range range;

    return zset_bounds_scores(context, 2, 3, &range) ? count_range(context, &range)
                                                     : OUTCOME_DONE;
}

static enum outcome run_zlexcount(struct context *context)
{
    struct zset_range range;

    return zset_bounds_members(context, 2, 3, &range) ? count_range(context, &range)
                                                      : OUTCOME_DONE;
}

static enum outcome run_zscan(struct context *context)
{
    return scan_elements(context, KEYS_ZSET);
}

/* ---- ZRANDMEMBER */

static void write_picked(struct context *context, struct resp_writer *reply,
                         const struct long_read_element *element)
{
    scored_members_write_one(reply, element->name, element->score, picks_with_option(context));
}

static enum dueq_status write_any(struct context *context, struct resp_writer *reply)
{
    struct keys_view view = database_view(context);
    struct zset_entry entry;
    enum dueq_status status =
        zset_random(&view, context_slice(context, 1), random_number(), &entry);

    if (status == DUEQ_OK)
        write_picked(context, reply,
                     &(struct long_read_element){.name = entry.member, .score = entry.score});
    return status;
}

static enum outcome run_zrandmember(struct context *context)
{
    static const struct picks_type type = {KEYS_ZSET, LONG_READ_ZSET, "withscores", write_any,
                                           write_picked};

    return picks_run(context, &type);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "zscore",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Get the score associated with the given member in a sorted set",
     .complexity = "O(1)",
     .syntax = "key member",
     .categories = "sortedset",
     .run = run_zscore},
    {.name = "zmscore",
     .arity = -3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Get the score associated with the given members in a sorted set",
     .complexity = "O(N) where N is the number of members being requested.",
     .syntax = "key member [member ...]",
     .categories = "sortedset",
     .run = run_zmscore},
    {.name = "zcard",
     .arity = 2,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Get the number of members in a sorted set",
     .complexity = "O(1)",
     .syntax = "key",
     .categories = "sortedset",
     .run = run_zcard},
    {.name = "zcount",
     .arity = 4,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.0.0",
     .summary = "Count the members in a sorted set with scores within the "
                "given values",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .syntax = "key min max",
     .categories = "sortedset",
     .run = run_zcount},
    {.name = "zlexcount",
     .arity = 4,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.8.9",
     .summary = "Count the number of members in a sorted set between a given "
                "lexicographical range",
     .complexity = "O(log(N)) with N being the number of elements in the sorted set.",
     .syntax = "key min max",
     .categories = "sortedset",
     .run = run_zlexcount},
    {.name = "zrank",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.0.0",
     .summary = "Determine the index of a member in a sorted set",
     .complexity = "O(log(N))",
     .syntax = "key member",
     .categories = "sortedset",
     .run = run_zrank},
    {.name = "zrevrank",
     .arity = 3,
     .flags = COMMAND_READONLY | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.0.0",
     .summary = "Determine the index of a member in a sorted set, with scores "
                "ordered from high to low",
     .complexity = "O(log(N))",
     .syntax = "key member",
     .categories = "sortedset",
     .run = run_zrevrank},
    {.name = "zrandmember",
     .arity = -2,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Get one or multiple random elements from a sorted set",
     .complexity = "O(N) where N is the number of elements returned",
     .syntax = "key [count [WITHSCORES]]",
     .categories = "sortedset",
     .tips = "nondeterministic_output",
     .run = run_zrandmember},
    {.name = "zscan",
     .arity = -3,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.8.0",
     .summary = "Incrementally iterate sorted sets elements and associated scores",
     .complexity = "O(1) for every call. O(N) for a complete iteration, including enough "
                   "command calls for the cursor to return back to 0. N is the number of "
                   "elements inside the collection..",
     .syntax = "key cursor [MATCH pattern] [COUNT count]",
     .categories = "sortedset",
     .tips = "nondeterministic_output",
     .run = run_zscan},
    {.name = NULL}};

COMMANDS(zset_read, entries)
