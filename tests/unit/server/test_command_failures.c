/* Failures and crashes of jobs, as Q.PUSH, Q.NACK and Q.GET tell of them. */
#include "tests/support/client/command_runner.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { HOUR = 3600 * 1000 };

/* ---- what counts */

static void failures_crashes_and_silence_count_apart(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 1 FAIL DELAY 0");
    runner_expect(runner, "[*\"failures\" 1 \"leases-expired\" 0 *]", "Q.GET topic a");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 2 SILENT");
    runner_expect(runner, "[*\"failures\" 1 \"leases-expired\" 0 *]", "Q.GET topic a");
    runner_expect(runner, "[*]", "Q.CLAIM topic LEASE 1s");
    runner_pass(runner, 1000);
    runner_expect(
        runner,
        "[*\"attempt\" 3 *\"failures\" 1 \"leases-expired\" 1 *\"outcome\" \"failed\" "
        "*\"outcome\" \"silent\" *\"outcome\" \"crashed\" *\"error\" \"lease expired\"]",
        "Q.GET topic a");
}

/* The lease is over, and then its worker answers after all: one attempt, with one outcome. */
static void a_late_nack_takes_the_place_of_the_crash(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "\"a\"", "Q.PUSH topic body ID a RETRIES 1 CRASHES 1"},
        {'a', "[*]", "Q.CLAIM topic LEASE 1s"},
        {'+', "", "1000"},
        {'a', "[*\"failures\" 0 \"leases-expired\" 1 *\"outcome\" \"crashed\"*]",
         "Q.GET topic a"},
        {'+', "", "500"},
        {'a', "\"ready\"", "Q.NACK topic a 1 DELAY 0 ERROR slow"},
        {'a',
         "[*\"attempt\" 1 *\"failures\" 1 \"leases-expired\" 0 *\"attempts\" [[* \"duration\" "
         "1500 "
         "\"outcome\" \"failed\" \"worker\" nil]] \"error\" \"slow\"]",
         "Q.GET topic a"},
        {'a', "!STALE *", "Q.NACK topic a 1"},
        {'a', "[*]", "Q.CLAIM topic LEASE 1s"},
        {'+', "", "1000"},
        {'a', "\"ready\"", "Q.NACK topic a 2 SILENT"},
        {'a',
         "[*\"attempt\" 2 *\"failures\" 1 \"leases-expired\" 0 *\"outcome\" \"failed\" "
         "*\"outcome\" \"silent\" \"worker\" nil]]*]",
         "Q.GET topic a"},
        {'a', "[*]", "Q.CLAIM topic LEASE 1s"},
        {'+', "", "1000"},
        {'a', "\"dead\"", "Q.NACK topic a 3"},
        {'a', "[*\"failures\" 2 \"leases-expired\" 0 *\"error\" \"slow\"]", "Q.GET topic a"},
        {'a', "[*\"total-nacked\" 3 \"total-expired\" 3 *]", "Q.STATS topic"},
    };
    runner_follow(*state, steps);
}

static void silence_never_makes_a_job_dead(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a RETRIES 0 CRASHES 0");
    for (int i = 1; i <= 30; i++) {
        char line[64];
        runner_expect(runner, "[*]", "Q.CLAIM topic");
        snprintf(line, sizeof(line), "Q.NACK topic a %d SILENT", i);
        runner_expect(runner, "\"ready\"", line);
    }
    runner_expect(runner, "[*\"attempt\" 30 *]", "Q.GET topic a");
}

static void fatal_and_dead_are_one_word(void **state)
{
    static const char *const words[] = {"FATAL", "dead"};
    struct command_runner *runner = *state;
    for (int i = 0; i < 2; i++) {
        char line[64];
        runner_expect(runner, "*", "Q.PUSH topic body ID a");
        runner_expect(runner, "[*]", "Q.CLAIM topic");
        snprintf(line, sizeof(line), "Q.NACK topic a %d %s ERROR broken", i + 1, words[i]);
        runner_expect(runner, "\"dead\"", line);
        runner_expect(runner,
                      "[*\"state\" \"dead\"*\"outcome\" \"fatal\"*\"error\" \"broken\"]",
                      "Q.GET topic a");
        runner_expect(runner, "1", "Q.DEL topic a");
    }
}

static void bad_nacks_change_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR syntax error", "Q.NACK topic a 1 FAIL SILENT"},
        {"!ERR syntax error", "Q.NACK topic a 1 FATAL DEAD"},
        {"!ERR syntax error", "Q.NACK topic a 1 DEAD DELAY 0 FAIL"},
        {"!ERR syntax error", "Q.NACK topic a 1 PROGRESS"},
        {"!ERR syntax error", "Q.NACK topic a 1 LOUD"},
        {"!ERR invalid duration 'soon': *", "Q.NACK topic a 1 SILENT DELAY soon"},
        {"[*\"state\" \"claimed\"*\"attempts\" []*]", "Q.GET topic a"},
    };
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect_all(runner, cases);
}

/* ---- limits */

static void leases_that_expire_have_a_limit_of_their_own(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a RETRIES 0 CRASHES 1");
    runner_expect(runner, "[*]", "Q.CLAIM topic LEASE 1s");
    runner_pass(runner, 1000);
    runner_expect(runner, "[*\"state\" \"ready\"*]", "Q.GET topic a");
    runner_expect(runner, "[*]", "Q.CLAIM topic LEASE 1s");
    runner_pass(runner, 1000);
    runner_expect(runner,
                  "[*\"state\" \"dead\"*\"failures\" 0 \"leases-expired\" 2 "
                  "*\"error\" \"crashed: 2 leases expired\"]",
                  "Q.GET topic a");
}

static void failures_do_not_count_as_crashes(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a RETRIES 2 CRASHES 0");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 1 DELAY 0");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 2 DELAY 0");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"dead\"", "Q.NACK topic a 3 ERROR third");
    runner_expect(runner, "[*\"failures\" 3 \"leases-expired\" 0 *\"error\" \"third\"]",
                  "Q.GET topic a");
}

/* ---- workers and progress */

static void a_claim_names_its_worker(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "OK", "CLIENT SETNAME mailer-1");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "[*\"worker\" \"mailer-1\" *]", "Q.GET topic a");
    runner_pass(runner, 7);
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 1 DELAY 0");
    runner_expect_of(runner, other, "[*]", "Q.MCLAIM 1 topic");
    runner_expect_of(runner, other, "\"ready\"", "Q.NACK topic a 2 DELAY 0");
    runner_expect(runner,
                  "[*\"worker\" nil *\"attempts\" [[\"ended\" 1700000000007 \"duration\" 7 "
                  "\"outcome\" \"failed\" \"worker\" \"mailer-1\"] [\"ended\" 1700000000007 "
                  "\"duration\" 0 \"outcome\" \"failed\" \"worker\" nil]]*]",
                  "Q.GET topic a");
}

static void a_worker_s_name_is_cut_at_64_bytes(void **state)
{
    struct command_runner *runner = *state;
    char line[160], wanted[160];
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    snprintf(line, sizeof(line), "CLIENT SETNAME %064d%s", 7, "tail");
    runner_expect(runner, "OK", line);
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    snprintf(wanted, sizeof(wanted), "[*\"worker\" \"%064d\" *]", 7);
    runner_expect(runner, wanted, "Q.GET topic a");
}

static void progress_stays_with_the_job(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 1 SILENT PROGRESS \"page 7\"");
    runner_expect(runner, "[*\"progress\" \"page 7\" *]", "Q.GET topic a");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 2 DELAY 0");
    runner_expect(runner, "[*\"progress\" \"page 7\" *]", "Q.GET topic a");
}

/* Eight are kept: of ten claims the first two are gone. */
static void the_last_eight_attempts_are_kept(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    for (int i = 1; i <= 10; i++) {
        char line[64];
        snprintf(line, sizeof(line), "CLIENT SETNAME w%d", i);
        runner_expect(runner, "OK", line);
        runner_expect(runner, "[*]", "Q.CLAIM topic");
        snprintf(line, sizeof(line), "Q.NACK topic a %d SILENT", i);
        runner_expect(runner, "\"ready\"", line);
    }
    runner_expect(runner,
                  "[*\"attempts\" [[*\"w3\"] [*\"w4\"] [*\"w5\"] [*\"w6\"] [*\"w7\"] [*\"w8\"] "
                  "[*\"w9\"] [*\"w10\"]] *]",
                  "Q.GET topic a");
    runner_expect(runner,
                  "[*\"attempts\" [[\"ended\" 1700000000000 \"duration\" 0 \"outcome\" "
                  "\"silent\" \"worker\" \"w3\"]*]",
                  "Q.GET topic a");
}

/* ---- backoff */

static void expect_waits(struct command_runner *runner, const char *const *due, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char line[64], wanted[64];
        runner_expect(runner, "[*]", "Q.CLAIM topic");
        snprintf(line, sizeof(line), "Q.NACK topic a %zu", i + 1);
        runner_expect(runner, "\"delayed\"", line);
        snprintf(wanted, sizeof(wanted), "[*\"due\" %s *]", due[i]);
        runner_expect(runner, wanted, "Q.GET topic a");
        runner_pass(runner, HOUR);
    }
}

static void the_last_step_repeats(void **state)
{
    static const char *const due[] = {"1700000002000", "1700003660000", "1700007500000",
                                      "1700011100000"};
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body BACKOFF STEPS 2s 1m 5m ID a");
    expect_waits(runner, due, 4);
    runner_expect(runner, "[*\"jitter\" 0 \"steps\" [2000 60000 300000] *]", "Q.GET topic a");
}

static void a_fixed_backoff_never_changes(void **state)
{
    static const char *const due[] = {"1700000007000", "1700003607000", "1700007207000"};
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body BACKOFF FIXED 7s ID a");
    expect_waits(runner, due, 3);
}

static void an_exponential_backoff_has_a_cap(void **state)
{
    static const char *const due[] = {"1700000001000", "1700003602000", "1700007203000",
                                      "1700010803000"};
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a BACKOFF EXP 1s 3s JITTER 0");
    expect_waits(runner, due, 4);
}

static int64_t due_of(struct command_runner *runner, const char *topic, int id)
{
    struct dueq_job job;
    char name[16];
    int size = snprintf(name, sizeof(name), "%d", id);
    assert_int_equal(dueq_get(runner->server.store, dueq_slice(topic, strlen(topic)),
                              dueq_slice(name, (size_t)size), runner->server.now, &job),
                     DUEQ_OK);
    return job.due;
}

/* Waits of 100 s that vary by 50 % either way. */
static void jitter_stays_within_its_bounds(void **state)
{
    struct command_runner *runner = *state;
    int64_t least = INT64_MAX, most = 0;
    for (int i = 1; i <= 200; i++) {
        char line[96];
        int64_t wait;
        snprintf(line, sizeof(line), "Q.PUSH topic body ID %d BACKOFF EXP 100s 1h JITTER 50",
                 i);
        runner_expect(runner, "*", line);
        runner_expect(runner, "[*]", "Q.CLAIM topic");
        snprintf(line, sizeof(line), "Q.NACK topic %d %d", i, i);
        runner_expect(runner, "\"delayed\"", line);
        wait = due_of(runner, "topic", i) - RUNNER_START;
        assert_in_range(wait, 50000, 150000);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least < 60000 && most > 140000);
}

static void the_last_backoff_wins_as_a_whole(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a BACKOFF STEPS 1s 2s BACKOFF 3s");
    runner_expect(runner,
                  "[*\"backoff\" 3000 \"backoff-max\" 3600000 \"jitter\" 20 \"steps\" [] *]",
                  "Q.GET topic a");
    runner_expect(runner, "*", "Q.PUSH topic body ID b BACKOFF FIXED 3s BACKOFF STEPS 0");
    runner_expect(runner, "[*\"jitter\" 0 \"steps\" [0] *]", "Q.GET topic b");
}

static void sixteen_steps_are_the_most(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(
        runner, "\"a\"",
        "Q.PUSH topic body BACKOFF STEPS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 ID a");
    runner_expect(runner, "[*\"steps\" [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16] *]",
                  "Q.GET topic a");
    runner_expect(
        runner, "!ERR BACKOFF STEPS takes 1 to 16 durations",
        "Q.PUSH topic body BACKOFF STEPS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 ID b");
    runner_expect(runner, "1", "Q.LEN topic");
}

static void bad_options_push_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF FIXED"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF FIXED 1s 2s"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF EXP"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF EXP 1s"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF EXP 1s 2s JITTER"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF EXP 1s 2s 3s"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF STEPS"},
        {"!ERR syntax error", "Q.PUSH topic body BACKOFF STEPS 1s JITTER 3"},
        {"!ERR invalid duration 'ID': *", "Q.PUSH topic body BACKOFF STEPS ID a"},
        {"!ERR invalid duration '9x': *", "Q.PUSH topic body BACKOFF STEPS 1s 9x"},
        {"!ERR invalid duration '-1': *", "Q.PUSH topic body BACKOFF FIXED -1"},
        {"!ERR JITTER is out of range, must be between 0 and 100",
         "Q.PUSH topic body BACKOFF EXP 1s 2s JITTER 101"},
        {"!ERR JITTER is out of range, must be between 0 and 100",
         "Q.PUSH topic body BACKOFF EXP 1s 2s JITTER 99999999999999999999"},
        {"!ERR CRASHES is out of range, must be between 0 and 2147483647",
         "Q.PUSH topic body CRASHES -1"},
        {"!ERR CRASHES is out of range, must be between 0 and 2147483647",
         "Q.PUSH topic body CRASHES 9223372036854775807"},
        {"!ERR syntax error", "Q.PUSH topic body CRASHES"},
        {"[]", "Q.TOPICS"},
    };
    struct command_runner *runner = *state;
    runner_expect_all(runner, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(failures_crashes_and_silence_count_apart),
        runner_test(a_late_nack_takes_the_place_of_the_crash),
        runner_test(silence_never_makes_a_job_dead),
        runner_test(fatal_and_dead_are_one_word),
        runner_test(bad_nacks_change_nothing),
        runner_test(leases_that_expire_have_a_limit_of_their_own),
        runner_test(failures_do_not_count_as_crashes),
        runner_test(a_claim_names_its_worker),
        runner_test(a_worker_s_name_is_cut_at_64_bytes),
        runner_test(progress_stays_with_the_job),
        runner_test(the_last_eight_attempts_are_kept),
        runner_test(the_last_step_repeats),
        runner_test(a_fixed_backoff_never_changes),
        runner_test(an_exponential_backoff_has_a_cap),
        runner_test(jitter_stays_within_its_bounds),
        runner_test(the_last_backoff_wins_as_a_whole),
        runner_test(sixteen_steps_are_the_most),
        runner_test(bad_options_push_nothing),
    };
    return cmocka_run_group_tests_name("failures of jobs", tests, NULL, NULL);
}
