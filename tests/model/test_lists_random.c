/* Random changes of lists, compared with plain arrays: pushes, pops, moves, edits at random
 * indexes, trims, copies and deletions, reclaiming in small slices, reopening. The space must
 * contain the elements and nothing else. SEED= reproduces, STEPS= scales. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/list.h"
#include "tests/support/dice.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { LISTS = 4, ELEMENTS_MAX = 4000, BURST = 300, VALUES = 5, TABLE_ELEMENT = 'l' };

enum { PACKED_MAX = 1024 }; /* bytes of cells in the key's own record */

struct model {
    int elements[ELEMENTS_MAX];
    size_t count;
    bool packed; /* was never too large since it was created */
};

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct model lists[LISTS];
} test;

static const char *const names[LISTS] = {"a", "b", "c", "d"};

static struct dueq_slice name_of(size_t list)
{
    return dueq_slice(names[list], 1);
}

/* Values are few, so that searches find several equal ones; one value is large. */
static struct dueq_slice value_of(int number)
{
    static char values[VALUES][2000];
    size_t size = number == 0 ? 1999 : (size_t)number;

    memset(values[number], 'a' + number, size);
    return dueq_slice(values[number], size);
}

static size_t any(size_t sides)
{
    return (size_t)dice_roll(&test.dice, sides);
}

/* Some lists hardly ever get the large value, so that they stay packed for a while. */
static int any_value(size_t list)
{
    int value = (int)any(VALUES);

    return value == 0 && list >= LISTS / 2 && !dice_once_in(&test.dice, 200) ? 1 : value;
}

/* ---- the model */

static size_t cell_size(int value)
{
    return (value == 0 ? 3 : 1) + value_of(value).size;
}

/* Makes room for a value. */
static void model_grow(struct model *model, int value)
{
    size_t size = cell_size(value);

    for (size_t i = 0; i < model->count && size <= PACKED_MAX; i++)
        size += cell_size(model->elements[i]);
    model->packed = (model->packed || model->count == 0) && size <= PACKED_MAX;
}

static void model_insert(struct model *model, size_t index, int value)
{
    model_grow(model, value);
    memmove(model->elements + index + 1, model->elements + index,
            (model->count - index) * sizeof(model->elements[0]));
    model->elements[index] = value;
    model->count++;
}

static int model_remove(struct model *model, size_t index)
{
    int value = model->elements[index];

    model->count--;
    memmove(model->elements + index, model->elements + index + 1,
            (model->count - index) * sizeof(model->elements[0]));
    return value;
}

static size_t end_of(const struct model *model, enum list_end end, bool for_insert)
{
    if (end == LIST_HEAD)
        return 0;
    return for_insert ? model->count : model->count - 1;
}

static uint64_t model_remove_equal(struct model *model, int value, enum list_end towards,
                                   uint64_t limit)
{
    uint64_t removed = 0;
    size_t at = towards == LIST_TAIL ? 0 : model->count;

    while (removed < limit && (towards == LIST_TAIL ? at < model->count : at > 0)) {
        size_t index = towards == LIST_TAIL ? at : at - 1;
        bool equal = model->elements[index] == value;

        if (equal) {
            model_remove(model, index);
            removed++;
        }
        if (towards == LIST_HEAD)
            at--;
        else if (!equal)
            at++;
    }
    return removed;
}

/* ---- comparing */

struct comparison {
    const struct model *model;
    size_t at;
    bool backward;
};

static bool compare_element(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct comparison *comparison = arg;
    const struct model *model = comparison->model;
    size_t index = comparison->backward ? model->count - 1 - comparison->at : comparison->at;

    (void)unused;
    assert_true(comparison->at < model->count);
    assert_true(dueq_slice_equal(value, value_of(model->elements[index])));
    comparison->at++;
    return true;
}

static void compare_list(size_t list)
{
    struct comparison comparison = {&test.lists[list], 0, dice_once_in(&test.dice, 2)};
    struct keys_info info = {.count = 0};
    enum dueq_status status = keys_info(&fixture.view, name_of(list), &info);

    assert_int_equal(info.count, comparison.model->count);
    assert_int_equal(status, info.count > 0 ? DUEQ_OK : DUEQ_NOTFOUND);
    if (info.count > 0)
        assert_int_equal(list_each(&fixture.view, name_of(list),
                                   comparison.backward ? info.count - 1 : 0,
                                   comparison.backward ? LIST_HEAD : LIST_TAIL, compare_element,
                                   &comparison),
                         DUEQ_OK);
    assert_int_equal(comparison.at, info.count);
}

static void nothing_else_is_left(void)
{
    uint64_t elements = 0;

    store_fixture_tick(&fixture, 100);
    for (size_t list = 0; list < LISTS; list++)
        elements += test.lists[list].packed ? 0 : test.lists[list].count;
    assert_int_equal(record_count(fixture.store, "l"), elements);
    assert_int_equal(record_count(fixture.store, "g"), 0);
}

/* ---- steps */

static void push(size_t list)
{
    struct model *model = &test.lists[list];
    enum list_end end = any(2) == 0 ? LIST_HEAD : LIST_TAIL;

    for (size_t left = any(3) == 0 ? any(BURST) : 1; left > 0; left--) {
        int value = any_value(list);

        if (model->count == ELEMENTS_MAX)
            return;
        assert_int_equal(list_push(&fixture.view, name_of(list), end, value_of(value)),
                         DUEQ_OK);
        model_insert(model, end_of(model, end, true), value);
    }
}

static void pop(size_t list)
{
    struct model *model = &test.lists[list];
    enum list_end end = any(2) == 0 ? LIST_HEAD : LIST_TAIL;
    struct dueq_slice value;

    for (size_t left = any(5) == 0 ? any(100) : 1; left > 0 && model->count > 0; left--) {
        int expected = model_remove(model, end_of(model, end, false));

        assert_int_equal(list_peek(&fixture.view, name_of(list), end, &value), DUEQ_OK);
        assert_true(dueq_slice_equal(value, value_of(expected)));
        assert_int_equal(list_pop(&fixture.view, name_of(list), end), DUEQ_OK);
    }
}

static void move(size_t list)
{
    struct model *from = &test.lists[list], *to;
    size_t target = any(LISTS);
    enum list_end from_end = any(2) == 0 ? LIST_HEAD : LIST_TAIL;
    enum list_end to_end = any(2) == 0 ? LIST_HEAD : LIST_TAIL;
    struct dueq_slice value;
    int moved;

    to = &test.lists[target];
    if (to->count == ELEMENTS_MAX)
        return;
    assert_int_equal(
        list_move(&fixture.view, name_of(list), from_end, name_of(target), to_end, &value),
        from->count > 0 ? DUEQ_OK : DUEQ_NOTFOUND);
    if (from->count == 0)
        return;
    moved = from->elements[end_of(from, from_end, false)];
    assert_true(dueq_slice_equal(value, value_of(moved)));
    model_insert(to, end_of(to, to_end, true), moved);
    model_remove(from, end_of(from, from_end, false));
}

static void put(size_t list)
{
    struct model *model = &test.lists[list];
    size_t index = any(model->count + 1);
    int value = any_value(list);

    assert_int_equal(list_put(&fixture.view, name_of(list), index, value_of(value)),
                     index < model->count ? DUEQ_OK : DUEQ_NOTFOUND);
    if (index >= model->count)
        return;
    model_grow(model, value);
    model->elements[index] = value;
}

static void insert(size_t list)
{
    struct model *model = &test.lists[list];
    size_t index = any(model->count + 1);
    int value = any_value(list);

    if (model->count == 0 || model->count == ELEMENTS_MAX)
        return;
    assert_int_equal(list_insert(&fixture.view, name_of(list), index, value_of(value)),
                     DUEQ_OK);
    model_insert(model, index, value);
}

static void remove_equal(size_t list)
{
    struct model *model = &test.lists[list];
    enum list_end towards = any(2) == 0 ? LIST_HEAD : LIST_TAIL;
    uint64_t limit = any(2) == 0 ? UINT64_MAX : 1 + any(20), removed = 0;
    int value = any_value(list);
    bool there = model->count > 0;

    assert_int_equal(list_remove_equal(&fixture.view, name_of(list), value_of(value), towards,
                                       limit, &removed),
                     there ? DUEQ_OK : DUEQ_NOTFOUND);
    assert_int_equal(removed, model_remove_equal(model, value, towards, limit));
}

/* Cuts off many elements, few, or all. */
static void trim(size_t list)
{
    struct model *model = &test.lists[list];
    size_t first = any(any(2) == 0 ? 3 : model->count + 1);
    size_t left = first < model->count ? model->count - first : 0;
    size_t count = any(2) == 0 ? left : any(left + 1);

    assert_int_equal(list_trim(&fixture.view, name_of(list), first, count),
                     model->count > 0 ? DUEQ_OK : DUEQ_NOTFOUND);
    memmove(model->elements, model->elements + (left > 0 ? first : 0),
            count * sizeof(model->elements[0]));
    model->count = count;
}

static void drop(size_t list)
{
    keys_del(&fixture.view, name_of(list));
    test.lists[list].count = 0;
}

static void copy_or_rename(size_t list)
{
    size_t target = any(LISTS);

    if (target == list || test.lists[list].count == 0)
        return;
    if (any(2) == 0) {
        assert_int_equal(keys_copy(&fixture.view, name_of(list), 0, name_of(target)), DUEQ_OK);
        test.lists[target] = test.lists[list];
        return;
    }
    assert_int_equal(keys_rename(&fixture.view, name_of(list), name_of(target)), DUEQ_OK);
    test.lists[target] = test.lists[list];
    test.lists[list].count = 0;
}

static void flush(size_t list)
{
    (void)list;
    assert_int_equal(keys_flush(store_keys(fixture.store), 0), DUEQ_OK);
    for (size_t i = 0; i < LISTS; i++)
        test.lists[i].count = 0;
}

/* After a clean close, or after a crash that follows a commit. */
static void reopen(void)
{
    store_fixture_commit(&fixture);
    if (any(2) == 0)
        store_fixture_crash(&fixture);
    else
        store_fixture_reopen(&fixture);
    store_fixture_verify(&fixture);
}

static void step(void)
{
    static const struct {
        void (*run)(size_t list);
        unsigned weight;
    } steps[] = {{push, 30},          {pop, 20},         {move, 10}, {put, 5},
                 {insert, 10},        {remove_equal, 8}, {trim, 8},  {drop, 2},
                 {copy_or_rename, 3}, {flush, 1}};
    size_t list = any(LISTS), roll = any(97), i = 0;

    while (roll >= steps[i].weight)
        roll -= steps[i++].weight;
    steps[i].run(list);
    if (dice_once_in(&test.dice, 3))
        dueq_tick(fixture.store, fixture.time, 1 + (unsigned)any(40));
    if (dice_once_in(&test.dice, 20))
        compare_list(list);
}

/* ---- the tests */

static int set_up(void **state)
{
    *state = &fixture;
    dice_begin(&test.dice);
    memset(test.lists, 0, sizeof(test.lists));
    store_fixture_init(&fixture);
    fixture.options.durability = DUEQ_SYNC_ALWAYS;
    store_fixture_open(&fixture);
    return 0;
}

static void lists_are_arrays(void **state)
{
    (void)state;
    for (long left = dice_setting("STEPS", 6000); left > 0; left--) {
        step();
        if (dice_once_in(&test.dice, 300))
            reopen();
        if (dice_once_in(&test.dice, 200))
            nothing_else_is_left();
    }
    for (size_t list = 0; list < LISTS; list++)
        compare_list(list);
    nothing_else_is_left();
    for (size_t list = 0; list < LISTS; list++)
        drop(list);
    nothing_else_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_are_arrays, set_up, store_fixture_tear_down),
    };
    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
