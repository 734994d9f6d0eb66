/* The server's clocks: readings go in, time comes out. */
#include "tests/support/command_runner.h"
#include "tests/support/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define START RUNNER_START
#define HOUR  INT64_C(3600000)

/* A clock that began so much on the wall, and a ms before that much of the monotonic clock:
 * what it had of its first ms is not counted. */
static struct clock begun_at(int64_t wall, int64_t monotonic, int64_t floor)
{
    struct clock clock;
    clock_init(&clock, (struct clock_reading){wall, monotonic - 1}, floor);
    clock.last.monotonic = monotonic;
    return clock;
}

static struct clock begun(int64_t floor)
{
    return begun_at(START, 5000, floor);
}

static bool update(struct clock *clock, int64_t wall, int64_t monotonic,
                   struct dueq_time *ret_time)
{
    return clock_update(clock, (struct clock_reading){wall, monotonic}, ret_time);
}

static void both_clocks_follow_time_that_goes_by(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(0);
    for (int64_t ms = 0; ms < 10000; ms += 7) {
        assert_false(update(&clock, START + ms, 5000 + ms, &time));
        assert_int_equal(time.now, START + ms);
        assert_int_equal(time.wall, START + ms);
    }
    assert_int_equal(clock.jumps, 0);
}

static void a_jump_forward_moves_the_wall_only(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(0);
    assert_true(update(&clock, START + HOUR, 5010, &time));
    assert_int_equal(time.now, START + 10);
    assert_int_equal(time.wall, START + HOUR);
    assert_int_equal(clock.jumps, 1);
    assert_int_equal(clock.last_jump, HOUR - 10);
    assert_false(update(&clock, START + HOUR + 5, 5015, &time));
    assert_int_equal(time.now, START + 15);
    assert_int_equal(clock.jumps, 1);
}

static void a_jump_backward_stops_nothing(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(0);
    assert_true(update(&clock, START - HOUR, 5010, &time));
    assert_int_equal(time.now, START + 10);
    assert_int_equal(time.wall, START - HOUR);
    assert_int_equal(clock.last_jump, -HOUR - 10);
}

static void what_ntp_slews_is_no_jump(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(0);
    assert_false(update(&clock, START + CLOCK_JUMP_MS + 10, 5010, &time));
    assert_false(update(&clock, START + 20, 5020, &time));
    assert_int_equal(clock.jumps, 0);
    assert_true(update(&clock, START + 20 + CLOCK_JUMP_MS + 1, 5020, &time));
}

static void a_wall_clock_a_little_ahead_is_rounding(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(0);
    for (int64_t apart = 0; apart <= 2; apart++) {
        update(&clock, START + 10 + apart, 5010, &time);
        assert_int_equal(time.wall, time.now);
    }
    update(&clock, START + 13, 5010, &time);
    assert_int_equal(time.wall, time.now + 3);
    update(&clock, START + 9, 5010, &time);
    assert_int_equal(time.wall, time.now - 1);
}

/* Or a job with AT would come before its moment. */
static void the_queue_s_clock_is_not_ahead_of_the_wall_at_its_start(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock;
    clock_init(&clock, (struct clock_reading){START, 5000}, 0);
    /* 0.9 ms of the monotonic ms had gone by at the start, none of the wall's */
    update(&clock, START, 5001, &time);
    assert_true(time.now <= START && time.wall <= START);
}

static void a_device_that_boots_in_1970_goes_on_from_what_it_knew(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun_at(1000, 5000, START);
    update(&clock, 1500, 5500, &time);
    assert_int_equal(time.now, START + 500);
    assert_int_equal(time.wall,
                     START + 500); /* a wall clock behind the floor is not believed */
}

static void a_wall_clock_that_passed_the_floor_is_believed(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun_at(1000, 5000, START);
    assert_true(update(&clock, START + HOUR, 6000, &time)); /* NTP has come */
    assert_int_equal(time.now, START + 1000);
    assert_int_equal(time.wall, START + HOUR);
}

static void a_wall_clock_ahead_of_the_floor_is_where_the_queue_begins(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(START - HOUR);
    update(&clock, START, 5000, &time);
    assert_int_equal(time.now, START);
    clock = begun(START + HOUR);
    update(&clock, START, 5000, &time);
    assert_int_equal(time.now, START + HOUR);
}

static void whatever_the_wall_clock_does_the_queue_s_never_goes_backward(void **state)
{
    (void)state;
    struct dueq_time time;
    struct clock clock = begun(0);
    int64_t last = START, monotonic = 5000, wall = START;
    struct dice dice;
    dice_begin(&dice);
    for (long i = 0; i < dice_setting("STEPS", 20000); i++) {
        int64_t step = (int64_t)dice_roll(&dice, 50);
        monotonic += step;
        wall += dice_once_in(&dice, 100) ? (int64_t)dice_roll(&dice, 2 * HOUR) - HOUR : step;
        update(&clock, wall, monotonic, &time);
        assert_int_equal(time.now, last + step);
        last = time.now;
    }
}

static void the_real_monotonic_clock_goes_forward(void **state)
{
    (void)state;
    struct clock_reading last = clock_read();
    for (int i = 0; i < 1000; i++) {
        struct clock_reading next = clock_read();
        assert_true(next.monotonic >= last.monotonic);
        last = next;
    }
}

/* ---- what clients are shown */

/* So much passes on the wall, and so much in truth. */
static void step(struct command_runner *runner, int64_t wall, int64_t truly)
{
    struct server *server = &runner->server;
    struct clock_reading reading = {server->clock.last.wall + wall,
                                    server->clock.last.monotonic + truly};
    clock_update(&server->clock, reading, &server->now);
    runner_pass(runner, 0);
}

/* The moment under that name of a map; NULL: the reply is nothing else. */
static void expect_moment(struct command_runner *runner, const char *name, int64_t moment,
                          const char *line)
{
    char expected[256];
    if (name == NULL)
        snprintf(expected, sizeof(expected), "%lld", (long long)moment);
    else
        snprintf(expected, sizeof(expected), "[*\"%s\" %lld *]", name, (long long)moment);
    runner_expect(runner, expected, line);
}

static void every_reply_shows_the_wall_clock_after_a_step(void **state)
{
    struct command_runner *runner = *state;
    runner->server.clock = begun_at(START, 0, 0);
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a DELAY 60s");
    step(runner, HOUR, 0);
    expect_moment(runner, "due", START + HOUR + 60000, "Q.GET mail a");
    expect_moment(runner, "next-due", START + HOUR + 60000, "Q.STATS mail");
    runner_expect(runner, "[*\"state\" \"delayed\" *]", "Q.GET mail a");

    step(runner, 60000 - 2 * HOUR, 60000); /* it falls due; the clock goes back two hours */
    runner_expect(runner, "[[\"a\" 1 *]]", "Q.CLAIM mail LEASE 30s");
    expect_moment(runner, "due", START - HOUR + 90000, "Q.GET mail a");
    expect_moment(runner, NULL, START - HOUR + 100000, "Q.EXTEND mail a 1 40s");
    expect_moment(runner, "due", START - HOUR + 100000, "Q.GET mail a");
    runner_expect(runner, "\"dead\"", "Q.NACK mail a 1 DEAD");
    expect_moment(runner, "due", START - HOUR + 60000, "Q.GET mail a");
}

static void an_absolute_moment_is_shown_as_it_was_given(void **state)
{
    struct command_runner *runner = *state;
    char line[128];
    runner->server.clock = begun_at(START, 0, 0);
    snprintf(line, sizeof(line), "Q.PUSH mail body ID a AT %lld",
             (long long)(START + 2 * HOUR));
    runner_expect(runner, "\"a\"", line);
    step(runner, HOUR, 0);
    expect_moment(runner, "due", START + 2 * HOUR, "Q.GET mail a");
    expect_moment(runner, "next-due", START + 2 * HOUR, "Q.STATS mail");
    step(runner, HOUR, 0);
    runner_expect(runner, "[[\"a\" 1 *]]", "Q.CLAIM mail LEASE 30s");
    expect_moment(runner, "due", START + 2 * HOUR + 30000, "Q.GET mail a");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_clocks_follow_time_that_goes_by),
        cmocka_unit_test(a_jump_forward_moves_the_wall_only),
        cmocka_unit_test(a_jump_backward_stops_nothing),
        cmocka_unit_test(what_ntp_slews_is_no_jump),
        cmocka_unit_test(a_wall_clock_a_little_ahead_is_rounding),
        cmocka_unit_test(the_queue_s_clock_is_not_ahead_of_the_wall_at_its_start),
        cmocka_unit_test(a_device_that_boots_in_1970_goes_on_from_what_it_knew),
        cmocka_unit_test(a_wall_clock_that_passed_the_floor_is_believed),
        cmocka_unit_test(a_wall_clock_ahead_of_the_floor_is_where_the_queue_begins),
        cmocka_unit_test(whatever_the_wall_clock_does_the_queue_s_never_goes_backward),
        cmocka_unit_test(the_real_monotonic_clock_goes_forward),
        runner_test(every_reply_shows_the_wall_clock_after_a_step),
        runner_test(an_absolute_moment_is_shown_as_it_was_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
