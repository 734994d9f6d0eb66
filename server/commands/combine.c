#include "server/commands/combine.h"

#include "protocol/number.h"
#include "server/commands/scored_members.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "storage/dueq.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
    SCANNED = 16,                /* members of one scan: each may cost many steps */
    SLICE_ROOM = 4 << 20,        /* bytes by which a result in the store may grow in a turn */
    SORT_STEPS = 16 * LONG_STEPS /* comparisons of a turn */
};

static uint64_t saturated_product(uint64_t a, uint64_t b)
{
    return b > 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static uint64_t steps_of(const struct combination *combination)
{
    if (combination->operation != COMBINE_UNION)
        return saturated_product(combination->sources.items[combination->walked].count,
                                 combination->sources.count);
    return combination->sources.members;
}

/* ---- life */

static void drop_candidates(struct combination *combination)
{
    gathered_release(&combination->candidates);
    combination->candidate = combination->looked = 0;
}

/* Drops the result so far; the sources stay. */
static void undo(struct combination *combination)
{
    made_key_release(&combination->made);
    drop_candidates(combination);
    gathered_sort_release(&combination->sort);
    combination->made =
        (struct made_key){.type = combination->type, .in_memory = combination->made.in_memory};
    combination->cursor = combination->found = 0;
}

static void release(struct combination *combination)
{
    undo(combination);
    combine_sources_release(&combination->sources);
}

static void free_combination(void *state)
{
    release(state);
    free(state);
}

/* ---- one member. inf - inf and inf * 0 count as 0, as in Redis. */

static double or_zero(double score)
{
    return isnan(score) ? 0 : score;
}

static double aggregated(const struct combination *combination, double score, double other)
{
    switch (combination->aggregate) {
    case COMBINE_LEAST:
        return other < score ? other : score;
    case COMBINE_GREATEST:
        return other > score ? other : score;
    case COMBINE_SUM:
        break;
    }
    return or_zero(score + other);
}

/* False: the source does not contain the member, or an error is set. In a set it scores 1. */
static bool look_up(struct combination *combination, const struct combine_source *source,
                    struct dueq_slice member, double *ret_score)
{
    struct dueq_slice name = context_slice(combination->context, source->argument);
    enum dueq_status status = DUEQ_NOTFOUND;

    *ret_score = 1;
    if (source->type == KEYS_ZSET)
        status = zset_score(&combination->view, name, member, ret_score);
    else if (source->type == KEYS_SET)
        status = set_has(&combination->view, name, member);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        combination->status = status;
    return status == DUEQ_OK;
}

static void spend(struct combination *combination, size_t steps)
{
    if (combination->budget != GATHERED_WHOLE)
        combination->budget -=
            combination->budget < steps ? combination->budget : (unsigned)steps;
}

/* The records that a member of the result takes in the store. */
static unsigned records_of(const struct combination *combination)
{
    if (combination->use != COMBINE_STORED)
        return 0;
    return combination->type == KEYS_ZSET ? 2 : 1;
}

static void add(struct combination *combination, struct dueq_slice member, double score)
{
    combination->found++;
    spend(combination, records_of(combination));
    if (combination->use != COMBINE_COUNTED)
        combination->status = made_key_add(&combination->made, &combination->view, member,
                                           score, combination->operation == COMBINE_UNION);
}

static void unite(struct combination *combination, struct dueq_slice member, double score)
{
    double before;
    enum dueq_status status = made_key_find(&combination->made, member, &before);

    if (status == DUEQ_NOTFOUND)
        add(combination, member, score);
    else if (status != DUEQ_OK)
        combination->status = status;
    else if (combination->type == KEYS_ZSET)
        combination->status = made_key_change(&combination->made, member,
                                              aggregated(combination, before, score), before);
}

static bool is_enough(const struct combination *combination)
{
    return combination->limit > 0 && combination->found == combination->limit;
}

/* What is done at once and turns out to be too much for one turn. */
static bool is_too_long(const struct combination *combination)
{
    return combination->budget == GATHERED_WHOLE && combination->bytes > LONG_ENOUGH_BYTES;
}

static bool consider(void *arg, const struct zset_entry *entry)
{
    struct combination *combination = arg;
    double weight = combination->sources.items[combination->walked].weight;
    double score = or_zero(weight * entry->score);

    spend(combination, 1 + entry->member.size / LONG_STEP_BYTES);
    combination->bytes += entry->member.size;
    if (is_too_long(combination))
        return false;
    if (combination->operation == COMBINE_UNION)
        unite(combination, entry->member, score);
    else if (gathered_add(&combination->candidates, entry->member, score, false) == NULL)
        combination->status = DUEQ_NOMEM;
    return combination->status == DUEQ_OK;
}

static bool consider_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct zset_entry entry = {member, 1};

    (void)unused;
    return consider(arg, &entry);
}

/* ---- candidates: members of the source that is walked, which may be in the result of an
 * intersection or difference. There may be more other sources than a turn has steps. */

enum verdict { IS_IN, IS_OUT, IS_OPEN };

static enum verdict look_through(struct combination *combination, struct gathered_item *item)
{
    bool wanted = combination->operation == COMBINE_INTERSECTION;
    double other;

    for (; combination->looked < combination->sources.count; combination->looked++) {
        const struct combine_source *source = &combination->sources.items[combination->looked];

        if (combination->looked == combination->walked)
            continue;
        if (combination->budget == 0)
            return IS_OPEN;
        spend(combination, 1);
        if (look_up(combination, source, gathered_bytes(item), &other) != wanted ||
            combination->status != DUEQ_OK)
            return IS_OUT;
        if (wanted)
            item->score = aggregated(combination, item->score, other * source->weight);
    }
    return IS_IN;
}

static void judge(struct combination *combination)
{
    const struct gathered *candidates = &combination->candidates;

    while (combination->candidate < candidates->count && !is_enough(combination)) {
        struct gathered_item *item = candidates->slots[combination->candidate].item;
        enum verdict verdict = look_through(combination, item);

        if (verdict == IS_OPEN || combination->status != DUEQ_OK)
            return;
        if (verdict == IS_IN)
            add(combination, gathered_bytes(item), item->score);
        combination->candidate++;
        combination->looked = 0;
    }
    drop_candidates(combination);
}

/* ---- the walk */

/* Considers a few members. Returns the next cursor; 0: the source has no more. */
static uint64_t scan(struct combination *combination)
{
    const struct combine_source *source = &combination->sources.items[combination->walked];
    struct dueq_slice name = context_slice(combination->context, source->argument);
    uint64_t count = combination->budget == GATHERED_WHOLE ? UINT64_MAX : SCANNED;
    enum dueq_status status = DUEQ_OK;
    uint64_t next = 0;

    if (source->type == KEYS_SET)
        status = set_scan(&combination->view, name, combination->cursor, count, consider_member,
                          combination, &next);
    else if (source->type == KEYS_ZSET)
        status = zset_scan(&combination->view, name, combination->cursor, count, consider,
                           combination, &next);
    if (combination->status == DUEQ_OK && status != DUEQ_NOTFOUND)
        combination->status = status;
    return next;
}

/* After a scan whose members are done with. */
static void find_next(struct combination *combination)
{
    if (combination->cursor == 0 && combination->operation == COMBINE_UNION)
        combination->walked_all = ++combination->walked == combination->sources.count;
    else
        combination->walked_all = combination->cursor == 0 || is_enough(combination);
}

static void walk(struct combination *combination)
{
    while (!combination->walked_all && combination->budget > 0) {
        if (combination->candidates.count == 0)
            combination->cursor = scan(combination);
        if (combination->status == DUEQ_OK)
            judge(combination);
        if (combination->status != DUEQ_OK || is_too_long(combination))
            return;
        if (combination->candidates.count == 0)
            find_next(combination);
        spend(combination, 1);
    }
}

/* ---- the reply */

static int compare_scores(const struct gathered_slot *a, const struct gathered_slot *b,
                          const void *unused)
{
    (void)unused;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return dueq_slice_compare(gathered_bytes(a->item), gathered_bytes(b->item));
}

static int compare_integers(const struct gathered_slot *a, const struct gathered_slot *b,
                            const void *unused)
{
    int64_t left = 0, right = 0;

    (void)unused;
    number_parse_integer(a->item->bytes, a->item->size, &left);
    number_parse_integer(b->item->bytes, b->item->size, &right);
    return (left > right) - (left < right);
}

/* Redis replies a union of sets of integers in ascending order. (An intersection or difference
 * of these keeps the order of the walk, which is ascending.) */
static bool is_sorted(const struct combination *combination)
{
    return combination->type == KEYS_ZSET ||
           (combination->operation == COMBINE_UNION && combination->sources.integers);
}

static void write_head(struct combination *combination)
{
    struct resp_writer *reply = combination->context->reply;
    size_t count = combination->made.gathered.count;

    if (combination->type == KEYS_SET)
        resp_set(reply, count);
    else
        resp_array(reply, combination->with_scores && reply->version < 3 ? count * 2 : count);
    combination->written_head = true;
}

static bool write_some(struct combination *combination)
{
    const struct gathered *gathered = &combination->made.gathered;

    if (!combination->written_head)
        write_head(combination);
    while (combination->written < gathered->count && combination->budget > 0) {
        const struct gathered_item *item = gathered->slots[combination->written++].item;

        scored_members_write_one(combination->context->reply, gathered_bytes(item), item->score,
                                 combination->with_scores);
        spend(combination, 1 + item->size / LONG_STEP_BYTES);
    }
    return combination->written == gathered->count;
}

/* True: the reply is complete. */
static bool reply(struct combination *combination)
{
    unsigned budget = combination->budget == GATHERED_WHOLE ? GATHERED_WHOLE : SORT_STEPS;

    if (!combination->written_head && is_sorted(combination)) {
        combination->sort.compare =
            combination->type == KEYS_ZSET ? compare_scores : compare_integers;
        if (!gathered_sort_step(&combination->made.gathered, &combination->sort, budget))
            return false;
        if (combination->made.gathered.failed) {
            context_status(combination->context, DUEQ_NOMEM);
            return true;
        }
    }
    return write_some(combination);
}

/* ---- running */

/* True: the reply is written. */
static bool finish(struct combination *combination)
{
    struct context *context = combination->context;

    if (combination->use == COMBINE_REPLIED)
        return reply(combination);
    if (combination->use == COMBINE_STORED)
        made_key_store(&combination->made, context, context_slice(context, 1),
                       combination->event);
    else
        context_reply_integer(context, (int64_t)combination->found);
    return true;
}

/* Works until the budget is spent. True: the reply or the error is written. */
static bool advance(struct combination *combination, unsigned budget)
{
    combination->budget = budget;
    walk(combination);
    if (!context_check_status(combination->context, combination->status))
        return true;
    return combination->walked_all && finish(combination);
}

/* ---- before the walk */

/* The order changes the result of what adds scores. */
static bool is_ordered(const struct combination *combination)
{
    return combination->type == KEYS_ZSET && combination->operation != COMBINE_DIFFERENCE;
}

/* Chooses the source where the walk begins. An intersection walks over its smallest source
 * only, a difference over its first, and both look each member up in the other sources. */
static void begin(struct combination *combination)
{
    combination->walked =
        combination->operation == COMBINE_INTERSECTION && !is_ordered(combination)
            ? combination->sources.smallest
            : 0;
    combination->made.type = combination->type;
    combination->is_prepared = true;
}

static bool has_options(const struct combination *combination)
{
    return combination->read_option != NULL &&
           combination->option < context_count(combination->context);
}

/* About `most` arguments of them. False: the error is written. */
static bool read_options(struct combination *combination, size_t most)
{
    struct context *context = combination->context;
    size_t from = combination->option;

    while (has_options(combination) && combination->option - from < most)
        if (!combination->read_option(context, combination))
            return false;
    return true;
}

static bool read_sources(struct combination *combination, size_t most)
{
    struct context *context = combination->context;

    return context_check_status(
        context, combine_sources_read(&combination->sources, context, combination->type, most));
}

/* Reads and orders `most` sources or about so many, and reads as many arguments after them.
 * False: the error is written. */
static bool prepare(struct combination *combination, size_t most)
{
    struct combine_sources *sources = &combination->sources;

    if (combination->options_first && !read_options(combination, most))
        return false;
    if (combination->options_first && has_options(combination))
        return true;
    if (!read_sources(combination, most))
        return false;
    if (sources->read < sources->count)
        return true;
    if (!read_options(combination, most))
        return false;
    if (has_options(combination))
        return true;
    if (!is_ordered(combination) || combine_sources_order(sources, most))
        begin(combination);
    return true;
}

/* ---- in one turn, or in slices that others see */

/* False: its members are large. Nothing is done. */
static bool run_whole(struct combination *combination)
{
    combination->made.in_memory = true;
    if (advance(combination, GATHERED_WHOLE))
        return true;
    combination->made.in_memory = false;
    undo(combination);
    begin(combination);
    return false;
}

/* Takes over what it owns. False: there is no memory for that. */
static bool put_off(struct context *context, struct combination *combination,
                    enum outcome *ret_outcome)
{
    struct combination *state = malloc(sizeof(*state));

    if (state == NULL)
        return false;
    *state = *combination;
    state->made.in_memory = combination->use == COMBINE_REPLIED;
    combination->sources.items = NULL;
    *ret_outcome = long_work_continue(context, state, free_combination, LONG_HOLDS_SOURCES);
    return true;
}

/* All is known. */
static enum outcome run(struct context *context, struct combination *combination)
{
    uint64_t steps = steps_of(combination);
    enum outcome outcome = OUTCOME_DONE;

    if (steps > LONG_ENOUGH / (1 + records_of(combination)) || !run_whole(combination))
        if (long_work_fits(context, steps) && !put_off(context, combination, &outcome))
            context_status(context, DUEQ_NOMEM);
    release(combination);
    return outcome;
}

/* Begins again, as if the command came now. False: the error is written. */
static bool begin_again(struct combination *combination)
{
    undo(combination);
    combine_sources_forget(&combination->sources);
    return prepare(combination, SIZE_MAX);
}

static bool is_spoiled(const struct combination *combination)
{
    const struct keys_build *build = combination->made.build;

    if (combination->walked_all)
        return false;
    return long_work_keys_changed(combination->context) ||
           (build != NULL && !keys_build_is_sound(build, &combination->view));
}

static enum outcome go_on(struct combination *combination)
{
    struct context *context = combination->context;

    if (is_spoiled(combination) && !begin_again(combination))
        return OUTCOME_DONE;
    if (advance(combination, LONG_STEPS))
        return OUTCOME_DONE;
    long_work_state_holds(context, combination->made.gathered.memory);
    return long_work_continue(context, combination, free_combination, LONG_HOLDS_SOURCES);
}

/* ---- alone with the store */

static bool put_off_alone(struct context *context, struct combination *combination)
{
    combination->is_alone = true;
    combination->made.in_memory = combination->use == COMBINE_REPLIED;
    if (alone_put_off(context, combination, sizeof(*combination), free_combination))
        return true;
    combination->is_alone = combination->made.in_memory = false;
    return false;
}

/* It has too much to do to be alone. */
static enum outcome let_others(struct context *context, struct combination *combination)
{
    struct combination taken = *combination;

    combination->sources.items = NULL;
    taken.is_alone = false;
    alone_begin_anew(context);
    return run(context, &taken);
}

static enum outcome begin_alone(struct context *context, struct combination *combination)
{
    uint64_t steps = steps_of(combination);

    if (!long_work_fits(context, steps))
        return OUTCOME_DONE;
    return steps <= LONG_WHOLE ? OUTCOME_WAIT : let_others(context, combination);
}

static enum outcome go_on_alone(struct context *context, struct combination *combination)
{
    if (alone_gives_up(context))
        return OUTCOME_DONE;
    if (!combination->is_prepared) {
        if (!prepare(combination, ALONE_STEPS))
            return OUTCOME_DONE;
        return combination->is_prepared ? begin_alone(context, combination) : OUTCOME_WAIT;
    }
    if (advance(combination, ALONE_STEPS))
        return OUTCOME_DONE;
    long_work_state_holds(context, combination->made.gathered.memory);
    return OUTCOME_WAIT;
}

/* ---- for handlers */

enum outcome combine(struct context *context, struct combination *combination, size_t first,
                     size_t count)
{
    enum dueq_status status = combine_sources_init(&combination->sources, first, count);

    combination->context = context;
    combination->view = database_view(context);
    if (!context_check_status(context, status))
        return OUTCOME_DONE;
    if (context->waiter == NULL && context_count(context) > alone_budget(context) &&
        put_off_alone(context, combination))
        return OUTCOME_WAIT; /* (one that was barred has a waiter) */
    if (prepare(combination, SIZE_MAX))
        return run(context, combination);
    release(combination);
    return OUTCOME_DONE;
}

enum outcome combine_continue(struct context *context)
{
    struct combination *combination = long_work_state(context);

    combination->context = context;
    combination->view = database_view(context);
    if (combination->use == COMBINE_STORED &&
        !context_check_status(context, dueq_room(context->store, SLICE_ROOM)))
        return OUTCOME_DONE;
    return combination->is_alone ? go_on_alone(context, combination) : go_on(combination);
}
