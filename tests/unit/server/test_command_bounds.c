/* Q. commands as a stranger might send them: numbers at and beyond their bounds, options that
 * contradict each other, odd names. What is refused says why, and changes nothing. */
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
        {"!ERR value is not an integer or out of range",
         "Q.PUSH t b CRASHES 9223372036854775808"},
        {"!ERR value is out of range, must be between 0 and 255", "Q.PUSH t b PRIORITY -1"},
        {"!ERR value is not an integer or out of range", "Q.PUSH t b AT 9223372036854775808"},
        {"!ERR JITTER is out of range, *0 and 100", "Q.PUSH t b BACKOFF EXP 1 2 JITTER 101"},
        {"!ERR RETRIES is out of range, *", "Q.UPDATE t a RETRIES -1"},
        {"!ERR RETRIES is out of range, *", "Q.MPUSH t 1 b RETRIES -1"},
        {"!ERR RETRIES is out of range, *", "Q.ACK t a 1 THEN PUSH t b RETRIES -1"},
        {"!ERR value is out of range, must be between 1 and 4000", "Q.CLAIM t COUNT 0"},
        {"!ERR value is out of range, must be between 1 and 4000", "Q.POP t COUNT -1"},
        {"!ERR number of jobs is out of range, *between 1 and 4000", "Q.MPUSH t -1 b"},
        {"!ERR number of jobs is out of range, *between 1 and 4000",
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
        runner_test(the_longest_pattern_wins_then_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
