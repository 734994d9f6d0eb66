/* ZADD, ZINCRBY. */
#include "server/commands/database.h"
#include "server/commands/wide.h"
#include "server/dispatch/argument_options.h"
#include "server/dispatch/command_list.h"

#include "protocol/number.h"
#include "storage/keys/zset/zset.h"

#include <string.h>

struct addition {
    struct zset_rule rule;
    bool count_moved; /* CH */
    size_t first;     /* argument of the first score */
    bool effective;   /* the options allowed the last pair */
    double score;     /* of the last pair's member, now */
};

static const struct argument_option options[] = {
    {"nx", OPTION_FLAG(struct addition, rule.if_absent)},
    {"xx", OPTION_FLAG(struct addition, rule.if_present)},
    {"gt", OPTION_FLAG(struct addition, rule.if_greater)},
    {"lt", OPTION_FLAG(struct addition, rule.if_less)},
    {"incr", OPTION_FLAG(struct addition, rule.increment)},
    {"ch", OPTION_FLAG(struct addition, count_moved)},
    {.name = NULL}};

/* The error of options that exclude each other or do not fit the pairs; NULL: none. */
static const char *conflict(const struct addition *addition, size_t arguments)
{
    const struct zset_rule *rule = &addition->rule;

    if (arguments == 0 || arguments % 2 != 0)
        return "ERR syntax error";
    if (rule->if_absent && rule->if_present)
        return "ERR XX and NX options at the same time are not compatible";
    if (rule->if_absent + rule->if_greater + rule->if_less > 1)
        return "ERR GT, LT, and/or NX options at the same time are not compatible";
    if (rule->increment && arguments > 2)
        return "ERR INCR option supports a single increment-element pair";
    return NULL;
}

/* All scores are read before the first is set. False: the error is written. */
static bool parse_addition(struct context *context, struct addition *addition)
{
    const char *error;
    double score;

    addition->first = 2;
    if (!argument_options_read_leading(context, &addition->first, options, addition))
        return false;
    if (wide_has_begun(context))
        return true;
    error = conflict(addition, context_count(context) - addition->first);
    if (error != NULL) {
        resp_error(context->reply, error);
        return false;
    }
    for (size_t i = addition->first; i < context_count(context); i += 2)
        if (!arguments_float(context, i, &score))
            return false;
    return true;
}

/* Adds the pair whose score is at wide->at. The counts are those of added and moved members. */
static bool add_pair(struct context *context, struct wide *wide)
{
    struct keys_view view = database_view(context);
    struct addition *addition = wide->arg;
    enum zset_effect effect;
    double score;

    if (!arguments_float(context, wide->at, &score) ||
        !context_check_status(context, zset_add(&view, context_slice(context, 1),
                                                context_slice(context, wide->at + 1),
                                                &addition->rule, &score, &effect)))
        return false;
    if (effect == ZSET_NAN) {
        resp_error(context->reply, "ERR resulting score is not a number (NaN)");
        return false;
    }
    wide->count += effect == ZSET_ADDED;
    wide->more_count += effect == ZSET_MOVED;
    addition->effective = effect != ZSET_NOT_MET;
    addition->score = score;
    return true;
}

static enum outcome end_addition(struct context *context, const struct wide *wide)
{
    const struct addition *addition = wide->arg;

    if (wide->count + wide->more_count > 0)
        database_notify(context, EVENT_ZSET, addition->rule.increment ? "zincr" : "zadd",
                        context_slice(context, 1));
    if (!addition->rule.increment)
        resp_integer(context->reply,
                     wide->count + (addition->count_moved ? wide->more_count : 0));
    else if (addition->effective)
        resp_double(context->reply, addition->score);
    else
        resp_null(context->reply);
    return OUTCOME_DONE;
}

static enum outcome add_scores(struct context *context, bool increment)
{
    struct addition addition = {.rule = {.increment = increment}};
    struct wide_form form = {.stride = 2, .take = add_pair, .end = end_addition};

    if (!parse_addition(context, &addition))
        return OUTCOME_DONE;
    form.first = addition.first;
    return wide_run_with(context, &form, &addition);
}

static enum outcome run_zadd(struct context *context)
{
    return add_scores(context, false);
}

/* Redis reads options here too: ZINCRBY key NX member is a syntax error. */
static enum outcome run_zincrby(struct context *context)
{
    return add_scores(context, true);
}

/* ---- commands */

static const struct command entries[] = {
    {.name = "zadd",
     .arity = -4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,update@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Add one or more members to a sorted set, or update its score "
                "if it already exists",
     .complexity = "O(log(N)) for each item added, where N is the number of "
                   "elements in the sorted set.",
     .syntax = "key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]",
     .categories = "sortedset",
     .run = run_zadd},
    {.name = "zincrby",
     .arity = 4,
     .flags = COMMAND_WRITE | COMMAND_DENYOOM | COMMAND_FAST,
     .keys = {1, 1, 1},
     .key_specs = "RW,access,update@1/r0:1:0",
     .group = "sorted-set",
     .since = "1.2.0",
     .summary = "Increment the score of a member in a sorted set",
     .complexity = "O(log(N)) where N is the number of elements in the sorted set.",
     .syntax = "key increment member",
     .categories = "sortedset",
     .run = run_zincrby},
    {.name = NULL}};

COMMANDS(zset_add, entries)
