/* The server's clocks: readings of the system's clocks go in, the queue's time comes out. */
#include "tests/support/client/command_runner.h"
#include "tests/support/dice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define START RUNNER_START
#define HOUR  INT64_C(3600000)
#define DAY   (24 * HOUR)
#define YEAR  (365 * DAY)

/* ---- a machine, its clocks in usec, and the server on it */

static struct {
    int64_t wall, boot; /* usec */
    uint8_t id[DUEQ_BOOT_SIZE];
    struct clock clock;
    struct dueq_time time;
    struct dueq_timeline kept;
    bool has_kept;
    int64_t floor;
} on;

static struct clock_reading reading(void)
{
    return (struct clock_reading){on.wall, on.boot, on.boot};
}

static bool look(void)
{
    return clock_update(&on.clock, reading(), &on.time);
}

/* Stores the time line, as the server does with each commit. */
static void commit(void)
{
    on.kept = on.clock.line;
    on.has_kept = true;
    on.floor = on.time.now;
}

static void start(void)
{
    clock_init(&on.clock, reading(), on.id, on.has_kept ? &on.kept : NULL, on.floor);
    look();
}

static void pass(int64_t ms)
{
    on.wall += ms * 1000;
    on.boot += ms * 1000;
}

static void step(int64_t ms)
{
    on.wall += ms * 1000;
}

/* The machine is off for `away` ms; then its wall clock is wrong by `off` ms. */
static void reboot(int64_t away, int64_t off)
{
    on.wall += (away + off) * 1000;
    on.boot = 3000000;
    on.id[0]++;
}

static void begin(void)
{
    memset(&on, 0, sizeof(on));
    on.wall = START * 1000;
    on.boot = 5000000;
    on.id[0] = 1;
    start();
}

static void expect(int64_t now, int64_t wall)
{
    assert_int_equal(on.time.now, START + now);
    assert_int_equal(on.time.wall, START + wall);
}

/* ---- while it runs */

static void both_clocks_follow_time_that_goes_by(void **state)
{
    (void)state;
    begin();
    for (int64_t ms = 0; ms < 10000; ms += 7) {
        expect(ms, ms);
        pass(7);
        assert_false(look());
    }
    assert_int_equal(on.clock.jumps, 0);
}

static void a_jump_forward_moves_the_wall_only(void **state)
{
    (void)state;
    begin();
    pass(10);
    step(HOUR);
    assert_true(look());
    expect(10, HOUR + 10);
    assert_int_equal(on.clock.jumps, 1);
    assert_int_equal(on.clock.last_jump, HOUR);
    pass(5);
    assert_false(look());
    expect(15, HOUR + 15);
    assert_int_equal(on.clock.jumps, 1);
}

static void a_jump_backward_stops_nothing(void **state)
{
    (void)state;
    begin();
    pass(10);
    step(-HOUR);
    assert_true(look());
    expect(10, 10 - HOUR);
    assert_int_equal(on.clock.last_jump, -HOUR);
    pass(5);
    look();
    expect(15, 15 - HOUR);
}

static void a_small_step_is_none_to_speak_of(void **state)
{
    (void)state;
    begin();
    step(CLOCK_JUMP_MS);
    assert_false(look());
    expect(0, CLOCK_JUMP_MS);
    assert_int_equal(on.clock.jumps, 0);
    step(CLOCK_JUMP_MS + 1);
    assert_true(look());
    expect(0, 2 * CLOCK_JUMP_MS + 1);
}

/* Clients compare these times with their own clocks. */
static void the_wall_clock_is_shown_as_it_is(void **state)
{
    (void)state;
    begin();
    for (int64_t usec = 0; usec < 3000; usec += 13) {
        on.wall += 13;
        on.boot += 13;
        look();
        assert_int_equal(on.clock.wall_usec, on.wall);
        assert_int_equal(on.time.wall, on.wall / 1000);
    }
}

static void what_begins_within_a_millisecond_is_counted_from_its_end(void **state)
{
    (void)state;
    begin();
    assert_int_equal(on.time.ceiling, START);
    on.wall += 1;
    on.boot += 1;
    look();
    expect(0, 0);
    assert_int_equal(on.time.ceiling, START + 1);
    on.wall += 998;
    on.boot += 998;
    look();
    assert_int_equal(on.time.ceiling, START + 1);
    on.wall += 1;
    on.boot += 1;
    look();
    expect(1, 1);
    assert_int_equal(on.time.ceiling, START + 1);
}

/* The two clocks are read one after the other: a delay in between is no step. */
static void a_reading_that_took_long_is_no_step(void **state)
{
    (void)state;
    begin();
    pass(500);
    for (int64_t at = 0; at <= 400; at += 100) {
        struct clock_reading slow = {on.wall, on.boot - at * 1000, on.boot + (400 - at) * 1000};
        clock_update(&on.clock, slow, &on.time);
        expect(500, 500);
    }
    assert_int_equal(on.clock.line.ahead, 0);
}

static void sleep_counts(void **state)
{
    (void)state;
    begin();
    pass(10 * DAY); /* the clock since boot advances, too */
    assert_false(look());
    expect(10 * DAY, 10 * DAY);
}

/* ---- restarts of the server */

static const int64_t steps[] = {HOUR,      10 * DAY,  30 * DAY,   74 * YEAR, -HOUR,
                                -10 * DAY, -30 * DAY, -56 * YEAR, 1,         -1};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void a_restart_goes_on(void **state)
{
    (void)state;
    begin();
    pass(100);
    look();
    commit();
    pass(5000); /* nothing is committed meanwhile */
    start();
    expect(5100, 5100);
}

static void a_step_before_a_restart_moves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        begin();
        pass(100);
        step(steps[i]);
        look();
        commit();
        pass(5000);
        start();
        expect(5100, 5100 + steps[i]);
    }
}

static void a_step_during_a_restart_moves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        begin();
        pass(100);
        look();
        commit();
        pass(2000);
        step(steps[i]);
        pass(3000);
        start();
        expect(5100, 5100 + steps[i]);
    }
}

static void what_was_not_committed_of_a_step_is_found_out(void **state)
{
    (void)state;
    begin();
    commit();
    step(HOUR);
    look();
    start();
    expect(0, HOUR);
}

/* ---- restarts of the machine */

static void a_reboot_counts_what_the_wall_clock_has_gained(void **state)
{
    (void)state;
    begin();
    pass(100);
    look();
    commit();
    reboot(HOUR, 0);
    start();
    expect(HOUR + 100, HOUR + 100);
}

static void a_step_before_a_reboot_moves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < STEPS; i++) {
        begin();
        step(steps[i]);
        look();
        commit();
        reboot(HOUR, 0);
        start();
        expect(HOUR, HOUR + steps[i]);
    }
}

static void a_wall_clock_that_lost_time_counts_for_none(void **state)
{
    (void)state;
    begin();
    pass(100);
    look();
    commit();
    reboot(HOUR, -2 * HOUR);
    start();
    expect(100, 100 - HOUR);
    pass(50);
    look();
    expect(150, 150 - HOUR);
}

/* The device has no battery for its clock. */
static void a_device_that_boots_in_1970_goes_on_from_what_it_knew(void **state)
{
    (void)state;
    begin();
    commit();
    reboot(HOUR, -START - HOUR);
    start();
    assert_int_equal(on.time.wall, 0);
    assert_int_equal(on.time.now, START);
    pass(60000);
    step(START + HOUR); /* NTP has set the clock */
    assert_true(look());
    expect(60000, HOUR + 60000);
    commit();
    pass(1000);
    start();
    expect(61000, HOUR + 61000);
}

/* Its first boot was in 1970, and NTP comes before the server in the next one. */
static void a_clock_that_is_set_between_two_boots_counts_for_none(void **state)
{
    (void)state;
    memset(&on, 0, sizeof(on));
    on.wall = on.boot = 5000000;
    on.id[0] = 1;
    start();
    assert_int_equal(on.time.now, 5000);
    pass(100);
    look();
    commit();
    reboot(HOUR, 0); /* a clock that is not set may go on, too */
    start();
    assert_int_equal(on.time.now, 5100 + HOUR);
    commit();
    reboot(HOUR, START - 2 * HOUR - 5100);
    start();
    assert_int_equal(on.time.now, 5100 + HOUR);
    assert_int_equal(on.time.wall, START);
    commit();
    reboot(HOUR, 0);
    start();
    assert_int_equal(on.time.now, 5100 + 2 * HOUR);
    assert_int_equal(on.time.wall, START + HOUR);
}

static void a_wrong_year_is_healed_by_the_right_one(void **state)
{
    (void)state;
    begin();
    commit();
    reboot(0, 74 * YEAR);
    start();
    expect(74 * YEAR, 74 * YEAR);
    commit();
    reboot(HOUR, -74 * YEAR);
    start();
    expect(74 * YEAR,
           HOUR); /* the queue's clock cannot go back; the wall clock is shown as it is */
    commit();
    reboot(HOUR, 0);
    start();
    expect(74 * YEAR + HOUR, 2 * HOUR);
}

static void an_unknown_boot_is_another_one(void **state)
{
    (void)state;
    begin();
    memset(on.id, 0, sizeof(on.id));
    start();
    commit();
    on.boot += DAY * 1000; /* of an unknown boot */
    pass(HOUR);
    start();
    expect(HOUR, HOUR);
}

/* Another program or an older version wrote the store. */
static void a_store_without_a_time_line_goes_by_the_wall_clock(void **state)
{
    (void)state;
    begin();
    on.floor = START - HOUR;
    start();
    expect(0, 0);
    on.floor = START + HOUR;
    start();
    expect(HOUR, 0);
}

/* The sanitizers find overflows. */
static void whatever_was_kept_does_no_harm(void **state)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MIN / 2, -1,       0,
                                   1,         INT64_MAX / 2, INT64_MAX};
    enum { ENDS = sizeof(ends) / sizeof(ends[0]) };
    (void)state;
    for (size_t i = 0; i < ENDS * ENDS * ENDS * 2; i++) {
        begin();
        on.kept = (struct dueq_timeline){ends[i % ENDS], ends[i / ENDS % ENDS], {1}};
        on.floor = ends[i / ENDS / ENDS % ENDS];
        on.has_kept = true;
        on.id[0] = i % 2 == 0;
        start();
        int64_t now = on.time.now;
        pass(10);
        look();
        assert_true(on.time.now >= now && on.time.now <= now + 11);
        assert_int_equal(on.time.wall, START + 10);
    }
}

static bool was_behind(int64_t ahead, int64_t floor)
{
    begin();
    on.kept.ahead = ahead;
    on.floor = floor;
    on.has_kept = true;
    on.id[0]++;
    start();
    return clock_is_behind(&on.clock, &on.kept, floor);
}

/* Of a forged store too: a sum that overflows is a time long ago. */
static void a_wall_clock_behind_what_the_store_knew_is_noticed(void **state)
{
    (void)state;
    assert_false(was_behind(0, START));
    assert_true(was_behind(0, START + 1));
    assert_false(was_behind(-HOUR, START + HOUR));
    assert_true(was_behind(INT64_MAX, INT64_MAX));
    assert_true(was_behind(1, INT64_MAX));
    assert_false(was_behind(INT64_MIN, INT64_MIN));
}

/* ---- all of it */

/* With each step the queue's clock may lose a ms of real time; it never gains any. */
static void the_queue_s_clock_never_runs_ahead_of_time_nor_backward(void **state)
{
    struct dice dice;
    (void)state;
    dice_begin(&dice);
    begin();
    int64_t truly = START * 1000, lost = 0, last = START;
    for (long i = 0; i < dice_setting("STEPS", 20000); i++) {
        int64_t usec = (int64_t)dice_roll(&dice, dice_once_in(&dice, 50) ? 90000000 : 2500);
        on.wall += usec;
        on.boot += usec;
        truly += usec;
        if (dice_once_in(&dice, 30)) {
            on.wall += (int64_t)dice_roll(&dice, 2 * HOUR * 1000) - HOUR * 1000;
            lost += 1000;
        } else if (dice_once_in(&dice, 100)) {
            on.id[0]++;
            on.boot = (int64_t)dice_roll(&dice, 1000000);
            on.wall += 60000000; /* off for a minute; the clock is right */
            truly += 60000000;
            start();
        }
        if (dice_once_in(&dice, 20))
            start();
        look();
        commit();
        assert_true(on.time.now >= last);
        assert_true(on.time.now * 1000 <= truly);
        assert_true(on.time.now * 1000 >= truly - lost - 2000);
        assert_true(on.time.ceiling == on.time.now || on.time.ceiling == on.time.now + 1);
        last = on.time.now;
    }
}

static void the_real_clocks_go_forward(void **state)
{
    struct clock_reading last = clock_read();
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct clock_reading next = clock_read();
        assert_true(next.boot_before >= last.boot_after);
        assert_true(next.boot_after >= next.boot_before);
        last = next;
    }
}

static void the_real_boot_is_known_and_stays(void **state)
{
    uint8_t unknown[DUEQ_BOOT_SIZE] = {0}, boot[DUEQ_BOOT_SIZE], again[DUEQ_BOOT_SIZE];
    (void)state;
    clock_read_boot(boot);
    clock_read_boot(again);
    assert_memory_equal(boot, again, DUEQ_BOOT_SIZE);
    assert_memory_not_equal(boot, unknown, DUEQ_BOOT_SIZE);
}

/* ---- times in replies */

/* Advances the wall clock by `wall` ms, and real time by `truly` ms. */
static void step_server(struct command_runner *runner, int64_t wall, int64_t truly)
{
    struct server *server = &runner->server;
    server->clock.last.wall += wall;
    server->clock.last.monotonic += truly;
    struct clock_reading reading = {server->clock.last.wall * 1000,
                                    server->clock.last.monotonic * 1000,
                                    server->clock.last.monotonic * 1000};
    clock_update(&server->clock, reading, &server->now);
    runner_pass(runner, 0);
}

static void begin_server(struct command_runner *runner)
{
    static const uint8_t boot[DUEQ_BOOT_SIZE] = {1};
    clock_init(&runner->server.clock, (struct clock_reading){START * 1000, 0, 0}, boot, NULL,
               0);
}

/* Checks the time under that name in a map; name NULL: the reply is the time alone. */
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
    begin_server(runner);
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a DELAY 60s");
    step_server(runner, HOUR, 0);
    expect_moment(runner, "due", START + HOUR + 60000, "Q.GET mail a");
    expect_moment(runner, "next-due", START + HOUR + 60000, "Q.STATS mail");
    runner_expect(runner, "[*\"state\" \"delayed\" *]", "Q.GET mail a");

    step_server(runner, 60000 - 2 * HOUR,
                60000); /* the job falls due; the wall clock goes back two hours */
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
    begin_server(runner);
    snprintf(line, sizeof(line), "Q.PUSH mail body ID a AT %lld",
             (long long)(START + 2 * HOUR));
    runner_expect(runner, "\"a\"", line);
    step_server(runner, HOUR, 0);
    expect_moment(runner, "due", START + 2 * HOUR, "Q.GET mail a");
    expect_moment(runner, "next-due", START + 2 * HOUR, "Q.STATS mail");
    step_server(runner, HOUR, 0);
    runner_expect(runner, "[[\"a\" 1 *]]", "Q.CLAIM mail LEASE 30s");
    expect_moment(runner, "due", START + 2 * HOUR + 30000, "Q.GET mail a");
}

/* A time to live has the requested length; an absolute time is on the wall clock. */
static void expiries_go_by_the_clock_that_they_were_given_on(void **state)
{
    struct command_runner *runner = *state;
    char line[128];
    begin_server(runner);
    runner_expect(runner, "OK", "SET ttl v EX 100");
    snprintf(line, sizeof(line), "SET moment v PXAT %lld", (long long)(START + 100000));
    runner_expect(runner, "OK", line);
    runner_expect(runner, "100000", "PTTL ttl");
    runner_expect(runner, "100000", "PTTL moment");
    step_server(runner, -HOUR, 0);
    runner_expect(runner, "100000", "PTTL ttl");
    runner_expect(runner, "3700000", "PTTL moment");
    expect_moment(runner, NULL, START + 100000 - HOUR, "PEXPIRETIME ttl");
    expect_moment(runner, NULL, START + 100000, "PEXPIRETIME moment");
    runner_expect(runner, "0", "EXPIRE moment 3800 LT");
    runner_expect(runner, "0", "EXPIRE moment 3600 GT");
    runner_expect(runner, "1", "EXPIRE moment 3800 GT");
    runner_expect(runner, "3800000", "PTTL moment");
    snprintf(line, sizeof(line), "PEXPIREAT moment %lld", (long long)(START + 100000));
    runner_expect(runner, "1", line);
    step_server(runner, 2 * HOUR, 1000);
    runner_expect(runner, "99000", "PTTL ttl");
    runner_expect(runner, "-2", "PTTL moment");
    runner_expect(runner, "1", "DBSIZE");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_clocks_follow_time_that_goes_by),
        cmocka_unit_test(a_jump_forward_moves_the_wall_only),
        cmocka_unit_test(a_jump_backward_stops_nothing),
        cmocka_unit_test(a_small_step_is_none_to_speak_of),
        cmocka_unit_test(the_wall_clock_is_shown_as_it_is),
        cmocka_unit_test(what_begins_within_a_millisecond_is_counted_from_its_end),
        cmocka_unit_test(a_reading_that_took_long_is_no_step),
        cmocka_unit_test(sleep_counts),
        cmocka_unit_test(a_restart_goes_on),
        cmocka_unit_test(a_step_before_a_restart_moves_nothing),
        cmocka_unit_test(a_step_during_a_restart_moves_nothing),
        cmocka_unit_test(what_was_not_committed_of_a_step_is_found_out),
        cmocka_unit_test(a_reboot_counts_what_the_wall_clock_has_gained),
        cmocka_unit_test(a_step_before_a_reboot_moves_nothing),
        cmocka_unit_test(a_wall_clock_that_lost_time_counts_for_none),
        cmocka_unit_test(a_device_that_boots_in_1970_goes_on_from_what_it_knew),
        cmocka_unit_test(a_clock_that_is_set_between_two_boots_counts_for_none),
        cmocka_unit_test(a_wrong_year_is_healed_by_the_right_one),
        cmocka_unit_test(an_unknown_boot_is_another_one),
        cmocka_unit_test(a_store_without_a_time_line_goes_by_the_wall_clock),
        cmocka_unit_test(whatever_was_kept_does_no_harm),
        cmocka_unit_test(a_wall_clock_behind_what_the_store_knew_is_noticed),
        cmocka_unit_test(the_queue_s_clock_never_runs_ahead_of_time_nor_backward),
        cmocka_unit_test(the_real_clocks_go_forward),
        cmocka_unit_test(the_real_boot_is_known_and_stays),
        runner_test(every_reply_shows_the_wall_clock_after_a_step),
        runner_test(an_absolute_moment_is_shown_as_it_was_given),
        runner_test(expiries_go_by_the_clock_that_they_were_given_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
