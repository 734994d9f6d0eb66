/* The Q. commands: forms, replies and errors. tests/model tests what happens to jobs over
 * time. */
#include "storage/store.h"
#include "storage/queue/record/queue_key.h"
#include "tests/support/client/command_runner.h"
#include "storage/kv/kv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

/* ---- Q.PUSH */

static void a_job_waits_for_others(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "\"b\"", "Q.PUSH other:one body ID b");
    runner_expect(runner, "[\"c\" \"created\"]",
                  "Q.PUSH topic body ID c WITHSTATUS ON-DEAD run AFTER a other:one:b none");
    runner_expect(runner,
                  "[\"id\" \"c\" \"state\" \"waiting\" *\"error\" nil \"delay\" 0 \"at\" nil "
                  "\"awaits\" 2 \"on-dead\" "
                  "\"run\" \"after\" [[\"topic\" \"a\" \"ready\"] [\"other:one\" \"b\" "
                  "\"ready\"]]]",
                  "Q.GET topic c");
}

static void what_a_job_cannot_wait_for_is_refused(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR syntax error", "Q.PUSH topic body AFTER");
    runner_expect(runner, "!ERR syntax error", "Q.PUSH topic body ON-DEAD");
    runner_expect(runner, "!ERR syntax error", "Q.PUSH topic body ON-DEAD never AFTER a");
    runner_expect(runner, "!ERR a job cannot wait for itself",
                  "Q.PUSH topic body ID a AFTER a");
    runner_expect(runner, "!ERR AFTER needs ids of 1 to 255 bytes",
                  "Q.PUSH topic body AFTER \"\"");
    runner_expect(runner, "!ERR AFTER is for new jobs, and not with ONDUP REPLACE or DEBOUNCE",
                  "Q.PUSH topic body ID a ONDUP REPLACE AFTER b");
    runner_expect(runner, "0", "Q.LEN topic");
}

/* Whether a job is there is not told, and how others are neither. */
static void what_a_job_waits_for_must_be_readable(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "\"b\"", "Q.PUSH secret body ID b"},
        {'a', "\"b\"", "Q.PUSH open body ID b"},
        {'a', "\"w\"", "Q.PUSH topic body ID w AFTER secret:b open:b"},
        {'a', "OK", "ACL SETUSER u on nopass +@all ~topic %R~open"},
        {'b', "OK", "AUTH u x"},
        {'b', "!NOPERM*", "Q.PUSH topic body ID x AFTER secret:b"},
        {'b', "!NOPERM*", "Q.PUSH topic body ID x AFTER secret:none"},
        {'b', "!NOPERM*", "Q.PUSH topic body ID x AFTER user:1"},
        {'b', "\"x\"", "Q.PUSH topic body ID x AFTER topic:user:1 open:none"},
        {'b', "\"user:1\"", "Q.PUSH topic body ID user:1 AFTER open:b"},
        {'b', "\"y\"", "Q.PUSH topic body ID y AFTER user:1 topic:w"},
        {'b',
         "[*\"awaits\" 2 * \"after\" [[\"topic\" \"w\" \"waiting\"] "
         "[\"topic\" \"user:1\" \"waiting\"]]]",
         "Q.GET topic y"},
        {'b', "[*\"awaits\" 2 * \"after\" [[nil nil nil] [\"open\" \"b\" \"ready\"]]]",
         "Q.GET topic w"},
    };
    runner_follow((struct command_runner *)*state, steps);
}

static void a_waiting_job_is_run_or_removed(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "\"b\"", "Q.PUSH topic body ID b AFTER a");
    runner_expect(runner, "\"c\"", "Q.PUSH topic body ID c AFTER a");
    runner_expect(runner, "!WRONGSTATE *", "Q.RESCHEDULE topic b DELAY 1h");
    runner_expect(runner, "!WRONGSTATE *", "Q.MOVE topic b other");
    runner_expect(runner, "1", "Q.RUN topic b");
    runner_expect(runner, "1", "Q.LEN topic waiting");
    runner_expect(runner, "1", "Q.PURGE topic STATE waiting");
    runner_expect(runner, "2", "Q.LEN topic ready");
}

static void a_push_replies_the_id(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "\"\\x00\\xff\"", "Q.PUSH topic body ID \"\\x00\\xff\"");
    runner_expect(runner, "\"0*\"", "Q.PUSH topic body");
    runner_expect(runner, "3", "Q.LEN topic");
}

static void a_duplicate_is_refused_and_changes_nothing(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic first ID a PRIORITY 7");
    runner_expect(runner, "!DUPLICATE *", "Q.PUSH topic second ID a DELAY 1h");
    runner_expect(runner, "[*\"body\" \"first\"*\"priority\" 7*]", "Q.GET topic a");
    runner_expect(runner, "\"a\"", "Q.PUSH other body ID a");
}

static void every_option_is_kept(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(
        runner, "\"a\"",
        "Q.PUSH topic body ttl 1d backoff 2s 3m retries 4 lease 5h priority 6 delay 7 "
        "id a window 3h");
    runner_expect(runner,
                  "[\"id\" \"a\" \"state\" \"delayed\" \"body\" \"body\" \"due\" 1700000000007 "
                  "\"attempt\" 0 \"token\" nil \"priority\" 6 \"pushed\" 1700000000000 "
                  "\"lease\" 18000000 \"retries\" 4 \"crashes\" 3 \"backoff\" 2000 "
                  "\"backoff-max\" 180000 "
                  "\"jitter\" 20 \"steps\" [] \"ttl\" 86400000 \"window\" 10800000 "
                  "\"group\" nil \"weight\" nil \"failures\" 0 *\"error\" nil]",
                  "Q.GET topic a");
}

static void a_second_backoff_is_an_option_when_it_is_none(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body BACKOFF 2s ID a");
    runner_expect(runner, "\"b\"", "Q.PUSH topic body ID b BACKOFF 2s");
    runner_expect(runner, "[*\"backoff\" 2000 \"backoff-max\" 3600000*]", "Q.GET topic a");
    runner_expect(runner, "!ERR invalid duration '3x'*", "Q.PUSH topic body BACKOFF 2s 3x");
}

static void an_option_given_twice_counts_the_last_time(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID b ID a PRIORITY 1 PRIORITY 2");
    runner_expect(runner, "[*\"priority\" 2 *]", "Q.GET topic a");
}

static void a_moment_is_delay_or_at(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a AT 1700000005000");
    runner_expect(runner, "[*\"state\" \"delayed\"*\"due\" 1700000005000 *]", "Q.GET topic a");
    runner_expect(runner, "\"b\"", "Q.PUSH topic body ID b AT 1");
    runner_expect(runner, "[*\"state\" \"ready\"*\"due\" 1700000000000 *]", "Q.GET topic b");
    runner_expect(runner, "\"c\"", "Q.PUSH topic body ID c AT -9223372036854775808");
    runner_expect(runner, "\"d\"", "Q.PUSH topic body ID d AT 9223372036854775807 TTL 36500d");
    runner_expect(runner, "[*\"state\" \"delayed\" *]", "Q.GET topic d");
    runner_expect(runner, "!ERR syntax error", "Q.PUSH topic body DELAY 1 AT 1");
    runner_expect(runner, "!ERR syntax error", "Q.PUSH topic body AT 1 DELAY 0");
    runner_expect(runner, "!ERR value is not an integer or out of range",
                  "Q.PUSH topic body AT soon");
}

static void bad_options_push_nothing(void **state)
{
    static const char *const lines[][2] = {
        {"ERR syntax error", "Q.PUSH topic body FOO"},
        {"ERR syntax error", "Q.PUSH topic body FOO 1"},
        {"ERR syntax error", "Q.PUSH topic body ID"},
        {"ERR syntax error", "Q.PUSH topic body ID a DELAY"},
        {"ERR syntax error", "Q.PUSH topic body BACKOFF"},
        {"ERR syntax error", "Q.PUSH topic body BACKOFF 1s 2s 3s"},
        {"ERR id must be 1 to 255 bytes long", "Q.PUSH topic body ID \"\""},
        {"ERR topic must be 1 to 255 bytes long", "Q.PUSH \"\" body"},
        {"ERR invalid duration 'x': *", "Q.PUSH topic body DELAY x"},
        {"ERR invalid duration '-1': *", "Q.PUSH topic body LEASE -1"},
        {"ERR invalid duration '': *", "Q.PUSH topic body TTL \"\""},
        {"ERR value is not an integer or out of range", "Q.PUSH topic body PRIORITY x"},
        {"ERR value is out of range, must be between 0 and 255",
         "Q.PUSH topic body PRIORITY -1"},
        {"ERR value is out of range, must be between 0 and 255",
         "Q.PUSH topic body PRIORITY 256"},
        {"ERR RETRIES is out of range, must be between 0 and 2147483647",
         "Q.PUSH topic body RETRIES -1"},
        {"ERR value is not an integer or out of range", "Q.PUSH topic body RETRIES 1.5"},
    };
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char pattern[128];
        snprintf(pattern, sizeof(pattern), "!%s", lines[i][0]);
        runner_expect(runner, pattern, lines[i][1]);
    }
    runner_expect(runner, "[]", "Q.TOPICS");
}

static void names_are_1_to_255_bytes(void **state)
{
    static const char *const forms[][2] = {
        {"Q.PUSH ", " body"},     {"Q.PUSH topic body ID ", ""},
        {"Q.CLAIM ", ""},         {"Q.MCLAIM 1 ", ""},
        {"Q.ACK ", " a 1"},       {"Q.ACK topic ", " 1"},
        {"Q.NACK ", " a 1"},      {"Q.NACK topic ", " 1"},
        {"Q.EXTEND ", " a 1 1s"}, {"Q.EXTEND topic ", " 1 1s"},
        {"Q.GET ", " a"},         {"Q.GET topic ", ""},
        {"Q.DEL ", " a"},         {"Q.DEL topic a ", ""},
        {"Q.LEN ", ""},           {"Q.STATS ", ""},
    };
    struct command_runner *runner = *state;
    char name[256], line[512];
    memset(name, 'n', sizeof(name));
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        snprintf(line, sizeof(line), "%s%.256s%s", forms[i][0], name, forms[i][1]);
        runner_expect(runner, "!ERR * must be 1 to 255 bytes long", line);
        snprintf(line, sizeof(line), "%s\"\"%s", forms[i][0], forms[i][1]);
        runner_expect(runner, "!ERR * must be 1 to 255 bytes long", line);
        snprintf(line, sizeof(line), "%s%.255s%s", forms[i][0], name, forms[i][1]);
        char *bytes = runner_bytes(runner, line);
        assert_null(strstr(bytes, "bytes long"));
        free(bytes);
    }
}

/* ---- Q.CLAIM, Q.MCLAIM */

static void a_claim_is_an_array_of_jobs(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[]", "Q.CLAIM topic");
    runner_expect(runner, "\"a\"", "Q.PUSH topic one ID a");
    runner_expect(runner, "\"b\"", "Q.PUSH topic two ID b");
    runner_expect(runner, "\"c\"", "Q.PUSH topic three ID c");
    char *bytes = runner_bytes(runner, "Q.CLAIM topic");
    assert_string_equal(bytes, "*1\r\n*4\r\n$1\r\na\r\n:1\r\n$3\r\none\r\n:1\r\n");
    free(bytes);
    runner_expect(runner, "[[\"b\" 2 \"two\" 1] [\"c\" 3 \"three\" 1]]",
                  "Q.CLAIM topic COUNT 5");
    runner_expect(runner, "[]", "Q.CLAIM topic count 5");
}

static void mclaim_names_the_topics_and_takes_first_topics_first(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"b\"", "Q.PUSH second two ID b PRIORITY 0");
    runner_expect(runner, "\"a\"", "Q.PUSH first one ID a");
    runner_expect(runner, "\"c\"", "Q.PUSH second three ID c");
    runner_expect(runner, "[[\"first\" \"a\" 1 \"one\" 1] [\"second\" \"b\" 1 \"two\" 1]]",
                  "Q.MCLAIM 3 none first second COUNT 2");
    runner_expect(runner, "[[\"second\" \"c\" 2 \"three\" 1]]", "Q.MCLAIM 2 first second");
    runner_expect(runner, "[]", "Q.MCLAIM 2 first second");
}

static void bad_claims_claim_nothing(void **state)
{
    static const char *const lines[][2] = {
        {"ERR syntax error", "Q.CLAIM topic COUNT"},
        {"ERR syntax error", "Q.CLAIM topic FOO 1"},
        {"ERR value is out of range, must be between 1 and 1000", "Q.CLAIM topic COUNT 0"},
        {"ERR value is out of range, must be between 1 and 1000", "Q.CLAIM topic COUNT 1001"},
        {"ERR value is not an integer or out of range", "Q.CLAIM topic COUNT x"},
        {"ERR invalid duration 'x': *", "Q.CLAIM topic LEASE x"},
        {"ERR invalid duration '-1': *", "Q.CLAIM topic BLOCK -1"},
        {"ERR numtopics should be greater than 0", "Q.MCLAIM 0 topic"},
        {"ERR numtopics should be greater than 0", "Q.MCLAIM -1 topic"},
        {"ERR value is not an integer or out of range", "Q.MCLAIM x topic"},
        {"ERR syntax error", "Q.MCLAIM 2 topic"},
        {"ERR syntax error", "Q.MCLAIM 9223372036854775807 topic"},
        {"ERR syntax error", "Q.MCLAIM 1 topic topic"},
        {"ERR wrong number of arguments for 'q.mclaim' command", "Q.MCLAIM 1"},
    };
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char pattern[128];
        snprintf(pattern, sizeof(pattern), "!%s", lines[i][0]);
        runner_expect(runner, pattern, lines[i][1]);
    }
    runner_expect(runner, "1", "Q.LEN topic ready");
}

static void a_claim_s_reply_stops_growing(void **state)
{
    enum { BODY = 512 * 1024, JOBS = 6, FIT = 4 };
    struct command_runner *runner = *state;
    struct dueq_push push;
    struct dueq_slice id;
    char *body = calloc(1, BODY);
    dueq_push_init(&push);
    push.topic = dueq_slice("topic", 5);
    push.body = dueq_slice(body, BODY);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(dueq_push(runner->server.store, &push, runner->server.now, &id), 0);
    free(body);
    char *bytes = runner_bytes(runner, "Q.CLAIM topic COUNT 10");
    assert_memory_equal(bytes, "*4\r\n", 4);
    free(bytes);
    runner_expect(runner, "4", "Q.LEN topic claimed");
    runner_expect(runner, "2", "Q.LEN topic ready");
}

static void a_blocked_claim_is_served_or_times_out(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_connect(runner), *second = runner_connect(runner);
    runner_expect_of(runner, first, "", "Q.CLAIM topic BLOCK 1s");
    runner_expect_of(runner, second, "", "Q.MCLAIM 2 other topic BLOCK 0");
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect_reply(first, "[[\"a\" 1 \"body\" 1]]");
    runner_expect_of(runner, first, "", "Q.CLAIM topic BLOCK 1s");
    runner_pass(runner, 999);
    runner_expect_reply(first, "");
    runner_pass(runner, 1);
    runner_expect_reply(first, "nil");
    runner_pass(runner, 1000 * 1000 - 1000);
    runner_expect_reply(second, "[[\"topic\" \"a\" 2 \"body\" 2]]"); /* the lease has ended */
}

static void a_claim_that_finds_jobs_does_not_block(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM topic COUNT 10 BLOCK 0");
}

static void a_block_that_ran_out_is_a_null_array(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0];
    runner_expect(runner, "", "Q.CLAIM topic BLOCK 5");
    runner_pass(runner, 5);
    assert_int_equal(buffer_size(&client->output), 5);
    assert_memory_equal(buffer_content(&client->output), "*-1\r\n", 5);
    buffer_clear(&client->output);
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "", "Q.CLAIM topic BLOCK 5");
    runner_pass(runner, 5);
    runner_expect_reply(client, "_");
}

/* ---- Q.ACK, Q.NACK, Q.EXTEND, Q.DEL */

static void an_ack_counts_what_it_removed(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "*", "Q.PUSH topic body ID b");
    runner_expect(runner, "*", "Q.PUSH topic body ID c");
    runner_expect(runner, "[*]", "Q.CLAIM topic COUNT 3");
    runner_expect(runner, "1", "Q.ACK topic a 1");
    runner_expect(runner, "0", "Q.ACK topic a 1");
    runner_expect(runner, "0", "Q.ACK topic nosuch 1");
    runner_expect(runner, "0", "Q.ACK nosuch a 1");
    runner_expect(runner, "!STALE *", "Q.ACK topic b 99");
    runner_expect(runner, "1", "Q.ACK topic b 99 c 3 nosuch 1");
    runner_expect(runner, "1", "Q.LEN topic");
}

static void an_ack_reads_all_pairs_before_it_does_anything(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "!ERR wrong number of arguments for 'q.ack' command",
                  "Q.ACK topic a 1 b");
    runner_expect(runner, "!ERR value is not an integer or out of range",
                  "Q.ACK topic a 1 b x");
    runner_expect(runner, "!ERR id must be *", "Q.ACK topic a 1 \"\" 1");
    runner_expect(runner, "1", "Q.LEN topic claimed");
}

static void a_nack_tells_the_new_state(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a RETRIES 3");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "\"delayed\"", "Q.NACK topic a 1");
    runner_pass(runner, 3600 * 1000);
    runner_expect(runner, "[[\"a\" 2 \"body\" 2]]", "Q.CLAIM topic");
    runner_expect(runner, "\"ready\"", "Q.NACK topic a 2 delay 0 error \"out of luck\"");
    runner_expect(runner, "[*\"error\" \"out of luck\"]", "Q.GET topic a");
    runner_expect(runner, "[[\"a\" 3 \"body\" 3]]", "Q.CLAIM topic");
    runner_expect(runner, "!STALE *", "Q.NACK topic a 2 DEAD");
    runner_expect(runner, "\"dead\"", "Q.NACK topic a 3 DEAD ERROR never");
    runner_expect(runner, "!NOJOB *", "Q.NACK topic nosuch 1");
    runner_expect(runner, "!ERR syntax error", "Q.NACK topic a 3 FOO");
    runner_expect(runner, "!ERR syntax error", "Q.NACK topic a 3 DELAY");
    runner_expect(runner, "!ERR syntax error", "Q.NACK topic a 3 DEAD ERROR");
    runner_expect(runner, "!ERR value is not an integer or out of range", "Q.NACK topic a x");
}

static void an_extend_tells_the_lease_s_end(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*]", "Q.CLAIM topic LEASE 1s");
    runner_expect(runner, "1700000030000", "Q.EXTEND topic a 1 30s");
    runner_expect(runner, "!STALE *", "Q.EXTEND topic a 2 30s");
    runner_expect(runner, "!NOJOB *", "Q.EXTEND topic b 1 30s");
    runner_expect(runner, "!ERR invalid duration 'x': *", "Q.EXTEND topic a 1 x");
}

static void del_removes_whatever_the_state(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID claimed");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "*", "Q.PUSH topic body ID ready");
    runner_expect(runner, "*", "Q.PUSH topic body ID delayed DELAY 1h");
    runner_expect(runner, "3", "Q.DEL topic claimed ready delayed nosuch ready");
    runner_expect(runner, "0", "Q.LEN topic");
    runner_expect(runner, "0", "Q.DEL nosuch a");
}

/* ---- Q.GET, Q.LEN, Q.STATS, Q.TOPICS */

static void a_claimed_job_shows_its_token_and_lease(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "[*]", "Q.CLAIM topic LEASE 5s");
    runner_expect(runner,
                  "[\"id\" \"a\" \"state\" \"claimed\" \"body\" \"body\" \"due\" 1700000005000 "
                  "\"attempt\" 1 \"token\" 1 *]",
                  "Q.GET topic a");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "{\"id\": \"a\" \"state\": \"claimed\" *\"ttl\": _ *\"error\": _}",
                  "Q.GET topic a");
}

static void what_is_not_there_is_nil(void **state)
{
    struct command_runner *runner = *state;
    char *bytes = runner_bytes(runner, "Q.GET topic nosuch");
    assert_string_equal(bytes, "$-1\r\n");
    free(bytes);
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "nil", "Q.GET topic nosuch");
}

static void len_counts_by_state(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "*", "Q.PUSH topic body DELAY 1h");
    runner_expect(runner, "[*]", "Q.CLAIM topic");
    runner_expect(runner, "2", "Q.LEN topic");
    runner_expect(runner, "1", "Q.LEN topic delayed");
    runner_expect(runner, "0", "Q.LEN topic ready");
    runner_expect(runner, "1", "Q.LEN topic CLAIMED");
    runner_expect(runner, "0", "Q.LEN topic dead");
    runner_expect(runner, "0", "Q.LEN nosuch ready");
    runner_expect(runner, "!ERR syntax error", "Q.LEN topic foo");
    runner_expect(runner, "!ERR wrong number of arguments for 'q.len' command",
                  "Q.LEN topic ready x");
}

static void stats_of_a_topic_are_a_map(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "*", "Q.PUSH topic body DELAY 1h");
    runner_pass(runner, 250);
    runner_expect(
        runner,
        "[\"delayed\" 1 \"ready\" 1 \"claimed\" 0 \"dead\" 0 \"done\" 0 \"waiting\" 0 "
        "\"oldest-ready-age\" 250 "
        "\"next-due\" 1700003600000 \"total-pushed\" 2 \"total-claimed\" 0 "
        "\"total-acked\" 0 \"total-nacked\" 0 \"total-expired\" 0 \"total-dead\" 0 "
        "\"total-lapsed\" 0 \"total-deleted\" 0 \"total-cancelled\" 0 "
        "\"total-dead-removed\" 0 \"total-dropped\" 0 \"bytes\" 8 \"paused\" nil "
        "\"paused-until\" nil \"purging\" nil \"counting\" 0 "
        "\"rate-left\" nil \"rate-next\" nil \"wait\" [*] \"run\" [*] \"lateness\" "
        "[*] \"measured-since\" nil]",
        "Q.STATS topic");
    runner_expect(runner,
                  "[\"delayed\" 0 \"ready\" 0 \"claimed\" 0 \"dead\" 0 \"done\" 0 \"waiting\" "
                  "0 \"oldest-ready-age\" 0 "
                  "\"next-due\" nil \"total-pushed\" 0 *]",
                  "Q.STATS nosuch");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "{\"delayed\": 1 *\"total-deleted\": 0 * \"counting\": 0 *}",
                  "Q.STATS topic");
}

static void topics_tell_how_long_jobs_took(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_pass(runner, 20);
    runner_expect(runner, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM topic");
    runner_pass(runner, 3);
    runner_expect(runner, "1", "Q.ACK topic a 1");
    runner_expect(runner,
                  "[*\"wait\" [\"minute\" [\"count\" 1 \"p50\" 20 \"p99\" 20 \"p999\" 20 "
                  "\"max\" 20] \"5-minutes\" [\"count\" 1 *] \"all\" [\"count\" 1 *]] "
                  "\"run\" [\"minute\" [\"count\" 1 *\"max\" 3] *] "
                  "\"lateness\" [\"minute\" [\"count\" 0 *\"max\" 0] *] "
                  "\"measured-since\" 1700000000020]",
                  "Q.STATS topic");
}

static void topics_are_listed_and_matched(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[]", "Q.TOPICS");
    runner_expect(runner, "*", "Q.PUSH mail body");
    runner_expect(runner, "*", "Q.PUSH \"\\x00\" body");
    runner_expect(runner, "*", "Q.PUSH main body");
    runner_expect(runner, "[\"\\x00\" \"mail\" \"main\"]", "Q.TOPICS");
    runner_expect(runner, "[\"mail\" \"main\"]", "Q.TOPICS match mai?");
    runner_expect(runner, "[]", "Q.TOPICS MATCH x*");
    runner_expect(runner, "!ERR syntax error", "Q.TOPICS MATCH");
    runner_expect(runner, "!ERR syntax error", "Q.TOPICS FOO x");
}

/* The second job's body is missing on the disk: the first job is still returned. */
static void what_was_claimed_before_damage_is_given_out(void **state)
{
    struct command_runner *runner = *state;
    struct kv *kv = runner->server.store->kv;
    struct kv_key key;

    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "\"b\"", "Q.PUSH topic body ID b");
    kv_del(kv, queue_key_job(&key, TABLE_BODY, 1, 2));
    runner_expect(runner, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM topic COUNT 10");
    runner_expect(runner, "!ERR *", "Q.CLAIM topic COUNT 10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_job_waits_for_others),
        runner_test(what_a_job_cannot_wait_for_is_refused),
        runner_test(what_a_job_waits_for_must_be_readable),
        runner_test(a_waiting_job_is_run_or_removed),
        runner_test(a_push_replies_the_id),
        runner_test(a_duplicate_is_refused_and_changes_nothing),
        runner_test(every_option_is_kept),
        runner_test(a_second_backoff_is_an_option_when_it_is_none),
        runner_test(an_option_given_twice_counts_the_last_time),
        runner_test(a_moment_is_delay_or_at),
        runner_test(bad_options_push_nothing),
        runner_test(names_are_1_to_255_bytes),
        runner_test(a_claim_is_an_array_of_jobs),
        runner_test(mclaim_names_the_topics_and_takes_first_topics_first),
        runner_test(bad_claims_claim_nothing),
        runner_test(a_claim_s_reply_stops_growing),
        runner_test(a_blocked_claim_is_served_or_times_out),
        runner_test(a_claim_that_finds_jobs_does_not_block),
        runner_test(a_block_that_ran_out_is_a_null_array),
        runner_test(an_ack_counts_what_it_removed),
        runner_test(an_ack_reads_all_pairs_before_it_does_anything),
        runner_test(a_nack_tells_the_new_state),
        runner_test(an_extend_tells_the_lease_s_end),
        runner_test(del_removes_whatever_the_state),
        runner_test(a_claimed_job_shows_its_token_and_lease),
        runner_test(what_is_not_there_is_nil),
        runner_test(len_counts_by_state),
        runner_test(stats_of_a_topic_are_a_map),
        runner_test(topics_tell_how_long_jobs_took),
        runner_test(topics_are_listed_and_matched),
        runner_test(what_was_claimed_before_damage_is_given_out),
    };
    return cmocka_run_group_tests_name("queue commands", tests, NULL, NULL);
}
