/* Sorted sets and sets put together: union, intersection, difference. */
#include "server/commands/handlers.h"
#include "server/commands/scored_members.h"

#include "protocol/number.h"

#include <math.h>
#include <stdlib.h>

enum operation { UNION, INTERSECTION, DIFFERENCE };
enum aggregate { SUM, LEAST, GREATEST };

struct source {
    struct dueq_slice name;
    enum keys_type type; /* KEYS_NONE: there is no such key */
    uint64_t count;
    double weight;
    size_t place; /* among the keys as given */
};

struct combination {
    struct context *context;
    struct keys_view view;
    enum operation operation;
    bool stored;  /* no WITHSCORES */
    bool counted; /* LIMIT and nothing else */
    struct source *sources;
    size_t count;
    enum aggregate aggregate;
    bool with_scores;
    uint64_t limit; /* ZINTERCARD's; 0: none */
    uint64_t found;
    const struct source *reading; /* whose members are handed out */
    struct scored_members result;
    enum dueq_status status;
};

/* ---- sources */

/* False: the error is written. */
static bool read_source(struct combination *combination, size_t index, struct source *source)
{
    struct context *context = combination->context;
    struct keys_info info = {.type = KEYS_NONE};
    enum dueq_status status;

    source->name = context_slice(context, index);
    status = keys_info(&combination->view, source->name, &info);
    if (status == DUEQ_OK && info.type != KEYS_ZSET && info.type != KEYS_SET)
        status = DUEQ_WRONGTYPE;
    source->type = info.type;
    source->count = info.type == KEYS_NONE ? 0 : info.count;
    source->weight = 1;
    source->place = index;
    return context_check(context, status);
}

/* numkeys and the keys, from argument `index` on. False: the error is written. */
static bool read_sources(struct combination *combination, size_t index)
{
    struct context *context = combination->context;
    int64_t count;

    if (!context_integer(context, index, &count))
        return false;
    if (count < 1) {
        resp_errorf(context->reply, "ERR at least 1 input key is needed for '%s' command",
                    command_full_name(context->command));
        return false;
    }
    if ((uint64_t)count > context_count(context) - index - 1) {
        context_syntax_error(context);
        return false;
    }
    combination->count = (size_t)count;
    combination->sources = calloc(combination->count, sizeof(*combination->sources));
    if (combination->sources == NULL) {
        context_status(context, DUEQ_NOMEM);
        return false;
    }
    for (size_t i = 0; i < combination->count; i++)
        if (!read_source(combination, index + 1 + i, &combination->sources[i]))
            return false;
    return true;
}

/* From the smallest on, as Redis does: the order in which scores are added up shows in their
 * last digits. */
static int compare_sources(const void *a, const void *b)
{
    const struct source *left = a, *right = b;

    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    return (left->place > right->place) - (left->place < right->place);
}

struct set_call {
    bool (*fn)(void *arg, const struct zset_entry *entry);
    void *arg;
};

/* A set's members count 1. */
static bool hand_out_member(void *arg, struct dueq_slice member, struct dueq_slice value)
{
    struct set_call *call = arg;
    struct zset_entry entry = {member, 1};

    (void)value;
    return call->fn(call->arg, &entry);
}

static void each_of(struct combination *combination, const struct source *source,
                    bool (*fn)(void *arg, const struct zset_entry *entry))
{
    struct set_call call = {fn, combination};
    enum dueq_status status = DUEQ_OK;
    uint64_t next;

    combination->reading = source;
    if (source->type == KEYS_SET)
        status = set_each(&combination->view, source->name, hand_out_member, &call);
    else if (source->type == KEYS_ZSET)
        status =
            zset_scan(&combination->view, source->name, 0, UINT64_MAX, fn, combination, &next);
    if (status != DUEQ_OK)
        combination->status = status;
}

/* False: it is not in there, or cannot be read. */
static bool look_up(struct combination *combination, const struct source *source,
                    struct dueq_slice member, double *ret_score)
{
    enum dueq_status status = DUEQ_NOTFOUND;

    if (source->type == KEYS_ZSET)
        status = zset_score(&combination->view, source->name, member, ret_score);
    else if (source->type == KEYS_SET)
        status = set_has(&combination->view, source->name, member);
    if (status == DUEQ_OK && source->type == KEYS_SET)
        *ret_score = 1;
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        combination->status = status;
    return status == DUEQ_OK;
}

/* ---- options */

static bool parse_weights(struct combination *combination, size_t index)
{
    struct context *context = combination->context;

    for (size_t i = 0; i < combination->count; i++) {
        struct argument argument = context_argument(context, index + i);

        if (!number_parse_double(argument.data, argument.size,
                                 &combination->sources[i].weight)) {
            resp_error(context->reply, "ERR weight value is not a float");
            return false;
        }
    }
    return true;
}

static bool parse_aggregate(struct combination *combination, size_t index)
{
    struct context *context = combination->context;

    if (context_is(context, index, "sum"))
        combination->aggregate = SUM;
    else if (context_is(context, index, "min"))
        combination->aggregate = LEAST;
    else if (context_is(context, index, "max"))
        combination->aggregate = GREATEST;
    else
        return context_syntax_error(context), false;
    return true;
}

static bool parse_limit(struct combination *combination, size_t index)
{
    int64_t limit;

    if (!context_range_integer(combination->context, index, 0, INT64_MAX,
                               "ERR LIMIT can't be negative", &limit))
        return false;
    combination->limit = (uint64_t)limit;
    return true;
}

/* The option at `index`; *ret_next: the argument behind it. False: the error is written. */
static bool parse_option(struct combination *combination, size_t index, size_t *ret_next)
{
    struct context *context = combination->context;
    size_t left = context_count(context) - index;
    bool weighed = combination->operation != DIFFERENCE && !combination->counted;

    if (weighed && left > combination->count && context_is(context, index, "weights")) {
        *ret_next = index + 1 + combination->count;
        return parse_weights(combination, index + 1);
    }
    *ret_next = index + 2;
    if (weighed && left >= 2 && context_is(context, index, "aggregate"))
        return parse_aggregate(combination, index + 1);
    if (combination->counted && left >= 2 && context_is(context, index, "limit"))
        return parse_limit(combination, index + 1);
    if (!combination->stored && !combination->counted &&
        context_is(context, index, "withscores")) {
        *ret_next = index + 1;
        combination->with_scores = true;
        return true;
    }
    context_syntax_error(context);
    return false;
}

static bool parse_combination(struct combination *combination, size_t index)
{
    size_t next;

    if (!read_sources(combination, index))
        return false;
    next = index + 1 + combination->count;
    while (next < context_count(combination->context))
        if (!parse_option(combination, next, &next))
            return false;
    return true;
}

/* ---- combining. inf - inf and inf * 0 count as 0, as Redis has it. */

static double or_zero(double score)
{
    return isnan(score) ? 0 : score;
}

static double aggregated(enum aggregate aggregate, double score, double other)
{
    switch (aggregate) {
    case LEAST:
        return other < score ? other : score;
    case GREATEST:
        return other > score ? other : score;
    case SUM:
        break;
    }
    return or_zero(score + other);
}

static bool unite(void *arg, const struct zset_entry *entry)
{
    struct combination *combination = arg;
    double score = or_zero(combination->reading->weight * entry->score);
    struct scored_member *present = scored_members_find(&combination->result, entry->member);

    if (present == NULL)
        scored_members_add(&combination->result, entry->member, score);
    else
        present->score = aggregated(combination->aggregate, present->score, score);
    return !combination->result.failed;
}

static bool intersect(void *arg, const struct zset_entry *entry)
{
    struct combination *combination = arg;
    double score = or_zero(combination->reading->weight * entry->score), other;

    for (size_t i = 1; i < combination->count; i++) {
        const struct source *source = &combination->sources[i];

        if (!look_up(combination, source, entry->member, &other))
            return combination->status == DUEQ_OK;
        score = aggregated(combination->aggregate, score, other * source->weight);
    }
    combination->found++;
    if (combination->counted)
        return combination->found != combination->limit;
    scored_members_add(&combination->result, entry->member, score);
    return !combination->result.failed;
}

static bool subtract(void *arg, const struct zset_entry *entry)
{
    struct combination *combination = arg;
    double score;

    for (size_t i = 1; i < combination->count; i++)
        if (look_up(combination, &combination->sources[i], entry->member, &score))
            return true;
    scored_members_add(&combination->result, entry->member, entry->score);
    return combination->status == DUEQ_OK && !combination->result.failed;
}

static void combine(struct combination *combination)
{
    if (combination->operation != DIFFERENCE)
        qsort(combination->sources, combination->count, sizeof(*combination->sources),
              compare_sources);
    if (combination->operation == DIFFERENCE)
        each_of(combination, &combination->sources[0], subtract);
    else if (combination->operation == INTERSECTION)
        each_of(combination, &combination->sources[0], intersect);
    else
        for (size_t i = 0; i < combination->count; i++)
            each_of(combination, &combination->sources[i], unite);
}

/* ---- the commands */

/* Parses from argument `index` on, combines, and gives `finish` the outcome. */
static enum outcome run_combination(struct context *context, struct combination combination,
                                    size_t index,
                                    enum outcome (*finish)(struct combination *combination))
{
    enum outcome outcome = OUTCOME_DONE;

    combination.context = context;
    combination.view = context_view(context);
    if (parse_combination(&combination, index)) {
        combine(&combination);
        if (context_check(context, combination.status))
            outcome = finish(&combination);
        else
            scored_members_release(&combination.result);
    }
    free(combination.sources);
    return outcome;
}

static enum outcome reply_result(struct combination *combination)
{
    return scored_members_reply(combination->context, &combination->result,
                                combination->with_scores);
}

static enum outcome store_result(struct combination *combination)
{
    static const char *const events[] = {"zunionstore", "zinterstore", "zdiffstore"};

    return scored_members_store(combination->context, context_slice(combination->context, 1),
                                &combination->result, events[combination->operation], false);
}

static enum outcome reply_found(struct combination *combination)
{
    return context_integer_reply(combination->context, (int64_t)combination->found);
}

enum outcome run_zunion(struct context *context)
{
    return run_combination(context, (struct combination){.operation = UNION}, 1, reply_result);
}

enum outcome run_zinter(struct context *context)
{
    return run_combination(context, (struct combination){.operation = INTERSECTION}, 1,
                           reply_result);
}

enum outcome run_zintercard(struct context *context)
{
    return run_combination(context,
                           (struct combination){.operation = INTERSECTION, .counted = true}, 1,
                           reply_found);
}

enum outcome run_zdiff(struct context *context)
{
    return run_combination(context, (struct combination){.operation = DIFFERENCE}, 1,
                           reply_result);
}

enum outcome run_zunionstore(struct context *context)
{
    return run_combination(context, (struct combination){.operation = UNION, .stored = true}, 2,
                           store_result);
}

enum outcome run_zinterstore(struct context *context)
{
    return run_combination(context,
                           (struct combination){.operation = INTERSECTION, .stored = true}, 2,
                           store_result);
}

enum outcome run_zdiffstore(struct context *context)
{
    return run_combination(context,
                           (struct combination){.operation = DIFFERENCE, .stored = true}, 2,
                           store_result);
}
