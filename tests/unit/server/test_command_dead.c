/* Q.DEAD: forms, replies, slices and errors. tests/unit/storage/test_dead.c tests what happens
 * to the jobs. */
#include "tests/support/client/command_runner.h"

/* After the server, whose hash tables have a seed. */
#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MANY = 5000 };

static void run(struct command_runner *runner, const char *line)
{
    runner_expect(runner, "*", line);
}

static void add_dead(struct command_runner *runner, const char *id, const char *error)
{
    char line[96];
    snprintf(line, sizeof(line), "Q.PUSH topic body ID %s", id);
    run(runner, line);
    run(runner, "Q.CLAIM topic");
    snprintf(line, sizeof(line), "Q.NACK topic %s %llu FATAL ERROR \"%s\"", id,
             (unsigned long long)runner->server.store->queue->most_token - 1, error);
    runner_expect(runner, "\"dead\"", line);
}

/* Through the store, which is quicker. */
static void add_many_dead(struct command_runner *runner, int count)
{
    struct dueq *store = runner->server.store;
    struct dueq_push push;
    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.retries = 0;
    for (int i = 0; i < count; i++) {
        struct dueq_nack nack = {.delay = 0};
        char id[16];
        struct dueq_job job;
        enum dueq_state state;
        push.id = dueq_slice(id, (size_t)snprintf(id, sizeof(id), "%05d", i));
        assert_int_equal(dueq_push(store, &push, runner->server.now, &push.id), DUEQ_OK);
        assert_int_equal(dueq_claim(store, push.topic, 1000, runner->server.now, &job),
                         DUEQ_OK);
        assert_int_equal(
            dueq_nack(store, push.topic, push.id, job.token, &nack, runner->server.now, &state),
            DUEQ_OK);
    }
    runner_commit(runner);
}

static void check(struct command_runner *runner)
{
    assert_null(queue_check(runner->server.store->queue));
}

/* ---- replies */

static void a_list_shows_who_died_of_what(void **state)
{
    struct command_runner *runner = *state;
    run(runner, "CLIENT SETNAME mailer");
    add_dead(runner, "a", "smtp: 550");
    runner_pass(runner, 5);
    add_dead(runner, "b", "");
    runner_expect(
        runner,
        "[[\"id\" \"a\" \"error\" \"smtp: 550\" \"died\" 1700000000000 \"pushed\" "
        "1700000000000 \"attempt\" 1 \"failures\" 1 \"leases-expired\" 0 \"attempts\" "
        "[[\"ended\" 1700000000000 \"duration\" 0 \"outcome\" \"fatal\" \"worker\" "
        "\"mailer\"]]] [\"id\" \"b\" \"error\" nil \"died\" 1700000000005 *]]",
        "Q.DEAD topic LIST");
    runner_expect(runner, "[[\"id\" \"a\" *]]", "Q.DEAD topic list limit 1");
    runner_expect(runner, "[[\"id\" \"b\" *]]", "Q.DEAD topic LIST MATCH b");
    runner_expect(runner, "[[\"id\" \"a\" *]]", "Q.DEAD topic LIST ERROR *550");
    runner_expect(runner, "[[\"id\" \"a\" *]]", "Q.DEAD topic LIST OLDER 5");
    runner_expect(runner, "[]", "Q.DEAD topic LIST OLDER 6");
    runner_expect(runner, "[]", "Q.DEAD nosuch LIST");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "[{\"id\": \"a\" *\"attempts\": [{*}]}]",
                  "Q.DEAD topic LIST LIMIT 1");
}

static void counts_and_changes_reply_numbers(void **state)
{
    static const char *const cases[][2] = {
        {"3", "Q.DEAD topic COUNT"},
        {"2", "Q.DEAD topic COUNT LIMIT 2"},
        {"1", "Q.DEAD topic COUNT MATCH a*"},
        {"0", "Q.DEAD nosuch COUNT"},
        {"3", "Q.DEAD topic PURGE DRYRUN"},
        {"[2 0]", "Q.DEAD topic REDRIVE DRYRUN LIMIT 2"},
        {"3", "Q.LEN topic dead"},
        {"1", "Q.DEAD topic PURGE MATCH a1"},
        {"[1 0]", "Q.DEAD topic REDRIVE LIMIT 1"},
        {"[[\"b2\" 4 \"body\" 1]]", "Q.CLAIM topic"},
        {"1", "Q.DEAD topic PURGE"},
        {"0", "Q.DEAD topic PURGE"},
        {"[0 0]", "Q.DEAD topic REDRIVE RATE 1 1s"},
    };
    struct command_runner *runner = *state;
    add_dead(runner, "a1", "x");
    add_dead(runner, "b2", "x");
    add_dead(runner, "b3", "x");
    runner_expect_all(runner, cases);
    check(runner);
}

static void a_redrive_to_a_topic_tells_what_it_skipped(void **state)
{
    static const char *const cases[][2] = {
        {"\"a\"", "Q.PUSH other taken ID a"},
        {"[1 1]", "Q.DEAD topic REDRIVE TO other DRYRUN"},
        {"[1 1]", "Q.DEAD topic REDRIVE TO other"},
        {"[0 1]", "Q.DEAD topic REDRIVE TO other"},
        {"1", "Q.LEN topic dead"},
        {"2", "Q.LEN other ready"},
        {"[*\"attempt\" 0 *\"outcome\" \"fatal\"*\"error\" \"x\"]", "Q.GET other b"},
    };
    struct command_runner *runner = *state;
    add_dead(runner, "a", "x");
    add_dead(runner, "b", "x");
    runner_expect_all(runner, cases);
    check(runner);
}

static void a_rate_spreads_the_due_times(void **state)
{
    static const char *const cases[][2] = {
        {"[3 0]", "Q.DEAD topic REDRIVE RATE 2 1s"},
        {"[*\"due\" 1700000000000 *]", "Q.GET topic a"},
        {"[*\"due\" 1700000000500 *]", "Q.GET topic b"},
        {"[*\"due\" 1700000001000 *]", "Q.GET topic c"},
    };
    struct command_runner *runner = *state;
    add_dead(runner, "a", "x");
    add_dead(runner, "b", "x");
    add_dead(runner, "c", "x");
    runner_expect_all(runner, cases);
}

/* Somebody who waits gets the job. */
static void a_redrive_wakes_who_waits(void **state)
{
    struct command_runner *runner = *state;
    struct connection *waiting;
    add_dead(runner, "a", "x");
    waiting = runner_waiting(runner, "Q.CLAIM topic BLOCK 0");
    runner_expect(runner, "[1 0]", "Q.DEAD topic REDRIVE");
    runner_expect_reply(waiting, "[[\"a\" 2 \"body\" 1]]");
    add_dead(runner, "b", "x");
    waiting = runner_waiting(runner, "Q.CLAIM other BLOCK 0");
    runner_expect(runner, "[1 0]", "Q.DEAD topic REDRIVE TO other");
    runner_expect_reply(waiting, "[[\"b\" 1 \"body\" 1]]");
}

/* ---- slices */

static void much_is_done_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    add_many_dead(runner, MANY);
    runner->by_slices = true;
    runner_expect_of(runner, other, "", "Q.DEAD topic REDRIVE");
    runner_expect(runner, "[*]", "Q.CLAIM topic"); /* meanwhile others are served */
    runner_expect(runner, "\"new\"", "Q.PUSH topic body ID new");
    assert_in_range(runner_finish(runner, 1 << 20), 10, 20);
    runner_expect_reply(other, "[5000 0]");
    runner_expect(runner, "0", "Q.LEN topic dead");
    check(runner);
}

static void a_long_list_and_a_long_count(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    add_many_dead(runner, MANY);
    runner->by_slices = true;
    runner_expect_of(runner, other, "", "Q.DEAD topic COUNT");
    runner_finish(runner, 1000);
    runner_expect_reply(other, "5000");
    runner_expect_of(runner, other, "", "Q.DEAD topic LIST LIMIT 10000");
    assert_in_range(runner_finish(runner, 1000), 5, 10);
    runner_expect_reply(other, "[[\"id\" \"00000\" *[\"id\" \"04999\" *]]");
    runner_expect_of(runner, other, "", "Q.DEAD topic LIST MATCH 04999");
    runner_finish(runner, 1000);
    runner_expect_reply(other, "[[\"id\" \"04999\" *]]");
}

static void two_purges_share_the_dead(void **state)
{
    struct command_runner *runner = *state;
    struct connection *a = runner_connect(runner), *b = runner_connect(runner);
    add_many_dead(runner, MANY);
    runner->by_slices = true;
    runner_expect_of(runner, a, "", "Q.DEAD topic PURGE");
    runner_expect_of(runner, b, "", "Q.DEAD topic REDRIVE TO other");
    runner_finish(runner, 1 << 20);
    runner_expect_reply(a, "*");
    runner_expect_reply(b, "[* 0]");
    runner_expect(runner, "0", "Q.LEN topic");
    check(runner);
}

static void a_flush_in_between_ends_it(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    add_many_dead(runner, MANY);
    runner->by_slices = true;
    runner_expect_of(runner, other, "", "Q.DEAD topic PURGE");
    assert_true(runner_slice(runner));
    run(runner, "FLUSHALL");
    add_dead(runner, "new", "x");
    runner_pass(runner, 1);
    runner_finish(runner, 1 << 20);
    runner_expect_reply(other, "*");
    check(runner);
}

static void in_an_exec_its_slices_follow_each_other(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "Q.DEAD topic COUNT"},
        {"QUEUED", "Q.DEAD topic REDRIVE TO other LIMIT 4500"},
        {"QUEUED", "Q.DEAD topic REDRIVE LIMIT 10"},
        {"QUEUED", "Q.DEAD topic PURGE"},
        {"QUEUED", "Q.DEAD topic LIST"},
    };
    struct command_runner *runner = *state;
    add_many_dead(runner, MANY);
    runner->by_slices = true;
    runner_expect_all(runner, cases);
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 1, 100);
    runner_expect_reply(runner->clients[0], "[5000 [4500 0] [10 0] 490 []]");
    runner_expect(runner, "4500", "Q.LEN other ready");
    runner_expect(runner, "10", "Q.LEN topic");
    check(runner);
}

/* One record could hold one of them, but not both. */
static void in_an_exec_it_is_all_or_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "Q.DEAD topic REDRIVE TO other"},
        {"QUEUED", "Q.DEAD topic COUNT"},
        {"[!TOOBIG * 2]", "EXEC"},
        {"0", "Q.LEN other"},
        {"2", "Q.LEN topic dead"},
        {"OK", "MULTI"},
        {"QUEUED", "Q.DEAD topic REDRIVE TO other LIMIT 1"},
        {"[[1 0]]", "EXEC"},
        {"1", "Q.LEN other"},
    };
    struct command_runner *runner = *state;
    struct dueq_options options;
    struct dueq_push push;
    static char body[50 * 1024];
    dueq_options_init(&options);
    options.record_bytes = 96 * 1024;
    runner_reopen(runner, &options);
    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.body = dueq_slice(body, sizeof(body));
    push.ttl = 0;
    for (int i = 0; i < 2; i++) {
        struct dueq_slice id;
        assert_int_equal(dueq_push(runner->server.store, &push, runner->server.now, &id),
                         DUEQ_OK);
        runner_commit(runner);
        runner_pass(runner, 1);
    }
    runner_expect_all(runner, cases);
    check(runner);
}

/* ---- refusals */

static void bad_requests_change_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR wrong number of arguments for 'q.dead' command", "Q.DEAD topic"},
        {"!ERR syntax error", "Q.DEAD topic EAT"},
        {"!ERR syntax error", "Q.DEAD topic PURGE ALL"},
        {"!ERR syntax error", "Q.DEAD topic PURGE MATCH"},
        {"!ERR syntax error", "Q.DEAD topic REDRIVE RATE 5"},
        {"!ERR topic must be 1 to 255 bytes long", "Q.DEAD \"\" PURGE"},
        {"!ERR topic must be 1 to 255 bytes long", "Q.DEAD topic REDRIVE TO \"\""},
        {"!ERR TO is an option of REDRIVE only", "Q.DEAD topic PURGE TO other"},
        {"!ERR RATE is an option of REDRIVE only", "Q.DEAD topic COUNT RATE 1 1s"},
        {"!ERR DRYRUN is an option of REDRIVE and PURGE only", "Q.DEAD topic LIST DRYRUN"},
        {"!ERR DRYRUN is an option of REDRIVE and PURGE only", "Q.DEAD topic COUNT DRYRUN"},
        {"!ERR LIMIT must be 1 or more", "Q.DEAD topic PURGE LIMIT 0"},
        {"!ERR LIMIT must be 1 or more", "Q.DEAD topic PURGE LIMIT -1"},
        {"!ERR value is not an integer or out of range",
         "Q.DEAD topic PURGE LIMIT 18446744073709551616"},
        {"!ERR LIMIT of LIST is out of range, must be between 1 and 10000",
         "Q.DEAD topic LIST LIMIT 10001"},
        {"!ERR RATE is out of range, must be between 1 and 1000000",
         "Q.DEAD topic REDRIVE RATE 0 1s"},
        {"!ERR RATE is out of range, must be between 1 and 1000000",
         "Q.DEAD topic REDRIVE RATE 1000001 1s"},
        {"!ERR invalid duration '-1': *", "Q.DEAD topic REDRIVE RATE 1 -1"},
        {"!ERR invalid duration 'x': *", "Q.DEAD topic PURGE OLDER x"},
        {"1", "Q.LEN topic dead"},
        {"[\"topic\"]", "Q.TOPICS"},
    };
    struct command_runner *runner = *state;
    add_dead(runner, "a", "x");
    runner_expect_all(runner, cases);
}

static void huge_numbers_are_fine(void **state)
{
    static const char *const cases[][2] = {
        {"1", "Q.DEAD topic COUNT LIMIT 9223372036854775807"},
        {"0", "Q.DEAD topic COUNT OLDER 36500d"},
        {"[1 0]", "Q.DEAD topic REDRIVE RATE 1000000 36500d LIMIT 9223372036854775807"},
        {"1", "Q.LEN topic ready"},
    };
    struct command_runner *runner = *state;
    add_dead(runner, "a", "x");
    runner_expect_all(runner, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_list_shows_who_died_of_what),
        runner_test(counts_and_changes_reply_numbers),
        runner_test(a_redrive_to_a_topic_tells_what_it_skipped),
        runner_test(a_rate_spreads_the_due_times),
        runner_test(a_redrive_wakes_who_waits),
        runner_test(much_is_done_in_slices),
        runner_test(a_long_list_and_a_long_count),
        runner_test(two_purges_share_the_dead),
        runner_test(a_flush_in_between_ends_it),
        runner_test(in_an_exec_its_slices_follow_each_other),
        runner_test(in_an_exec_it_is_all_or_nothing),
        runner_test(bad_requests_change_nothing),
        runner_test(huge_numbers_are_fine),
    };
    return cmocka_run_group_tests_name("Q.DEAD", tests, NULL, NULL);
}
