/* Several things in one command, all or nothing where that is promised: claims that acknowledge
 * first, several pushes. */
#include "tests/support/command_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct command_runner *with_claimed(void **state, const char *topic, const char *ids)
{
    struct command_runner *runner = *state;
    char line[64];
    for (const char *id = ids; *id != '\0'; id++) {
        snprintf(line, sizeof(line), "Q.PUSH %s body-%c ID %c", topic, *id, *id);
        runner_expect(runner, "*", line);
        snprintf(line, sizeof(line), "Q.CLAIM %s", topic);
        runner_expect(runner, "[*]", line);
    }
    return runner;
}

/* ---- Q.CLAIM ... ACK */

static void a_claim_acknowledges_first(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "ab");
    runner_expect(runner, "*", "Q.PUSH t next ID c");
    runner_expect(runner, "[[\"c\" 3 \"next\" 1]]", "Q.CLAIM t COUNT 5 ack a 1 b 2");
    runner_expect(runner, "1", "Q.LEN t");
    runner_expect(runner, "[]", "Q.CLAIM t ACK c 3");
    runner_expect(runner, "0", "Q.LEN t");
}

static void acks_of_a_claim_pass_over_what_is_stale_or_gone(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "abc");
    runner_expect(runner, "1", "Q.ACK t a 1");
    runner_expect(runner, "[]", "Q.CLAIM t ACK a 1 nosuch 7 b 99 c 3 c 3");
    runner_expect(runner, "1", "Q.LEN t");
    runner_expect(runner, "[*\"state\" \"claimed\"*]", "Q.GET t b");
    runner_expect(runner, "[]", "Q.CLAIM nosuch ACK a 1");
    runner_expect(runner, "[\"t\"]", "Q.TOPICS");
}

static void acks_of_mclaim_name_their_topics(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    with_claimed(state, "ACK", "a");
    runner_expect(runner, "*", "Q.PUSH other next ID x");
    runner_expect(runner, "[[\"other\" \"x\" 1 \"next\" 1]]",
                  "Q.MCLAIM 2 ACK other ACK t a 1 ACK a 1");
    runner_expect(runner, "0", "Q.LEN t");
    runner_expect(runner, "0", "Q.LEN ACK");
    runner_expect(runner, "[\"one\" \"two\" \"three\" \"four\"]",
                  "COMMAND GETKEYS Q.MCLAIM 2 one two COUNT 3 ACK three a 1 four b 2");
}

static void bad_acks_neither_acknowledge_nor_claim(void **state)
{
    static const char *const lines[][2] = {
        {"!ERR syntax error", "Q.CLAIM t ACK"},
        {"!ERR syntax error", "Q.CLAIM t ACK a"},
        {"!ERR syntax error", "Q.CLAIM t ACK a 1 b"},
        {"!ERR value is not an integer or out of range", "Q.CLAIM t ACK a 1 b x"},
        {"!ERR value is not an integer or out of range", "Q.CLAIM t ACK a 1 COUNT two"},
        {"!ERR id must be *", "Q.CLAIM t ACK a 1 \"\" 2"},
        {"!ERR value is out of range, *", "Q.CLAIM t COUNT 0 ACK a 1"},
        {"!ERR syntax error", "Q.MCLAIM 1 t ACK a 1"},
        {"!ERR syntax error", "Q.MCLAIM 1 t ACK t a 1 t a"},
        {"!ERR topic must be *", "Q.MCLAIM 1 t ACK t a 1 \"\" a 1"},
    };
    struct command_runner *runner = with_claimed(state, "t", "a");
    runner_expect(runner, "*", "Q.PUSH t body");
    runner_expect_all(runner, lines);
    runner_expect(runner, "1", "Q.LEN t claimed");
    runner_expect(runner, "1", "Q.LEN t ready");
}

static void a_blocked_claim_has_acknowledged(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "ab");
    struct connection *worker = runner_waiting(runner, "Q.CLAIM t BLOCK 1s ACK a 1");
    runner_expect(runner, "1", "Q.LEN t");
    runner_pass(runner, 1000);
    runner_expect_reply(worker, "nil");
    runner_expect(runner, "1", "Q.LEN t");
    runner_expect(runner, "[*\"total-acked\" 1*]", "Q.STATS t");
}

/* The token is not valid at first; when the claim runs again it would be. */
static void a_blocked_claim_acknowledges_once(void **state)
{
    struct command_runner *runner = *state;
    struct connection *worker = runner_waiting(runner, "Q.MCLAIM 1 t BLOCK 0 ACK other x 1");
    with_claimed(state, "other", "x");
    runner_expect(runner, "*", "Q.PUSH t body ID y");
    runner_expect_reply(worker, "[[\"t\" \"y\" 1 \"body\" 1]]");
    runner_expect(runner, "1", "Q.LEN other claimed");
}

static void a_transaction_claims_and_acknowledges(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.PUSH t next ID b");
    runner_expect(runner, "QUEUED", "Q.CLAIM t ACK a 1");
    runner_expect(runner, "QUEUED", "Q.CLAIM t BLOCK 0 ACK b 2");
    runner_expect(runner, "[\"b\" [[\"b\" 2 \"next\" 1]] nil]", "EXEC");
    runner_expect(runner, "0", "Q.LEN t");
}

/* ---- Q.MPUSH */

static void many_bodies_have_one_set_of_options(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[\"0*\" \"0*\" \"0*\"]",
                  "Q.MPUSH t 3 one two delay priority 3 delay 5s ttl 1d");
    runner_expect(runner, "3", "Q.LEN t delayed");
    runner_pass(runner, 5000);
    runner_expect(runner, "[[\"*\" 1 \"one\" 1] [\"*\" 2 \"two\" 1] [\"*\" 3 \"delay\" 1]]",
                  "Q.CLAIM t COUNT 9");
    runner_expect(runner, "[\"0*\"]", "Q.MPUSH t 1 body");
}

static void each_job_may_have_an_id_a_delay_and_a_priority(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[\"a\" \"b\" \"0*\"]",
                  "Q.MPUSH t each 3 a \"\" \"\" A b 1h 7 B \"\" 0 9 C AT 1700000009000 "
                  "PRIORITY 200 RETRIES 2");
    runner_expect(runner, "[*\"body\" \"A\" \"due\" 1700000009000 *\"priority\" 200 *]",
                  "Q.GET t a");
    runner_expect(runner, "[*\"body\" \"B\" \"due\" 1700003600000 *\"priority\" 7 *]",
                  "Q.GET t b");
    runner_expect(runner, "[*\"retries\" 2 *]", "Q.GET t b");
    runner_expect(runner, "[[\"0*\" 1 \"C\" 1]]", "Q.CLAIM t COUNT 9");
}

static void bad_pushes_of_many_push_none(void **state)
{
    static const char *const lines[][2] = {
        {"!ERR wrong number of arguments for 'q.mpush' command", "Q.MPUSH t 1"},
        {"!ERR number of jobs is out of range, must be between 1 and 10000", "Q.MPUSH t 0 a"},
        {"!ERR number of jobs is out of range, must be between 1 and 10000",
         "Q.MPUSH t 10001 a"},
        {"!ERR number of jobs is out of range, must be between 1 and 10000", "Q.MPUSH t -1 a"},
        {"!ERR value is not an integer or out of range", "Q.MPUSH t x a"},
        {"!ERR value is not an integer or out of range", "Q.MPUSH t 18446744073709551617 a"},
        {"!ERR there are fewer jobs than their number says", "Q.MPUSH t 2 a"},
        {"!ERR there are fewer jobs than their number says", "Q.MPUSH t EACH 1"},
        {"!ERR there are fewer jobs than their number says", "Q.MPUSH t EACH 2 a 0 0 b c 0 0"},
        {"!ERR syntax error", "Q.MPUSH t 1 a b"},
        {"!ERR syntax error", "Q.MPUSH t 1 a ID b"},
        {"!ERR syntax error", "Q.MPUSH t 1 a DELAY 1 AT 1"},
        {"!ERR topic must be *", "Q.MPUSH \"\" 1 a"},
        {"!ERR invalid duration *", "Q.MPUSH t EACH 2 a 0 0 b c soon 0 b"},
        {"!ERR value is out of range, must be between 0 and 255",
         "Q.MPUSH t EACH 2 a 0 0 b c 0 256 b"},
        {"!DUPLICATE *", "Q.MPUSH t EACH 2 a 0 0 b a 0 0 b"},
    };
    struct command_runner *runner = *state;
    runner_expect_all(runner, lines);
    runner_expect(runner, "[]", "Q.TOPICS");
    runner_expect(runner, "*", "Q.PUSH t body ID there");
    runner_expect(runner, "!DUPLICATE *", "Q.MPUSH t EACH 2 a 0 0 b there 0 0 b");
    runner_expect(runner, "1", "Q.LEN t");
    runner_expect(runner, "[*\"total-pushed\" 1 *]", "Q.STATS t");
}

static void many_pushes_serve_those_who_wait(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_waiting(runner, "Q.CLAIM t BLOCK 0");
    struct connection *second = runner_waiting(runner, "Q.CLAIM t COUNT 2 BLOCK 0");
    runner_expect(runner, "!DUPLICATE *", "Q.MPUSH t EACH 2 a 0 0 b a 0 0 b");
    runner_expect_reply(first, "");
    runner_expect(runner, "[*]", "Q.MPUSH t EACH 4 a 0 0 A b 0 0 B c 0 0 C d 0 0 D");
    runner_expect_reply(first, "[[\"a\" 1 \"A\" 1]]");
    runner_expect_reply(second, "[[\"b\" 2 \"B\" 1] [\"c\" 3 \"C\" 1]]");
    runner_expect(runner, "1", "Q.LEN t ready");
}

static void a_transaction_pushes_many(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.MPUSH t EACH 2 a 0 0 b c 0 0 d");
    runner_expect(runner, "QUEUED", "Q.MPUSH t EACH 2 x 0 0 b a 0 0 d");
    runner_expect(runner, "QUEUED", "Q.MPUSH t 1 body");
    runner_expect(runner, "[[\"a\" \"c\"] !DUPLICATE * [\"0*\"]]", "EXEC");
    runner_expect(runner, "3", "Q.LEN t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_claim_acknowledges_first),
        runner_test(acks_of_a_claim_pass_over_what_is_stale_or_gone),
        runner_test(acks_of_mclaim_name_their_topics),
        runner_test(bad_acks_neither_acknowledge_nor_claim),
        runner_test(a_blocked_claim_has_acknowledged),
        runner_test(a_blocked_claim_acknowledges_once),
        runner_test(a_transaction_claims_and_acknowledges),
        runner_test(many_bodies_have_one_set_of_options),
        runner_test(each_job_may_have_an_id_a_delay_and_a_priority),
        runner_test(bad_pushes_of_many_push_none),
        runner_test(many_pushes_serve_those_who_wait),
        runner_test(a_transaction_pushes_many),
    };
    return cmocka_run_group_tests_name("batch commands", tests, NULL, NULL);
}
