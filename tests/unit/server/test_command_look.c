/* Q.SCAN, Q.PEEK, Q.FORECAST, Q.EXPLAIN: forms, replies and errors.
 * tests/unit/storage/test_look.c tests what they find. */
#include "tests/support/client/command_runner.h"

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

/* ---- Q.FORECAST */

static void a_forecast_replies_begins_and_counts(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner,
                  "[[1700000000000 1] [1700000002000 0] [1700000004000 1] [1700000006000 0]]",
                  "Q.FORECAST topic BUCKET 2s COUNT 4");
    runner_expect(runner, "[[1700000000000 1]]", "Q.FORECAST topic COUNT 1 BUCKET 1000");
    runner_expect(runner, "[[1700000000000 0]]", "Q.FORECAST topic COUNT 1 BUCKET 999ms");
    runner_expect(runner, "[[1700000000000 2] [1700003600000 0] *[1700082800000 0]]",
                  "Q.FORECAST topic");
    runner_pass(runner, 1000);
    runner_expect(runner, "[[1700000001000 0] [1700000004999 1]]",
                  "Q.FORECAST topic BUCKET 3999 COUNT 2");
    runner_expect(runner, "[[1700000001000 0]]", "Q.FORECAST none COUNT 1");
}

static void a_bucket_may_be_a_century(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner, "\"c\"", "Q.PUSH topic body ID c AT 9223372036854775807");
    runner_expect(runner, "[[1700000000000 2] [4853600000000 0] [8007200000000 0]]",
                  "Q.FORECAST topic BUCKET 36500d COUNT 3");
}

static void bad_forecasts_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR BUCKET must be 1 ms or more", "Q.FORECAST topic BUCKET 0"},
        {"!ERR invalid duration '-1'*", "Q.FORECAST topic BUCKET -1"},
        {"!ERR value is out of range, must be between 1 and 1000",
         "Q.FORECAST topic COUNT 1001"},
        {"!ERR value is out of range, must be between 1 and 1000", "Q.FORECAST topic COUNT 0"},
        {"!ERR syntax error", "Q.FORECAST topic STATE ready"},
        {"!ERR topic must be 1 to 255 bytes long", "Q.FORECAST \"\""},
    };
    struct command_runner *runner = *state;
    runner_expect_all(runner, cases);
}

static void push_many(struct command_runner *runner, int count)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    for (int i = 0; i < count; i++) {
        push.delay = 1 + i;
        assert_int_equal(dueq_push(runner->server.store, &push, runner->server.now, &id),
                         DUEQ_OK);
    }
    runner_commit(runner);
}

static void a_long_forecast_is_counted_in_slices(void **state)
{
    struct command_runner *runner = *state;
    int slices = 0;
    runner->by_slices = true;
    push_many(runner, 100000);
    runner_expect(runner, "", "Q.FORECAST topic BUCKET 50s COUNT 3");
    while (runner_slice(runner))
        slices++;
    assert_in_range(slices, 8, 40);
    runner_expect_reply(runner->clients[0],
                        "[[1700000000000 50000] [1700000050000 50000] [1700000100000 0]]");
    runner_expect(runner, "OK", "SAVE"); /* pages, not records, are counted then */
    runner_slice(runner);
    runner_expect(runner, "", "Q.FORECAST topic BUCKET 50s COUNT 3");
    for (slices = 0; runner_slice(runner);)
        slices++;
    assert_in_range(slices, 0, 8);
    runner_expect_reply(runner->clients[0],
                        "[[1700000000000 50000] [1700000050000 50000] [1700000100000 0]]");
}

static void a_forecast_runs_in_a_transaction(void **state)
{
    struct command_runner *runner = *state;
    push_many(runner, 10000);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.FORECAST topic BUCKET 10s COUNT 1");
    runner_expect(runner, "[[[1700000000000 10000]]]", "EXEC");
}

static void a_topic_may_go_during_a_forecast(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    runner->by_slices = true;
    push_many(runner, 50000);
    runner_expect(runner, "", "Q.FORECAST topic BUCKET 1m COUNT 1");
    runner_slice(runner);
    runner_expect_of(runner, other, "OK", "FLUSHALL");
    while (runner_slice(runner))
        ;
    runner_expect_reply(runner->clients[0], "[[1700000000000 *]]");
}

/* ---- Q.EXPLAIN */

static void waiting_jobs_are_explained(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    runner_expect(runner,
                  "[\"id\" \"a2\" \"state\" \"delayed\" \"reason\" \"delayed\" \"due\" "
                  "1700000005000 \"wait\" 5000 \"text\" \"due in 5s\"]",
                  "Q.EXPLAIN topic a2");
    runner_expect(runner,
                  "[\"id\" \"a1\" \"state\" \"ready\" \"reason\" \"ready\" \"due\" "
                  "1700000000000 \"ahead\" 0 \"text\" \"ready for 0ms; the next claim of the "
                  "topic takes it\"]",
                  "Q.EXPLAIN topic a1");
    runner_pass(runner, 65000);
    runner_expect(runner,
                  "[*\"due\" 1700000005000 \"ahead\" 0 \"text\" \"ready for 1m; the next*]",
                  "Q.EXPLAIN topic a2");
    runner_expect(runner, "[*\"ahead\" 1 \"text\" \"ready for 1m5s; 1 job comes before it\"]",
                  "Q.EXPLAIN topic a1");
    runner_expect(runner, "[*\"ahead\" 2 \"text\" \"ready for 1m4s; 2 jobs come before it\"]",
                  "Q.EXPLAIN topic b3");
}

static void what_workers_did_is_explained(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CLIENT SETNAME w7");
    three_jobs(runner);
    runner_expect(runner, "[[\"a1\" 1 *]]", "Q.CLAIM topic");
    runner_pass(runner, 300);
    runner_expect(runner,
                  "[\"id\" \"a1\" \"state\" \"claimed\" \"reason\" \"claimed\" "
                  "\"claimed-at\" 1700000000000 \"lease-end\" 1700000060000 \"token\" 1 *"
                  "\"attempt\" 1 \"failures\" 0 \"leases-expired\" 0 \"text\" \"claimed for "
                  "300ms* (attempt 1, token 1); its lease ends in 59s\"]",
                  "Q.EXPLAIN topic a1");
    runner_expect(runner, "\"delayed\"", "Q.NACK topic a1 1 DELAY 90s ERROR boom");
    runner_expect(runner,
                  "[*\"reason\" \"backoff\" \"due\" 1700000090300 \"wait\" 90000 \"attempt\" "
                  "1 \"failures\" 1 \"leases-expired\" 0 \"error\" \"boom\" \"text\" \"due "
                  "again in 1m30s, after attempt 1: boom\"]",
                  "Q.EXPLAIN topic a1");
    runner_pass(runner, 90000);
    runner_expect(runner, "[[*]*]", "Q.CLAIM topic COUNT 3");
    runner_expect(runner, "\"dead\"", "Q.NACK topic a1 4 DEAD");
    runner_pass(runner, 86400000);
    runner_expect(runner,
                  "[\"id\" \"a1\" \"state\" \"dead\" \"reason\" \"dead\" \"since\" "
                  "1700000090300 *\"text\" \"dead for 1d: boom\"]",
                  "Q.EXPLAIN topic a1");
}

static void a_paused_topic_is_a_reason(void **state)
{
    struct command_runner *runner = *state;
    three_jobs(runner);
    assert_int_equal(dueq_pause(runner->server.store, dueq_slice("topic", 5), false, true,
                                90000, runner->server.now),
                     DUEQ_OK);
    runner_expect(runner,
                  "[*\"reason\" \"paused\" \"paused-until\" 1700000090000 \"text\" \"the "
                  "topic is paused for another 1m30s\"]",
                  "Q.EXPLAIN topic a1");
    runner_expect(runner, "[*\"reason\" \"delayed\" *]", "Q.EXPLAIN topic a2");
}

static void what_is_not_there_is_explained(void **state)
{
    struct command_runner *runner = *state;
    static const char *const cases[][2] = {
        {"[\"id\" \"x\" \"state\" nil \"reason\" \"absent\" \"text\" \"the topic has no "
         "such job: *]",
         "Q.EXPLAIN topic x"},
        {"[*\"reason\" \"absent\" *]", "Q.EXPLAIN none x"},
        {"!ERR id must be 1 to 255 bytes long", "Q.EXPLAIN topic \"\""},
        {"!ERR wrong number of arguments for 'q.explain' command", "Q.EXPLAIN topic"},
    };
    three_jobs(runner);
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
        runner_test(a_forecast_replies_begins_and_counts),
        runner_test(a_bucket_may_be_a_century),
        runner_test(bad_forecasts_are_refused),
        runner_test(a_long_forecast_is_counted_in_slices),
        runner_test(a_forecast_runs_in_a_transaction),
        runner_test(a_topic_may_go_during_a_forecast),
        runner_test(waiting_jobs_are_explained),
        runner_test(what_workers_did_is_explained),
        runner_test(a_paused_topic_is_a_reason),
        runner_test(what_is_not_there_is_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
