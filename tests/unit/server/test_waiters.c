/* Clients that wait: which one is served, when, and what remains of one that disconnected. */
#include "server/session/waiters.h"
#include "tests/support/client/command_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static size_t waiters_of(const struct command_runner *runner)
{
    assert_int_equal(runner->server.stats.blocked_clients,
                     waiters_count(runner->server.waiters));
    return waiters_count(runner->server.waiters);
}

static void who_came_first_is_served_first(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    struct connection *second = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    struct connection *third = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a");
    runner_expect_reply(first, "[[\"a\" 1 *]]");
    runner_expect(runner, "\"b\"", "Q.PUSH mail body ID b");
    runner_expect_reply(second, "[[\"b\" 2 *]]");
    runner_expect_reply(third, "");
    assert_int_equal(waiters_of(runner), 1);
}

/* The store first removes the expired jobs, a part per call. */
static void who_does_not_wait_gets_what_lies_behind_many_that_lapsed(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    for (int i = 0; i < 2500; i++)
        runner_expect(runner, "*", "Q.PUSH mail body TTL 10ms");
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a DELAY 20ms");
    runner->server.now.now += 1000; /* without a tick */
    runner->server.now.wall += 1000;
    runner_expect_of(runner, client, "", "Q.CLAIM mail");
    runner_pass(runner, 0);
    runner_expect_reply(client, "[[\"a\" *]]");
    assert_int_equal(waiters_of(runner), 0);
}

static void who_does_not_wait_hears_that_all_have_lapsed(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    for (int i = 0; i < 2500; i++)
        runner_expect(runner, "*", "Q.PUSH mail body TTL 10ms");
    runner->server.now.now += 1000;
    runner->server.now.wall += 1000;
    runner_expect_of(runner, client, "", "Q.CLAIM mail");
    runner_pass(runner, 0);
    runner_expect_reply(client, "[]");
    assert_int_equal(waiters_of(runner), 0);
}

static void who_is_not_satisfied_keeps_the_place(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    struct connection *second = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a DELAY 1s");
    runner_expect(runner, "1", "Q.DEL mail a"); /* the topic is signalled, but has no job */
    runner_pass(runner, 2000);
    assert_int_equal(waiters_of(runner), 2);
    runner_expect(runner, "\"b\"", "Q.PUSH mail body ID b");
    runner_expect_reply(first, "[[\"b\" *]]");
    runner_expect_reply(second, "");
}

static void a_waiter_on_two_topics_is_served_by_either_and_leaves_both(void **state)
{
    struct command_runner *runner = *state;
    struct connection *both = runner_waiting(runner, "Q.MCLAIM 2 mail print BLOCK 0");
    struct connection *mail = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    runner_expect(runner, "\"a\"", "Q.PUSH print body ID a");
    runner_expect_reply(both, "[[\"print\" \"a\" *]]");
    runner_expect(runner, "\"b\"", "Q.PUSH mail body ID b");
    runner_expect_reply(mail, "[[\"b\" *]]");
    runner_expect_reply(both, "");
    assert_int_equal(waiters_of(runner), 0);
}

static void a_topic_named_twice_does_no_harm(void **state)
{
    struct command_runner *runner = *state;
    struct connection *twice = runner_waiting(runner, "Q.MCLAIM 2 mail mail BLOCK 0");
    struct connection *next = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a");
    runner_expect_reply(twice, "[[\"mail\" \"a\" *]]");
    runner_expect(runner, "\"b\"", "Q.PUSH mail body ID b");
    runner_expect_reply(next, "[[\"b\" *]]");
}

static void who_goes_away_takes_no_job_along(void **state)
{
    struct command_runner *runner = *state;
    struct connection *gone = runner_waiting(runner, "Q.MCLAIM 2 mail print BLOCK 5s");
    struct connection *stays = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    waiters_cancel(&runner->server, &gone->session);
    assert_null(gone->session.waiter);
    assert_int_equal(waiters_of(runner), 1);
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a");
    runner_expect_reply(stays, "[[\"a\" 1 *]]");
    runner_pass(runner, 10000);
    runner_expect_reply(gone, "");
}

static void cancelling_who_does_not_wait_is_nothing(void **state)
{
    struct command_runner *runner = *state;
    waiters_cancel(&runner->server, &runner->clients[0]->session);
    assert_int_equal(waiters_of(runner), 0);
}

static void a_deadline_ends_the_wait_to_the_millisecond(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "Q.CLAIM mail BLOCK 1s");
    assert_in_range(waiters_next(runner->server.waiters, runner->server.now.now), 1, 1000);
    runner_pass(runner, 999);
    runner_expect_reply(client, "");
    runner_pass(runner, 1);
    runner_expect_reply(client, "nil");
    assert_int_equal(waiters_of(runner), 0);
}

static void deadlines_pass_in_their_order_not_in_that_of_arrival(void **state)
{
    struct command_runner *runner = *state;
    struct connection *later = runner_waiting(runner, "Q.CLAIM mail BLOCK 3s");
    struct connection *sooner = runner_waiting(runner, "Q.CLAIM mail BLOCK 2s");
    runner_pass(runner, 2000);
    runner_expect_reply(sooner, "nil");
    runner_expect_reply(later, "");
    runner_pass(runner, 1000);
    runner_expect_reply(later, "nil");
}

static void a_deadline_beyond_the_wheel_s_horizon_comes(void **state)
{
    struct command_runner *runner = *state;
    int64_t days = INT64_C(200) * 86400000;
    struct connection *client = runner_waiting(runner, "Q.CLAIM mail BLOCK 200d");
    for (int64_t passed = 0; passed < days - 3600000; passed += 3600000)
        runner_pass(runner, 3600000);
    runner_expect_reply(client, "");
    runner_pass(runner, 3600000);
    runner_expect_reply(client, "nil");
}

static void without_a_deadline_nothing_is_next(void **state)
{
    struct command_runner *runner = *state;
    assert_true(waiters_next(runner->server.waiters, runner->server.now.now) == DUEQ_NEVER);
    struct connection *client = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    assert_true(waiters_next(runner->server.waiters, runner->server.now.now) == DUEQ_NEVER);
    runner_pass(runner, INT64_C(86400000));
    runner_expect_reply(client, "");
}

static void a_job_that_comes_at_the_deadline_is_given(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_waiting(runner, "Q.CLAIM mail BLOCK 1s");
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a DELAY 1s");
    runner_pass(runner, 1000);
    runner_expect_reply(client, "[[\"a\" *]]");
}

static void a_wait_is_ended_from_outside(void **state)
{
    struct command_runner *runner = *state;
    struct connection *one = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    struct connection *other = runner_waiting(runner, "Q.CLAIM mail BLOCK 0");
    waiters_unblock(&runner->server, &one->session, false);
    runner_expect_reply(one, "nil");
    waiters_unblock(&runner->server, &other->session, true);
    runner_expect_reply(other, "!UNBLOCKED client unblocked via CLIENT UNBLOCK");
    assert_int_equal(waiters_of(runner), 0);
}

static void arguments_of_who_waits_are_kept_bytes_and_all(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client =
        runner_waiting(runner, "Q.CLAIM \"m\\x00\\xff \" BLOCK 0 COUNT 2");
    runner_expect(runner, "\"x\"", "Q.PUSH m body ID x");
    runner_expect_reply(client, "");
    runner_expect(runner, "\"y\"", "Q.PUSH \"m\\x00\\xff \" body ID y");
    runner_expect_reply(client, "[[\"y\" *]]");
}

static void a_reply_to_be_skipped_is_skipped_when_it_comes(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "", "CLIENT REPLY SKIP");
    runner_expect_of(runner, client, "", "Q.CLAIM mail BLOCK 0");
    assert_non_null(client->session.waiter);
    runner_expect(runner, "\"a\"", "Q.PUSH mail body ID a");
    assert_null(client->session.waiter);
    runner_expect_reply(client, "");
    runner_expect_of(runner, client, "PONG", "PING");
}

static void who_wants_no_replies_gets_none_from_a_wait(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "", "CLIENT REPLY OFF");
    runner_expect_of(runner, client, "", "Q.CLAIM mail BLOCK 1s");
    runner_pass(runner, 1000);
    assert_null(client->session.waiter);
    runner_expect_reply(client, "");
    runner_expect_of(runner, client, "OK", "CLIENT REPLY ON");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        runner_test(who_came_first_is_served_first),
        runner_test(who_does_not_wait_gets_what_lies_behind_many_that_lapsed),
        runner_test(who_does_not_wait_hears_that_all_have_lapsed),
        runner_test(who_is_not_satisfied_keeps_the_place),
        runner_test(a_waiter_on_two_topics_is_served_by_either_and_leaves_both),
        runner_test(a_topic_named_twice_does_no_harm),
        runner_test(who_goes_away_takes_no_job_along),
        runner_test(cancelling_who_does_not_wait_is_nothing),
        runner_test(a_deadline_ends_the_wait_to_the_millisecond),
        runner_test(deadlines_pass_in_their_order_not_in_that_of_arrival),
        runner_test(a_deadline_beyond_the_wheel_s_horizon_comes),
        runner_test(without_a_deadline_nothing_is_next),
        runner_test(a_job_that_comes_at_the_deadline_is_given),
        runner_test(a_wait_is_ended_from_outside),
        runner_test(arguments_of_who_waits_are_kept_bytes_and_all),
        runner_test(a_reply_to_be_skipped_is_skipped_when_it_comes),
        runner_test(who_wants_no_replies_gets_none_from_a_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
