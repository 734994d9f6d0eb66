/* Results of jobs: Q.ACK ... RESULT and KEEP, Q.EXTEND ... PROGRESS, Q.WAIT. */
#include "tests/support/cmocka.h"
#include "tests/support/command_runner.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(an_ack_keeps_the_job_with_its_result),
        runner_test(keep_needs_no_result),
        runner_test(a_refused_ack_leaves_the_job_claimed),
        runner_test(an_extension_tells_the_progress),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
