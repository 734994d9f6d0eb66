/* Unique ids and changes of jobs: ONDUP, Q.RESCHEDULE, Q.RUN, Q.UPDATE, Q.MOVE, Q.CANCEL. */
#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"

#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void sound(struct command_runner *runner)
{
    const char *wrong = queue_check(runner->server.store->queue);

    if (wrong != NULL)
        fail_msg("%s", wrong);
}

/* runner_expect with a line that has values in it. */
__attribute__((format(printf, 3, 4))) static void
expectf(struct command_runner *runner, const char *pattern, const char *format, ...)
{
    char line[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    runner_expect(runner, pattern, line);
}

/* The text of a bulk reply; the caller frees it. */
static char *text_of(struct command_runner *runner, const char *line)
{
    char *bytes = runner_bytes(runner, line), *text = strchr(bytes, '\n');

    assert_non_null(text);
    memmove(bytes, text + 1, strlen(text));
    bytes[strcspn(bytes, "\r")] = '\0';
    return bytes;
}

/* ---- ONDUP */

static void a_duplicate_is_refused_or_ignored(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[\"a\" \"created\"]", "Q.PUSH t one ID a ONDUP REPLACE WITHSTATUS");
    runner_expect(runner, "!DUPLICATE *", "Q.PUSH t two ID a");
    runner_expect(runner, "!DUPLICATE *", "Q.PUSH t two ID a ONDUP REJECT");
    runner_expect(runner, "\"a\"", "Q.PUSH t two ID a ONDUP IGNORE");
    runner_expect(runner, "[\"a\" \"ignored\"]", "Q.PUSH t two ID a WITHSTATUS ONDUP THROTTLE");
    runner_expect(runner, "[*\"body\" \"one\" *]", "Q.GET t a");
    runner_expect(runner, "!ERR ONDUP, WINDOW and IGNOREDEAD need an ID",
                  "Q.PUSH t two ONDUP IGNORE");
    runner_expect(runner, "!ERR ONDUP, WINDOW and IGNOREDEAD need an ID",
                  "Q.PUSH t two WINDOW 1s");
    runner_expect(runner, "!ERR syntax error", "Q.PUSH t two ID b ONDUP LATER");
    runner_expect(runner, "1", "Q.LEN t");
}

static void a_waiting_job_is_replaced(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a DELAY 1h PRIORITY 3 TTL 10s");
    runner_expect(runner, "[\"a\" \"replaced\"]",
                  "Q.PUSH t longer ID a ONDUP REPLACE DELAY 2s RETRIES 1 WITHSTATUS");
    sound(runner);
    runner_expect(
        runner,
        "[\"id\" \"a\" \"state\" \"delayed\" \"body\" \"longer\" \"due\" 1700000002000 "
        "*\"priority\" 128 *\"retries\" 1 *\"ttl\" nil *]",
        "Q.GET t a");
    runner_expect(runner, "1", "Q.LEN t");
    runner_expect(runner, "[*\"bytes\" 6 *]", "Q.STATS t");
    runner_pass(runner, 2000);
    runner_expect(runner, "[[\"a\" 1 \"longer\" 1]]", "Q.CLAIM t");
    runner_expect(runner, "1", "Q.ACK t a 1");
    sound(runner);
}

static void debounce_moves_the_due_time_only(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a DELAY 1s TTL 5s");
    runner_pass(runner, 900);
    runner_expect(runner, "[\"a\" \"debounced\"]",
                  "Q.PUSH t two ID a ONDUP DEBOUNCE DELAY 1s WITHSTATUS");
    runner_expect(runner, "[*\"body\" \"one\" \"due\" 1700000001900 *]", "Q.GET t a");
    runner_pass(runner, 900);
    runner_expect(runner, "[]", "Q.CLAIM t");
    runner_pass(runner, 100);
    runner_expect(runner, "[[\"a\" 1 \"one\" 1]]", "Q.CLAIM t");
    sound(runner);
}

/* However the claim ends, the follow-up takes the job's place, with no attempts. */
static void expect_follow_up(struct command_runner *runner, const char *end, const char *reply)
{
    runner_expect(runner, "*", "Q.PUSH t one ID a RETRIES 0");
    runner_expect(runner, "[[\"a\" * \"one\" 1]]", "Q.CLAIM t LEASE 1m");
    runner_expect(runner, "[\"a\" \"follows\"]", "Q.PUSH t two ID a ONDUP REPLACE WITHSTATUS");
    runner_expect(runner, "[\"a\" \"follows\"]",
                  "Q.PUSH t three ID a ONDUP DEBOUNCE DELAY 1s WITHSTATUS");
    runner_expect(runner, "[*\"body\" \"one\" *\"followed\" 1 *]", "Q.GET t a");
    runner_expect(runner, "[*\"bytes\" 8 *]", "Q.STATS t");
    sound(runner);
    if (end != NULL)
        runner_expect(runner, reply, end);
    else
        runner_pass(runner, 61000);
    sound(runner);
    runner_expect(runner, "[*\"body\" \"three\" *\"attempt\" 0 *\"followed\" 0 *]",
                  "Q.GET t a");
    runner_pass(runner, 1000);
    runner_expect(runner, "[[\"a\" * \"three\" 1]]", "Q.CLAIM t");
    runner_expect(runner, "1", "Q.DEL t a");
    sound(runner);
}

static void a_follow_up_waits_for_the_end_of_the_claim(void **state)
{
    struct command_runner *runner = *state;
    expect_follow_up(runner, "Q.ACK t a 1", "1");
    expect_follow_up(runner, "Q.NACK t a 3 DELAY 1h", "\"delayed\"");
    expect_follow_up(runner, "Q.NACK t a 5 DEAD", "\"delayed\"");
    expect_follow_up(runner, NULL, NULL);
}

static void a_follow_up_goes_with_its_job(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a");
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "\"a\"", "Q.PUSH t two ID a ONDUP REPLACE");
    runner_expect(runner, "1", "Q.DEL t a");
    runner_expect(runner, "[*\"bytes\" 0 *]", "Q.STATS t");
    sound(runner);
}

static void a_dead_job_holds_its_id_unless_it_is_ignored(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a");
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "\"dead\"", "Q.NACK t a 1 DEAD");
    runner_expect(runner, "!DUPLICATE *", "Q.PUSH t two ID a");
    runner_expect(runner, "[\"a\" \"ignored\"]", "Q.PUSH t two ID a ONDUP IGNORE WITHSTATUS");
    runner_expect(runner, "[\"a\" \"created\"]", "Q.PUSH t two ID a IGNOREDEAD WITHSTATUS");
    runner_expect(runner, "[*\"state\" \"ready\" \"body\" \"two\" *]", "Q.GET t a");
    runner_expect(runner, "0", "Q.LEN t dead");
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "\"dead\"", "Q.NACK t a 2 DEAD");
    runner_expect(runner, "[\"a\" \"replaced\"]",
                  "Q.PUSH t three ID a ONDUP REPLACE WITHSTATUS");
    runner_expect(runner, "1", "Q.LEN t ready");
    sound(runner);
}

static void a_window_keeps_the_id_after_the_job(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a WINDOW 10s");
    runner_pass(runner, 20000); /* it counts from the end */
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "1", "Q.ACK t a 1");
    runner_expect(runner, "1", "Q.ACK t a 1"); /* the same answer once more */
    runner_expect(runner, "!STALE *", "Q.NACK t a 1");
    runner_expect(runner, "[*\"state\" \"done\" \"body\" \"\" *\"kept-until\" 1700000030000 *]",
                  "Q.GET t a");
    runner_expect(runner, "1", "Q.LEN t done");
    runner_expect(runner, "!DUPLICATE *", "Q.PUSH t two ID a");
    runner_expect(runner, "[\"a\" \"ignored\"]", "Q.PUSH t two ID a ONDUP REPLACE WITHSTATUS");
    sound(runner);
    runner_pass(runner, 10000);
    runner_expect(runner, "nil", "Q.GET t a");
    runner_expect(runner, "[\"a\" \"created\"]", "Q.PUSH t two ID a ONDUP REPLACE WITHSTATUS");
    sound(runner);
}

static void a_throttle_counts_from_the_push(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a ONDUP THROTTLE WINDOW 10s");
    runner_pass(runner, 4000);
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "1", "Q.ACK t a 1");
    runner_pass(runner, 5000);
    runner_expect(runner, "[\"a\" \"ignored\"]",
                  "Q.PUSH t two ID a ONDUP THROTTLE WINDOW 10s WITHSTATUS");
    runner_pass(runner, 1000);
    runner_expect(runner, "[\"a\" \"created\"]",
                  "Q.PUSH t two ID a ONDUP THROTTLE WINDOW 10s WITHSTATUS");
    runner_pass(runner, 11000);
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "1", "Q.ACK t a 2"); /* later than the window */
    runner_expect(runner, "nil", "Q.GET t a");
    sound(runner);
}

/* ---- changes */

static void a_waiting_job_is_rescheduled(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a DELAY 1h TTL 5s");
    runner_expect(runner, "1700000000500", "Q.RESCHEDULE t a DELAY 500");
    runner_expect(runner, "1700000007000", "Q.RESCHEDULE t a AT 1700000007000");
    runner_expect(runner, "1700000000000", "Q.RESCHEDULE t a AT -5");
    runner_expect(runner, "[*\"state\" \"ready\" *]", "Q.GET t a");
    runner_expect(runner, "1700000002000", "Q.RESCHEDULE t a DELAY 2s");
    sound(runner);
    runner_pass(runner, 6999);
    runner_expect(runner, "1", "Q.LEN t ready");
    runner_pass(runner, 1); /* the ttl counts from the new due time */
    runner_expect(runner, "1", "Q.LEN t dead");
    runner_expect(runner, "!WRONGSTATE *", "Q.RESCHEDULE t a DELAY 1s");
    runner_expect(runner, "!NOJOB *", "Q.RESCHEDULE t b DELAY 1s");
    runner_expect(runner, "!NOJOB *", "Q.RESCHEDULE none a DELAY 1s");
    runner_expect(runner, "!ERR syntax error", "Q.RESCHEDULE t a WHEN 1s");
    runner_expect(runner, "!ERR *", "Q.RESCHEDULE t a DELAY -1");
    sound(runner);
}

static void run_makes_jobs_due_now(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a DELAY 1h");
    runner_expect(runner, "*", "Q.PUSH t two ID b DELAY 2h");
    runner_expect(runner, "*", "Q.PUSH t three ID c");
    runner_expect(runner, "[[\"c\" *]]", "Q.CLAIM t");
    runner_expect(runner, "2", "Q.RUN t b a nosuch c");
    runner_expect(runner, "1", "Q.RUN t b"); /* is due, and keeps its place */
    runner_expect(runner, "[[\"a\" *] [\"b\" *]]", "Q.CLAIM t COUNT 5");
    sound(runner);
}

static void options_of_a_job_are_updated(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a PRIORITY 9");
    runner_expect(runner, "*", "Q.PUSH t two ID b PRIORITY 5");
    runner_expect(runner, "1", "Q.UPDATE t a PRIORITY 1 BODY longer RETRIES 2 LEASE 5s TTL 1m");
    sound(runner);
    runner_expect(runner,
                  "[*\"body\" \"longer\" *\"priority\" 1 *\"lease\" 5000 \"retries\" 2 "
                  "*\"ttl\" 60000 *]",
                  "Q.GET t a");
    runner_expect(runner, "[*\"bytes\" 9 *]", "Q.STATS t");
    runner_expect(runner, "[[\"a\" 1 \"longer\" 1]]", "Q.CLAIM t");
    runner_expect(runner, "!WRONGSTATE *", "Q.UPDATE t a BODY x");
    runner_expect(runner, "1", "Q.UPDATE t a RETRIES 0");
    sound(runner);
    runner_expect(runner, "\"dead\"", "Q.NACK t a 1");
    runner_expect(runner, "!WRONGSTATE *", "Q.UPDATE t a RETRIES 5");
    runner_expect(runner, "0", "Q.UPDATE t nosuch RETRIES 5");
    runner_expect(runner, "!ERR syntax error", "Q.UPDATE t b DELAY 5s");
    runner_expect(runner, "!ERR syntax error", "Q.UPDATE t b ID c");
    runner_expect(runner, "!ERR *", "Q.UPDATE t b PRIORITY 256");
    sound(runner);
}

static void an_updated_ttl_counts_from_the_due_time(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a DELAY 10s");
    runner_expect(runner, "1", "Q.UPDATE t a TTL 1s");
    runner_pass(runner, 10999);
    runner_expect(runner, "1", "Q.LEN t ready");
    runner_pass(runner, 1);
    runner_expect(runner, "1", "Q.LEN t dead");
    sound(runner);
}

static void a_job_is_moved_with_its_attempts(void **state)
{
    struct command_runner *runner = *state;
    char *id = text_of(runner, "Q.PUSH t body RETRIES 7");
    expectf(runner, "1", "Q.MOVE t %s other", id);
    runner_expect(runner, "0", "Q.LEN t");
    expectf(runner, "[*\"body\" \"body\" *\"retries\" 7 *]", "Q.GET other %s", id);
    sound(runner);
    runner_expect(runner, "[[* 1 \"body\" 1]]", "Q.CLAIM other");
    expectf(runner, "!WRONGSTATE *", "Q.MOVE other %s t", id);
    expectf(runner, "\"ready\"", "Q.NACK other %s 1 DELAY 0 ERROR boom", id);
    expectf(runner, "1", "Q.MOVE other %s t", id);
    expectf(runner, "[*\"attempt\" 1 *\"error\" \"boom\"]", "Q.GET t %s", id);
    expectf(runner, "!STALE *", "Q.ACK t %s 1", id);
    sound(runner);
    expectf(runner, "*", "Q.PUSH other body ID %s", id);
    expectf(runner, "!DUPLICATE *", "Q.MOVE t %s other", id);
    expectf(runner, "1", "Q.MOVE t %s t", id);
    runner_expect(runner, "0", "Q.MOVE t nosuch other");
    sound(runner);
    free(id);
}

static void a_waiting_job_is_cancelled_at_once(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a DELAY 1h");
    runner_expect(runner, "\"cancelled\"", "Q.CANCEL t a");
    runner_expect(runner, "nil", "Q.CANCEL t a");
    runner_expect(runner, "nil", "Q.GET t a");
    runner_expect(runner, "[*\"total-cancelled\" 1 *]", "Q.STATS t");
    sound(runner);
}

static void the_worker_of_a_cancelled_job_is_told(void **state)
{
    struct command_runner *runner = *state;
    for (int way = 0; way < 4; way++) {
        runner_expect(runner, "*", "Q.PUSH t one ID a");
        runner_expect(runner, "[*]", "Q.CLAIM t LEASE 1m");
        runner_expect(runner, "\"claimed\"", "Q.CANCEL t a");
        runner_expect(runner, "\"claimed\"", "Q.CANCEL t a");
        runner_expect(runner, "[*\"cancelled\" 1 *]", "Q.GET t a");
        expectf(runner, "!CANCELLED *", "Q.EXTEND t a %d 1h", way + 1);
        sound(runner);
        if (way == 0)
            expectf(runner, "!CANCELLED *", "Q.ACK t a %d", way + 1);
        if (way == 1)
            expectf(runner, "!CANCELLED *", "Q.NACK t a %d", way + 1);
        if (way == 2)
            expectf(runner, "0", "Q.ACK t a %d b 7", way + 1);
        if (way == 3)
            runner_pass(runner, 60000);
        runner_expect(runner, "nil", "Q.GET t a");
        sound(runner);
    }
    runner_expect(runner, "[*\"total-cancelled\" 4 *]", "Q.STATS t");
}

static void a_push_after_a_cancel_is_not_lost(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH t one ID a");
    runner_expect(runner, "[*]", "Q.CLAIM t LEASE 1m");
    runner_expect(runner, "\"a\"", "Q.PUSH t two ID a ONDUP REPLACE");
    runner_expect(runner, "\"claimed\"", "Q.CANCEL t a"); /* both */
    runner_expect(runner, "[\"a\" \"follows\"]",
                  "Q.PUSH t three ID a ONDUP REPLACE WITHSTATUS");
    runner_pass(runner, 60000);
    runner_expect(runner, "[[\"a\" * \"three\" 1]]", "Q.CLAIM t");
    sound(runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_duplicate_is_refused_or_ignored),
        runner_test(a_waiting_job_is_replaced),
        runner_test(debounce_moves_the_due_time_only),
        runner_test(a_follow_up_waits_for_the_end_of_the_claim),
        runner_test(a_follow_up_goes_with_its_job),
        runner_test(a_dead_job_holds_its_id_unless_it_is_ignored),
        runner_test(a_window_keeps_the_id_after_the_job),
        runner_test(a_throttle_counts_from_the_push),
        runner_test(a_waiting_job_is_rescheduled),
        runner_test(run_makes_jobs_due_now),
        runner_test(options_of_a_job_are_updated),
        runner_test(an_updated_ttl_counts_from_the_due_time),
        runner_test(a_job_is_moved_with_its_attempts),
        runner_test(a_waiting_job_is_cancelled_at_once),
        runner_test(the_worker_of_a_cancelled_job_is_told),
        runner_test(a_push_after_a_cancel_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
