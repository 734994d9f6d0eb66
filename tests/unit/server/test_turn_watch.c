/* The longest turn, and what it did. */
#include "server/statistics/turn_watch.h"

#include "tests/support/cmocka.h"

#include <string.h>

static const struct command *command(int number)
{
    static const char commands[3];

    return (const struct command *)(const void *)&commands[number]; /* never read */
}

/* A turn whose parts take so long, beginning at `now`. Returns its end. */
static uint64_t run_turn(struct turn_watch *watch, uint64_t now, uint64_t events, uint64_t tick)
{
    assert_false(turn_watch_runs(watch));
    turn_watch_begin(watch, now, 7);
    assert_true(turn_watch_runs(watch));
    now += events;
    turn_watch_mark(watch, TURN_EVENTS, now);
    now += tick;
    turn_watch_mark(watch, TURN_TICK, now);
    turn_watch_end(watch, 7 + events / 2);
    return now;
}

static void the_longest_turn_is_kept_with_what_it_did(void **state)
{
    struct turn_watch watch = {0};
    uint64_t now = 1000;

    (void)state;
    now = run_turn(&watch, now, 10, 20);
    assert_int_equal(watch.longest.usec, 30);
    now += 100000; /* waiting is no turn */
    turn_watch_command(&watch, command(0), 5, now);
    turn_watch_command(&watch, command(1), 40, now);
    turn_watch_command(&watch, command(2), 7, now);
    now = run_turn(&watch, now, 300, 200);
    now = run_turn(&watch, now, 100, 20);
    assert_int_equal(watch.longest.usec, 500);
    assert_int_equal(watch.seen, now - 120 - 500);
    assert_int_equal(turn_longest_part(&watch.longest), TURN_EVENTS);
    assert_int_equal(watch.longest.parts[TURN_EVENTS], 300);
    assert_int_equal(watch.longest.cpu_usec, 150);
    assert_int_equal(watch.longest.commands, 3);
    assert_ptr_equal(watch.longest.command, command(1));
    assert_int_equal(watch.longest.command_usec, 40);
    assert_int_equal(watch.long_turns, 0);
    now = run_turn(&watch, now, 0, TURN_LONG_USEC);
    assert_int_equal(turn_longest_part(&watch.longest), TURN_TICK);
    assert_null(watch.longest.command);
    assert_int_equal(watch.long_turns, 1);
    turn_watch_reset(&watch);
    assert_int_equal(watch.longest.usec + watch.long_turns, 0);
    assert_int_equal(watch.took.count, 4); /* a monitor follows it: it never goes back */
    assert_int_equal(watch.took.sum, 30 + 500 + 120 + TURN_LONG_USEC);
    assert_int_equal(watch.took.buckets[5] + watch.took.buckets[9], 2);
    run_turn(&watch, now, 1, 2);
    assert_int_equal(watch.longest.usec, 3);
}

/* Of two turns the one that waits longer for the disk is the longest, and the one that computes
 * longer the busiest. */
static void the_busiest_turn_is_kept_beside_the_longest(void **state)
{
    struct turn_watch watch = {0};
    uint64_t now = 1000;

    (void)state;
    now = run_turn(&watch, now, 100, 50000); /* 50 of it on the processor */
    now = run_turn(&watch, now, 2 * TURN_LONG_USEC, 0);
    run_turn(&watch, now, 2, 1);
    assert_int_equal(watch.longest.usec, 50100);
    assert_int_equal(watch.longest.cpu_usec, 50);
    assert_int_equal(watch.busiest.cpu_usec, TURN_LONG_USEC);
    assert_int_equal(watch.busiest.parts[TURN_EVENTS], 2 * TURN_LONG_USEC);
    assert_int_equal(watch.long_turns, 2);
    assert_int_equal(watch.busy_turns, 1);
    turn_watch_reset(&watch);
    assert_int_equal(watch.busiest.cpu_usec + watch.busy_turns, 0);
}

static void each_part_has_a_name(void **state)
{
    (void)state;
    for (int part = 0; part < TURN_PARTS; part++)
        for (int other = 0; other < part; other++)
            assert_string_not_equal(turn_part_name((enum turn_part)part),
                                    turn_part_name((enum turn_part)other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_turn_is_kept_with_what_it_did),
        cmocka_unit_test(the_busiest_turn_is_kept_beside_the_longest),
        cmocka_unit_test(each_part_has_a_name),
    };

    return cmocka_run_group_tests_name("turn watch", tests, NULL, NULL);
}
