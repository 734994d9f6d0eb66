/* Q.EVENTS: what a topic has kept, and who waits for more. */
#include "tests/support/client/command_runner.h"

#include <stdio.h>

#include "tests/support/cmocka.h"

static void a_life_is_shown(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR the topic keeps no events*", "Q.EVENTS t FROM 0"},
        {"OK", "Q.CONFIG SET t events 100"},
        {"[]", "Q.EVENTS t FROM 0"},
        {"\"a\"", "Q.PUSH t x ID a"},
        {"[[\"a\" 1 *]]", "Q.CLAIM t"},
        {"\"ready\"", "Q.NACK t a 1 DELAY 0"},
        {"[[\"a\" 2 *]]", "Q.CLAIM t"},
        {"1", "Q.ACK t a 2"},
        {"[[1 \"pushed\" * \"a\" 0] [2 \"claimed\" * \"a\" 1] [3 \"nacked\" * \"a\" 1] "
         "[4 \"claimed\" * \"a\" 2] [5 \"acked\" * \"a\" 2]]",
         "Q.EVENTS t FROM 0"},
        {"[[4 *] [5 *]]", "q.events t from 3 count 5"},
        {"[[2 *]]", "Q.EVENTS t FROM 1 COUNT 1"},
        {"[]", "Q.EVENTS t FROM 5"},
        {"[]", "Q.EVENTS t FROM $"},
        {"[]", "Q.EVENTS t FROM 9223372036854775807"},
        {"OK", "Q.CONFIG SET t events 2"},
        {"[[3 \"dropped\" 3] [4 *] [5 *]]", "Q.EVENTS t FROM 0"},
        {"[[3 \"dropped\" 1]]", "Q.EVENTS t FROM 2 COUNT 1"},
    };
    runner_expect_all(*state, cases);
}

static void wrong_arguments_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR wrong number of arguments*", "Q.EVENTS t FROM"},
        {"!ERR syntax error", "Q.EVENTS t AFTER 0"},
        {"!ERR FROM must be*", "Q.EVENTS t FROM -1"},
        {"!ERR FROM must be*", "Q.EVENTS t FROM x"},
        {"!ERR FROM must be*", "Q.EVENTS t FROM 9223372036854775808"},
        {"!ERR value is out of range*", "Q.EVENTS t FROM 0 COUNT 0"},
        {"!ERR value is out of range*", "Q.EVENTS t FROM 0 COUNT 10001"},
        {"!ERR*", "Q.EVENTS t FROM 0 BLOCK -1"},
        {"!ERR*", "Q.EVENTS t FROM 0 BLOCK 1s BLOCK"},
        {"!ERR*", "Q.EVENTS \"\" FROM 0"},
        {"!ERR events must be between 0 and 1000000", "Q.CONFIG SET t events 1000001"},
        {"!ERR events must be between 0 and 1000000", "Q.CONFIG SET t events -1"},
        {"[\"events\" [\"0\" \"server\"]]", "Q.CONFIG GET t events"},
    };
    runner_expect_all(*state, cases);
}

static void all_readers_get_each_event(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t events 100"},
        {'b', "", "Q.EVENTS t FROM 0 BLOCK 0"},
        {'c', "", "Q.EVENTS t FROM $ BLOCK 1h"},
        {'d', "", "Q.EVENTS t FROM 1 BLOCK 0"},
        {'e', "", "Q.EVENTS other FROM $ BLOCK 0"},
        {'a', "\"a\"", "Q.PUSH t x ID a"},
        {'b', "[[1 \"pushed\" * \"a\" 0]]", NULL},
        {'c', "[[1 \"pushed\" * \"a\" 0]]", NULL},
        {'d', "", NULL},
        {'b', "", "Q.EVENTS t FROM 1 BLOCK 0"},
        {'a', "\"b\"", "Q.PUSH t x ID b"},
        {'b', "[[2 \"pushed\" * \"b\" 0]]", NULL},
        {'d', "[[2 \"pushed\" * \"b\" 0]]", NULL},
    };
    runner_expect((struct command_runner *)*state, "OK", "Q.CONFIG SET other events 100");
    runner_follow((struct command_runner *)*state, steps);
}

static void a_wait_ends(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t events 100"},
        {'b', "", "Q.EVENTS t FROM $ BLOCK 1s"},
        {'c', "", "Q.EVENTS t FROM 0 BLOCK 0"},
        {'+', NULL, "1000"},
        {'b', "nil", NULL},
        {'a', "\"a\"", "Q.PUSH t x ID a"},
        {'c', "[[1 *]]", NULL},
        {'c', "", "Q.EVENTS t FROM $ BLOCK 0"},
        {'a', "OK", "Q.CONFIG SET t events 0"},
        {'+', NULL, "1"},
        {'c', "!ERR the topic keeps no events*", NULL},
    };
    runner_follow((struct command_runner *)*state, steps);
}

static void what_time_brings_wakes_readers(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t events 100"}, {'a', "\"a\"", "Q.PUSH t x ID a DELAY 1s"},
        {'b', "", "Q.EVENTS t FROM $ BLOCK 0"},   {'+', NULL, "1000"},
        {'b', "[[2 \"due\" * \"a\" 0]]", NULL},
    };
    runner_follow((struct command_runner *)*state, steps);
}

static void a_dropped_topic_comes_again(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET * events 100"},
        {'a', "\"a\"", "Q.PUSH t x ID a"},
        {'b', "", "Q.EVENTS t FROM 1 BLOCK 0"},
        {'a', "1", "Q.DROP t"},
        {'b', "", NULL},
        {'a', "\"b\"", "Q.PUSH t x ID b"},
        {'b', "[[2 \"pushed\" * \"b\" 0]]", NULL},
        {'b', "", "Q.EVENTS t FROM 2 BLOCK 0"},
        {'a', "OK", "FLUSHALL"},
        {'a', "\"c\"", "Q.PUSH t x ID c"},
        {'b', "[[3 \"pushed\" * \"c\" 0]]", NULL},
    };
    runner_follow((struct command_runner *)*state, steps);
}

static void a_transaction_does_not_wait(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t events 100"},
        {'b', "", "Q.EVENTS t FROM 0 BLOCK 0"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "Q.EVENTS t FROM 0 BLOCK 0"},
        {'a', "QUEUED", "Q.PUSH t x ID a"},
        {'a', "QUEUED", "Q.EVENTS t FROM 0 BLOCK 0"},
        {'a', "[nil \"a\" [[1 *]]]", "EXEC"},
        {'b', "[[1 *]]", NULL},
    };
    runner_follow((struct command_runner *)*state, steps);
}

static void resp3_has_the_same_arrays(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "Q.CONFIG SET t events 100");
    runner_expect(runner, "*", "HELLO 3");
    runner_expect(runner, "\"a\"", "Q.PUSH t x ID a");
    runner_expect(runner, "[[1 \"pushed\" * \"a\" 0]]", "Q.EVENTS t FROM 0");
}

static void a_reader_needs_the_right_to_read(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "ACL SETUSER u on nopass +@all %R~t"},
        {'a', "OK", "Q.CONFIG SET * events 10"},
        {'b', "OK", "AUTH u x"},
        {'b', "[]", "Q.EVENTS t FROM 0"},
        {'b', "!NOPERM*", "Q.EVENTS other FROM 0"},
        {'b', "!NOPERM*", "Q.CONFIG SET t events 10"},
    };
    runner_follow((struct command_runner *)*state, steps);
}

/* In parts: no turn reads more than a thousand. */
static void many_events_are_read_in_parts(void **state)
{
    struct command_runner *runner = *state;
    struct connection *reader = runner_connect(runner);

    runner_expect(runner, "OK", "Q.CONFIG SET t events 1000000");
    for (int i = 0; i < 3500; i++)
        runner_expect(runner, "*", "Q.PUSH t x");
    runner_commit(runner);
    runner->by_slices = true;
    runner_run(runner, reader, "Q.EVENTS t FROM 0 COUNT 10000");
    assert_true(runner_finish(runner, 1000) >= 4);
    runner_expect_reply(reader, "[[1 *] [2 *] [3 *] *]");
    runner_run(runner, reader, "Q.EVENTS t FROM 100 COUNT 1000");
    runner_expect_reply(reader, "[[101 *] *]");
    runner_run(runner, reader, "Q.EVENTS t FROM 3000 COUNT 10000");
    runner_expect_reply(reader, "[[3001 *] *]");
}

static void a_client_that_leaves_waits_no_more(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "Q.CONFIG SET t events 10");
    (void)runner_waiting(runner, "Q.EVENTS t FROM 0 BLOCK 0");
    assert_int_equal(runner->server.stats.blocked_clients, 1);
    runner_expect(runner, "*", "CLIENT KILL TYPE normal SKIPME yes");
    assert_int_equal(runner->server.stats.blocked_clients, 0);
    runner_expect(runner, "*", "Q.PUSH t x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {runner_test(a_life_is_shown),
                                       runner_test(wrong_arguments_are_refused),
                                       runner_test(all_readers_get_each_event),
                                       runner_test(a_wait_ends),
                                       runner_test(what_time_brings_wakes_readers),
                                       runner_test(a_dropped_topic_comes_again),
                                       runner_test(a_transaction_does_not_wait),
                                       runner_test(resp3_has_the_same_arrays),
                                       runner_test(a_reader_needs_the_right_to_read),
                                       runner_test(many_events_are_read_in_parts),
                                       runner_test(a_client_that_leaves_waits_no_more)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
