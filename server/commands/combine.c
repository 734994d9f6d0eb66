#include "server/commands/combine.h"

#include "protocol/number.h"
#include "server/commands/scored_members.h"
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
    STEP_BYTES = 1024,           /* a longer member counts as several steps */
    SLICE_ROOM = 4 << 20,        /* bytes by which a result in the store may grow in a turn */
    SORT_STEPS = 16 * LONG_STEPS /* comparisons of a turn */
};

/* ---- sources */

/* False: the error is written. */
static bool read_source(struct context *context, struct combination *combination,
                        struct combine_source *source)
{
    struct keys_view view = database_view(context);
    struct keys_info info = {.type = KEYS_NONE};
    enum dueq_status status = keys_info(&view, context_slice(context, source->argument), &info);

    if (status == DUEQ_OK && info.type != KEYS_SET && info.type != combination->type)
        status = DUEQ_WRONGTYPE;
    source->type = info.type;
    source->count = info.type == KEYS_NONE ? 0 : info.count;
    if (info.type != KEYS_NONE && info.encoding != KEYS_INTSET)
        combination->integers = false;
    return context_check_status(context, status);
}

bool combine_read_sources(struct context *context, struct combination *combination,
                          size_t first, size_t count)
{
    assert(count > 0 && combination->sources == NULL);
    combination->sources = calloc(count, sizeof(*combination->sources));
    if (combination->sources == NULL) {
        context_status(context, DUEQ_NOMEM);
        return false;
    }
    combination->count = count;
    combination->integers = true;
    for (size_t i = 0; i < count; i++) {
        combination->sources[i].argument = first + i;
        combination->sources[i].weight = 1;
        if (!read_source(context, combination, &combination->sources[i]))
            return false;
    }
    return true;
}

/* The smallest source first, as in Redis: the order of additions changes the last digits of
 * scores. */
static int compare_sources(const void *a, const void *b)
{
    const struct combine_source *left = a, *right = b;

    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    return (left->argument > right->argument) - (left->argument < right->argument);
}

static size_t smallest(const struct combination *combination)
{
    size_t smallest = 0;

    for (size_t i = 1; i < combination->count; i++)
        if (combination->sources[i].count < combination->sources[smallest].count)
            smallest = i;
    return smallest;
}

/* Chooses the source where the walk begins. An intersection walks over its smallest source
 * only, a difference over its first, and both look each member up in the other sources. */
static void begin(struct combination *combination)
{
    if (combination->type == KEYS_ZSET && combination->operation != COMBINE_DIFFERENCE)
        qsort(combination->sources, combination->count, sizeof(*combination->sources),
              compare_sources);
    combination->walked =
        combination->operation == COMBINE_INTERSECTION ? smallest(combination) : 0;
    combination->made.type = combination->type;
}

static uint64_t saturated_product(uint64_t a, uint64_t b)
{
    return b > 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

static uint64_t steps_of(const struct combination *combination)
{
    uint64_t steps = 0;

    if (combination->operation != COMBINE_UNION)
        return saturated_product(combination->sources[combination->walked].count,
                                 combination->count);
    for (size_t i = 0; i < combination->count; i++)
        steps += combination->sources[i].count;
    return steps;
}

/* ---- life */

/* Drops the result so far; the sources stay. */
static void undo(struct combination *combination)
{
    made_key_release(&combination->made);
    gathered_sort_release(&combination->sort);
    combination->made =
        (struct made_key){.type = combination->type, .in_memory = combination->made.in_memory};
    combination->cursor = combination->found = 0;
}

void combine_release(struct combination *combination)
{
    undo(combination);
    free(combination->sources);
    combination->sources = NULL;
}

static void free_combination(void *state)
{
    combine_release(state);
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

/* Counts the records that a member of the result takes in the store. */
static void spend_on_records(struct combination *combination)
{
    if (combination->use == COMBINE_STORED)
        spend(combination, combination->type == KEYS_ZSET ? 2 : 1);
}

static void add(struct combination *combination, struct dueq_slice member, double score)
{
    combination->found++;
    spend_on_records(combination);
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

static void intersect(struct combination *combination, struct dueq_slice member, double score)
{
    double other;

    for (size_t i = 0; i < combination->count; i++) {
        const struct combine_source *source = &combination->sources[i];

        if (i == combination->walked)
            continue;
        spend(combination, 1);
        if (!look_up(combination, source, member, &other))
            return;
        score = aggregated(combination, score, other * source->weight);
    }
    add(combination, member, score);
}

static void subtract(struct combination *combination, struct dueq_slice member, double score)
{
    double other;

    for (size_t i = 1; i < combination->count; i++) {
        spend(combination, 1);
        if (look_up(combination, &combination->sources[i], member, &other) ||
            combination->status != DUEQ_OK)
            return;
    }
    add(combination, member, score);
}

static bool is_enough(const struct combination *combination)
{
    return combination->limit > 0 && combination->found == combination->limit;
}

static bool consider(void *arg, const struct zset_entry *entry)
{
    struct combination *combination = arg;
    double weight = combination->sources[combination->walked].weight;
    double score = or_zero(weight * entry->score);

    spend(combination, 1 + entry->member.size / STEP_BYTES);
    if (combination->operation == COMBINE_UNION)
        unite(combination, entry->member, score);
    else if (combination->operation == COMBINE_INTERSECTION)
        intersect(combination, entry->member, score);
    else
        subtract(combination, entry->member, score);
    return combination->status == DUEQ_OK && !is_enough(combination);
}

static bool consider_member(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct zset_entry entry = {member, 1};

    (void)unused;
    return consider(arg, &entry);
}

/* ---- the walk */

/* Considers a few members. Returns the next cursor; 0: the source has no more. */
static uint64_t scan(struct combination *combination)
{
    const struct combine_source *source = &combination->sources[combination->walked];
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

static void walk(struct combination *combination)
{
    while (!combination->walked_all && combination->budget > 0) {
        combination->cursor = scan(combination);
        if (combination->status != DUEQ_OK)
            return;
        if (combination->cursor == 0 && combination->operation == COMBINE_UNION)
            combination->walked_all = ++combination->walked == combination->count;
        else
            combination->walked_all = combination->cursor == 0;
        if (is_enough(combination))
            combination->walked_all = true;
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
           (combination->operation == COMBINE_UNION && combination->integers);
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
        spend(combination, 1 + item->size / STEP_BYTES);
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

static enum outcome run_whole(struct combination *combination)
{
    combination->made.in_memory = true;
    advance(combination, GATHERED_WHOLE);
    combine_release(combination);
    return OUTCOME_DONE;
}

static enum outcome put_off(struct context *context, struct combination *combination)
{
    struct combination *state = malloc(sizeof(*state));

    if (state == NULL) {
        combine_release(combination);
        return context_status(context, DUEQ_NOMEM);
    }
    *state = *combination;
    state->made.in_memory = combination->use == COMBINE_REPLIED;
    return long_work_continue(context, state, free_combination, LONG_HOLDS_SOURCES);
}

enum outcome combine(struct context *context, struct combination *combination)
{
    uint64_t steps;

    combination->context = context;
    combination->view = database_view(context);
    begin(combination);
    steps = steps_of(combination);
    if (steps <= LONG_ENOUGH)
        return run_whole(combination);
    if (long_work_fits(context, steps))
        return put_off(context, combination);
    combine_release(combination);
    return OUTCOME_DONE;
}

/* Begins again, as if the command came now. False: the error is written. */
static bool begin_again(struct combination *combination)
{
    undo(combination);
    combination->integers = true;
    for (size_t i = 0; i < combination->count; i++)
        if (!read_source(combination->context, combination, &combination->sources[i]))
            return false;
    begin(combination);
    return true;
}

static bool is_spoiled(const struct combination *combination)
{
    const struct keys_build *build = combination->made.build;

    if (combination->walked_all)
        return false;
    return long_work_keys_changed(combination->context) ||
           (build != NULL && !keys_build_is_sound(build, &combination->view));
}

enum outcome combine_continue(struct context *context)
{
    struct combination *combination = long_work_state(context);

    combination->context = context;
    combination->view = database_view(context);
    if (combination->use == COMBINE_STORED &&
        !context_check_status(context, dueq_room(context->store, SLICE_ROOM)))
        return OUTCOME_DONE;
    if (is_spoiled(combination) && !begin_again(combination))
        return OUTCOME_DONE;
    if (advance(combination, LONG_STEPS))
        return OUTCOME_DONE;
    long_work_state_holds(context, combination->made.gathered.memory);
    return long_work_continue(context, combination, free_combination, LONG_HOLDS_SOURCES);
}
