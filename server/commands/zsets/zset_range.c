/* Ranges of sorted sets by rank, score or member: ZRANGE and its relatives. */
#include "server/commands/long_read.h"
#include "server/commands/range.h"
#include "server/commands/scored_members.h"
#include "server/commands/zsets/zset_bounds.h"
#include "server/commands/zsets/zset_store.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/long_work.h"
#include "storage/keys/zset/zset.h"

/* What a range command asks for. ZRANGE takes all options; older commands take some of them and
 * their names imply the others. */
struct query {
    size_t key; /* argument; the two bounds follow it */
    enum { BY_RANK, BY_SCORE, BY_LEX } by;
    bool reverse, with_scores;
    bool store;                  /* the destination is the argument before the key */
    struct argument_limit limit; /* count -1: all */
    struct zset_range range;     /* by score or by member */
    int64_t start, stop;         /* by rank */
};

/* ---- reading the arguments */

/* ZRANGESTORE knows all but the first. */
static const struct argument_option range_options[] = {
    {"withscores", OPTION_FLAG(struct query, with_scores)},
    {"rev", OPTION_FLAG(struct query, reverse), .once = true},
    {"byscore", OPTION_SETS(struct query, by), .number = BY_SCORE, .group = 1, .once = true},
    {"bylex", OPTION_SETS(struct query, by), .number = BY_LEX, .group = 1, .once = true},
    {"limit", OPTION_LIMIT(struct query, limit)},
    {.name = NULL}};

static const struct argument_option older_options[] = {
    {"withscores", OPTION_FLAG(struct query, with_scores)},
    {"limit", OPTION_LIMIT(struct query, limit)},
    {.name = NULL}};

static bool parse_options(struct context *context, const struct argument_option *options,
                          struct query *query)
{
    if (!argument_options_read(context, query->key + 3, options, query))
        return false;
    if (query->limit.count != -1 && query->by == BY_RANK) {
        resp_error(context->reply, "ERR syntax error, LIMIT is only supported in combination "
                                   "with either BYSCORE or BYLEX");
        return false;
    }
    if (query->with_scores && query->by == BY_LEX) {
        resp_error(context->reply,
                   "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
        return false;
    }
    return true;
}

/* A reversed range of scores or members is given from its upper bound to its lower one. */
static bool parse_bounds(struct context *context, struct query *query)
{
    size_t least = query->key + (query->reverse ? 2 : 1);
    size_t most = query->key + (query->reverse ? 1 : 2);

    if (query->by == BY_RANK)
        return arguments_integer(context, query->key + 1, NULL, &query->start) &&
               arguments_integer(context, query->key + 2, NULL, &query->stop);
    if (query->by == BY_SCORE ? !zset_bounds_scores(context, least, most, &query->range)
                              : !zset_bounds_members(context, least, most, &query->range))
        return false;
    query->range.reverse = query->reverse;
    return true;
}

/* ---- results */

static bool take_result(struct long_read *read, const struct long_read_element *element)
{
    const struct query *query = read->arg;

    scored_members_write_one(read->reply, element->name, element->score, query->with_scores);
    read->at.found++;
    return --read->at.left > 0;
}

static void end_results(struct long_read *read)
{
    const struct query *query = read->arg;
    bool flat = query->with_scores && read->reply->version < 3;

    long_read_end_array(read, flat ? read->at.found * 2 : read->at.found);
}

/* Begins at the end that is nearer to the first rank. False: the range is empty. */
static bool begin_at_rank(struct long_read *read, const struct query *query, uint64_t size)
{
    uint64_t first;

    if (!range_clamp(query->start, query->stop, size, &first, &read->at.left))
        return false;
    read->range = (struct zset_range){
        {.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = query->reverse};
    read->at.turns = first > size / 2;
    read->at.skip = read->at.turns ? size - 1 - first : first;
    read->steps = read->at.skip + read->at.left;
    return true;
}

static bool begin_within(struct long_read *read, const struct query *query)
{
    read->range = query->range;
    read->at.skip = (uint64_t)query->limit.offset;
    read->at.left = (uint64_t)query->limit.count;
    return query->limit.offset >= 0 && query->limit.count != 0;
}

static enum outcome reply_results(struct context *context, const struct query *query,
                                  uint64_t size)
{
    struct long_read read = {.source = LONG_READ_ORDER,
                             .key = context_slice(context, query->key),
                             .arg = query,
                             .begin = long_read_begin_array,
                             .take = take_result,
                             .end = end_results};

    if (query->by == BY_RANK ? begin_at_rank(&read, query, size) : begin_within(&read, query))
        return long_read_run(context, &read);
    resp_array(context->reply, 0);
    return OUTCOME_DONE;
}

static enum outcome store_results(struct context *context, const struct query *query,
                                  uint64_t size)
{
    struct zset_store_request wanted = {
        .key = query->key,
        .range = query->range,
        .skip = (uint64_t)query->limit.offset,
        .take = query->limit.offset < 0 ? 0 : (uint64_t)query->limit.count};

    if (query->by == BY_RANK) {
        wanted.range = (struct zset_range){
            {.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, .reverse = query->reverse};
        if (!range_clamp(query->start, query->stop, size, &wanted.skip, &wanted.take))
            wanted.take = 0;
    }
    return long_work_state(context) == NULL ? zset_store(context, &wanted)
                                            : zset_store_continue(context, &wanted);
}

static enum outcome answer_query(struct context *context, const struct argument_option *options,
                                 struct query query)
{
    uint64_t size;

    query.limit.count = -1;
    if (!parse_options(context, options, &query) || !parse_bounds(context, &query) ||
        !database_read_count(context, context_slice(context, query.key), KEYS_ZSET, &size))
        return OUTCOME_DONE;
    if (query.store)
        return store_results(context, &query, size);
    return reply_results(context, &query, size);
}

/* ---- the commands */

static enum outcome run_zrange(struct context *context)
{
    return answer_query(context, range_options, (struct query){.key = 1});
}

static enum outcome run_zrangestore(struct context *context)
{
    return answer_query(context, range_options + 1, (struct query){.key = 2, .store = true});
}

static enum outcome run_zrevrange(struct context *context)
{
    return answer_query(context, older_options, (struct query){.key = 1, .reverse = true});
}

static enum outcome run_zrangebyscore(struct context *context)
{
    return answer_query(context, older_options, (struct query){.key = 1, .by = BY_SCORE});
}

static enum outcome run_zrevrangebyscore(struct context *context)
{
    return answer_query(context, older_options,
                        (struct query){.key = 1, .by = BY_SCORE, .reverse = true});
}

static enum outcome run_zrangebylex(struct context *context)
{
    return answer_query(context, older_options, (struct query){.key = 1, .by = BY_LEX});
}

static enum outcome run_zrevrangebylex(struct context *context)
{
    return answer_query(context, older_options,
                        (struct query){.key = 1, .by = BY_LEX, .reverse = true});
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "zrange",
     .arity = -4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Return a range of members in a sorted set",
     .complexity = "O(log(N)+M) with N being the number of elements in the "
                   "sorted set and M the number of elements returned.",
     .syntax = "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] "
               "[WITHSCORES]",
     .categories = "sortedset",
     .run = run_zrange},
    {.name = "zrangestore",
     .arity = -5,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM,
     .keys = {1, 2, 1},
     .key_specs = "OW,update@1/r0:1:0 RO,access@2/r0:1:0",
     .group = "sorted-set",
     .since = "6.2.0",
     .summary = "Store a range of members from sorted set into another key",
     .complexity = "O(log(N)+M) with N being the number of elements in the sorted set "
                   "and M the number of elements stored into the destination key.",
     .syntax = "dst src min max [BYSCORE|BYLEX] [REV] [LIMIT offset count]",
     .categories = "sortedset",
     .run = run_zrangestore},
    {.name = "zrangebyscore",
     .arity = -4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.0.5",
     .summary = "Return a range of members in a sorted set, by score",
     .complexity = "O(log(N)+M) with N being the number of elements in the "
                   "sorted set and M the number of elements being returned. If "
                   "M is constant (e.g. always asking for the first 10 "
                   "elements with LIMIT), you can consider it O(log(N)).",
     .syntax = "key min max [WITHSCORES] [LIMIT offset count]",
     .categories = "sortedset",
     .run = run_zrangebyscore},
    {.name = "zrevrangebyscore",
     .arity = -4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.2.0",
     .summary = "Return a range of members in a sorted set, by score, with "
                "scores ordered from high to low",
     .complexity = "O(log(N)+M) with N being the number of elements in the "
                   "sorted set and M the number of elements being returned. If "
                   "M is constant (e.g. always asking for the first 10 "
                   "elements with LIMIT), you can consider it O(log(N)).",
     .syntax = "key max min [WITHSCORES] [LIMIT offset count]",
     .categories = "sortedset",
     .run = run_zrevrangebyscore},
    {.name = "zrangebylex",
     .arity = -4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.8.9",
     .summary = "Return a range of members in a sorted set, by lexicographical range",
     .complexity = "O(log(N)+M) with N being the number of elements in the "
                   "sorted set and M the number of elements being returned. If "
                   "M is constant (e.g. always asking for the first 10 "
                   "elements with LIMIT), you can consider it O(log(N)).",
     .syntax = "key min max [LIMIT offset count]",
     .categories = "sortedset",
     .run = run_zrangebylex},
    {.name = "zrevrangebylex",
     .arity = -4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "2.8.9",
     .summary = "Return a range of members in a sorted set, by lexicographical "
                "range, ordered from higher to lower strings.",
     .complexity = "O(log(N)+M) with N being the number of elements in the "
                   "sorted set and M the number of elements being returned. If "
                   "M is constant (e.g. always asking for the first 10 "
                   "elements with LIMIT), you can consider it O(log(N)).",
     .syntax = "key max min [LIMIT offset count]",
     .categories = "sortedset",
     .run = run_zrevrangebylex},
    {.name = "zrevrange",
     .arity = -4,
     .flags = COMMAND_READONLY,
     .keys = {1, 1, 1},
     .key_specs = "RO,access@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Return a range of members in a sorted set, by index, with "
                "scores ordered from high to low",
     .complexity = "O(log(N)+M) with N being the number of elements in the "
                   "sorted set and M the number of elements returned.",
     .syntax = "key start stop [WITHSCORES]",
     .categories = "sortedset",
     .run = run_zrevrange},
    {.name = NULL}};

COMMANDS(zset_range, entries)
