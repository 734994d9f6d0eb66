/* Settings and steering of topics: Q.CONFIG, Q.PAUSE, Q.RESUME. */
#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"

#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdio.h>

static void sound(struct command_runner *runner)
{
    const char *wrong = queue_check(runner->server.store->queue);

    if (wrong != NULL)
        fail_msg("%s", wrong);
}

/* ---- Q.CONFIG */

static void a_value_comes_from_topic_pattern_or_server(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET mail lease 5m"},
        {"OK", "Q.CONFIG SET mail* lease 1m retries 2"},
        {"OK", "Q.CONFIG SET m* lease 2m retries 1 ttl 1h"},
        {"[\"lease\" [\"300000\" \"topic\"] \"retries\" [\"2\" \"mail*\"] "
         "\"crashes\" [\"3\" \"server\"] \"ttl\" [\"3600000\" \"m*\"]]",
         "Q.CONFIG GET mail ttl crashes lease retries"},
        {"[\"lease\" [\"60000\" \"mail*\"] \"retries\" [\"2\" \"mail*\"]]",
         "Q.CONFIG GET mail*"},
        {"[\"dead-max\" [nil \"server\"]]", "Q.CONFIG GET mail dead-max"},
        {"[]", "Q.CONFIG GET x*"},
        {"[\"m*\" \"mail\" \"mail*\"]", "Q.CONFIG LIST"},
        {"OK", "Q.CONFIG RESET mail* lease"},
        {"[\"retries\" [\"2\" \"mail*\"]]", "Q.CONFIG GET mail*"},
        {"OK", "Q.CONFIG RESET mail"},
        {"[\"lease\" [\"120000\" \"m*\"]]", "Q.CONFIG GET mail lease"},
        {"OK", "Q.CONFIG RESET mail"},
        {"[\"m*\" \"mail*\"]", "Q.CONFIG LIST"},
    };
    runner_expect_all(*state, cases);
}

static void values_that_get_shows_are_values_that_set_takes(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t backoff 5s"},
        {"[\"backoff\" [\"5000\" \"topic\"]]", "Q.CONFIG GET t backoff"},
        {"OK", "Q.CONFIG SET t BACKOFF \"fixed 5000\""},
        {"[\"backoff\" [\"fixed 5000\" \"topic\"]]", "Q.CONFIG GET t backoff"},
        {"OK", "Q.CONFIG SET t backoff \"5s 1h\""},
        {"[\"backoff\" [\"exp 5000 3600000\" \"topic\"]]", "Q.CONFIG GET t backoff"},
        {"OK", "Q.CONFIG SET t backoff \"exp 5000 3600000 jitter 7\""},
        {"[\"backoff\" [\"exp 5000 3600000 jitter 7\" \"topic\"]]", "Q.CONFIG GET t backoff"},
        {"OK", "Q.CONFIG SET t backoff \" STEPS 1s  2s \""},
        {"[\"backoff\" [\"steps 1000 2000\" \"topic\"]]", "Q.CONFIG GET t backoff"},
        {"OK", "Q.CONFIG SET t ttl-action DROP dead-topic graves dead-keep 7d"},
        {"[\"backoff\" * \"ttl-action\" [\"drop\" \"topic\"] \"dead-keep\" [\"604800000\" "
         "\"topic\"] \"dead-topic\" [\"graves\" \"topic\"]]",
         "Q.CONFIG GET t dead-topic dead-keep ttl-action backoff"},
        {"OK", "Q.CONFIG SET t DURABILITY Interval"},
        {"[\"durability\" [\"interval\" \"topic\"]]", "Q.CONFIG GET t durability"},
        {"OK", "Q.CONFIG RESET t backoff dead-topic"},
        {"[\"backoff\" [\"exp 1000 3600000\" \"server\"] \"dead-topic\" [nil \"server\"]]",
         "Q.CONFIG GET t dead-topic backoff"},
    };
    runner_expect_all(*state, cases);
}

static void a_refused_setting_names_itself_and_changes_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR retries must be between 0 and 2147483647",
         "Q.CONFIG SET t lease 1s retries 2147483648"},
        {"!ERR retries must be between 0 and 2147483647", "Q.CONFIG SET t retries -1"},
        {"!ERR dead-max must be between 0 and 9223372036854775807",
         "Q.CONFIG SET t dead-max 9223372036854775808"},
        {"!ERR lease must be a duration from 0 to 100 years: *", "Q.CONFIG SET t lease 101y"},
        {"!ERR ttl must be a duration from 0 to 100 years: *",
         "Q.CONFIG SET t ttl 99999999999999999999"},
        {"!ERR ttl-action must be dead or drop", "Q.CONFIG SET t ttl-action or"},
        {"!ERR durability must be always or interval",
         "Q.CONFIG SET t lease 1s durability none"},
        {"!ERR backoff must be one argument: *", "Q.CONFIG SET t backoff \"\""},
        {"!ERR backoff must be one argument: *", "Q.CONFIG SET t backoff \"5s retries 3\""},
        {"!ERR backoff must be one argument: *", "Q.CONFIG SET t backoff \"EXP 5s\""},
        {"!ERR backoff must be one argument: *",
         "Q.CONFIG SET t backoff \"STEPS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\""},
        {"!ERR dead-topic must be another topic", "Q.CONFIG SET t dead-topic t"},
        {"!ERR dead-topic must be 1 to 255 bytes long", "Q.CONFIG SET t dead-topic \"\""},
        {"!ERR unknown setting 'size': see Q.CONFIG HELP", "Q.CONFIG SET t lease 1s size 3"},
        {"!ERR unknown setting 'size': see Q.CONFIG HELP", "Q.CONFIG GET t size"},
        {"!ERR unknown setting 'size': see Q.CONFIG HELP", "Q.CONFIG RESET t size"},
        {"!ERR syntax error", "Q.CONFIG SET t lease 1s retries"},
        {"!ERR topic must be 1 to 255 bytes long", "Q.CONFIG SET \"\" lease 1s"},
        {"[]", "Q.CONFIG LIST"},
    };
    runner_expect_all(*state, cases);
}

static void jobs_follow_their_topic(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t* lease 1s retries 0 backoff \"FIXED 10s\""},
        {'a', "\"a\"", "Q.PUSH t body ID a"},
        {'a', "[*\"lease\" 1000 *\"retries\" 0 *]", "Q.GET t a"},
        {'a', "OK", "Q.CONFIG SET t retries 5"},
        {'a', "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t"},
        {'a', "\"delayed\"", "Q.NACK t a 1"},
        {'+', "", "9999"},
        {'a', "[]", "Q.CLAIM t"},
        {'+', "", "1"},
        {'a', "[[\"a\" 2 \"body\" 2]]", "Q.CLAIM t"},
        {'a', "OK", "Q.CONFIG RESET t"},
        {'a', "\"dead\"", "Q.NACK t a 2"},
    };
    runner_follow(*state, steps);
    sound(*state);
}

static void there_are_10000_topics_and_patterns_at_most(void **state)
{
    struct command_runner *runner = *state;
    char line[64];
    for (int i = 0; i < DUEQ_SCOPES_MAX; i++) {
        snprintf(line, sizeof(line), "Q.CONFIG SET t%d%s lease %d", i, i % 2 ? "*" : "", i);
        runner_expect(runner, "OK", line);
    }
    runner_expect(runner, "!ERR 10000 topics and patterns have settings: reset some first",
                  "Q.CONFIG SET more lease 1s");
    runner_expect(runner, "OK", "Q.CONFIG SET t0 lease 3s");
    runner_expect(runner, "[\"lease\" [\"9999\" \"t9999*\"]]", "Q.CONFIG GET t99990 lease");
    runner_reopen(runner, NULL);
    runner_expect(runner, "[\"lease\" [\"9999\" \"t9999*\"]]", "Q.CONFIG GET t99990 lease");
    runner_expect(runner, "[\"t0\" \"t1*\" \"t10\" \"t100\" *]", "Q.CONFIG LIST");
    runner_expect(runner, "OK", "Q.CONFIG RESET t0");
    runner_expect(runner, "OK", "Q.CONFIG SET more lease 1s");
}

/* ---- limits */

static void a_full_topic_refuses_pushes(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t* max-length 3 max-body 10"},
        {"!LIMIT *", "Q.MPUSH t 4 a b c d"},
        {"0", "Q.LEN t"},
        {"[* * *]", "Q.MPUSH t 3 a b c"},
        {"!LIMIT *", "Q.PUSH t d"},
        {"!TOOBIG *max-body*", "Q.PUSH t2 0123456789a"},
        {"!TOOBIG *max-body*", "Q.MPUSH t3 2 a 0123456789a"},
        {"0", "Q.LEN t3"},
        {"*", "Q.PUSH t2 0123456789"},
        {"[[* 1 \"a\" 1]]", "Q.CLAIM t"},
        {"!LIMIT *", "Q.PUSH t d DELAY 1h"},
        {"OK", "Q.CONFIG SET u max-length 2"},
        {"\"a\"", "Q.PUSH u 1 ID a"},
        {"\"b\"", "Q.PUSH u 1 ID b"},
        {"\"a\"", "Q.PUSH u 22 ID a ONDUP REPLACE"},
        {"!LIMIT *", "Q.PUSH u 3 ID c ONDUP REPLACE"},
        {"!DUPLICATE *", "Q.PUSH u 3 ID a"},
        {"[[\"a\" 1 \"22\" 1]]", "Q.CLAIM u"},
        {"\"dead\"", "Q.NACK u a 1 FATAL"},
        {"\"c\"", "Q.PUSH u 3 ID c"},
        {"!LIMIT *", "Q.PUSH u 3 ID a IGNOREDEAD"},
        {"[*\"dead\" 1 *]", "Q.STATS u"},
    };
    runner_expect_all(*state, cases);
    sound(*state);
}

static void a_job_that_hands_over_leaves_its_place(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-length 1"},
        {"\"a\"", "Q.PUSH t 1 ID a"},
        {"[[\"a\" 1 \"1\" 1]]", "Q.CLAIM t"},
        {"!LIMIT *", "Q.ACK t a 1 THEN PUSH t 2 ID b THEN PUSH t 2 ID c"},
        {"1", "Q.LEN t claimed"},
        {"[\"b\"]", "Q.ACK t a 1 THEN PUSH t 2 ID b"},
        {"1", "Q.LEN t ready"},
        /* a follow-up takes the place of the job that is acked: none is free */
        {"[[\"b\" 2 *]]", "Q.CLAIM t"},
        {"\"b\"", "Q.PUSH t 3 ID b ONDUP REPLACE"},
        {"!LIMIT *", "Q.ACK t b 2 THEN PUSH t 4 ID c"},
        {"1", "Q.LEN t claimed"},
    };
    runner_expect_all(*state, cases);
    sound(*state);
}

static void the_oldest_waiting_jobs_make_room(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-length 3 overflow drop-oldest"},
        {"\"a\"", "Q.PUSH t a ID a"},
        {"[[\"a\" 1 \"a\" 1]]", "Q.CLAIM t"},
        {"\"b\"", "Q.PUSH t b ID b PRIORITY 1"},
        {"\"c\"", "Q.PUSH t c ID c DELAY 1h"},
        {"\"d\"", "Q.PUSH t d ID d DELAY 2h"},
        {"nil", "Q.GET t b"},
        {"[* *]", "Q.MPUSH t 2 e f"},
        {"[*\"ready\" 2 \"claimed\" 1 *\"total-dropped\" 3 *]", "Q.STATS t"},
        {"!LIMIT *", "Q.MPUSH t 3 g h i"},
        {"[*\"ready\" 2 \"claimed\" 1 *\"total-dropped\" 3 *]", "Q.STATS t"},
        {"OK", "Q.CONFIG SET u max-bytes 10 overflow drop-oldest"},
        {"*", "Q.PUSH u 1234"},
        {"*", "Q.PUSH u 1234"},
        {"*", "Q.PUSH u 12345678 ID big"},
        {"1", "Q.LEN u"},
        {"!LIMIT *", "Q.PUSH u 12345678901"},
        {"1", "Q.LEN u"},
        {"[[\"big\" 1 * 1]]", "Q.CLAIM u"},
        {"!LIMIT *", "Q.PUSH u 123"},
        {"*", "Q.PUSH u 12"},
        {"[*\"bytes\" 10 *]", "Q.STATS u"},
    };
    runner_expect_all(*state, cases);
    sound(*state);
}

static void a_topic_with_a_lower_limit_shrinks(void **state)
{
    struct command_runner *runner = *state;
    for (int i = 0; i < 500; i++)
        runner_expect(runner, "*", i % 2 ? "Q.PUSH t body" : "Q.PUSH t body AT 1800000000000");
    runner_expect(runner, "OK", "Q.CONFIG SET t max-length 10 overflow drop-oldest");
    runner_expect(runner, "*", "Q.PUSH t body");
    runner_expect(runner, "300", "Q.LEN t");
    runner_expect(runner, "*", "Q.PUSH t body");
    runner_expect(runner, "*", "Q.PUSH t body");
    runner_expect(runner, "10", "Q.LEN t");
    sound(runner);
}

/* ---- Q.PAUSE, Q.RESUME */

static void a_pause_refuses_pushes_and_holds_back_claims(void **state)
{
    static const char *const cases[][2] = {
        {"\"a\"", "Q.PUSH t body ID a"},
        {"OK", "Q.PAUSE t"},
        {"!PAUSED *", "Q.PUSH t body"},
        {"!PAUSED *", "Q.MPUSH t 2 one two"},
        {"[]", "Q.CLAIM t"},
        {"[*\"paused\" \"all\" \"paused-until\" nil *]", "Q.STATS t"},
        {"OK", "Q.PAUSE t IN"},
        {"!PAUSED *", "Q.PUSH t body"},
        {"[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t"},
        {"OK", "Q.PAUSE t OUT"},
        {"\"b\"", "Q.PUSH t body ID b"},
        {"1", "Q.ACK t a 1"},
        {"[]", "Q.CLAIM t"},
        {"OK", "Q.RESUME t"},
        {"[[\"b\" 2 \"body\" 1]]", "Q.CLAIM t"},
        {"OK", "Q.RESUME t"},
        {"OK", "Q.RESUME unknown"},
        {"!ERR syntax error", "Q.PAUSE t IN OUT"},
        {"!ERR syntax error", "Q.PAUSE t ALL ALL"},
        {"!ERR syntax error", "Q.PAUSE t FOR"},
        {"!ERR invalid duration *", "Q.PAUSE t FOR 101y"},
        {"!ERR topic must be *", "Q.PAUSE \"\""},
    };
    runner_expect_all(*state, cases);
    sound(*state);
}

static void blocked_claims_wait_for_the_end_of_a_pause(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.PAUSE t OUT FOR 10s"},
        {'a', "\"1\"", "Q.PUSH t one ID 1"},
        {'b', "", "Q.CLAIM t BLOCK 0"},
        {'c', "", "Q.MCLAIM 2 s t BLOCK 0"},
        {'a', "\"2\"", "Q.PUSH t two ID 2"},
        {'+', "", "9999"},
        {'b', "", NULL},
        {'+', "", "1"},
        {'b', "[[\"1\" 1 \"one\" 1]]", NULL},
        {'c', "[[\"t\" \"2\" 2 \"two\" 1]]", NULL},
        {'a', "OK", "Q.PAUSE t OUT"},
        {'a', "\"3\"", "Q.PUSH t three ID 3"},
        {'b', "", "Q.CLAIM t BLOCK 0"},
        {'a', "OK", "Q.PAUSE t IN"},
        {'b', "[[\"3\" 3 \"three\" 1]]", NULL},
        {'b', "", "Q.CLAIM t BLOCK 1s"},
        {'a', "OK", "Q.PAUSE t OUT FOR 0"},
        {'+', "", "1000"},
        {'b', "nil", NULL},
    };
    runner_follow(*state, steps);
    sound(*state);
}

static void a_pause_outlives_a_restart(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "Q.PAUSE t OUT FOR 10s");
    runner_expect(runner, "\"a\"", "Q.PUSH t body ID a");
    runner_reopen(runner, NULL);
    runner_expect(runner, "[]", "Q.CLAIM t");
    runner_pass(runner, 10000);
    runner_expect(runner, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    runner_expect(runner, "[*\"paused\" nil *]", "Q.STATS t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_value_comes_from_topic_pattern_or_server),
        runner_test(values_that_get_shows_are_values_that_set_takes),
        runner_test(a_refused_setting_names_itself_and_changes_nothing),
        runner_test(jobs_follow_their_topic),
        runner_test(there_are_10000_topics_and_patterns_at_most),
        runner_test(a_full_topic_refuses_pushes),
        runner_test(a_job_that_hands_over_leaves_its_place),
        runner_test(the_oldest_waiting_jobs_make_room),
        runner_test(a_topic_with_a_lower_limit_shrinks),
        runner_test(a_pause_refuses_pushes_and_holds_back_claims),
        runner_test(blocked_claims_wait_for_the_end_of_a_pause),
        runner_test(a_pause_outlives_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
