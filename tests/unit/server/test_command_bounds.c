/* Q. commands as a stranger might send them: numbers at and beyond their bounds, options that
 * contradict each other, odd names. What is refused says why, and changes nothing. */
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"

/* ---- numbers */

static void a_number_out_of_its_range_is_told_the_range(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR invalid duration '-1': *from 0 to 100 years*", "Q.PUSH t b DELAY -1"},
        {"!ERR invalid duration '9223372036854775807': *from 0 to 100 years*",
         "Q.PUSH t b TTL 9223372036854775807"},
        {"!ERR invalid duration '18446744073709551616': *from 0 to 100 years*",
         "Q.PUSH t b LEASE 18446744073709551616"},
        {"!ERR invalid duration '36601d': *from 0 to 100 years*", "Q.PUSH t b DELAY 36601d"},
        {"!ERR invalid duration '1.5s': *", "Q.PUSH t b DELAY 1.5s"},
        {"!ERR invalid duration '': *", "Q.PUSH t b DELAY \"\""},
        {"!ERR RETRIES is out of range, must be between 0 and 2147483647",
         "Q.PUSH t b RETRIES -1"},
        {"!ERR RETRIES is out of range, must be between 0 and 2147483647",
         "Q.PUSH t b RETRIES 9223372036854775807"},
        {"!ERR CRASHES is out of range, must be between 0 and 2147483647",
         "Q.PUSH t b CRASHES 2147483648"},
        {"!ERR CRASHES is out of range, must be between 0 and 2147483647",
         "Q.PUSH t b CRASHES 9223372036854775808"},
        {"!ERR RETRIES is out of range, must be between 0 and 2147483647",
         "Q.PUSH t b RETRIES -18446744073709551616"},
        {"!ERR value is out of range, must be between 0 and 255",
         "Q.PUSH t b PRIORITY 18446744073709551616"},
        {"!ERR JITTER is out of range, *0 and 100",
         "Q.PUSH t b BACKOFF EXP 1 2 JITTER 9223372036854775808"},
        {"!ERR value is out of range, must be between 1 and 1000",
         "Q.CLAIM t COUNT 9223372036854775808"},
        {"!ERR numtopics should be greater than 0", "Q.MCLAIM 0 t"},
        {"!ERR value is not an integer or out of range", "Q.PUSH t b CRASHES -"},
        {"!ERR value is out of range, must be between 0 and 255", "Q.PUSH t b PRIORITY -1"},
        {"!ERR value is not an integer or out of range", "Q.PUSH t b AT 9223372036854775808"},
        {"!ERR JITTER is out of range, *0 and 100", "Q.PUSH t b BACKOFF EXP 1 2 JITTER 101"},
        {"!ERR RETRIES is out of range, *", "Q.UPDATE t a RETRIES -1"},
        {"!ERR RETRIES is out of range, *", "Q.MPUSH t 1 b RETRIES -1"},
        {"!ERR RETRIES is out of range, *", "Q.ACK t a 1 THEN PUSH t b RETRIES -1"},
        {"!ERR value is out of range, must be between 1 and 1000", "Q.CLAIM t COUNT 0"},
        {"!ERR value is out of range, must be between 1 and 1000", "Q.POP t COUNT -1"},
        {"!ERR number of jobs is out of range, *between 1 and 1000", "Q.MPUSH t -1 b"},
        {"!ERR number of jobs is out of range, *between 1 and 1000",
         "Q.MPUSH t 9223372036854775807 b"},
        {"[]", "Q.TOPICS"},
    };
    runner_expect_all(*state, cases);
}

static void a_number_at_its_bound_is_fine(void **state)
{
    static const char *const cases[][2] = {
        {"\"a\"",
         "Q.PUSH t \"\" ID a DELAY 0 PRIORITY 0 RETRIES 0 CRASHES 0 LEASE 0 BACKOFF 0 0"},
        {"\"b\"", "Q.PUSH t b ID b DELAY 36500d PRIORITY 255 RETRIES 2147483647 CRASHES "
                  "2147483647 LEASE 36500d BACKOFF EXP 0 36500d JITTER 100 TTL 36500d"},
        {"\"c\"", "Q.PUSH t c ID c AT -9223372036854775808"},
        {"\"d\"", "Q.PUSH t d ID d AT 9223372036854775807"},
        {"[*\"delayed\" 2 \"ready\" 2 *]", "Q.STATS t"},
    };
    runner_expect_all(*state, cases);
}

/* ---- options */

static void options_that_contradict_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR syntax error", "Q.PUSH t b DELAY 1s AT 5"},
        {"!ERR ONDUP, WINDOW and IGNOREDEAD need an ID", "Q.PUSH t b ONDUP REPLACE"},
        {"!ERR BACKOFF waits longer at first than at most", "Q.PUSH t b BACKOFF 1h 1s"},
        {"!ERR BACKOFF waits longer at first than at most", "Q.PUSH t b BACKOFF EXP 2 1"},
        {"!ERR BACKOFF waits longer at first than at most", "Q.MPUSH t 1 b BACKOFF 2 1"},
        {"!ERR backoff must be one argument: *", "Q.CONFIG SET t backoff \"1h 1s\""},
        {"!ERR backoff must be one argument: *", "Q.CONFIG SET t backoff \"exp 2 1 jitter 3\""},
        {"[]", "Q.TOPICS"},
        {"[]", "Q.CONFIG LIST"},
        {"\"a\"", "Q.PUSH t b ID a BACKOFF 1 1"},
        {"[[\"a\" 1 *]]", "Q.CLAIM t"},
        {"!ERR DELAY is for a job that is tried again, not for FATAL",
         "Q.NACK t a 1 FATAL DELAY 5s"},
        {"!ERR DELAY is for a job that is tried again, not for FATAL",
         "Q.NACK t a 1 DELAY 0 DEAD"},
        {"!ERR syntax error", "Q.NACK t a 1 SILENT FAIL"},
        {"!ERR KEEP must be greater than 0 with RESULT", "Q.ACK t a 1 RESULT x KEEP 0"},
        {"!ERR syntax error", "Q.ACK t a 1 b 2 THEN PUSH t x"},
        {"!ERR RESULT and KEEP are for an ack of one job", "Q.ACK t a 1 b 2 KEEP 5"},
        {"!ERR RESULT and KEEP are for an ack of one job", "Q.ACK t a 1 b 2 RESULT x"},
        {"!ERR RESULT and KEEP are for an ack of one job", "Q.ACK t a 1 b 2 keep 1 c 3"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH t x KEEP 1s"},
        {"!ERR syntax error", "Q.UPDATE t a DELAY 5"},
        {"!ERR syntax error", "Q.UPDATE t a ONDUP REPLACE"},
        {"!ERR syntax error", "Q.POP t LEASE 1s"},
        {"!ERR syntax error", "Q.CLAIM t ACK a"},
        {"[*\"state\" \"claimed\" *\"attempts\" [] *]", "Q.GET t a"},
    };
    runner_expect_all(*state, cases);
}

/* ---- what is refused makes nothing */

static void a_refused_push_makes_no_topic(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET new* max-body 3 max-bytes 5 max-length 2"},
        {"!TOOBIG *", "Q.PUSH new1 body"},
        {"!TOOBIG *", "Q.MPUSH new2 2 a body"},
        {"!LIMIT *", "Q.MPUSH new3 3 a b c"},
        {"!LIMIT *", "Q.MPUSH new4 2 abc abc"},
        {"\"a\"", "Q.PUSH t body ID a"},
        {"!TOOBIG *", "Q.MOVE t a new5"},
        {"[[\"a\" 1 *]]", "Q.CLAIM t"},
        {"!TOOBIG *", "Q.ACK t a 1 THEN PUSH new6 x THEN PUSH new7 body"},
        {"\"dead\"", "Q.NACK t a 1 FATAL"},
        {"[0 1]", "Q.DEAD t REDRIVE TO new8"},
        {"[\"t\"]", "Q.TOPICS"},
        {"*", "Q.PUSH new1 abc"},
        {"[\"new1\" \"t\"]", "Q.TOPICS"},
        {"!TOOBIG *", "Q.PUSH new1 body"},
        {"[\"new1\" \"t\"]", "Q.TOPICS"},
    };
    struct command_runner *runner = *state;
    runner_expect_all(runner, cases);
    runner_reopen(runner, NULL);
    runner_expect(runner, "[\"new1\" \"t\"]", "Q.TOPICS");
}

/* ---- names */

static void names_are_any_bytes(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET \"a\\x00b\" lease 1s"},
        {"[\"lease\" [\"1000\" \"topic\"]]", "Q.CONFIG GET \"a\\x00b\" lease"},
        {"OK", "Q.CONFIG SET \"a\\x00*\" retries 2"},
        {"[\"retries\" [\"2\" \"a\\x00*\"]]", "Q.CONFIG GET \"a\\x00b\" retries"},
        {"[\"retries\" [\"20\" \"server\"]]", "Q.CONFIG GET ab retries"},
        {"\"i\\x00d\"", "Q.PUSH \"a\\x00b\" x ID \"i\\x00d\""},
        {"nil", "Q.GET \"a\\x00b\" i"},
        {"[*\"lease\" 1000 \"retries\" 2 *]", "Q.GET \"a\\x00b\" \"i\\x00d\""},
        {"\"g\"", "Q.PUSH \"[x*?\" y ID g"},
        {"1", "Q.LEN \"[x*?\""},
        {"0", "Q.LEN x"},
        {"1", "Q.MOVE \"[x*?\" g \"*\""},
        {"1", "Q.LEN *"},
    };
    runner_expect_all(*state, cases);
}

/* What stands before the name and what after it. */
static void a_name_of_64_kib_is_refused_wherever_it_stands(void **state)
{
    enum { LONG = 64 * 1024 };
    static const char *const forms[][2] = {
        {"Q.PUSH ", " body"},
        {"Q.PUSH t body ID ", ""},
        {"Q.MPUSH ", " 1 body"},
        {"Q.MPUSH t EACH 2 a 0 0 body ", " 0 0 body"},
        {"Q.CLAIM ", ""},
        {"Q.CLAIM t ACK a 1 ", " 2"},
        {"Q.MCLAIM 2 t ", ""},
        {"Q.MCLAIM 1 t ACK t a 1 ", " a 2"},
        {"Q.MCLAIM 1 t ACK t ", " 2"},
        {"Q.POP ", ""},
        {"Q.ACK ", " a 1"},
        {"Q.ACK t a 1 ", " 1"},
        {"Q.ACK t ", " 1 RESULT r"},
        {"Q.ACK t a 1 THEN PUSH ", " body"},
        {"Q.ACK t a 1 THEN PUSH t body ID ", ""},
        {"Q.NACK ", " a 1"},
        {"Q.NACK t ", " 1"},
        {"Q.EXTEND ", " a 1 1s"},
        {"Q.EXTEND t ", " 1 1s"},
        {"Q.RESCHEDULE ", " a DELAY 1s"},
        {"Q.RESCHEDULE t ", " DELAY 1s"},
        {"Q.RUN ", " a"},
        {"Q.RUN t a ", ""},
        {"Q.UPDATE ", " a RETRIES 1"},
        {"Q.UPDATE t ", " RETRIES 1"},
        {"Q.MOVE ", " a u"},
        {"Q.MOVE t ", " u"},
        {"Q.MOVE t a ", ""},
        {"Q.CANCEL ", " a"},
        {"Q.CANCEL t ", ""},
        {"Q.DEL ", " a"},
        {"Q.DEL t a ", ""},
        {"Q.GET ", " a"},
        {"Q.GET t ", ""},
        {"Q.WAIT ", " a"},
        {"Q.WAIT t a ", ""},
        {"Q.WAIT t ", " BLOCK 1s"},
        {"Q.EXPLAIN ", " a"},
        {"Q.EXPLAIN t ", ""},
        {"Q.SCAN ", " 0"},
        {"Q.PEEK ", ""},
        {"Q.FORECAST ", ""},
        {"Q.DEAD ", " LIST"},
        {"Q.DEAD ", " REDRIVE"},
        {"Q.DEAD t REDRIVE TO ", ""},
        {"Q.CONFIG SET ", " lease 1s"},
        {"Q.CONFIG SET t dead-topic ", ""},
        {"Q.CONFIG GET ", ""},
        {"Q.CONFIG RESET ", ""},
        {"Q.PAUSE ", ""},
        {"Q.RESUME ", ""},
        {"Q.PURGE ", ""},
        {"Q.DROP ", ""},
        {"Q.LEN ", ""},
        {"Q.STATS ", ""},
        {"Q.PUSH t body GROUP ", ""},
        {"Q.CLAIM t WORKER ", ""},
        {"Q.MCLAIM 1 t WORKER ", ""},
        {"Q.EVENTS ", " FROM 0"},
        {"Q.WORKERS ", ""},
        {"Q.RELEASE WORKER ", ""},
        {"Q.RELEASE WORKER w TOPIC ", ""},
        {"Q.CRON SET ", " t body EVERY 1s"},
        {"Q.CRON SET name ", " body EVERY 1s"},
        {"Q.CRON SET name t body EVERY 1s GROUP ", ""},
        {"Q.CRON GET ", ""},
        {"Q.CRON LIST AFTER ", ""},
    };
    static const int sizes[] = {256, LONG};
    static char name[LONG], line[LONG + 64];
    struct command_runner *runner = *state;

    memset(name, 'n', sizeof(name));
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            snprintf(line, sizeof(line), "%s\"%.*s\"%s", forms[i][0], sizes[j], name,
                     forms[i][1]);
            runner_expect(runner, "!ERR * must be 1 to 255 bytes long", line);
        }
    runner_expect(runner, "[]", "Q.TOPICS");
    runner_expect(runner, "[]", "Q.CONFIG LIST");
}

static void an_error_says_which_name_it_means(void **state)
{
    static const char *const cases[][2] = {
        {"!ERR id must be 1 to 255 bytes long", "Q.PUSH t body ID \"\""},
        {"!ERR group must be 1 to 255 bytes long", "Q.PUSH t body GROUP \"\""},
        {"!ERR worker must be 1 to 255 bytes long", "Q.CLAIM t WORKER \"\""},
        {"!ERR worker must be 1 to 255 bytes long", "Q.RELEASE WORKER \"\""},
        {"!ERR topic must be 1 to 255 bytes long", "Q.RELEASE WORKER w TOPIC \"\""},
        {"!ERR topic must be 1 to 255 bytes long", "Q.DEAD t REDRIVE TO \"\""},
        {"!ERR name must be 1 to 255 bytes long", "Q.CRON LIST AFTER \"\""},
    };
    runner_expect_all(*state, cases);
}

/* ---- settings */

static void the_longest_pattern_wins_then_the_first(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET * lease 1s max-length 1"},
        {"OK", "Q.CONFIG SET ab? lease 2s"},
        {"OK", "Q.CONFIG SET a?c lease 3s overflow drop-oldest"},
        {"OK", "Q.CONFIG SET a* lease 4s overflow reject"},
        {"[\"lease\" [\"3000\" \"a?c\"] \"max-length\" [\"1\" \"*\"] \"overflow\" "
         "[\"drop-oldest\" \"a?c\"]]",
         "Q.CONFIG GET abc lease max-length overflow"},
        {"\"1\"", "Q.PUSH abc x ID 1"},
        {"\"2\"", "Q.PUSH abc x ID 2"},
        {"\"1\"", "Q.PUSH axx x ID 1"},
        {"!LIMIT *", "Q.PUSH axx x ID 2"},
    };
    runner_expect_all(*state, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_number_out_of_its_range_is_told_the_range),
        runner_test(a_number_at_its_bound_is_fine),
        runner_test(options_that_contradict_are_refused),
        runner_test(a_refused_push_makes_no_topic),
        runner_test(names_are_any_bytes),
        runner_test(a_name_of_64_kib_is_refused_wherever_it_stands),
        runner_test(an_error_says_which_name_it_means),
        runner_test(the_longest_pattern_wins_then_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
