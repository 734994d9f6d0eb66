/* Random changes of a set, compared with an array, while ranges of its members are cut out in
 * slices: the members that remain, members that are added again while cuts are erased, copies,
 * renames, crashes. SEED= reproduces, STEPS= scales. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/keys_removal.h"
#include "storage/keys/set.h"
#include "tests/support/dice.h"
#include "tests/support/store/record_count.h"
#include "tests/support/store/store_fixture.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { MEMBERS = 1500, LONGEST = 600 };

struct model {
    bool present[MEMBERS];
    uint64_t count;
};

static struct store_fixture fixture;

static struct {
    struct dice dice;
    struct model model, committed;
} test;

static struct dueq_slice name(void)
{
    return dueq_slice("set", 3);
}

static struct keys_view view(void)
{
    return fixture.view;
}

/* Some are so long that their keys are folded. */
static struct dueq_slice member(int number)
{
    static char text[LONGEST];
    size_t size = (size_t)sprintf(text, "m%d", number);

    if (number % 5 > 0)
        return dueq_slice(text, size);
    memset(text + size, 'x', sizeof(text) - size);
    return dueq_slice(text, sizeof(text));
}

static int number_of(struct dueq_slice slice)
{
    int number = 0;
    const char *text = slice.data;

    for (size_t i = 1; i < slice.size && text[i] >= '0' && text[i] <= '9'; i++)
        number = number * 10 + text[i] - '0';
    return number;
}

static int any(void)
{
    return (int)dice_roll(&test.dice, MEMBERS);
}

static void set_present(int number, bool present)
{
    test.model.count += (uint64_t)present - (uint64_t)test.model.present[number];
    test.model.present[number] = present;
}

/* ---- steps */

static void add(void)
{
    struct keys_view here = view();
    bool added;

    for (int i = 0; i < 20; i++) {
        int number = any();

        assert_int_equal(set_add(&here, name(), member(number), &added), DUEQ_OK);
        assert_int_equal(added, !test.model.present[number]);
        set_present(number, true);
    }
}

static void take_out(void)
{
    struct keys_view here = view();
    int number = any();

    assert_int_equal(set_remove(&here, name(), member(number)),
                     test.model.present[number] ? DUEQ_OK : DUEQ_NOTFOUND);
    set_present(number, false);
}

static void commit(void)
{
    store_fixture_commit(&fixture);
    test.committed = test.model;
    if (dice_once_in(&test.dice, 8))
        store_fixture_checkpoint(&fixture);
}

static void tick(void)
{
    dueq_tick(fixture.store, fixture.time, (unsigned)dice_roll(&test.dice, 30) + 1);
}

struct taking {
    bool taken[MEMBERS];
    uint64_t count;
};

static bool take(void *arg, const struct zset_entry *element)
{
    struct taking *taking = arg;
    int number = number_of(element->member);

    assert_true(test.model.present[number]);
    assert_false(taking->taken[number]);
    taking->taken[number] = true;
    taking->count++;
    return true;
}

static void find_run(struct keys_removal *removal, struct taking *taking)
{
    bool finished = false;

    while (!finished) {
        struct keys_view here = view();

        assert_int_equal(keys_removal_step(removal, &here, NULL,
                                           (unsigned)dice_roll(&test.dice, 60) + 1, take,
                                           taking, &finished),
                         DUEQ_OK);
        if (dice_once_in(&test.dice, 4))
            commit();
        tick();
    }
}

/* A client that disconnects in the middle has changed nothing. */
static void cut_run(void)
{
    struct keys_removal_part part = {.kind = KEYS_REMOVAL_RUN, .random = dice_bits(&test.dice)};
    struct keys_view here = view();
    struct taking taking = {.count = 0};
    struct keys_removal *removal;

    part.most = dice_roll(&test.dice, test.model.count + test.model.count / 8 + 1) / 2 + 1;
    if (keys_removal_new(&here, name(), KEYS_SET, &part, &removal) != DUEQ_OK)
        return; /* the set is packed, or absent */
    find_run(removal, &taking);
    assert_int_equal(taking.count, part.most < test.model.count ? part.most : test.model.count);
    if (!dice_once_in(&test.dice, 4)) {
        assert_int_equal(keys_removal_finish(removal, &here), DUEQ_OK);
        for (int i = 0; i < MEMBERS; i++)
            if (taking.taken[i])
                set_present(i, false);
    }
    keys_removal_free(removal);
}

static bool mark(void *arg, struct dueq_slice element, struct dueq_slice unused)
{
    bool *marked = arg;

    (void)unused;
    marked[number_of(element)] = true;
    return true;
}

static void check_marked(const bool *marked)
{
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(marked[i], test.model.present[i]);
}

static void check(void)
{
    struct keys_view here = view();
    bool marked[MEMBERS] = {false};
    struct keys_info info = {.count = 0};
    struct dueq_slice chosen;
    uint64_t cursor = 0;
    int number = any();

    keys_info(&here, name(), &info);
    assert_int_equal(info.count, test.model.count);
    do
        set_scan(&here, name(), cursor, 50, mark, marked, &cursor);
    while (cursor != 0);
    check_marked(marked);
    assert_int_equal(set_has(&here, name(), member(number)),
                     test.model.present[number] ? DUEQ_OK : DUEQ_NOTFOUND);
    if (set_random(&here, name(), dice_bits(&test.dice), &chosen) == DUEQ_OK)
        assert_true(test.model.present[number_of(chosen)]);
}

static void check_copy(void)
{
    struct dueq_slice copy = dueq_slice("copy", 4);
    struct keys_view here = view();
    bool marked[MEMBERS] = {false};

    keys_copy(&here, name(), 0, copy);
    set_each(&here, copy, mark, marked);
    check_marked(marked);
    keys_del(&here, copy);
    keys_rename(&here, name(), copy);
    keys_rename(&here, copy, name());
}

static void drop_or_crash(void)
{
    struct keys_view here = view();

    if (dice_once_in(&test.dice, 10)) {
        keys_del(&here, name());
        test.model = (struct model){.count = 0};
        return;
    }
    store_fixture_crash(&fixture);
    store_fixture_verify(&fixture);
    test.model = test.committed;
}

/* When all is erased, the records are those of the members. */
static void check_erased(void)
{
    struct keys_view here = view();
    struct keys_info info = {.packed = true};

    store_fixture_tick(&fixture, 100);
    keys_info(&here, name(), &info);
    assert_int_equal(record_count(fixture.store, "h"), info.packed ? 0 : info.count);
    assert_int_equal(record_count(fixture.store, "g"), 0);
    assert_int_equal(record_count(fixture.store, "z"), 0);
}

static void runs_leave_what_they_did_not_take(void **state)
{
    static const struct {
        void (*run)(void);
        uint64_t once_in;
    } steps[] = {
        {add, 1},     {add, 1},    {take_out, 1},    {tick, 1},           {commit, 1},
        {cut_run, 4}, {check, 10}, {check_copy, 40}, {drop_or_crash, 80}, {check_erased, 40}};
    long count = dice_setting("STEPS", 20000);

    (void)state;
    for (long i = 0; i < count; i++) {
        size_t step = dice_roll(&test.dice, sizeof(steps) / sizeof(steps[0]));

        if (dice_once_in(&test.dice, steps[step].once_in))
            steps[step].run();
    }
}

static int set_up(void **state)
{
    *state = &fixture;
    dice_begin(&test.dice);
    store_fixture_init(&fixture);
    fixture.options.memtable_bytes = 1 << 20;
    store_fixture_open(&fixture);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_leave_what_they_did_not_take, set_up,
                                        store_fixture_tear_down),
    };
    return cmocka_run_group_tests_name("runs of sets", tests, NULL, NULL);
}
