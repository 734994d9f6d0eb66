/* Results of jobs: Q.ACK ... RESULT and KEEP, Q.EXTEND ... PROGRESS, Q.WAIT. */
#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"

#include "server/session/waiters.h"
#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sound(struct command_runner *runner)
{
    const char *wrong = queue_check(runner->server.store->queue);

    if (wrong != NULL)
        fail_msg("%s", wrong);
}

static void take(struct command_runner *runner, const char *id)
{
    char line[64];

    snprintf(line, sizeof(line), "Q.PUSH t body ID %s", id);
    runner_expect(runner, "*", line);
    runner_expect(runner, "[[*]]", "Q.CLAIM t LEASE 1h");
}

/* ---- Q.ACK */

static void an_ack_keeps_the_job_with_its_result(void **state)
{
    struct command_runner *runner = *state;
    take(runner, "a");
    runner_expect(runner, "1", "Q.ACK t a 1 RESULT 42");
    runner_expect(runner,
                  "[*\"state\" \"done\" \"body\" \"body\" *\"kept-until\" 1700003600000 "
                  "\"result\" \"42\" *]",
                  "Q.GET t a");
    runner_expect(runner, "1", "Q.LEN t done");
    runner_expect(runner, "[*\"done\" 1 *]", "Q.STATS t");
    runner_expect(runner, "1", "Q.ACK t a 1 result other KEEP 1s");
    runner_expect(runner, "1", "Q.ACK t a 1");
    runner_expect(runner, "[*\"kept-until\" 1700003600000 \"result\" \"42\" *]", "Q.GET t a");
    runner_pass(runner, 3600000);
    runner_expect(runner, "nil", "Q.GET t a");
    runner_expect(runner, "0", "Q.ACK t a 1 RESULT 42");
    sound(runner);
}

static void keep_needs_no_result(void **state)
{
    struct command_runner *runner = *state;
    take(runner, "a");
    runner_expect(runner, "1", "Q.ACK t a 1 KEEP 5s");
    runner_expect(runner, "[*\"kept-until\" 1700000005000 \"result\" nil *]", "Q.GET t a");
    take(runner, "b");
    runner_expect(runner, "1", "Q.ACK t b 2 KEEP 5s RESULT \"\"");
    runner_expect(runner, "[*\"result\" \"\" *]", "Q.GET t b");
    take(runner, "c");
    runner_expect(runner, "1", "Q.ACK t c 3 KEEP 0");
    runner_expect(runner, "nil", "Q.GET t c");
    sound(runner);
}

static void a_refused_ack_leaves_the_job_claimed(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR KEEP must be greater than 0 with RESULT", "Q.ACK t a 1 RESULT 42 KEEP 0"},
        {"!ERR invalid duration*", "Q.ACK t a 1 RESULT 42 KEEP soon"},
        {"!ERR syntax error", "Q.ACK t a 1 RESULT"},
        {"!ERR syntax error", "Q.ACK t a 1 RESULT 42 b 2"},
        {"!ERR syntax error", "Q.ACK t a 1 KEEP 1s FOR"},
        {"!ERR value is not an integer or out of range", "Q.ACK t a x RESULT 42"},
        {"!STALE *", "Q.ACK t a 2 RESULT 42"},
        {"0", "Q.ACK t b 1 RESULT 42"},
        {"0", "Q.ACK other a 1 RESULT 42"},
        {"1", "Q.LEN t claimed"},
        {"1", "Q.ACK t a 1"}};
    struct command_runner *runner = *state;
    take(runner, "a");
    runner_expect_all(runner, cases);
}

static void an_ack_with_a_result_hands_over(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR KEEP must be greater than 0 with RESULT",
         "Q.ACK t a 1 RESULT 42 KEEP 0 THEN PUSH next body"},
        {"!STALE *", "Q.ACK t a 2 RESULT 42 THEN PUSH next body"},
        {"!DUPLICATE *", "Q.ACK t a 1 RESULT 42 THEN PUSH t body ID a"},
        {"!ERR syntax error", "Q.ACK t a 1 RESULT 42 THEN PUSH next"},
        {"[*\"state\" \"claimed\" *]", "Q.GET t a"},
        {"0", "Q.LEN next"},
        {"[\"b\"]", "Q.ACK t a 1 RESULT 42 KEEP 1m THEN PUSH next body ID b"},
        {"[*\"state\" \"done\" *\"result\" \"42\" *]", "Q.GET t a"},
        {"1", "Q.LEN next"},
        {"!STALE *", "Q.ACK t a 1 RESULT 42 KEEP 1m THEN PUSH next body"}};
    struct command_runner *runner = *state;
    take(runner, "a");
    runner_expect_all(runner, cases);
    sound(runner);
}

/* ---- Q.EXTEND */

static void an_extension_tells_the_progress(void **state)
{
    struct command_runner *runner = *state;
    take(runner, "a");
    runner_expect(runner, "1700000060000", "Q.EXTEND t a 1 1m PROGRESS \"page 7\"");
    runner_expect(runner, "[*\"progress\" \"page 7\" *]", "Q.GET t a");
    runner_expect(runner, "1700000060000", "Q.EXTEND t a 1 1m");
    runner_expect(runner, "[*\"progress\" \"page 7\" *]", "Q.GET t a");
    runner_expect(runner, "!ERR syntax error", "Q.EXTEND t a 1 1m PROGRESS");
    runner_expect(runner, "!ERR syntax error", "Q.EXTEND t a 1 1m NOTE x");
}

/* ---- Q.WAIT */

static void push(struct command_runner *runner, const char *id)
{
    char line[64];

    snprintf(line, sizeof(line), "Q.PUSH t body ID %s RETRIES 0", id);
    runner_expect(runner, "*", line);
}

static void without_block_it_tells_the_states(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[[\"a\" nil nil]]", "Q.WAIT t a");
    runner_expect(runner, "[[\"a\" nil nil]]", "Q.WAIT t a BLOCK 1s");
    take(runner, "a");
    runner_expect(runner, "[[\"a\" \"claimed\" nil]]", "Q.WAIT t a");
    runner_expect(runner, "1", "Q.ACK t a 1 RESULT 42");
    take(runner, "b");
    runner_expect(runner, "\"dead\"", "Q.NACK t b 2 FATAL ERROR broken");
    runner_expect(runner, "*", "Q.PUSH t body ID c DELAY 1s");
    push(runner, "d");
    runner_expect(
        runner,
        "[[\"a\" \"done\" \"42\"] [\"b\" \"dead\" \"broken\"] [\"c\" \"delayed\" nil] "
        "[\"d\" \"ready\" nil] [\"a\" \"done\" \"42\"] [\"e\" nil nil]]",
        "Q.WAIT t a b c d a e");
    runner_expect(runner, "[[\"a\" \"done\" \"42\"] [\"b\" \"dead\" \"broken\"]]",
                  "Q.WAIT t a b BLOCK 0");
}

static void a_waiter_hears_when_the_last_has_ended(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "Q.PUSH t body ID a"},
        {'a', "*", "Q.PUSH t body ID b RETRIES 0"},
        {'a', "*", "Q.PUSH t body ID c"},
        {'a', "*", "Q.PUSH t body ID d"},
        {'a', "*", "Q.PUSH t body ID e"},
        {'a', "[*]", "Q.CLAIM t COUNT 5 LEASE 1h"},
        {'b', "", "Q.WAIT t a b c d e a BLOCK 0"},
        {'a', "1", "Q.ACK t a 1 RESULT 42"},
        {'a', "\"dead\"", "Q.NACK t b 2 ERROR broken"},
        {'a', "\"claimed\"", "Q.CANCEL t c"},
        {'a', "!CANCELLED *", "Q.ACK t c 3"},
        {'a', "1", "Q.DEL t d"},
        {'b', "", NULL},
        {'a', "1", "Q.ACK t e 5"},
        {'b',
         "[[\"a\" \"done\" \"42\"] [\"b\" \"dead\" \"broken\"] [\"c\" \"cancelled\" nil] "
         "[\"d\" \"gone\" nil] [\"e\" \"done\" nil] [\"a\" \"done\" \"42\"]]",
         NULL},
    };
    struct command_runner *runner = *state;
    runner_follow(runner, steps);
    assert_int_equal(waiters_count(runner->server.waiters), 0);
    sound(runner);
}

static void time_ends_the_wait(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "Q.PUSH t body ID a"},
        {'a', "*", "Q.PUSH t body ID b"},
        {'b', "", "Q.WAIT t a b BLOCK 1s"},
        {'a', "[*]", "Q.CLAIM t LEASE 1h"},
        {'a', "1", "Q.ACK t a 1"},
        {'+', NULL, "999"},
        {'b', "", NULL},
        {'+', NULL, "1"},
        {'b', "[[\"a\" \"done\" nil] [\"b\" \"ready\" nil]]", NULL},
        {'a', "[*]", "Q.CLAIM t LEASE 1h"},
        {'a', "1", "Q.ACK t b 2"},
        {'b', "", NULL},
    };
    runner_follow(*state, steps);
}

static void a_wait_is_unblocked_from_outside(void **state)
{
    struct command_runner *runner = *state;
    push(runner, "a");
    struct connection *one = runner_waiting(runner, "Q.WAIT t a BLOCK 0");
    struct connection *other = runner_waiting(runner, "Q.WAIT t a BLOCK 0");
    waiters_unblock(&runner->server, &one->session, false);
    runner_expect_reply(one, "[[\"a\" \"ready\" nil]]");
    waiters_unblock(&runner->server, &other->session, true);
    runner_expect_reply(other, "!UNBLOCKED client unblocked via CLIENT UNBLOCK");
    runner_expect(runner, "1", "Q.DEL t a");
    assert_int_equal(waiters_count(runner->server.waiters), 0);
}

static void ends_of_all_kinds_are_heard(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "Q.PUSH t body ID a TTL 1s"},
        {'a', "*", "Q.PUSH t body ID b RETRIES 0 CRASHES 0"},
        {'b', "", "Q.WAIT t a BLOCK 0"},
        {'c', "", "Q.WAIT t b BLOCK 0"},
        {'a', "[[\"a\" *]]", "Q.CLAIM t LEASE 1h"},
        {'a', "\"ready\"", "Q.NACK t a 1 SILENT"},
        {'+', NULL, "1000"},
        {'b', "[[\"a\" \"dead\" \"expired\"]]", NULL},
        {'a', "[[\"b\" *]]", "Q.CLAIM t LEASE 1s"},
        {'+', NULL, "1000"},
        {'c', "[[\"b\" \"dead\" *]]", NULL},
        {'a', "*", "Q.PUSH t body ID c"},
        {'b', "", "Q.WAIT t c BLOCK 0"},
        {'a', "*", "Q.MOVE t c other"},
        {'b', "[[\"c\" \"gone\" nil]]", NULL},
        {'b', "", "Q.WAIT other c BLOCK 0"},
        {'a', "OK", "FLUSHALL"},
        {'b', "[[\"c\" \"gone\" nil]]", NULL},
    };
    runner_follow(*state, steps);
}

static void a_follow_up_is_waited_for(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "Q.PUSH t one ID a"},
        {'b', "", "Q.WAIT t a BLOCK 0"},
        {'a', "[*]", "Q.CLAIM t LEASE 1h"},
        {'a', "[\"a\" \"follows\"]", "Q.PUSH t two ID a ONDUP REPLACE WITHSTATUS"},
        {'a', "1", "Q.ACK t a 1 RESULT first"},
        {'b', "", NULL},
        {'a', "[*]", "Q.CLAIM t LEASE 1h"},
        {'a', "1", "Q.ACK t a 2 RESULT second"},
        {'b', "[[\"a\" \"done\" \"second\"]]", NULL},
    };
    runner_follow(*state, steps);
}

static void an_exec_does_not_wait(void **state)
{
    struct command_runner *runner = *state;
    push(runner, "a");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.WAIT t a BLOCK 0");
    runner_expect(runner, "QUEUED", "Q.DEL t a");
    runner_expect(runner, "QUEUED", "Q.WAIT t a BLOCK 0");
    runner_expect(runner, "[[[\"a\" \"ready\" nil]] 1 [[\"a\" nil nil]]]", "EXEC");
}

/* In one EXEC the job goes and another one with its id comes. */
static void an_id_that_is_used_again_is_another_job(void **state)
{
    struct command_runner *runner = *state;
    push(runner, "a");
    struct connection *first = runner_waiting(runner, "Q.WAIT t a BLOCK 0");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.DEL t a");
    runner_expect(runner, "QUEUED", "Q.PUSH t body ID a");
    runner_expect(runner, "[1 \"a\"]", "EXEC");
    runner_expect_reply(first, "[[\"a\" \"gone\" nil]]");
    struct connection *second = runner_waiting(runner, "Q.WAIT t a BLOCK 0");
    runner_expect_reply(second, "");
    runner_expect(runner, "1", "Q.DEL t a");
    runner_expect_reply(second, "[[\"a\" \"gone\" nil]]");
}

static void who_goes_away_leaves_the_others(void **state)
{
    struct command_runner *runner = *state;
    push(runner, "a");
    struct connection *first = runner_waiting(runner, "Q.WAIT t a BLOCK 0");
    struct connection *second = runner_waiting(runner, "Q.WAIT t a a BLOCK 0");
    waiters_cancel(&runner->server, &first->session);
    runner_expect(runner, "1", "Q.DEL t a");
    runner_expect_reply(first, "");
    runner_expect_reply(second, "[[\"a\" \"gone\" nil] [\"a\" \"gone\" nil]]");
    assert_int_equal(waiters_count(runner->server.waiters), 0);
}

static void bad_waits_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR wrong number of arguments for 'q.wait' command", "Q.WAIT t"},
        {"!ERR invalid duration*", "Q.WAIT t a BLOCK soon"},
        {"!ERR invalid duration*", "Q.WAIT t a BLOCK -1"},
        {"!ERR *", "Q.WAIT t \"\""},
        {"[[\"BLOCK\" nil nil] [\"1s\" nil nil]]", "Q.WAIT t BLOCK 1s"}};
    runner_expect_all((struct command_runner *)*state, cases);
}

enum { MANY = 10000 };

static struct dueq_slice job_name(char *text, int number)
{
    return dueq_slice(text, (size_t)sprintf(text, "j%d", number));
}

static void push_many(struct command_runner *runner)
{
    char text[16], line[64];

    for (int i = 0; i < MANY; i++) {
        job_name(text, i);
        snprintf(line, sizeof(line), "Q.PUSH t body ID %s", text);
        runner_expect(runner, "*", line);
    }
}

/* Each job costs its waiter a step to join and one to end. */
static void many_jobs_cost_a_waiter_a_step_each(void **state)
{
    struct command_runner *runner = *state;
    struct session *session = &runner->clients[0]->session;
    struct dueq *store = runner->server.store;
    struct job_watches watches = {0};
    struct job_waits *waits = job_waits_new(session, MANY);
    char text[16];

    push_many(runner);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(job_waits_join(&watches, store, waits, i, dueq_slice("t", 1),
                                        job_name(text, (int)i)),
                         DUEQ_OK);
    for (int i = 0; i < MANY; i++) {
        assert_null(job_watches_next(&watches));
        assert_int_equal(
            dueq_del(store, dueq_slice("t", 1), job_name(text, i), runner->server.now),
            DUEQ_OK);
        job_watches_note_ends(&watches, store);
    }
    assert_ptr_equal(job_watches_next(&watches), session);
    assert_null(job_watches_next(&watches));
    assert_int_equal(watches.steps, 2 * MANY);
    job_waits_free(&watches, store, waits);
    assert_null(watches.jobs);
}

/* Half of them go away, first ones, middle ones and last ones. */
static void many_waiters_of_a_job_cost_a_step_each(void **state)
{
    static struct job_waits *waits[MANY];
    struct command_runner *runner = *state;
    struct session *session = &runner->clients[0]->session;
    struct dueq *store = runner->server.store;
    struct job_watches watches = {0};
    int answered = 0;

    push(runner, "a");
    for (int i = 0; i < MANY; i++) {
        waits[i] = job_waits_new(session, 1);
        assert_int_equal(job_waits_join(&watches, store, waits[i], 0, dueq_slice("t", 1),
                                        dueq_slice("a", 1)),
                         DUEQ_OK);
    }
    for (int i = 0; i < MANY; i += 2)
        job_waits_free(&watches, store, waits[i]);
    assert_int_equal(
        dueq_del(store, dueq_slice("t", 1), dueq_slice("a", 1), runner->server.now), DUEQ_OK);
    job_watches_note_ends(&watches, store);
    while (job_watches_next(&watches) != NULL)
        answered++;
    assert_int_equal(answered, MANY / 2);
    assert_int_equal(watches.steps, MANY + MANY / 2);
    for (int i = 1; i < MANY; i += 2) {
        assert_int_equal(job_waits_state(waits[i], 0), JOB_WAIT_GONE);
        job_waits_free(&watches, store, waits[i]);
    }
    assert_null(watches.jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(an_ack_keeps_the_job_with_its_result),
        runner_test(keep_needs_no_result),
        runner_test(a_refused_ack_leaves_the_job_claimed),
        runner_test(an_ack_with_a_result_hands_over),
        runner_test(an_extension_tells_the_progress),
        runner_test(without_block_it_tells_the_states),
        runner_test(a_waiter_hears_when_the_last_has_ended),
        runner_test(time_ends_the_wait),
        runner_test(a_wait_is_unblocked_from_outside),
        runner_test(ends_of_all_kinds_are_heard),
        runner_test(a_follow_up_is_waited_for),
        runner_test(an_exec_does_not_wait),
        runner_test(an_id_that_is_used_again_is_another_job),
        runner_test(who_goes_away_leaves_the_others),
        runner_test(bad_waits_are_refused),
        runner_test(many_jobs_cost_a_waiter_a_step_each),
        runner_test(many_waiters_of_a_job_cost_a_step_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
