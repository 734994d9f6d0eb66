/* What clients that wait for jobs (Q.WAIT, Q.CLAIM and Q.POP with BLOCK) hear when something
 * else happens to the topic or to the job than they wait for: each gets an answer or goes on
 * waiting, and nothing of who is answered or gone is kept. */
#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"

#include "server/session/waiters.h"
#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>

/* Nobody waits any more, and the store is sound. */
static void nothing_is_left(struct command_runner *runner)
{
    const char *wrong = queue_check(runner->server.store->queue);

    assert_int_equal(waiters_count(runner->server.waiters), 0);
    assert_int_equal(runner->server.stats.blocked_clients, 0);
    assert_int_equal(waiters_next(runner->server.waiters, runner->server.now.now), DUEQ_NEVER);
    if (wrong != NULL)
        fail_msg("%s", wrong);
}

#define follow(state, steps)                                                                   \
    do {                                                                                       \
        runner_follow((struct command_runner *)*(state), steps);                               \
        nothing_is_left(*(state));                                                             \
    } while (0)

/* ---- Q.WAIT */

static void a_wait_ends_when_its_topic_is_emptied(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "[*]", "Q.MPUSH t EACH 3 a \"\" \"\" x b 1h \"\" x c \"\" \"\" x"},
        {'b', "", "Q.WAIT t a BLOCK 0"},
        {'c', "", "Q.WAIT t b a BLOCK 0"},
        {'d', "", "Q.WAIT t c BLOCK 1h"},
        {'a', "1", "Q.PURGE t STATE ready MATCH a*"},
        {'b', "[[\"a\" \"gone\" nil]]", NULL},
        {'c', "", NULL},
        {'a', "1", "Q.PURGE t STATE delayed"},
        {'c', "[[\"b\" \"gone\" nil] [\"a\" \"gone\" nil]]", NULL},
        {'d', "", NULL},
        {'a', "1", "Q.DROP t"},
        {'d', "[[\"c\" \"gone\" nil]]", NULL},
        {'a', "\"c\"", "Q.PUSH t x ID c"}, /* another job */
        {'d', "", "Q.WAIT t c BLOCK 0"},
        {'a', "[[*]]", "Q.CLAIM t LEASE 1h"},
        {'a', "0", "Q.PURGE t"}, /* claimed jobs stay */
        {'d', "", NULL},
        {'a', "OK", "FLUSHALL"},
        {'d', "[[\"c\" \"gone\" nil]]", NULL},
    };
    follow(state, steps);
}

static void a_wait_goes_on_through_changes_of_its_job(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "\"a\"", "Q.PUSH t x ID a DELAY 1h"},
        {'b', "", "Q.WAIT t a BLOCK 0"},
        {'a', "OK", "Q.PAUSE t"},
        {'a', "OK", "Q.RESUME t"},
        {'a', "OK", "Q.CONFIG SET t retries 0 crashes 0 ttl 1s keep 1h"},
        {'a', "OK", "Q.CONFIG RESET t"},
        {'a', "1", "Q.UPDATE t a BODY y PRIORITY 3"},
        {'a', "*", "Q.RESCHEDULE t a DELAY 2h"},
        {'a', "[\"a\" \"debounced\"]", "Q.PUSH t z ID a ONDUP DEBOUNCE DELAY 1m WITHSTATUS"},
        {'a', "[\"a\" \"replaced\"]", "Q.PUSH t z ID a ONDUP REPLACE WITHSTATUS"},
        {'a', "1", "Q.RUN t a"},
        {'a', "[[\"a\" 1 *]]", "Q.CLAIM t LEASE 1h"},
        {'a', "\"ready\"", "Q.NACK t a 1 SILENT"},
        {'a', "[[\"a\" 2 *]]", "Q.CLAIM t LEASE 1s"},
        {'+', NULL, "1000"}, /* it has crashed and is ready again */
        {'b', "", NULL},
        {'a', "[[\"a\" \"z\"]]", "Q.POP t"},
        {'b', "[[\"a\" \"done\" nil]]", NULL},
    };
    follow(state, steps);
}

static void a_cancelled_job_ends_with_its_claim(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "[*]", "Q.MPUSH t EACH 4 a \"\" \"\" x b \"\" \"\" x c \"\" \"\" x d 1h \"\" x"},
        {'b', "", "Q.WAIT t a b BLOCK 0"},
        {'c', "", "Q.WAIT t c BLOCK 0"},
        {'d', "", "Q.WAIT t d BLOCK 0"},
        {'a', "[[*] [*] [*]]", "Q.CLAIM t COUNT 3 LEASE 1s"},
        {'a', "\"claimed\"", "Q.CANCEL t a"},
        {'a', "\"claimed\"", "Q.CANCEL t b"},
        {'a', "\"claimed\"", "Q.CANCEL t c"},
        {'a', "\"cancelled\"", "Q.CANCEL t d"},
        {'d', "[[\"d\" \"cancelled\" nil]]", NULL},
        {'a', "!CANCELLED *", "Q.ACK t a 1"},
        {'b', "", NULL},
        {'a', "!CANCELLED *", "Q.NACK t b 2"},
        {'b', "[[\"a\" \"cancelled\" nil] [\"b\" \"cancelled\" nil]]", NULL},
        {'+', NULL, "1000"},
        {'c', "[[\"c\" \"cancelled\" nil]]", NULL},
    };
    follow(state, steps);
}

/* Its error is in the other topic; there it can be asked for. */
static void a_death_into_another_topic_is_a_death(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t dead-topic grave retries 0"},
        {'a', "\"a\"", "Q.PUSH t x ID a"},
        {'b', "", "Q.WAIT t a BLOCK 0"},
        {'c', "", "Q.CLAIM grave BLOCK 0 LEASE 1h"},
        {'a', "[[*]]", "Q.CLAIM t"},
        {'a', "\"dead\"", "Q.NACK t a 1 ERROR why"},
        {'b', "[[\"a\" \"dead\" nil]]", NULL},
        {'c', "[[\"a\" *]]", NULL},
        {'a', "[*\"error\" \"why\"]", "Q.GET grave a"},
    };
    follow(state, steps);
}

static void time_and_limits_end_jobs(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "\"a\"", "Q.PUSH t x ID a TTL 1s"},
        {'a', "\"b\"", "Q.PUSH drops x ID b TTL 1s"},
        {'a', "OK", "Q.CONFIG SET drops ttl-action drop"},
        {'b', "", "Q.WAIT t a BLOCK 0"},
        {'c', "", "Q.WAIT drops b BLOCK 0"},
        {'+', NULL, "1000"},
        {'b', "[[\"a\" \"dead\" \"expired\"]]", NULL},
        {'c', "[[\"b\" \"gone\" nil]]", NULL},
        {'a', "OK", "Q.CONFIG SET short max-length 1 overflow drop-oldest"},
        {'a', "\"one\"", "Q.PUSH short x ID one"},
        {'b', "", "Q.WAIT short one BLOCK 0"},
        {'a', "\"two\"", "Q.PUSH short x ID two"},
        {'b', "[[\"one\" \"gone\" nil]]", NULL},
        {'a', "\"kept\"", "Q.PUSH t x ID kept"},
        {'b', "", "Q.WAIT t a kept BLOCK 0"},
        {'a', "OK", "Q.CONFIG SET t dead-keep 1s"},
        {'+', NULL, "1000"},
        {'a', "nil", "Q.GET t a"}, /* it has ended before, so its error is all that is lost */
        {'b', "", NULL},
        {'a', "1", "Q.DEL t kept"},
        {'b', "[[\"a\" \"dead\" nil] [\"kept\" \"gone\" nil]]", NULL},
    };
    follow(state, steps);
}

/* ---- Q.CLAIM and Q.POP */

static void a_claim_outlives_its_topic(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "\"a\"", "Q.PUSH t x ID a DELAY 1h"},
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'c', "", "Q.POP t BLOCK 0"},
        {'d', "", "Q.MCLAIM 2 t u BLOCK 1h"},
        {'a', "1", "Q.PURGE t"},
        {'a', "1", "Q.DROP t"},
        {'a', "OK", "FLUSHALL"},
        {'b', "", NULL},
        {'a', "[*]", "Q.MPUSH t 3 one two three"},
        {'b', "[[* \"one\" 1]]", NULL},
        {'c', "[[* \"two\"]]", NULL},
        {'d', "[[\"t\" * \"three\" 1]]", NULL},
    };
    follow(state, steps);
}

static void a_claim_waits_for_the_end_of_a_pause(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'c', "", "Q.POP t BLOCK 2s"},
        {'a', "OK", "Q.PAUSE t OUT FOR 1s"},
        {'a', "[*]", "Q.MPUSH t 2 one two"},
        {'b', "", NULL},
        {'+', NULL, "999"},
        {'b', "", NULL},
        {'+', NULL, "1"},
        {'b', "[[* \"one\" 1]]", NULL},
        {'c', "[[* \"two\"]]", NULL},
        {'a', "OK", "Q.PAUSE t OUT"},
        {'a', "*", "Q.PUSH t three"},
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'c', "", "Q.POP t BLOCK 2s"},
        {'+', NULL, "2000"},
        {'c', "nil", NULL},
        {'a', "OK", "Q.RESUME t"},
        {'b', "[[* \"three\" 1]]", NULL},
    };
    follow(state, steps);
}

/* A job comes to the topic in other ways than by a push. */
static void a_claim_gets_what_comes_from_elsewhere(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'a', "\"a\"", "Q.PUSH u x ID a"},
        {'a', "1", "Q.MOVE u a t"},
        {'b', "[[\"a\" 1 *]]", NULL},
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'a', "\"dead\"", "Q.NACK t a 1 FATAL"},
        {'b', "", NULL},
        {'a', "[1 0]", "Q.DEAD t REDRIVE"},
        {'b', "[[\"a\" 2 *]]", NULL},
        {'a', "\"dead\"", "Q.NACK t a 2 FATAL"},
        {'b', "", "Q.CLAIM u BLOCK 0 LEASE 1h"},
        {'a', "[1 0]", "Q.DEAD t REDRIVE TO u"},
        {'b', "[[\"a\" *]]", NULL},
        {'a', "\"late\"", "Q.PUSH t x ID late DELAY 1h"},
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'a', "[\"late\" \"debounced\"]", "Q.PUSH t x ID late ONDUP DEBOUNCE WITHSTATUS"},
        {'b', "[[\"late\" 3 *]]", NULL},
        {'b', "", "Q.CLAIM t BLOCK 0 LEASE 1h"},
        {'a', "[\"late\" \"follows\"]", "Q.PUSH t y ID late ONDUP REPLACE WITHSTATUS"},
        {'b', "", NULL},
        {'a', "1", "Q.ACK t late 3"},
        {'b', "[[\"late\" 4 \"y\" 1]]", NULL},
    };
    follow(state, steps);
}

/* The next job that would fall due goes, or is put off. */
static void a_claim_does_not_get_what_has_gone(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "[*]", "Q.MPUSH t EACH 4 a 1s \"\" x b 1s \"\" x c 1s \"\" x d 1s \"\" x"},
        {'b', "", "Q.CLAIM t BLOCK 3s"},
        {'a', "\"cancelled\"", "Q.CANCEL t a"},
        {'a', "1", "Q.MOVE t b u"},
        {'a', "*", "Q.RESCHEDULE t c DELAY 1h"},
        {'a', "[\"d\" \"replaced\"]", "Q.PUSH t y ID d ONDUP REPLACE DELAY 2s WITHSTATUS"},
        {'+', NULL, "1000"},
        {'b', "", NULL},
        {'+', NULL, "1000"},
        {'b', "[[\"d\" 1 \"y\" 1]]", NULL},
        {'b', "", "Q.POP t BLOCK 1s"},
        {'a', "*", "Q.RESCHEDULE t c DELAY 900ms"},
        {'a', "1", "Q.PURGE t STATE delayed MATCH c"},
        {'+', NULL, "1000"},
        {'b', "nil", NULL},
    };
    follow(state, steps);
}

/* ---- who goes, and MULTI */

static void who_goes_away_leaves_nothing(void **state)
{
    static const char *const waits[] = {"Q.WAIT t a BLOCK 0", "Q.WAIT t a a b none BLOCK 1h",
                                        "Q.CLAIM v BLOCK 0",  "Q.MCLAIM 2 v v BLOCK 1h",
                                        "Q.POP v BLOCK 1h",   "Q.CLAIM v BLOCK 0 ACK t 1"};
    struct command_runner *runner = *state;

    runner_expect(runner, "[*]", "Q.MPUSH t EACH 2 a \"\" \"\" x b \"\" \"\" x");
    for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
        waiters_cancel(&runner->server, &runner_waiting(runner, waits[i])->session);
    runner_expect(runner, "1", "Q.DROP t");
    runner_expect(runner, "*", "Q.PUSH v x");
    runner_expect(runner, "1", "Q.LEN v ready");
    nothing_is_left(runner);
}

static void nothing_waits_in_an_exec(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "Q.PUSH t x ID a DELAY 1h"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "Q.CLAIM t BLOCK 0"},
        {'a', "QUEUED", "Q.POP t BLOCK 0"},
        {'a', "QUEUED", "Q.WAIT t a BLOCK 0"},
        {'a', "QUEUED", "Q.DROP t"},
        {'a', "QUEUED", "Q.WAIT t a BLOCK 0"},
        {'a', "[nil nil [[*]] 1 [[* nil nil]]]", "EXEC"},
    };
    follow(state, steps);
}

/* ---- many of them */

enum { MANY = 20, IDS = 1000 };

/* One command line would be too long. */
static void wait_for_all(struct connection *client)
{
    static char text[IDS][8];
    struct argument words[IDS + 4] = {{"Q.WAIT", 6}, {"t", 1}};
    struct request request = {IDS + 4, words, 0};

    for (int i = 0; i < IDS; i++) {
        int size = snprintf(text[i], sizeof(text[i]), "%d", i);
        words[i + 2] = (struct argument){text[i], (size_t)size};
    }
    words[IDS + 2] = (struct argument){"BLOCK", 5};
    words[IDS + 3] = (struct argument){"1h", 2};
    for (size_t i = 0; i < request.count; i++)
        request.bytes += words[i].size;
    connection_run(client, &request, NULL, false);
    assert_non_null(client->session.waiter);
}

static void many_wait_for_many(struct command_runner *runner)
{
    char line[64];

    for (int i = 0; i < IDS; i++) {
        snprintf(line, sizeof(line), "Q.PUSH t x DELAY 2h ID %d", i);
        runner_expect(runner, "*", line);
    }
    for (int i = 0; i < MANY; i++)
        wait_for_all(runner_connect(runner));
    assert_int_equal(waiters_count(runner->server.waiters), MANY);
}

/* Until none waits. Some are answered in each turn, and not all in one. */
static void expect_answers_in_turns(struct command_runner *runner, bool at_once)
{
    struct waiters *waiters = runner->server.waiters;

    for (int turns = 0; waiters_count(waiters) > 0; turns++) {
        size_t before = waiters_count(waiters);
        assert_int_equal(waiters_next(waiters, runner->server.now.now), 0);
        waiters_serve(&runner->server);
        waiters_expire(&runner->server);
        assert_in_range(before - waiters_count(waiters), 1, MANY / 4);
    }
    for (int i = 1; i <= MANY; i++)
        runner_expect_reply(runner->clients[i], at_once ? "[[\"0\" \"gone\" nil] *]"
                                                        : "[[\"0\" \"delayed\" nil] *]");
}

static void many_that_end_at_once_are_answered_in_turns(void **state)
{
    struct command_runner *runner = *state;

    many_wait_for_many(runner);
    assert_int_equal(dueq_drop(runner->server.store, dueq_slice("t", 1), runner->server.now),
                     DUEQ_OK);
    waiters_serve(&runner->server);
    assert_in_range(waiters_count(runner->server.waiters), MANY / 2, MANY - 1);
    waiters_serve(&runner->server); /* after another command of the same turn */
    assert_in_range(waiters_count(runner->server.waiters), MANY / 2, MANY - 1);
    waiters_expire(&runner->server);
    expect_answers_in_turns(runner, true);
    nothing_is_left(runner);
}

static void many_deadlines_pass_in_turns(void **state)
{
    struct command_runner *runner = *state;

    many_wait_for_many(runner);
    runner_pass(runner, 3600000);
    assert_in_range(waiters_count(runner->server.waiters), MANY / 2, MANY - 1);
    expect_answers_in_turns(runner, false);
    nothing_is_left(runner);
}

static void push_many(struct command_runner *runner, int count)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice("t", 1);
    push.body = dueq_slice("x", 1);
    for (int i = 0; i < count; i++)
        assert_int_equal(dueq_push(runner->server.store, &push, runner->server.now, &id),
                         DUEQ_OK);
    runner_commit(runner);
}

/* A command gives jobs to so many: some get theirs in the next turn, in order, and one of them
 * that has gone meanwhile gets none. */
static void many_claims_are_served_in_turns(void **state)
{
    enum { CLAIMS = 500, MOST = 256 };
    struct command_runner *runner = *state;
    struct waiters *waiters = runner->server.waiters;

    for (int i = 0; i < CLAIMS; i++)
        runner_waiting(runner, "Q.CLAIM t BLOCK 0");
    push_many(runner, CLAIMS);
    waiters_serve(&runner->server); /* after another command of the same turn */
    assert_int_equal(waiters_count(waiters), CLAIMS - MOST);
    assert_int_equal(waiters_next(waiters, runner->server.now.now), 0);
    for (int i = 1; i <= MOST; i++)
        runner_expect_reply(runner->clients[i], "[[*]]");
    waiters_cancel(&runner->server, &runner->clients[MOST + 1]->session);
    waiters_expire(&runner->server);
    waiters_serve(&runner->server);
    waiters_expire(&runner->server);
    for (int i = MOST + 2; i <= CLAIMS; i++)
        runner_expect_reply(runner->clients[i], "[[*]]");
    runner_expect(runner, "1", "Q.LEN t ready");
    nothing_is_left(runner);
}

/* All that are left have gone: nobody is served, and nothing is kept. */
static void nobody_is_left_for_the_next_turn(void **state)
{
    enum { CLAIMS = 300 };
    struct command_runner *runner = *state;

    for (int i = 0; i < CLAIMS; i++)
        runner_waiting(runner, "Q.POP t BLOCK 0");
    push_many(runner, CLAIMS);
    assert_in_range(waiters_count(runner->server.waiters), 1, CLAIMS - 1);
    for (int i = 1; i <= CLAIMS; i++)
        waiters_cancel(&runner->server, &runner->clients[i]->session);
    waiters_expire(&runner->server);
    waiters_serve(&runner->server);
    waiters_expire(&runner->server);
    nothing_is_left(runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_wait_ends_when_its_topic_is_emptied),
        runner_test(a_wait_goes_on_through_changes_of_its_job),
        runner_test(a_cancelled_job_ends_with_its_claim),
        runner_test(a_death_into_another_topic_is_a_death),
        runner_test(time_and_limits_end_jobs),
        runner_test(a_claim_outlives_its_topic),
        runner_test(a_claim_waits_for_the_end_of_a_pause),
        runner_test(a_claim_gets_what_comes_from_elsewhere),
        runner_test(a_claim_does_not_get_what_has_gone),
        runner_test(who_goes_away_leaves_nothing),
        runner_test(nothing_waits_in_an_exec),
        runner_test(many_that_end_at_once_are_answered_in_turns),
        runner_test(many_deadlines_pass_in_turns),
        runner_test(many_claims_are_served_in_turns),
        runner_test(nobody_is_left_for_the_next_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
