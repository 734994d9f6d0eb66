/* Random changes of two sorted sets, compared with sorted arrays: every way to add, remove and
 * walk, with checkpoints and reopening in between, so that removed members leave tombstones.
 * One set has scores, the other names only. Large parts are cut out in slices and erased by
 * ticks that never finish; crashes interrupt some of that. SEED= reproduces, STEPS= scales. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/keys_build.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/dice.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"

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
    struct model models[SETS], committed[SETS];
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
    memcpy(test.committed, test.models, sizeof(test.models));
}

/* Returns true if there is more to erase. */
static bool tick(unsigned budget)
{
    return dueq_tick(fixture.store, fixture.time, budget);
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

/* A counting sort by score: scores are few, and members are in order of their bytes already. */
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

/* Compares the member with the bound; negative: it is below. */
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
    int limit; /* the walk stops after so many */
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

static void put_many(int set)
{
    for (int i = 0; i < 20; i++)
        put(set);
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

/* Wide ranges are not removed, or the set would always be empty. */
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

/* ---- a part that is cut out in slices */

/* The members to remove, in order, and how many were found so far. */
struct cutting {
    int set;
    struct keys_removal_part part;
    struct zset_range range;
    int chosen[MEMBERS], count, at;
};

static void choose_end(struct cutting *cutting, const int *order, int count)
{
    int most = (int)dice_roll(&test.dice, (uint64_t)count / 3 + 1) + 1;

    cutting->part = (struct keys_removal_part){.kind = KEYS_REMOVAL_END,
                                               .reverse = dice_once_in(&test.dice, 2),
                                               .most = (uint64_t)most};
    for (int i = 0; i < most && i < count; i++)
        cutting->chosen[cutting->count++] = order[cutting->part.reverse ? count - 1 - i : i];
}

static void choose_ranks(struct cutting *cutting, const int *order, int count)
{
    int first = (int)dice_roll(&test.dice, (uint64_t)count);
    int most = (int)dice_roll(&test.dice, (uint64_t)count / 3 + 1) + 1;

    cutting->part = (struct keys_removal_part){
        .kind = KEYS_REMOVAL_RANKS, .first = (uint64_t)first, .most = (uint64_t)most};
    for (int i = first; i < count && i < first + most; i++)
        cutting->chosen[cutting->count++] = order[i];
}

static void choose_range(struct cutting *cutting, const int *order, int count)
{
    cutting->range = random_range(cutting->set);
    cutting->range.reverse = false;
    cutting->part = (struct keys_removal_part){.kind = KEYS_REMOVAL_RANGE, .most = UINT64_MAX};
    for (int i = 0; i < count; i++)
        if (in_range(&test.models[cutting->set], &cutting->range, order[i]))
            cutting->chosen[cutting->count++] = order[i];
}

static bool check_taken(void *arg, const struct zset_entry *entry)
{
    struct cutting *cutting = arg;
    int member = cutting->chosen[cutting->at++];

    assert_true(cutting->at <= cutting->count);
    assert_int_equal(number_of(entry->member), member);
    assert_true(entry->score == test.models[cutting->set].score[member]);
    return true;
}

/* Commits and ticks come between the slices. */
static enum dueq_status find_part(struct cutting *cutting, struct keys_removal *removal)
{
    bool finished = false, in_order = cutting->part.kind != KEYS_REMOVAL_RANKS;
    enum dueq_status status = DUEQ_OK;

    while (status == DUEQ_OK && !finished) {
        struct keys_view here = view();
        unsigned budget = (unsigned)dice_roll(&test.dice, 40) + 1;

        status = keys_removal_step(removal, &here, &cutting->range, budget,
                                   in_order ? check_taken : NULL, cutting, &finished);
        if (dice_once_in(&test.dice, 4))
            commit();
        if (dice_once_in(&test.dice, 4))
            tick((unsigned)dice_roll(&test.dice, 20) + 1);
    }
    return status;
}

static void cut_part(struct cutting *cutting, struct keys_removal *removal)
{
    struct keys_view here = view();

    assert_int_equal(keys_removal_found(removal), cutting->count);
    if (cutting->count > 0 && dice_once_in(&test.dice, 8)) {
        /* the part has changed since it was found */
        assert_int_equal(
            zset_remove(&here, name_of(cutting->set), slice_of(cutting->chosen[0])), DUEQ_OK);
        test.models[cutting->set].present[cutting->chosen[0]] = false;
        assert_int_equal(keys_removal_finish(removal, &here), DUEQ_NOTFOUND);
        return;
    }
    assert_int_equal(keys_removal_finish(removal, &here), DUEQ_OK);
    for (int i = 0; i < cutting->count; i++)
        test.models[cutting->set].present[cutting->chosen[i]] = false;
}

/* Long members at the ends of the part may prevent a cut. */
static void cut(int set)
{
    static void (*const choices[])(struct cutting *, const int *,
                                   int) = {choose_end, choose_ranks, choose_range};
    struct cutting cutting = {.set = set};
    struct keys_view here = view();
    struct keys_removal *removal;
    int order[MEMBERS], count = in_order(&test.models[set], order);
    enum dueq_status status;

    if (count == 0 || !dice_once_in(&test.dice, 8))
        return;
    choices[dice_roll(&test.dice, 3)](&cutting, order, count);
    status = keys_removal_new(&here, name_of(set), KEYS_ZSET, &cutting.part, &removal);
    if (status == DUEQ_INVALID)
        return; /* packed */
    assert_int_equal(status, DUEQ_OK);
    status = find_part(&cutting, removal);
    if (status == DUEQ_OK)
        cut_part(&cutting, removal);
    else
        assert_int_equal(status, DUEQ_INVALID);
    keys_removal_free(removal);
}

/* ---- the members that remain */

static bool mark_scanned(void *arg, const struct zset_entry *entry)
{
    bool *scanned = arg;

    scanned[number_of(entry->member)] = true;
    return true;
}

static void check_scan(int set)
{
    const struct model *model = &test.models[set];
    struct keys_view here = view();
    bool scanned[MEMBERS] = {false};
    uint64_t cursor = 0;

    do
        zset_scan(&here, name_of(set), cursor, 10, mark_scanned, scanned, &cursor);
    while (cursor != 0);
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(scanned[i], model->present[i]);
}

static void check_member(int set)
{
    const struct model *model = &test.models[set];
    int member = (int)dice_roll(&test.dice, MEMBERS);
    struct keys_view here = view();
    struct zset_entry entry;
    double score;
    enum dueq_status status = zset_score(&here, name_of(set), slice_of(member), &score);

    assert_int_equal(status, model->present[member] ? DUEQ_OK : DUEQ_NOTFOUND);
    if (status == DUEQ_OK)
        assert_true(score == model->score[member]);
    if (zset_random(&here, name_of(set), dice_bits(&test.dice), &entry) == DUEQ_OK)
        assert_true(model->present[number_of(entry.member)]);
}

/* A copy, at once or in slices, is equal to the set. */
static void check_copy(int set)
{
    const struct model *model = &test.models[set];
    struct dueq_slice copy = dueq_slice("copy", 4);
    struct keys_view here = view();
    struct keys_build *build;
    bool copied[MEMBERS] = {false}, finished = false;

    if (!dice_once_in(&test.dice, 4))
        return;
    if (dice_once_in(&test.dice, 2) && keys_build_possible(&here, name_of(set))) {
        assert_int_equal(keys_build_new(&here, name_of(set), NULL, &build), DUEQ_OK);
        while (!finished) {
            assert_int_equal(keys_build_step(build, &here, 50, &finished), DUEQ_OK);
            tick((unsigned)dice_roll(&test.dice, 20) + 1);
        }
        assert_int_equal(keys_build_copy(build, &here, 0, copy), DUEQ_OK);
        keys_build_free(build);
    } else {
        keys_copy(&here, name_of(set), 0, copy);
    }
    zset_each(&here, copy,
              &(struct zset_range){{.kind = ZSET_FIRST}, {.kind = ZSET_LAST}, false},
              mark_scanned, copied);
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(copied[i], model->present[i]);
    keys_del(&here, copy);
}

/* Under another name it is the same set; or it is deleted, with its cuts. */
static void rename_or_drop(int set)
{
    struct keys_view here = view();

    keys_rename(&here, name_of(set), dueq_slice("other", 5));
    if (!dice_once_in(&test.dice, 200)) {
        keys_rename(&here, dueq_slice("other", 5), name_of(set));
        return;
    }
    keys_del(&here, dueq_slice("other", 5));
    memset(test.models[set].present, 0, sizeof(test.models[set].present));
}

static void erase_some(int set)
{
    (void)set;
    tick((unsigned)dice_roll(&test.dice, 30) + 1);
}

static void crash(int set)
{
    (void)set;
    if (!dice_once_in(&test.dice, 50))
        return;
    store_fixture_crash(&fixture);
    store_fixture_verify(&fixture);
    memcpy(test.models, test.committed, sizeof(test.models));
}

/* When all is erased, the records are those of the members. */
static void check_erased(int set)
{
    struct keys_view here = view();
    uint64_t expected = 0;

    (void)set;
    if (!dice_once_in(&test.dice, 40))
        return;
    commit();
    store_fixture_tick(&fixture, 100);
    for (int i = 0; i < SETS; i++) {
        struct keys_info info;

        if (keys_info(&here, name_of(i), &info) == DUEQ_OK && !info.packed)
            expected += info.count;
    }
    assert_int_equal(record_count(fixture.store, "h"), expected);
    assert_int_equal(record_count(fixture.store, "y"), expected);
    assert_int_equal(record_count(fixture.store, "g"), 0);
    assert_int_equal(record_count(fixture.store, "z"), 0);
}

static void settle(int set)
{
    (void)set;
    commit();
    if (dice_once_in(&test.dice, 8))
        assert_int_equal(kv_checkpoint(fixture.store->kv), DUEQ_OK);
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
        put,          put_many,      put_many,    put_many,     take_out,    take_out,
        pop,          pop,           pop,         remove_range, remove_from, cut,
        erase_some,   erase_some,    check_range, check_range,  check_from,  check_rank,
        check_member, check_member,  check_copy,  check_scan,   settle,      crash,
        check_erased, rename_or_drop};
    long count = dice_setting("STEPS", 15000);

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
