/* The wheel's promises, one by one; tests/model/test_wheel_random.c has random use. */
#include "storage/wheel.h"

#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { START = 1000 };

static void check(const struct wheel *wheel)
{
    const char *wrong = wheel_check(wheel);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
}

static int start(void **state)
{
    static struct wheel wheel;

    wheel_init(&wheel, START);
    *state = &wheel;
    return 0;
}

static void an_empty_wheel_wants_nothing(void **state)
{
    struct wheel *wheel = *state;

    assert_int_equal(wheel_next(wheel), WHEEL_NEVER);
    assert_null(wheel_expire(wheel, START + 1000000));
    check(wheel);
}

static void a_timer_fires_at_its_due_and_once(void **state)
{
    struct wheel *wheel = *state;
    struct wheel_timer timer = {0};

    assert_true(wheel_arm(wheel, &timer, START + 5000));
    assert_null(wheel_expire(wheel, START + 4999));
    assert_true(wheel_timer_armed(&timer));
    assert_ptr_equal(wheel_expire(wheel, START + 5000), &timer);
    assert_false(wheel_timer_armed(&timer));
    assert_null(wheel_expire(wheel, START + 5000));
    check(wheel);
}

static void a_due_in_the_past_fires_at_the_next_look(void **state)
{
    struct wheel *wheel = *state;
    struct wheel_timer now = {0}, past = {0};

    assert_true(wheel_arm(wheel, &now, START));
    assert_true(wheel_arm(wheel, &past, START - 100));
    assert_true(wheel_next(wheel) <= START);
    assert_non_null(wheel_expire(wheel, START));
    assert_non_null(wheel_expire(wheel, START));
    assert_null(wheel_expire(wheel, START));
}

static void a_cancelled_timer_does_not_fire(void **state)
{
    struct wheel *wheel = *state;
    struct wheel_timer timer = {0};

    wheel_cancel(wheel, &timer); /* was never armed */
    assert_true(wheel_arm(wheel, &timer, START + 10));
    wheel_cancel(wheel, &timer);
    assert_false(wheel_timer_armed(&timer));
    assert_int_equal(wheel_next(wheel), WHEEL_NEVER);
    assert_null(wheel_expire(wheel, START + 1000));
    check(wheel);
}

static void arming_again_replaces_the_due(void **state)
{
    struct wheel *wheel = *state;
    struct wheel_timer timer = {0};

    assert_true(wheel_arm(wheel, &timer, START + 10));
    assert_true(wheel_arm(wheel, &timer, START + 70000));
    assert_null(wheel_expire(wheel, START + 69999));
    assert_ptr_equal(wheel_expire(wheel, START + 70000), &timer);
}

static void a_due_beyond_the_horizon_is_refused(void **state)
{
    struct wheel *wheel = *state;
    struct wheel_timer timer = {0};
    int64_t horizon = wheel_horizon(wheel);

    assert_true(wheel_arm(wheel, &timer, horizon - 1));
    assert_false(wheel_arm(wheel, &timer, horizon));
    assert_false(wheel_timer_armed(&timer));
    assert_false(wheel_arm(wheel, &timer, WHEEL_NEVER - 1));
    assert_true(horizon - START > INT64_C(4) * 3600 * 1000);
    check(wheel);
}

static void the_horizon_moves_with_the_time(void **state)
{
    struct wheel *wheel = *state;
    struct wheel_timer timer = {0};
    int64_t horizon = wheel_horizon(wheel);

    assert_null(wheel_expire(wheel, horizon));
    assert_true(wheel_horizon(wheel) > horizon);
    assert_true(wheel_arm(wheel, &timer, horizon + 1));
    assert_ptr_equal(wheel_expire(wheel, horizon + 1), &timer);
}

static void timers_come_in_order_of_due(void **state)
{
    static const int64_t dues[] = {3600000, 1, 64, 63, 4096, 4095, 262144, 65, 2};
    enum { COUNT = sizeof(dues) / sizeof(dues[0]) };
    struct wheel_timer timers[COUNT] = {{0}}, *timer;
    struct wheel *wheel = *state;
    int64_t last = 0;
    int fired = 0;

    for (int i = 0; i < COUNT; i++)
        assert_true(wheel_arm(wheel, &timers[i], START + dues[i]));
    for (; (timer = wheel_expire(wheel, START + 100 * 3600000)) != NULL; fired++) {
        assert_true(timer->due > last);
        last = timer->due;
    }
    assert_int_equal(fired, COUNT);
}

static void timers_of_one_ms_come_in_order_of_arming(void **state)
{
    struct wheel_timer timers[5] = {{0}};
    struct wheel *wheel = *state;

    for (int i = 0; i < 5; i++)
        assert_true(wheel_arm(wheel, &timers[i], START + 100000));
    for (int i = 0; i < 5; i++)
        assert_ptr_equal(wheel_expire(wheel, START + 100000), &timers[i]);
}

static void a_timer_armed_by_one_that_fires_keeps_its_turn(void **state)
{
    struct wheel_timer first = {0}, second = {0}, third = {0};
    struct wheel *wheel = *state;

    assert_true(wheel_arm(wheel, &first, START + 10));
    assert_true(wheel_arm(wheel, &third, START + 30));
    assert_ptr_equal(wheel_expire(wheel, START + 50), &first);
    assert_true(wheel_arm(wheel, &second, START + 20));
    assert_ptr_equal(wheel_expire(wheel, START + 50), &second);
    assert_ptr_equal(wheel_expire(wheel, START + 50), &third);
}

static void time_that_goes_back_is_ignored(void **state)
{
    struct wheel_timer timer = {0};
    struct wheel *wheel = *state;

    assert_null(wheel_expire(wheel, START + 5000));
    assert_null(wheel_expire(wheel, START - 5000));
    assert_true(wheel_arm(wheel, &timer, START + 4000));
    assert_ptr_equal(wheel_expire(wheel, START - 5000), &timer);
    check(wheel);
}

static void a_jump_far_beyond_the_horizon_fires_everything(void **state)
{
    struct wheel_timer timers[100] = {{0}};
    struct wheel *wheel = *state;

    for (int i = 0; i < 100; i++)
        assert_true(wheel_arm(wheel, &timers[i], START + (int64_t)i * 160000));
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(wheel_expire(wheel, INT64_C(1) << 52), &timers[i]);
    assert_null(wheel_expire(wheel, INT64_C(1) << 52));
    check(wheel);
}

/* A slot far away may have very many timers: none of the calls moves them all. */
static void a_full_slot_is_taken_apart_in_several_calls(void **state)
{
    enum { MANY = 20 * WHEEL_MOVES_MOST, AHEAD = 1 << 24 };
    struct wheel_timer *timers = calloc(MANY, sizeof(*timers)), *timer;
    struct wheel *wheel = *state;
    int fired = 0, calls = 0, first = 0;

    for (int i = 0; i < MANY; i++)
        assert_true(wheel_arm(wheel, &timers[i], START + AHEAD + i % 7));
    for (int i = 0; i < MANY - 2; i++)
        first += i % 7 == 0;
    while (wheel_next(wheel) <= START + AHEAD) {
        timer = wheel_expire(wheel, START + AHEAD);
        calls++;
        assert_true(timer == NULL || timer->due == START + AHEAD);
        fired += timer != NULL;
        check(wheel);
        if (calls == 1) { /* changes in the middle of it */
            wheel_cancel(wheel, &timers[MANY - 1]);
            assert_true(wheel_arm(wheel, &timers[MANY - 2], START + AHEAD + 100));
        }
    }
    assert_int_equal(fired, first);
    assert_in_range(calls, MANY / WHEEL_MOVES_MOST, MANY);
    while (wheel_next(wheel) <= START + AHEAD + 7)
        fired += wheel_expire(wheel, START + AHEAD + 7) != NULL;
    assert_int_equal(fired, MANY - 2);
    assert_ptr_equal(wheel_expire(wheel, START + AHEAD + 100), &timers[MANY - 2]);
    assert_int_equal(wheel_next(wheel), WHEEL_NEVER);
    free(timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_empty_wheel_wants_nothing, start),
        cmocka_unit_test_setup(a_timer_fires_at_its_due_and_once, start),
        cmocka_unit_test_setup(a_due_in_the_past_fires_at_the_next_look, start),
        cmocka_unit_test_setup(a_cancelled_timer_does_not_fire, start),
        cmocka_unit_test_setup(arming_again_replaces_the_due, start),
        cmocka_unit_test_setup(a_due_beyond_the_horizon_is_refused, start),
        cmocka_unit_test_setup(the_horizon_moves_with_the_time, start),
        cmocka_unit_test_setup(timers_come_in_order_of_due, start),
        cmocka_unit_test_setup(timers_of_one_ms_come_in_order_of_arming, start),
        cmocka_unit_test_setup(a_timer_armed_by_one_that_fires_keeps_its_turn, start),
        cmocka_unit_test_setup(time_that_goes_back_is_ignored, start),
        cmocka_unit_test_setup(a_jump_far_beyond_the_horizon_fires_everything, start),
        cmocka_unit_test_setup(a_full_slot_is_taken_apart_in_several_calls, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
