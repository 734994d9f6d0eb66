/* Several things in one command, all or nothing where that is promised: claims that acknowledge
 * first, several pushes, pops, acks that hand over. */
#include "tests/support/client/command_runner.h"

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

/* ---- claims that take long */

static void push_jobs(struct command_runner *runner, const char *group, int priority, int count)
{
    struct dueq_push push;
    struct dueq_slice id;

    dueq_push_init(&push);
    push.topic = dueq_slice("t", 1);
    push.group = dueq_slice(group, strlen(group));
    push.priority = priority;
    for (int i = 0; i < count; i++)
        assert_int_equal(dueq_push(runner->server.store, &push, runner->server.now, &id),
                         DUEQ_OK);
    runner_commit(runner);
}

/* Each attempt passes some of those that are in the way, so that one of the next gets it. */
static void a_claim_in_a_transaction_does_not_pass_all_jobs_at_once(void **state)
{
    enum { JOBS = 5000, AT_ONCE = 500, TRIES = JOBS / AT_ONCE };
    struct command_runner *runner = *state;

    runner_expect(runner, "*", "Q.CONFIG SET t group-mode serial");
    push_jobs(runner, "a", 100, JOBS + 1);
    push_jobs(runner, "free", 100, 1);
    runner_expect(runner, "[[* 1 * 1]]", "Q.CLAIM t LEASE 1h");
    for (int i = 0; i < TRIES - 1; i++) {
        runner_expect(runner, "OK", "MULTI");
        runner_expect(runner, "QUEUED", "Q.CLAIM t LEASE 1h");
        runner_expect(runner, "QUEUED", "Q.CLAIM t LEASE 1h COUNT 1000");
        runner_expect(runner, "QUEUED", "Q.CLAIM t BLOCK 0");
        runner_expect(runner, "QUEUED", "Q.CLAIM t ACK x 1");
        runner_expect(runner, "[!TRYAGAIN * !TRYAGAIN * !TRYAGAIN * []]", "EXEC");
        runner_commit(runner);
    }
    for (int i = 0; i < 2; i++) {
        runner_expect(runner, "OK", "MULTI");
        runner_expect(runner, "QUEUED", "Q.CLAIM t LEASE 1h");
        runner_expect(runner, i == 0 ? "[!TRYAGAIN *]" : "[[[* 2 * 1]]]", "EXEC");
        runner_commit(runner);
    }
}

static int claim_many(struct command_runner *runner)
{
    char *bytes = runner_bytes(runner, "Q.CLAIM t COUNT 1000 LEASE 1h");
    int claimed;

    assert_int_equal(sscanf(bytes, "*%d", &claimed), 1);
    free(bytes);
    runner_commit(runner);
    return claimed;
}

/* Of each priority the oldest job may be the next: all are looked at, for each job. */
static void a_claim_of_many_jobs_among_many_priorities_ends_early(void **state)
{
    enum { PRIORITIES = 256, EACH = 8 };
    struct command_runner *runner = *state;
    int claims = 0, jobs = 0;

    runner_expect(runner, "*", "Q.CONFIG SET t age-after 1s");
    for (int priority = PRIORITIES - 1; priority >= 0; priority--) {
        push_jobs(runner, "", priority, EACH);
        runner_pass(runner, 2000);
    }
    for (; jobs < PRIORITIES * EACH; claims++) {
        int claimed = claim_many(runner);
        assert_in_range(claimed, 1, claims == 0 ? 100 : 500);
        jobs += claimed;
    }
    assert_int_equal(jobs, PRIORITIES * EACH);
    assert_in_range(claims, 2, 200);
    push_jobs(runner, "", 100, 20000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(claim_many(runner), 1000); /* what is found at once does not count */
}

/* ---- Q.WORKERS */

static void many_workers_are_told_in_slices(void **state)
{
    enum { WORKERS = 3000, HOLDERS = 600, A_SLICE = 500 };
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    char line[64], head[16];
    int slices = 0;

    push_jobs(runner, "", 100, HOLDERS);
    for (int i = 0; i < WORKERS; i++) {
        snprintf(line, sizeof(line), "Q.CLAIM t LEASE 1h WORKER w%d", i);
        runner_expect(runner, "*", line);
    }
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.WORKERS t");
    runner_expect(
        runner, "[[[\"name\" \"w0\" \"address\" * \"connections\" 0 \"held\" 1 *] *]]", "EXEC");
    runner->by_slices = true;
    runner_run(runner, client, "Q.WORKERS");
    while (client->session.waiter != NULL && runner_slice(runner))
        slices++;
    assert_in_range(slices, WORKERS / A_SLICE, WORKERS / A_SLICE + 4);
    assert_true(buffer_size(&client->output) > WORKERS * 50);
    memcpy(head, buffer_content(&client->output), sizeof(head));
    assert_memory_equal(head, "*3000\r\n*14\r\n", 12);
    runner_expect_reply(client,
                        "[[\"name\" \"w0\" \"address\" * \"connections\" 0 \"held\" 1 *] *]");
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
        {"!ERR number of jobs is out of range, must be between 1 and 1000", "Q.MPUSH t 0 a"},
        {"!ERR number of jobs is out of range, must be between 1 and 1000", "Q.MPUSH t 1001 a"},
        {"!ERR number of jobs is out of range, must be between 1 and 1000", "Q.MPUSH t -1 a"},
        {"!ERR value is not an integer or out of range", "Q.MPUSH t x a"},
        {"!ERR number of jobs is out of range, must be between 1 and 1000",
         "Q.MPUSH t 18446744073709551617 a"},
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

/* ---- Q.POP */

static void a_pop_takes_jobs_for_good(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "[]", "Q.POP t");
    runner_expect(runner, "[*]", "Q.MPUSH t EACH 3 a 0 9 A b 0 8 B c 1h 0 C");
    runner_expect(runner, "[[\"b\" \"B\"]]", "Q.POP t");
    runner_expect(runner, "[[\"a\" \"A\"]]", "Q.POP t COUNT 5");
    runner_expect(runner, "[]", "Q.POP t COUNT 5");
    runner_expect(runner, "1", "Q.LEN t");
    runner_expect(runner, "[*\"total-claimed\" 2 \"total-acked\" 2*]", "Q.STATS t");
    runner_expect(runner, "!ERR syntax error", "Q.POP t LEASE 5s");
    runner_expect(runner, "!ERR syntax error", "Q.POP t ACK a 1");
    runner_expect(runner, "!ERR value is out of range, *", "Q.POP t COUNT 10001");
}

static void a_blocked_pop_is_served_or_times_out(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_waiting(runner, "Q.POP t BLOCK 1s");
    struct connection *second = runner_waiting(runner, "Q.POP t BLOCK 0");
    runner_expect(runner, "*", "Q.PUSH t body ID a");
    runner_expect_reply(first, "[[\"a\" \"body\"]]");
    runner_expect(runner, "0", "Q.LEN t");
    runner_expect_of(runner, first, "", "Q.POP t BLOCK 1s");
    runner_pass(runner, 1000);
    runner_expect_reply(first, "nil");
    runner_expect(runner, "*", "Q.PUSH t body ID b");
    runner_expect_reply(second, "[[\"b\" \"body\"]]");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.POP t BLOCK 0");
    runner_expect(runner, "[nil]", "EXEC");
}

/* ---- Q.ACK ... THEN PUSH */

static void an_ack_hands_over_to_other_jobs(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    runner_expect(runner, "[\"next\" \"0*\" \"a\"]",
                  "Q.ACK t a 1 then push u THEN DELAY 5s ID next THEN PUSH v body PRIORITY 3 "
                  "THEN PUSH t again ID a");
    runner_expect(runner, "[*\"state\" \"delayed\" \"body\" \"THEN\" *]", "Q.GET u next");
    runner_expect(runner, "1", "Q.LEN v ready");
    runner_expect(runner, "[[\"a\" 2 \"again\" 1]]", "Q.CLAIM t");
    runner_expect(runner, "!STALE *", "Q.ACK t a 1 THEN PUSH u body");
    runner_expect(runner, "1", "Q.LEN u");
}

static void what_follows_waits_for_others(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    runner_expect(runner, "\"b\"", "Q.PUSH u body ID b");
    runner_expect(runner, "[\"n\" \"m\" \"o\"]",
                  "Q.ACK t a 1 KEEP 1h THEN PUSH u body ID n on-dead run RETRIES 3 AFTER b t:a "
                  "THEN PUSH v body ID m AFTER u:n u:b THEN PUSH v body ID o AFTER m");
    runner_expect(runner,
                  "[*\"awaits\" 1 \"on-dead\" \"run\" \"after\" [[\"u\" \"b\" "
                  "\"ready\"]]]",
                  "Q.GET u n");
    runner_expect(runner,
                  "[*\"awaits\" 2 \"on-dead\" \"fail\" \"after\" [[\"u\" \"b\" "
                  "\"ready\"] [\"u\" \"n\" \"waiting\"]]]",
                  "Q.GET v m");
    runner_expect(runner, "[[\"b\" \"body\"]]", "Q.POP u");
    runner_expect(runner, "[[\"n\" \"body\"]]", "Q.POP u");
    runner_expect(runner, "[[\"m\" \"body\"]]", "Q.POP v");
    runner_expect(runner, "[[\"o\" \"body\"]]", "Q.POP v");
}

static void what_follows_and_cannot_wait_so_is_refused(void **state)
{
    static const char *const lines[][2] = {
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body AFTER"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body AFTER THEN PUSH u body"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body ON-DEAD never AFTER b"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body ON-DEAD THEN PUSH u body"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body WITHSTATUS AFTER b"},
        {"!ERR a job cannot wait for itself", "Q.ACK t a 1 THEN PUSH t body ID a AFTER a"},
        {"!ERR a job cannot wait for a later one of its command",
         "Q.ACK t a 1 THEN PUSH u body ID x AFTER y THEN PUSH u body ID y"},
        {"!ERR AFTER is for new jobs*",
         "Q.ACK t a 1 THEN PUSH u body ID x ONDUP REPLACE AFTER b"},
        {"!STALE *", "Q.ACK t a 9 THEN PUSH u body AFTER b"},
    };
    struct command_runner *runner = with_claimed(state, "t", "a");
    runner_expect_all(runner, lines);
    runner_expect(runner, "1", "Q.LEN t claimed");
    runner_expect(runner, "[\"t\"]", "Q.TOPICS");
}

/* As of a push: what a topic has that the user may not read is told to nobody. */
static void what_follows_waits_only_for_what_is_readable(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "\"s\"", "Q.PUSH secret body ID s"},
        {'a', "\"b\"", "Q.PUSH open body ID b"},
        {'a', "OK", "ACL SETUSER u on nopass +@all ~t ~u %R~open %W~blind"},
        {'b', "OK", "AUTH u x"},
        {'b', "!NOPERM*", "Q.ACK t a 1 THEN PUSH u body AFTER secret:s"},
        {'b', "!NOPERM*", "Q.ACK t a 1 THEN PUSH u body AFTER secret:none"},
        {'b', "!NOPERM*", "Q.ACK t a 1 THEN PUSH secret body AFTER open:b"},
        {'b', "!NOPERM*",
         "Q.ACK t a 1 THEN PUSH blind body ID x THEN PUSH u body AFTER blind:x"},
        {'a', "1", "Q.LEN t claimed"},
        {'b', "[\"x\" \"y\"]",
         "Q.ACK t a 1 THEN PUSH blind body ID x THEN PUSH u body ID y AFTER open:b t:a"},
        {'a', "[*\"awaits\" 1 *]", "Q.GET u y"},
    };
    runner_follow(with_claimed(state, "t", "a"), steps);
}

static void a_hand_over_that_is_refused_does_nothing(void **state)
{
    static const char *const lines[][2] = {
        {"!STALE *", "Q.ACK t a 9 THEN PUSH u body"},
        {"!STALE *", "Q.ACK t nosuch 1 THEN PUSH u body"},
        {"!STALE *", "Q.ACK nosuch a 1 THEN PUSH u body"},
        {"!DUPLICATE *", "Q.ACK t a 1 THEN PUSH u body THEN PUSH t body ID b"},
        {"!DUPLICATE *", "Q.ACK t a 1 THEN PUSH u body ID x THEN PUSH u body ID x"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body THEN"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body THEN PUSH u"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body FOO"},
        {"!ERR syntax error", "Q.ACK t a 1 THEN PUSH u body DELAY 1 AT 2"},
        {"!ERR value is not an integer or out of range", "Q.ACK t a x THEN PUSH u body"},
        {"!ERR value is not an integer or out of range", "Q.ACK t a 1 THEN FOO"},
        {"!ERR topic must be *", "Q.ACK t a 1 THEN PUSH \"\" body"},
        {"!ERR value is out of range*", "Q.ACK t a 1 THEN PUSH u body PRIORITY 256"},
    };
    struct command_runner *runner = with_claimed(state, "t", "ab");
    runner_expect_all(runner, lines);
    runner_expect(runner, "[\"t\"]", "Q.TOPICS");
    runner_expect(runner, "2", "Q.LEN t claimed");
}

static void a_job_named_then_is_acknowledged(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    runner_expect(runner, "*", "Q.PUSH t body ID THEN");
    runner_expect(runner, "[*]", "Q.CLAIM t");
    runner_expect(runner, "2", "Q.ACK t a 1 THEN 2");
}

/* ---- acks in MULTI */

static void queue_and_exec(struct command_runner *runner, const char *ack, const char *exec)
{
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.PUSH out result");
    runner_expect(runner, "QUEUED", ack);
    runner_expect(runner, exec, "EXEC");
}

static void a_stale_ack_refuses_the_transaction(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "ab");
    static const char stale[] = "!EXECABORT Transaction discarded because of: STALE *";
    static const char gone[] = "!EXECABORT Transaction discarded because of: NOJOB *";
    queue_and_exec(runner, "Q.ACK t a 9", stale);
    queue_and_exec(runner, "Q.ACK t nosuch 1", gone);
    queue_and_exec(runner, "Q.ACK nosuch a 1", gone);
    queue_and_exec(runner, "Q.ACK t a 9 THEN PUSH out body", stale);
    runner_expect(runner, "[\"t\"]", "Q.TOPICS");
    runner_expect(runner, "!ERR EXEC without MULTI", "EXEC");
    queue_and_exec(runner, "Q.ACK t a 1", "[\"0*\" 1]");
    queue_and_exec(runner, "Q.ACK t a 1", gone);
    queue_and_exec(runner, "Q.ACK t b 2 THEN PUSH out body ID x", "[\"0*\" [\"x\"]]");
    runner_expect(runner, "3", "Q.LEN out");
}

static void acks_of_several_or_malformed_ones_refuse_no_transaction(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    queue_and_exec(runner, "Q.ACK t a 9 nosuch 1", "[\"0*\" 0]");
    queue_and_exec(runner, "Q.ACK t a x", "[\"0*\" !ERR value is not an integer*]");
    queue_and_exec(runner, "Q.ACK t \"\" 1", "[\"0*\" !ERR id must be*]");
    queue_and_exec(runner, "Q.CLAIM t ACK a 9", "[\"0*\" []]");
}

/* The first one acks; for the second one the job is gone: what follows happens once. */
static void two_acks_of_one_job_in_a_transaction_are_one(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "ab");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.ACK t a 1");
    runner_expect(runner, "QUEUED", "Q.ACK t a 1");
    runner_expect(runner, "QUEUED", "Q.ACK t b 2 THEN PUSH out one");
    runner_expect(runner, "QUEUED", "Q.ACK t b 2 THEN PUSH out two");
    runner_expect(runner, "[1 0 [\"0*\"] !STALE *]", "EXEC");
    runner_expect(runner, "1", "Q.LEN out");
}

static void a_broken_watch_comes_before_a_stale_ack(void **state)
{
    struct command_runner *runner = with_claimed(state, "t", "a");
    struct connection *other = runner_connect(runner);
    runner_expect(runner, "OK", "WATCH k");
    runner_expect_of(runner, other, "OK", "SET k v");
    queue_and_exec(runner, "Q.ACK t a 9", "nil");
}

static void jobs_that_come_together_wait_for_the_same(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    runner_expect(runner, "\"b\"", "Q.PUSH other body ID b");
    runner_expect(runner, "[\"c\" \"d\"]",
                  "Q.MPUSH topic EACH 2 c 1h 5 one d \"\" \"\" two ON-DEAD run RETRIES 3 "
                  "AFTER a other:b");
    runner_expect(runner, "[* *]", "Q.MPUSH topic 2 one two AFTER c");
    runner_expect(runner, "4", "Q.LEN topic waiting");
    runner_expect(runner,
                  "[*\"awaits\" 2 \"on-dead\" \"run\" \"after\" [[\"topic\" \"a\" \"ready\"] "
                  "[\"other\" \"b\" \"ready\"]]]",
                  "Q.GET topic d");
    runner_expect(runner, "!ERR syntax error", "Q.MPUSH topic 1 one AFTER");
    runner_expect(runner, "!ERR syntax error", "Q.MPUSH topic 1 one WITHSTATUS AFTER a");
    runner_expect(runner, "!ERR a job cannot wait for another one of its command",
                  "Q.MPUSH topic EACH 1 x \"\" \"\" one AFTER x");
    runner_expect(runner, "!ERR a job cannot wait for another one of its command",
                  "Q.MPUSH topic EACH 2 x \"\" \"\" one y \"\" \"\" two AFTER y");
    runner_expect(runner, "[[\"a\" \"body\"]]", "Q.POP topic");
    runner_expect(runner, "[[\"b\" \"body\"]]", "Q.POP other");
    runner_expect(runner, "1", "Q.LEN topic ready");
    runner_expect(runner, "1", "Q.LEN topic delayed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(jobs_that_come_together_wait_for_the_same),
        runner_test(a_claim_acknowledges_first),
        runner_test(acks_of_a_claim_pass_over_what_is_stale_or_gone),
        runner_test(acks_of_mclaim_name_their_topics),
        runner_test(bad_acks_neither_acknowledge_nor_claim),
        runner_test(a_blocked_claim_has_acknowledged),
        runner_test(a_blocked_claim_acknowledges_once),
        runner_test(a_transaction_claims_and_acknowledges),
        runner_test(a_claim_in_a_transaction_does_not_pass_all_jobs_at_once),
        runner_test(a_claim_of_many_jobs_among_many_priorities_ends_early),
        runner_test(many_workers_are_told_in_slices),
        runner_test(many_bodies_have_one_set_of_options),
        runner_test(each_job_may_have_an_id_a_delay_and_a_priority),
        runner_test(bad_pushes_of_many_push_none),
        runner_test(many_pushes_serve_those_who_wait),
        runner_test(a_transaction_pushes_many),
        runner_test(a_pop_takes_jobs_for_good),
        runner_test(a_blocked_pop_is_served_or_times_out),
        runner_test(an_ack_hands_over_to_other_jobs),
        runner_test(a_hand_over_that_is_refused_does_nothing),
        runner_test(what_follows_waits_for_others),
        runner_test(what_follows_and_cannot_wait_so_is_refused),
        runner_test(what_follows_waits_only_for_what_is_readable),
        runner_test(a_job_named_then_is_acknowledged),
        runner_test(a_stale_ack_refuses_the_transaction),
        runner_test(acks_of_several_or_malformed_ones_refuse_no_transaction),
        runner_test(two_acks_of_one_job_in_a_transaction_are_one),
        runner_test(a_broken_watch_comes_before_a_stale_ack),
    };
    return cmocka_run_group_tests_name("batch commands", tests, NULL, NULL);
}
