/* Times at which keys expire, on two clocks, as one number. */
#include "storage/store.h"
#include "storage/keys/keys.h"
#include "storage/keys/string.h"
#include "tests/support/store/store_fixture.h"
#include "tests/support/text.h"

#include "tests/support/cmocka.h"

#define NOW  INT64_C(1700000000000)
#define WALL (NOW + 7200000) /* the wall clock was stepped by two hours */
#define DAY  INT64_C(86400000)
#define YEAR (365 * DAY)

static struct dueq_time at(int64_t now, int64_t wall)
{
    return (struct dueq_time){.now = NOW + now, .wall = WALL + wall};
}

/* ---- the numbers */

static void a_time_to_live_goes_by_the_queue_s_clock(void **state)
{
    int64_t expiry = expiry_after(at(0, 0), 1000);

    (void)state;
    assert_false(expiry_on_wall(expiry));
    assert_false(expiry_is_over(expiry, at(0, 50 * YEAR)));
    assert_false(expiry_is_over(expiry, at(1000, 0)));
    assert_true(expiry_is_over(expiry, at(1001, -50 * YEAR)));
    assert_int_equal(expiry_left(expiry, at(0, 0)), 1000);
    assert_int_equal(expiry_left(expiry, at(400, -50 * YEAR)), 600);
    assert_int_equal(expiry_left(expiry, at(1000, 0)), 0);
    assert_int_equal(expiry_wall_time(expiry, at(0, 0)), WALL + 1000);
    assert_int_equal(expiry_wall_time(expiry, at(400, 400)), WALL + 1000);
    assert_int_equal(expiry_wall_time(expiry, at(0, DAY)), WALL + DAY + 1000);
}

static void a_moment_goes_by_the_wall_clock(void **state)
{
    int64_t expiry = expiry_at(WALL + 1000);

    (void)state;
    assert_true(expiry_on_wall(expiry));
    assert_false(expiry_is_over(expiry, at(50 * YEAR, 1000)));
    assert_true(expiry_is_over(expiry, at(0, 1001)));
    assert_int_equal(expiry_left(expiry, at(50 * YEAR, 400)), 600);
    assert_int_equal(expiry_wall_time(expiry, at(0, DAY)), WALL + 1000);
}

static void what_has_come_is_past(void **state)
{
    (void)state;
    assert_true(expiry_is_due(expiry_after(at(0, 0), 0), at(0, 0)));
    assert_true(expiry_is_due(expiry_after(at(0, 0), -1), at(0, 0)));
    assert_true(expiry_is_due(expiry_after(at(0, 0), INT64_MIN), at(0, 0)));
    assert_false(expiry_is_due(expiry_after(at(0, 0), 1), at(0, 0)));
    assert_true(expiry_is_due(expiry_at(WALL), at(0, 0)));
    assert_true(expiry_is_due(expiry_at(0), at(0, 0)));
    assert_true(expiry_is_due(expiry_at(INT64_MIN), at(0, 0)));
    assert_false(expiry_is_due(expiry_at(WALL + 1), at(0, 0)));
}

static void never_does_not_come(void **state)
{
    struct dueq_time end = {.now = INT64_MAX, .wall = INT64_MAX};

    (void)state;
    assert_false(expiry_is_over(DUEQ_NEVER, end));
    assert_false(expiry_is_due(DUEQ_NEVER, end));
    assert_int_not_equal(expiry_at(DUEQ_NEVER), DUEQ_NEVER);
    assert_int_not_equal(expiry_after(at(0, 0), INT64_MAX), DUEQ_NEVER);
}

/* Redis accepts these times, and shows them exactly. */
static void far_moments_are_exact(void **state)
{
    static const int64_t waits[] = {
        1, YEAR, 100000 * YEAR, 200000 * YEAR, INT64_MAX / 2, INT64_MAX - WALL - 1};

    (void)state;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        int64_t expiry = expiry_after(at(0, 0), waits[i]);

        assert_int_equal(expiry_left(expiry, at(0, 0)), waits[i]);
        assert_int_equal(expiry_wall_time(expiry, at(0, 0)), WALL + waits[i]);
        assert_int_not_equal(expiry, KEYS_KEEP_EXPIRY);
    }
    assert_int_equal(expiry_wall_time(expiry_at(INT64_MAX - 1), at(0, 0)), INT64_MAX - 1);
}

/* The sanitizers find overflows. */
static void numbers_at_their_ends_do_no_harm(void **state)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MIN / 2, INT64_MIN / 4, -1,       0,
                                   1,         INT64_MAX / 4, INT64_MAX / 2, INT64_MAX};
    enum { ENDS = sizeof(ends) / sizeof(ends[0]) };

    (void)state;
    for (size_t i = 0; i < ENDS * ENDS; i++) {
        struct dueq_time time = at(0, ends[i / ENDS] / 4);
        int64_t after = expiry_after(time, ends[i % ENDS]), moment = expiry_at(ends[i % ENDS]);

        expiry_left(after, time);
        expiry_wall_time(after, time);
        expiry_left(moment, time);
        assert_true(expiry_is_over(after, time) <= expiry_is_due(after, time));
        assert_true(expiry_is_over(moment, time) <= expiry_is_due(moment, time));
    }
}

static void numbers_of_a_clock_are_in_order(void **state)
{
    int64_t last_after = INT64_MIN, last_at = EXPIRY_WALL - 1;

    (void)state;
    for (int64_t ms = 0; ms < 100 * YEAR; ms += YEAR / 7) {
        assert_true(expiry_after(at(0, 0), ms) > last_after);
        assert_true(expiry_at(WALL + ms) > last_at);
        assert_true(expiry_after(at(0, 0), ms) < expiry_at(0));
        last_after = expiry_after(at(0, 0), ms);
        last_at = expiry_at(WALL + ms);
    }
}

/* ---- keys */

static struct store_fixture test;

static int set_up(void **state)
{
    *state = &test;
    store_fixture_init(&test);
    test.time = at(0, 0);
    test.options.map_bytes = 64 << 20;
    store_fixture_open(&test);
    return 0;
}

static void set(const char *name, int64_t expiry)
{
    assert_int_equal(
        string_set(&test.view, text(name), dueq_slice("v", 1), expiry, STRING_GIVEN), DUEQ_OK);
}

static bool has(const char *name, struct dueq_time time)
{
    struct keys_view view = {store_keys(test.store), 0, time};
    struct keys_info info;

    return keys_info(&view, text(name), &info) == DUEQ_OK;
}

static void tick(struct dueq_time time)
{
    while (dueq_tick(test.store, time, 3))
        ;
}

/* The next tick is due at the first expiry of either clock, and removes the keys. */
static void keys_of_both_clocks_are_reclaimed_when_their_time_is_over(void **state)
{
    (void)state;
    set("a", expiry_after(at(0, 0), 1000));
    set("b", expiry_at(WALL + 2000));
    set("c", expiry_after(at(0, 0), 3000));
    set("d", expiry_at(WALL + 3000));
    set("e", DUEQ_NEVER);
    tick(at(0, 0));
    assert_int_equal(dueq_next_tick(test.store, at(0, 0)), 1001);
    assert_int_equal(dueq_next_tick(test.store, at(0, 1500)), 501);
    tick(at(1000, 1000));
    assert_int_equal(keys_count(store_keys(test.store), 0), 5);
    tick(at(1001, 1001));
    assert_int_equal(keys_count(store_keys(test.store), 0), 4);
    assert_int_equal(dueq_next_tick(test.store, at(1001, 1001)), 1000);
    tick(at(1500, 3001)); /* a step forward */
    assert_int_equal(keys_count(store_keys(test.store), 0), 2);
    assert_true(has("c", at(1500, 3001)));
    assert_int_equal(dueq_next_tick(test.store, at(1500, 3001)), 1501);
    tick(at(3001, 0));
    assert_int_equal(keys_count(store_keys(test.store), 0), 1);
    assert_true(dueq_next_tick(test.store, at(3001, 0)) > DAY);
}

static void they_are_after_a_restart_too(void **state)
{
    (void)state;
    set("a", expiry_after(at(0, 0), 1000));
    set("b", expiry_at(WALL + DAY));
    store_fixture_reopen(&test);
    tick(at(0, 0));
    assert_int_equal(keys_count(store_keys(test.store), 0), 2);
    assert_int_equal(keys_expiring(store_keys(test.store), 0), 2);
    tick(at(500, DAY + 1));
    assert_false(has("b", at(500, 0)));
    assert_true(has("a", at(500, DAY + 1)));
    tick(at(1001, DAY + 1));
    assert_int_equal(keys_count(store_keys(test.store), 0), 0);
}

#define store_test(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, set_up, store_fixture_tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_to_live_goes_by_the_queue_s_clock),
        cmocka_unit_test(a_moment_goes_by_the_wall_clock),
        cmocka_unit_test(what_has_come_is_past),
        cmocka_unit_test(never_does_not_come),
        cmocka_unit_test(far_moments_are_exact),
        cmocka_unit_test(numbers_at_their_ends_do_no_harm),
        cmocka_unit_test(numbers_of_a_clock_are_in_order),
        store_test(keys_of_both_clocks_are_reclaimed_when_their_time_is_over),
        store_test(they_are_after_a_restart_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
