/* Random arming, cancelling and passing of time, compared with a plain list of due times. SEED=
 * reproduces, STEPS= scales. */
#include "storage/wheel.h"
#include "tests/support/dice.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { TIMERS = 300 };
#define HOUR INT64_C(3600000)

struct world {
    struct wheel wheel;
    struct wheel_timer timers[TIMERS];
    bool armed[TIMERS];
    int64_t due[TIMERS];
    int64_t now; /* of the caller; the wheel's is earlier while expired timers remain */
    struct dice dice;
};

static void check(const struct world *world)
{
    const char *wrong = wheel_check(&world->wheel);

    assert_string_equal(wrong == NULL ? "" : wrong, "");
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(wheel_timer_armed(&world->timers[i]), world->armed[i]);
}

/* The armed timer that is due first; TIMERS: none. */
static size_t earliest(const struct world *world)
{
    size_t best = TIMERS;

    for (size_t i = 0; i < TIMERS; i++)
        if (world->armed[i] && (best == TIMERS || world->due[i] < world->due[best]))
            best = i;
    return best;
}

/* Spans of all sizes, also at the borders of the levels. */
static int64_t random_span(struct dice *dice)
{
    int64_t border = INT64_C(1) << (6 * (1 + dice_roll(dice, 4)));

    switch (dice_roll(dice, 5)) {
    case 0:
        return (int64_t)dice_roll(dice, 4);
    case 1:
        return border - 2 + (int64_t)dice_roll(dice, 4);
    case 2:
        return (int64_t)dice_roll(dice, 6 * HOUR);
    default:
        return (int64_t)dice_roll(dice, (uint64_t)border);
    }
}

static void arm_random(struct world *world)
{
    size_t i = dice_roll(&world->dice, TIMERS);
    int64_t past = dice_once_in(&world->dice, 8) ? -random_span(&world->dice) : 0;
    int64_t due = world->now + (past != 0 ? past : random_span(&world->dice));
    bool near = due < wheel_horizon(&world->wheel);

    assert_int_equal(wheel_arm(&world->wheel, &world->timers[i], due), near);
    world->armed[i] = near;
    world->due[i] = due;
}

static void cancel_random(struct world *world)
{
    size_t i = dice_roll(&world->dice, TIMERS);

    wheel_cancel(&world->wheel, &world->timers[i]);
    world->armed[i] = false;
}

/* Some calls only move timers. */
static struct wheel_timer *expire_one(struct world *world)
{
    struct wheel_timer *timer = wheel_expire(&world->wheel, world->now);

    while (timer == NULL && wheel_next(&world->wheel) <= world->now)
        timer = wheel_expire(&world->wheel, world->now);
    return timer;
}

/* Timers that were armed when already due come first, in any order; others in order of due. */
static void expire_some(struct world *world, uint64_t budget)
{
    int64_t settled = world->wheel.now;

    while (budget-- > 0) {
        size_t first = earliest(world), i;
        struct wheel_timer *timer = expire_one(world);

        if (timer == NULL) {
            assert_true(first == TIMERS || world->due[first] > world->now);
            assert_true(world->wheel.now >= world->now);
            return;
        }
        i = (size_t)(timer - world->timers);
        assert_true(world->armed[i]);
        assert_true(world->due[i] <= world->now);
        assert_true(world->due[i] == world->due[first] || world->due[i] <= settled);
        world->armed[i] = false;
    }
}

static void check_next(const struct world *world)
{
    int64_t next = wheel_next(&world->wheel);
    size_t first = earliest(world);

    assert_int_equal(next == WHEEL_NEVER, first == TIMERS);
    if (first == TIMERS)
        return;
    assert_true(next >= world->wheel.now);
    assert_true(next <= world->due[first] || next == world->wheel.now);
}

static void step_random(struct world *world)
{
    uint64_t face = dice_roll(&world->dice, 100);

    if (face < 45)
        arm_random(world);
    else if (face < 55)
        cancel_random(world);
    else if (face < 60)
        world->now += random_span(&world->dice);
    else if (face < 62)
        world->now += dice_once_in(&world->dice, 10) ? 1000 * HOUR : 5 * HOUR;
    else
        world->now += (int64_t)dice_roll(&world->dice, 300);
    if (face >= 55 && !dice_once_in(&world->dice, 4))
        expire_some(world, dice_once_in(&world->dice, 5) ? 3 : TIMERS + 1);
}

static void run_from(int64_t start, long steps)
{
    struct world world = {.now = start};

    dice_begin(&world.dice);
    wheel_init(&world.wheel, start);
    for (long step = dice_setting("STEPS", steps); step > 0; step--) {
        step_random(&world);
        check(&world);
        check_next(&world);
    }
}

static void no_timer_is_early_late_or_lost(void **state)
{
    (void)state;
    run_from(INT64_C(1700000000123), 100000);
}

static void time_may_begin_below_zero(void **state)
{
    (void)state;
    run_from(-30 * HOUR - 7, 50000);
}

/* A server that sleeps until wheel_next wakes never later than a timer is due. */
static void sleeping_until_next_meets_every_due_time(void **state)
{
    struct world world = {.now = INT64_C(1700000000123)};

    (void)state;
    dice_begin(&world.dice);
    wheel_init(&world.wheel, world.now);
    for (long step = dice_setting("STEPS", 100000); step > 0; step--) {
        struct wheel_timer *timer;

        for (uint64_t more = dice_roll(&world.dice, 3); more > 0; more--)
            arm_random(&world);
        if (wheel_next(&world.wheel) == WHEEL_NEVER)
            continue;
        if (wheel_next(&world.wheel) > world.now)
            world.now = wheel_next(&world.wheel);
        while ((timer = wheel_expire(&world.wheel, world.now)) != NULL) {
            assert_true(timer->due <= world.now);
            world.armed[timer - world.timers] = false;
        }
        check(&world);
        check_next(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_timer_is_early_late_or_lost),
        cmocka_unit_test(time_may_begin_below_zero),
        cmocka_unit_test(sleeping_until_next_meets_every_due_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
