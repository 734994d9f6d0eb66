/* Random life of two sorted sets against arrays in order: every way to put, take out and walk,
 * with checkpoints and reopening in between, so that what is removed leaves tombstones. One has
 * scores, the other names only. SEED= reproduces, STEPS= scales. */
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "tests/support/dice.h"
#include "tests/support/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { SCORED, NAMED, SETS };
enum { MEMBERS = 600, LONGEST = 520, SCORES = 40 };

struct member {
    char bytes[LONGEST];
    size_t size;
};

struct model {
    bool present[MEMBERS];
    double score[MEMBERS];
};

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct member members[MEMBERS]; /* in order of their bytes */
    struct model models[SETS];
} test;

/* ---- members: short ones, and some whose keys agree in all but their hashes */

static int compare_members(const void *a, const void *b)
{
    const struct member *left = a, *right = b;

    return dueq_slice_compare(dueq_slice(left->bytes, left->size),
                              dueq_slice(right->bytes, right->size));
}

static void make_member(struct member *member, int i)
{
    size_t size = 0;

    if (i % 3 == 0) {
        size = 470 + (size_t)(i % 40);
        memset(member->bytes, 'x', size);
    }
    member->size = size + (size_t)sprintf(member->bytes + size, "%d", i);
}

static void make_members(void)
{
    for (int i = 0; i < MEMBERS; i++)
        make_member(&test.members[i], i);
    qsort(test.members, MEMBERS, sizeof(test.members[0]), compare_members);
}

static struct dueq_slice slice_of(int member)
{
    return dueq_slice(test.members[member].bytes, test.members[member].size);
}

static int number_of(struct dueq_slice slice)
{
    struct member key = {.size = slice.size};
    const struct member *found;

    assert_true(slice.size <= LONGEST);
    memcpy(key.bytes, slice.data, slice.size);
    found = bsearch(&key, test.members, MEMBERS, sizeof(key), compare_members);
    assert_non_null(found);
    return (int)(found - test.members);
}

/* ---- the store */

static void commit(void)
{
    store_fixture_commit(&fixture);
}

static struct keys_view view(void)
{
    return fixture.view;
}

static struct dueq_slice name_of(int set)
{
    return set == SCORED ? dueq_slice("scored", 6) : dueq_slice("named", 5);
}

/* ---- the model in order */

/* Counts scores, which are few; members come by bytes already. */
static int in_order(const struct model *model, int *order)
{
    int at[SCORES + 1] = {0};

    for (int i = 0; i < MEMBERS; i++)
        if (model->present[i])
            at[(int)model->score[i] + SCORES / 2 + 1]++;
    for (int score = 0; score < SCORES; score++)
        at[score + 1] += at[score];
    for (int i = 0; i < MEMBERS; i++)
        if (model->present[i])
            order[at[(int)model->score[i] + SCORES / 2]++] = i;
    return at[SCORES];
}

/* How the member lies to the bound: negative, below it. */
static int compare_bound(const struct model *model, const struct zset_bound *bound, int member)
{
    switch (bound->kind) {
    case ZSET_SCORE:
        return (model->score[member] > bound->score) - (model->score[member] < bound->score);
    case ZSET_LEX:
        return dueq_slice_compare(slice_of(member), bound->member);
    case ZSET_FIRST:
        return 1;
    case ZSET_LAST:
        break;
    }
    return -1;
}

static bool in_range(const struct model *model, const struct zset_range *range, int member)
{
    int least = compare_bound(model, &range->least, member);
    int most = compare_bound(model, &range->most, member);

    return (least > 0 || (least == 0 && !range->least.exclusive)) &&
           (most < 0 || (most == 0 && !range->most.exclusive));
}

static double random_score(int set)
{
    int score = (int)dice_roll(&test.dice, SCORES) - SCORES / 2;

    return set == NAMED ? 0 : score;
}

static struct zset_bound random_bound(int set)
{
    struct zset_bound bound = {.kind = set == NAMED ? ZSET_LEX : ZSET_SCORE,
                               .score = random_score(set),
                               .exclusive = dice_once_in(&test.dice, 2)};

    if (dice_once_in(&test.dice, 8))
        bound.kind = dice_once_in(&test.dice, 2) ? ZSET_FIRST : ZSET_LAST;
    if (bound.kind == ZSET_LEX)
        bound.member = slice_of((int)dice_roll(&test.dice, MEMBERS));
    return bound;
}

static struct zset_range random_range(int set)
{
    return (struct zset_range){random_bound(set), random_bound(set),
                               dice_once_in(&test.dice, 2)};
}

/* ---- walks */

struct expectation {
    const struct model *model;
    const int *order;
    int at, step, left;
    int limit; /* the walk is left after so many */
};

static bool check_entry(void *arg, const struct zset_entry *entry)
{
    struct expectation *expectation = arg;
    int member = expectation->order[expectation->at];

    assert_true(expectation->left > 0);
    assert_int_equal(number_of(entry->member), member);
    assert_true(entry->score == expectation->model->score[member]);
    expectation->at += expectation->step;
    expectation->left--;
    return --expectation->limit > 0;
}

static void check_done(const struct expectation *expectation)
{
    assert_true(expectation->left == 0 || expectation->limit == 0);
}

static void check_range(int set)
{
    const struct model *model = &test.models[set];
    struct zset_range range = random_range(set);
    struct keys_view here = view();
    int order[MEMBERS], chosen[MEMBERS], count = in_order(model, order), left = 0;
    struct expectation expectation;

    for (int i = 0; i < count; i++)
        if (in_range(model, &range, order[i]))
            chosen[left++] = order[i];
    expectation = (struct expectation){model,
                                       chosen,
                                       range.reverse ? left - 1 : 0,
                                       range.reverse ? -1 : 1,
                                       left,
                                       (int)dice_roll(&test.dice, 40) + 1};
    zset_each(&here, name_of(set), &range, check_entry, &expectation);
    check_done(&expectation);
}

static void check_from(int set)
{
    const struct model *model = &test.models[set];
    struct keys_view here = view();
    int order[MEMBERS], count = in_order(model, order);
    int rank = (int)dice_roll(&test.dice, (uint64_t)count + 2);
    bool reverse = dice_once_in(&test.dice, 2);
    int left = rank < count ? count - rank : 0;
    struct expectation expectation = {model,
                                      order,
                                      reverse ? count - 1 - rank : rank,
                                      reverse ? -1 : 1,
                                      left,
                                      (int)dice_roll(&test.dice, 40) + 1};

    zset_each_from(&here, name_of(set), (uint64_t)rank, reverse, check_entry, &expectation);
    check_done(&expectation);
}

static void check_rank(int set)
{
    const struct model *model = &test.models[set];
    struct keys_view here = view();
    int order[MEMBERS], count = in_order(model, order), at = 0;
    int member = (int)dice_roll(&test.dice, MEMBERS);
    bool reverse = dice_once_in(&test.dice, 2);
    uint64_t rank;
    enum dueq_status status = zset_rank(&here, name_of(set), slice_of(member), reverse, &rank);

    assert_int_equal(status, model->present[member] ? DUEQ_OK : DUEQ_NOTFOUND);
    if (status != DUEQ_OK)
        return;
    while (order[at] != member)
        at++;
    assert_int_equal(rank, reverse ? count - 1 - at : at);
}

/* ---- changes */

static void put(int set)
{
    struct model *model = &test.models[set];
    struct keys_view here = view();
    int member = (int)dice_roll(&test.dice, MEMBERS);
    double score = random_score(set);
    bool added;

    assert_int_equal(zset_put(&here, name_of(set), slice_of(member), score, &added), DUEQ_OK);
    assert_int_equal(added, !model->present[member]);
    model->present[member] = true;
    model->score[member] = score;
}

static void take_out(int set)
{
    struct model *model = &test.models[set];
    struct keys_view here = view();
    int member = (int)dice_roll(&test.dice, MEMBERS);

    assert_int_equal(zset_remove(&here, name_of(set), slice_of(member)),
                     model->present[member] ? DUEQ_OK : DUEQ_NOTFOUND);
    model->present[member] = false;
}

static void pop(int set)
{
    struct model *model = &test.models[set];
    struct keys_view here = view();
    int order[MEMBERS], count = in_order(model, order), member;
    bool reverse = dice_once_in(&test.dice, 3);
    struct zset_entry entry;
    enum dueq_status status = zset_pop(&here, name_of(set), reverse, &entry);

    assert_int_equal(status, count > 0 ? DUEQ_OK : DUEQ_NOTFOUND);
    if (count == 0)
        return;
    member = order[reverse ? count - 1 : 0];
    assert_int_equal(number_of(entry.member), member);
    assert_true(entry.score == model->score[member]);
    model->present[member] = false;
}

/* Wide ranges are left alone, or nothing would ever be left. */
static void remove_range(int set)
{
    struct model *model = &test.models[set];
    struct zset_range range = random_range(set);
    struct keys_view here = view();
    uint64_t removed = 0;
    int chosen[MEMBERS], expected = 0;

    for (int i = 0; i < MEMBERS; i++)
        if (model->present[i] && in_range(model, &range, i))
            chosen[expected++] = i;
    if (expected > MEMBERS / 10)
        return;
    for (int i = 0; i < expected; i++)
        model->present[chosen[i]] = false;
    zset_remove_range(&here, name_of(set), &range, &removed);
    assert_int_equal(removed, expected);
}

static void remove_from(int set)
{
    struct model *model = &test.models[set];
    struct keys_view here = view();
    int order[MEMBERS], count = in_order(model, order);
    int rank = (int)dice_roll(&test.dice, (uint64_t)count + 1);
    int most = (int)dice_roll(&test.dice, 30) + 1;
    uint64_t removed = 0, expected = 0;

    for (int i = rank; i < count && i < rank + most; i++) {
        model->present[order[i]] = false;
        expected++;
    }
    zset_remove_from(&here, name_of(set), (uint64_t)rank, (uint64_t)most, &removed);
    assert_int_equal(removed, expected);
}

static void settle(int set)
{
    (void)set;
    commit();
    if (dice_once_in(&test.dice, 8))
        assert_int_equal(kv_checkpoint(dueq_kv(fixture.store)), DUEQ_OK);
    if (!dice_once_in(&test.dice, 64))
        return;
    store_fixture_reopen(&fixture);
}

static void check_count(int set)
{
    struct keys_view here = view();
    struct keys_info info = {.count = 0};
    int order[MEMBERS];

    keys_info(&here, name_of(set), &info);
    assert_int_equal(info.count, in_order(&test.models[set], order));
}

static void sorted_sets_live_as_arrays_do(void **state)
{
    static void (*const steps[])(int set) = {
        put,         put,         put,        put,        put,          take_out,
        take_out,    pop,         pop,        pop,        remove_range, remove_from,
        check_range, check_range, check_from, check_rank, settle};
    long count = dice_setting("STEPS", 40000);

    (void)state;
    for (long i = 0; i < count; i++) {
        int set = (int)dice_roll(&test.dice, SETS);

        steps[dice_roll(&test.dice, sizeof(steps) / sizeof(steps[0]))](set);
        check_count(set);
    }
}

static int set_up(void **state)
{
    *state = &fixture;
    dice_begin(&test.dice);
    make_members();
    store_fixture_init(&fixture);
    fixture.options.memtable_bytes = 1 << 20;
    fixture.options.journal_bytes = 2 << 20;
    fixture.options.map_bytes = 256 << 20;
    store_fixture_open(&fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sorted_sets_live_as_arrays_do, set_up,
                                        store_fixture_tear_down),
    };
    return cmocka_run_group_tests_name("sorted sets", tests, NULL, NULL);
}
