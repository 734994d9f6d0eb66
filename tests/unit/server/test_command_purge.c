/* Topics are emptied and dropped: Q.PURGE, Q.DROP. */
#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/store/record_count.h"

#include "server/server.h"
#include "server/session/waiters.h"
#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdio.h>

static void sound(struct command_runner *runner)
{
    const char *wrong = queue_check(runner->server.store->queue);

    if (wrong != NULL)
        fail_msg("%s", wrong);
}

/* A delayed, a ready, a claimed and a dead job. */
static void push_one_of_each(struct command_runner *runner)
{
    static const char *const cases[][2] = {
        {"\"dead\"", "Q.PUSH t body ID dead"},
        {"[[\"dead\" * \"body\" 1]]", "Q.CLAIM t"},
        {"\"dead\"", "Q.NACK t dead 1 FATAL"},
        {"\"claimed\"", "Q.PUSH t body ID claimed"},
        {"[[\"claimed\" * \"body\" 1]]", "Q.CLAIM t"},
        {"\"ready\"", "Q.PUSH t body ID ready"},
        {"\"delayed\"", "Q.PUSH t body ID delayed DELAY 1h TTL 1h"},
    };
    runner_expect_all(runner, cases);
}

static void push_many(struct command_runner *runner, int count)
{
    char line[64];
    for (int i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "Q.PUSH t body ID j%d PRIORITY %d DELAY %d", i, i % 7,
                 i % 2);
        runner_expect(runner, "*", line);
    }
}

/* ---- Q.PURGE */

static void a_purge_spares_claimed_jobs(void **state)
{
    static const char *const cases[][2] = {
        {"3", "Q.PURGE t"},
        {"[\"delayed\" 0 \"ready\" 0 \"claimed\" 1 \"dead\" 0 *\"total-deleted\" 3 "
         "*\"purging\" nil *]",
         "Q.STATS t"},
        {"1", "Q.ACK t claimed 2"},
        {"0", "Q.PURGE t"},
        {"0", "Q.PURGE unknown"},
    };
    push_one_of_each(*state);
    runner_expect_all(*state, cases);
    sound(*state);
}

static void state_and_match_choose_the_jobs(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR syntax error", "Q.PURGE t STATE claimed"},
        {"!ERR syntax error", "Q.PURGE t STATE"},
        {"!ERR syntax error", "Q.PURGE t all"},
        {"!ERR topic must be *", "Q.PURGE \"\""},
        {"0", "Q.PURGE t STATE ready MATCH d*"},
        {"0", "Q.PURGE t STATE done"},
        {"1", "Q.PURGE t MATCH de[al]* STATE delayed"},
        {"1", "Q.PURGE t STATE dead"},
        {"2", "Q.LEN t"},
        {"1", "Q.PURGE t STATE ready"},
    };
    push_one_of_each(*state);
    runner_expect_all(*state, cases);
    sound(*state);
}

static void a_long_purge_is_done_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other;
    push_many(runner, 3000);
    runner->by_slices = true;
    other = runner_waiting(runner, "Q.PURGE t");
    runner_expect(runner, "[*\"purging\" 250 *]", "Q.STATS t");
    runner_expect(runner, "\"late\"", "Q.PUSH t body ID late");
    runner_expect(runner, "[[\"j*\" * * 1]]", "Q.CLAIM t");
    assert_true(runner_finish(runner, 1 << 20) > 40);
    runner_expect_reply(other, "2999");
    runner_expect(runner, "[*\"ready\" 1 \"claimed\" 1 *\"purging\" nil *]", "Q.STATS t");
    sound(runner);
}

static void a_client_that_goes_ends_its_purge(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other;
    push_many(runner, 3000);
    runner->by_slices = true;
    other = runner_waiting(runner, "Q.PURGE t");
    waiters_cancel(&runner->server, &other->session);
    assert_false(runner_slice(runner));
    runner_expect(runner, "2750", "Q.LEN t");
    runner_pass(runner, 1001);
    runner_expect(runner, "[*\"purging\" nil *]", "Q.STATS t");
    sound(runner);
}

static void two_purges_and_a_drop_share_a_topic(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first, *second;
    push_many(runner, 4000);
    runner->by_slices = true;
    first = runner_waiting(runner, "Q.PURGE t");
    second = runner_waiting(runner, "Q.PURGE t MATCH j*");
    runner_expect(runner, "1", "Q.DROP t");
    runner_expect(runner, "\"a\"", "Q.PUSH t body ID a");
    runner_finish(runner, 1 << 20);
    runner_expect_reply(first, "250");
    runner_expect_reply(second, "250");
    runner_expect(runner, "1", "Q.LEN t");
    sound(runner);
}

static void in_a_transaction_its_slices_follow_each_other(void **state)
{
    struct command_runner *runner = *state;
    push_many(runner, 3000);
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.PURGE t");
    runner_expect(runner, "QUEUED", "Q.LEN t");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 1, 100);
    runner_expect_reply(runner->clients[0], "[3000 0]");
    sound(runner);
}

/* ---- Q.DROP */

static void a_dropped_topic_leaves_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t lease 1s"},
        {"OK", "Q.CONFIG SET t* lease 2s"},
        {"OK", "Q.PAUSE t IN"},
        {"1", "Q.DROP t"},
        {"0", "Q.DROP t"},
        {"[]", "Q.TOPICS"},
        {"[\"t*\"]", "Q.CONFIG LIST"},
        {"nil", "Q.GET t claimed"},
        {"0", "Q.ACK t claimed 2"},
        {"[\"delayed\" 0 \"ready\" 0 \"claimed\" 0 \"dead\" 0 *\"total-pushed\" 0 *\"paused\" "
         "nil *]",
         "Q.STATS t"},
        {"\"claimed\"", "Q.PUSH t body ID claimed"},
        {"[[\"claimed\" 3 \"body\" 1]]", "Q.CLAIM t"},
        {"!STALE *", "Q.ACK t claimed 2"},
        {"1", "Q.ACK t claimed 3"},
        {"OK", "Q.CONFIG SET u lease 1s"},
        {"1", "Q.DROP u"},
        {"!ERR topic must be *", "Q.DROP \"\""},
    };
    push_one_of_each(*state);
    runner_expect_all(*state, cases);
    sound(*state);
}

static void ticks_remove_what_a_drop_left_also_after_a_restart(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"kept\"", "Q.PUSH other body ID kept");
    uint64_t others = record_count(runner->server.store, "BSQUFRG");
    push_one_of_each(runner);
    push_many(runner, 3000);
    runner_expect(runner, "1", "Q.DROP t");
    push_many(runner, 10);
    runner_expect(runner, "1", "Q.DROP t");
    runner_commit(runner);
    runner_reopen(runner, NULL);
    sound(runner);
    for (int i = 0; i < 100; i++)
        runner_pass(runner, 1);
    assert_int_equal(record_count(runner->server.store, "BSQUFRG"), others);
    runner_expect(runner, "1", "Q.LEN other");
    runner_expect(runner, "[\"other\"]", "Q.TOPICS");
    sound(runner);
}

static void blocked_claims_wait_for_a_topic_of_the_name(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.PAUSE t OUT"},
        {'a', "\"a\"", "Q.PUSH t body ID a"},
        {'b', "", "Q.CLAIM t BLOCK 0"},
        {'a', "1", "Q.DROP t"},
        {'+', "", "1000"},
        {'a', "\"b\"", "Q.PUSH t body ID b"},
        {'b', "[[\"b\" 1 \"body\" 1]]", NULL},
        {'a', "1", "Q.DROP t"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "Q.PUSH t body ID c"},
        {'a', "QUEUED", "Q.DROP t"},
        {'a', "QUEUED", "Q.PUSH t body ID c"},
        {'a', "[\"c\" 1 \"c\"]", "EXEC"},
        {'a', "[[\"c\" 2 \"body\" 1]]", "Q.CLAIM t"},
    };
    runner_follow(*state, steps);
    sound(*state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_purge_spares_claimed_jobs),
        runner_test(state_and_match_choose_the_jobs),
        runner_test(a_long_purge_is_done_in_slices),
        runner_test(a_client_that_goes_ends_its_purge),
        runner_test(two_purges_and_a_drop_share_a_topic),
        runner_test(in_a_transaction_its_slices_follow_each_other),
        runner_test(a_dropped_topic_leaves_nothing),
        runner_test(ticks_remove_what_a_drop_left_also_after_a_restart),
        runner_test(blocked_claims_wait_for_a_topic_of_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
