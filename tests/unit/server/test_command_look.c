/* Q.SCAN, Q.PEEK: forms, replies and errors. tests/unit/storage/test_look.c tests what they
 * find. */
#include "tests/support/command_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void three_jobs(struct command_runner *runner)
{
    runner_expect(runner, "\"a1\"", "Q.PUSH topic one ID a1");
    runner_expect(runner, "\"a2\"", "Q.PUSH topic two ID a2 DELAY 5s PRIORITY 1");
    runner_expect(runner, "\"b3\"", "Q.PUSH topic three ID b3 DELAY 1s");
}

/* ---- Q.SCAN */

static void a_scan_replies_a_cursor_and_maps(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner,
                  "[\"0\" [[\"id\" \"a1\" \"state\" \"ready\" \"due\" 1700000000000 "
                  "\"attempt\" 0 \"priority\" 128] [\"id\" \"a2\"*] [\"id\" \"b3\"*]]]",
                  "Q.SCAN topic 0");
    runner_expect(runner, "[\"0\" [[\"id\" \"b3\"*\"body\" \"three\"]]]",
                  "Q.SCAN topic 0 MATCH b* withbody");
    runner_expect(runner, "[\"0\" []]", "Q.SCAN none 0");
    runner_expect(runner, "{*\"proto\": 3 *}", "HELLO 3");
    runner_expect_bytes(runner,
                        "*2\r\n$1\r\n0\r\n*1\r\n%5\r\n$2\r\nid\r\n$2\r\na1\r\n$5\r\nstate\r\n"
                        "$5\r\nready\r\n$3\r\ndue\r\n:1700000000000\r\n$7\r\nattempt\r\n:0\r\n"
                        "$8\r\npriority\r\n:128\r\n",
                        "Q.SCAN topic 0 STATE ready");
}

static void a_scan_goes_on_where_it_stopped(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner, "[\"4201\" [[\"id\" \"a1\"*]]]", "Q.SCAN topic 0 COUNT 1");
    runner_expect(runner, "[\"4202\" [[\"id\" \"a2\"*]]]", "Q.SCAN topic 4201 COUNT 1");
    runner_expect(runner, "[\"0\" [[\"id\" \"b3\"*]]]", "Q.SCAN topic 4202 COUNT 100000000");
    runner_expect(runner, "[\"4202\" []]", "Q.SCAN topic 0 COUNT 2 MATCH z*");
}

static void a_scan_has_states_and_times(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner, "[\"0\" [[\"id\" \"a2\"*] [\"id\" \"b3\"*]]]",
                  "Q.SCAN topic 0 STATE delayed");
    runner_expect(runner, "[\"0\" [[\"id\" \"a2\"*] [\"id\" \"b3\"*]]]",
                  "Q.SCAN topic 0 FROM 1700000000001 TO 1700000005000");
    runner_expect(runner, "[\"0\" [[\"id\" \"b3\"*]]]",
                  "Q.SCAN topic 0 TO 1700000004999 FROM 1700000000001");
    runner_expect(runner, "[\"0\" [[\"id\" \"a1\"*]]]", "Q.SCAN topic 0 TO 1700000000000");
    runner_expect(runner, "[\"0\" [[\"id\" \"a2\"*]]]", "Q.SCAN topic 0 FROM 1700000001001");
    runner_expect(runner, "[\"0\" []]", "Q.SCAN topic 0 STATE dead");
    runner_expect(runner, "[\"0\" []]", "Q.SCAN topic 0 FROM 9223372036854775807 TO 0");
}

static void bad_scans_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR invalid cursor", "Q.SCAN topic x"},
        {"!ERR invalid cursor", "Q.SCAN topic 1"},
        {"!ERR invalid cursor", "Q.SCAN topic 4201 STATE dead"},
        {"!ERR invalid cursor", "Q.SCAN topic \"\""},
        {"!ERR syntax error", "Q.SCAN topic 0 STATE"},
        {"!ERR syntax error", "Q.SCAN topic 0 STATE gone"},
        {"!ERR syntax error", "Q.SCAN topic 0 FOO"},
        {"!ERR COUNT must be 1 or more", "Q.SCAN topic 0 COUNT 0"},
        {"!ERR COUNT must be 1 or more", "Q.SCAN topic 0 COUNT -9223372036854775808"},
        {"!ERR value is not an integer or out of range", "Q.SCAN topic 0 COUNT x"},
        {"!ERR value is not an integer or out of range", "Q.SCAN topic 0 FROM soon"},
        {"!ERR topic must be 1 to 255 bytes long", "Q.SCAN \"\" 0"},
        {"!ERR wrong number of arguments for 'q.scan' command", "Q.SCAN topic"},
    };
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect_all(runner, cases);
}

static void a_scan_runs_in_a_transaction(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.PUSH topic four ID z4");
    runner_expect(runner, "QUEUED", "Q.SCAN topic 0 MATCH z*");
    runner_expect(runner, "QUEUED", "Q.PEEK topic COUNT 1");
    runner_expect(runner, "[\"z4\" [\"0\" [[\"id\" \"z4\"*]]] [[\"id\" \"a1\"*]]]", "EXEC");
}

/* ---- Q.PEEK */

static void a_peek_replies_maps_in_order(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner, "[[\"id\" \"a1\" *] [\"id\" \"b3\"*] [\"id\" \"a2\"*]]",
                  "Q.PEEK topic");
    runner_pass(runner, 5000);
    runner_expect(runner,
                  "[[\"id\" \"a2\" \"state\" \"ready\" \"due\" 1700000005000 \"attempt\" 0 "
                  "\"priority\" 1 \"body\" \"two\"]]",
                  "Q.PEEK topic COUNT 1 STATE ready WITHBODY");
    runner_expect(runner, "[]", "Q.PEEK topic STATE claimed");
    runner_expect(runner, "[]", "Q.PEEK none");
}

static void bad_peeks_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR syntax error", "Q.PEEK topic STATE gone"},
        {"!ERR syntax error", "Q.PEEK topic MATCH a*"},
        {"!ERR value is out of range, must be between 1 and 1000", "Q.PEEK topic COUNT 0"},
        {"!ERR value is out of range, must be between 1 and 1000", "Q.PEEK topic COUNT 1001"},
        {"!ERR topic must be 1 to 255 bytes long", "Q.PEEK \"\""},
    };
    struct command_runner *runner = *state;
    runner_expect_all(runner, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_scan_replies_a_cursor_and_maps),
        runner_test(a_scan_goes_on_where_it_stopped),
        runner_test(a_scan_has_states_and_times),
        runner_test(bad_scans_are_refused),
        runner_test(a_scan_runs_in_a_transaction),
        runner_test(a_peek_replies_maps_in_order),
        runner_test(bad_peeks_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
