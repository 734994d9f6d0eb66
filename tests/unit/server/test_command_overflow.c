/* max-length, max-bytes and max-body of a topic, for all that puts jobs or bytes into it: what
 * is refused, what drop-oldest drops, and what passes. */
#include "tests/support/cmocka.h"
#include "tests/support/client/command_runner.h"

#include "storage/queue/queue.h"
#include "storage/store.h"

#include <stdio.h>

static int tear_down(void **state)
{
    struct command_runner *runner = *state;
    const char *wrong = queue_check(runner->server.store->queue);

    if (wrong != NULL)
        fail_msg("%s", wrong);
    return runner_teardown(state);
}

/* ---- Q.MOVE */

static void a_full_topic_refuses_a_move(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET full max-length 1 max-body 4"},
        {"\"a\"", "Q.PUSH t body ID a"},
        {"\"b\"", "Q.PUSH t large ID b"},
        {"\"c\"", "Q.PUSH t body ID c"},
        {"!TOOBIG *max-body*", "Q.MOVE t b full"},
        {"1", "Q.MOVE t a full"},
        {"!LIMIT *", "Q.MOVE t c full"},
        {"1", "Q.MOVE full a full"},
        {"[*\"delayed\" 0 \"ready\" 2 *\"total-deleted\" 1 *]", "Q.STATS t"},
        {"[*\"ready\" 1 *\"total-dropped\" 0 *]", "Q.STATS full"},
        {"OK", "Q.CONFIG SET small max-bytes 7"},
        {"1", "Q.MOVE t c small"},
        {"!LIMIT *", "Q.MOVE full a small"},
        {"1", "Q.LEN full"},
    };
    runner_expect_all(*state, cases);
}

static void a_move_drops_the_oldest(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET full max-length 2 max-bytes 6 overflow drop-oldest"},
        {"\"a\"", "Q.PUSH full aa ID a"},
        {"\"b\"", "Q.PUSH full bb ID b DELAY 1s"},
        {"\"c\"", "Q.PUSH t cc ID c"},
        {"1", "Q.MOVE t c full"},
        {"nil", "Q.GET full a"},
        {"\"d\"", "Q.PUSH t dddd ID d"},
        {"1", "Q.MOVE t d full"},
        {"nil", "Q.GET full c"},
        {"[*\"total-dropped\" 2 \"bytes\" 6 *]", "Q.STATS full"},
        {"\"e\"", "Q.PUSH t eeeeeee ID e"},
        {"!LIMIT *", "Q.MOVE t e full"},
        {"[*\"total-dropped\" 2 \"bytes\" 6 *]", "Q.STATS full"},
        {"1", "Q.LEN t"},
    };
    runner_expect_all(*state, cases);
}

/* ---- Q.DEAD REDRIVE */

static void add_dead(struct command_runner *runner, const char *push)
{
    static char line[128];

    snprintf(line, sizeof(line), "%s TTL 0", push);
    runner_expect(runner, "*", line);
    runner_pass(runner, 1);
}

static void add_three_dead(struct command_runner *runner)
{
    add_dead(runner, "Q.PUSH t aa ID a");
    add_dead(runner, "Q.PUSH t bbbb ID b");
    add_dead(runner, "Q.PUSH t c ID c");
}

static void a_redrive_takes_what_its_topic_has_room_for(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-length 2"},
        {"\"new\"", "Q.PUSH t new ID new"},
        {"[1 2]", "Q.DEAD t REDRIVE DRYRUN"},
        {"[1 0]", "Q.DEAD t REDRIVE DRYRUN LIMIT 1"},
        {"[1 2]", "Q.DEAD t REDRIVE"},
        {"[0 2]", "Q.DEAD t REDRIVE"},
        {"[*\"ready\" 2 *\"dead\" 2 *\"total-dropped\" 0 *]", "Q.STATS t"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

/* A topic's dead count for its bytes already. */
static void bytes_do_not_hold_up_a_redrive_in_place(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-bytes 1 max-body 1"},
        {"[3 0]", "Q.DEAD t REDRIVE"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

static void a_redrive_takes_what_another_topic_has_room_for(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET other max-bytes 3"},
        {"[2 1]", "Q.DEAD t REDRIVE TO other DRYRUN"},
        {"[2 1]", "Q.DEAD t REDRIVE TO other"},
        {"[\"id\" \"b\" \"state\" \"dead\" *]", "Q.GET t b"},
        {"OK", "Q.CONFIG SET third max-body 3"},
        {"[0 1]", "Q.DEAD t REDRIVE TO third DRYRUN"},
        {"[0 1]", "Q.DEAD t REDRIVE TO third"},
        {"[1 0]", "Q.DEAD t REDRIVE"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

/* Or the last of many dead would drop all that waits, and then each other. */
static void a_redrive_drops_nothing(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET ?* max-length 2 overflow drop-oldest"},
        {"\"w\"", "Q.PUSH t w ID w"},
        {"[1 2]", "Q.DEAD t REDRIVE DRYRUN"},
        {"[1 2]", "Q.DEAD t REDRIVE"},
        {"2", "Q.LEN t ready"},
        {"[2 0]", "Q.DEAD t REDRIVE TO other"},
        {"[*\"ready\" 2 *\"total-dropped\" 0 *]", "Q.STATS other"},
        {"[*\"ready\" 2 *\"dead\" 0 *\"total-dropped\" 0 *]", "Q.STATS t"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

static void a_redrive_in_an_exec_counts_what_stays(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-length 2"},
        {"OK", "MULTI"},
        {"QUEUED", "Q.PUSH t w ID w"},
        {"QUEUED", "Q.DEAD t REDRIVE"},
        {"[\"w\" [1 2]]", "EXEC"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

static void what_dies_passes_the_limits_of_its_dead_letter_topic(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t dead-topic graves"},
        {"OK", "Q.CONFIG SET graves max-length 1 max-bytes 1 max-body 1"},
        {"\"a\"", "Q.PUSH graves x ID a"},
    };
    static const char *const after[][2] = {
        {"[*\"ready\" 4 *\"total-dropped\" 0 *]", "Q.STATS graves"},
        {"0", "Q.LEN t"},
    };
    runner_expect_all(*state, cases);
    add_three_dead(*state);
    runner_expect_all(*state, after);
}

/* ---- bodies that grow */

static void a_larger_body_is_refused_as_a_push_is(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-bytes 10 max-body 8"},
        {"\"a\"", "Q.PUSH t 1234 ID a"},
        {"\"b\"", "Q.PUSH t 1234 ID b"},
        {"!LIMIT *", "Q.UPDATE t a BODY 1234567 PRIORITY 1"},
        {"!TOOBIG *", "Q.UPDATE t a BODY 123456789"},
        {"!LIMIT *", "Q.PUSH t 1234567 ID a ONDUP REPLACE"},
        {"!LIMIT *", "Q.MPUSH t EACH 1 a \"\" \"\" 1234567 ONDUP REPLACE"},
        {"[*\"body\" \"1234\" *\"priority\" 128 *]", "Q.GET t a"},
        {"1", "Q.UPDATE t a BODY 123456"},
        {"\"a\"", "Q.PUSH t 12345 ID a ONDUP REPLACE"},
        {"\"a\"", "Q.PUSH t 123456 ID a ONDUP REPLACE"},
        {"[*\"bytes\" 10 *]", "Q.STATS t"},
        /* what does not grow passes, whatever the limit is by now */
        {"OK", "Q.CONFIG SET t max-bytes 1 max-length 1"},
        {"1", "Q.UPDATE t a BODY 12345"},
        {"1", "Q.UPDATE t a PRIORITY 3"},
        {"\"a\"", "Q.PUSH t 54321 ID a ONDUP REPLACE"},
        {"!LIMIT *", "Q.UPDATE t a BODY 123456"},
        {"[*\"bytes\" 9 *]", "Q.STATS t"},
    };
    runner_expect_all(*state, cases);
}

static void a_follow_up_is_refused_as_a_push_is(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-bytes 10 max-length 1"},
        {"\"a\"", "Q.PUSH t 1234 ID a"},
        {"[[\"a\" 1 *]]", "Q.CLAIM t"},
        {"!LIMIT *", "Q.PUSH t 1234567 ID a ONDUP REPLACE"},
        {"!LIMIT *", "Q.PUSH t 1234567 ID a ONDUP DEBOUNCE"},
        {"\"a\"", "Q.PUSH t 123456 ID a ONDUP REPLACE"},
        {"[*\"bytes\" 10 *]", "Q.STATS t"},
        {"!LIMIT *", "Q.PUSH t 1234567 ID a ONDUP REPLACE"},
        {"\"a\"", "Q.PUSH t 654321 ID a ONDUP DEBOUNCE"},
        {"[*\"bytes\" 10 *]", "Q.STATS t"},
        {"\"ready\"", "Q.NACK t a 1"},
        {"[*\"ready\" 1 *\"bytes\" 6 *]", "Q.STATS t"},
    };
    runner_expect_all(*state, cases);
}

static void a_larger_body_drops_other_jobs(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-bytes 10 overflow drop-oldest"},
        {"\"a\"", "Q.PUSH t 1234 ID a"},
        {"\"b\"", "Q.PUSH t 1234 ID b"},
        {"1", "Q.UPDATE t a BODY 1234567"},
        {"nil", "Q.GET t b"},
        {"\"c\"", "Q.PUSH t 123 ID c"},
        {"\"a\"", "Q.PUSH t 1234567890 ID a ONDUP REPLACE"},
        {"nil", "Q.GET t c"},
        {"!LIMIT *", "Q.UPDATE t a BODY 12345678901"},
        {"!LIMIT *", "Q.PUSH t 12345678901 ID a ONDUP REPLACE"},
        {"[*\"ready\" 1 *\"total-dropped\" 2 *]", "Q.STATS t"},
        {"1", "Q.UPDATE t a BODY 12345"},
        {"[[\"a\" 1 *]]", "Q.CLAIM t"},
        {"\"d\"", "Q.PUSH t 12345 ID d"},
        {"\"a\"", "Q.PUSH t 1 ID a ONDUP REPLACE"},
        {"[*\"ready\" 0 \"claimed\" 1 *\"total-dropped\" 3 \"bytes\" 6 *]", "Q.STATS t"},
    };
    runner_expect_all(*state, cases);
}

/* A dead job does not count for the length; the job that replaces it does. */
static void a_dead_job_that_is_replaced_needs_a_place(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-length 1"},
        {"\"w\"", "Q.PUSH t w ID w"},
        {"!LIMIT *", "Q.PUSH t x ID a ONDUP REPLACE"},
        {"!LIMIT *", "Q.PUSH t x ID a ONDUP DEBOUNCE"},
        {"!LIMIT *", "Q.MPUSH t EACH 1 a \"\" \"\" x ONDUP REPLACE"},
        {"\"a\"", "Q.PUSH t x ID a ONDUP IGNORE"},
        {"[*\"ready\" 1 *\"dead\" 3 *]", "Q.STATS t"},
        {"1", "Q.DEL t w"},
        {"\"a\"", "Q.PUSH t x ID a ONDUP REPLACE"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

/* ---- bodies that go in the same step */

static void a_dead_body_that_goes_leaves_its_bytes(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-bytes 7"},
        {"!LIMIT *", "Q.PUSH t 12345 ID b IGNOREDEAD"},
        {"!LIMIT *", "Q.MPUSH t EACH 1 b \"\" \"\" 12345 IGNOREDEAD"},
        {"[*\"dead\" 3 *]", "Q.STATS t"},
        {"\"b\"", "Q.PUSH t 1234 ID b IGNOREDEAD"},
        {"[* *]", "Q.MPUSH t EACH 2 a \"\" \"\" 1 c \"\" \"\" 22 IGNOREDEAD"},
        {"[*\"dead\" 0 *\"bytes\" 7 *]", "Q.STATS t"},
    };
    add_three_dead(*state);
    runner_expect_all(*state, cases);
}

static void a_job_that_hands_over_leaves_its_bytes(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-bytes 5"},
        {"\"a\"", "Q.PUSH t 12345 ID a"},
        {"[[\"a\" 1 *]]", "Q.CLAIM t"},
        {"!LIMIT *", "Q.ACK t a 1 THEN PUSH t 123456 ID b"},
        {"!LIMIT *", "Q.ACK t a 1 KEEP 1s THEN PUSH t 1 ID b"},
        {"!LIMIT *", "Q.ACK t a 1 RESULT x THEN PUSH t 1 ID b"},
        {"[\"b\"]", "Q.ACK t a 1 THEN PUSH t 12345 ID b WINDOW 1h"},
        {"[[\"b\" 2 *]]", "Q.CLAIM t"},
        {"[\"c\" \"d\"]", "Q.ACK t b 2 THEN PUSH t 123 ID c THEN PUSH t 12 ID d"},
        {"[*\"ready\" 2 \"claimed\" 0 *\"bytes\" 5 *]", "Q.STATS t"},
    };
    runner_expect_all(*state, cases);
}

/* ---- jobs that the same step takes care of */

/* Its lease is over, so that it waits, but its worker acks it: it is done, and not dropped. */
static void a_job_that_hands_over_late_is_not_dropped(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "Q.CONFIG SET t max-length 2 overflow drop-oldest keep 1h"},
        {'a', "\"a\"", "Q.PUSH t a ID a"},
        {'a', "[[\"a\" 1 *]]", "Q.CLAIM t LEASE 1s"},
        {'+', "", "1000"},
        {'a', "\"b\"", "Q.PUSH t b ID b"},
        {'a', "2", "Q.LEN t"},
        {'a', "[\"c\" \"d\"]", "Q.ACK t a 1 THEN PUSH t c ID c THEN PUSH t d ID d"},
        {'a', "[\"id\" \"a\" \"state\" \"done\" *]", "Q.GET t a"},
        {'a', "nil", "Q.GET t b"},
        {'a', "[*\"ready\" 2 *\"done\" 1 *\"total-acked\" 1 *\"total-dropped\" 1 *]",
         "Q.STATS t"},
        {'a', "OK", "Q.CONFIG SET t keep 0"},
        {'a', "[[\"c\" 2 *]]", "Q.CLAIM t LEASE 1s"},
        {'+', "", "1000"},
        {'a', "[\"e\" \"f\"]", "Q.ACK t c 2 THEN PUSH t e ID e THEN PUSH t f ID f"},
        {'a', "[*\"ready\" 2 *\"total-acked\" 2 *\"total-dropped\" 2 *]", "Q.STATS t"},
    };
    runner_follow(*state, steps);
}

/* Of several pushes none drops what another one changes. */
static void a_batch_does_not_drop_its_own_jobs(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "Q.CONFIG SET t max-length 2 overflow drop-oldest"},
        {"\"a\"", "Q.PUSH t a ID a"},
        {"\"b\"", "Q.PUSH t b ID b"},
        {"[\"a\" \"c\"]", "Q.MPUSH t EACH 2 a \"\" \"\" A c \"\" \"\" C ONDUP REPLACE"},
        {"nil", "Q.GET t b"},
        {"2", "Q.LEN t"},
        {"!LIMIT *", "Q.MPUSH t EACH 3 a \"\" \"\" A c \"\" \"\" C d \"\" \"\" D ONDUP IGNORE"},
        {"[*\"ready\" 2 *\"total-dropped\" 1 *]", "Q.STATS t"},
    };
    runner_expect_all(*state, cases);
}

int main(void)
{
#define overflow_test(name) cmocka_unit_test_setup_teardown(name, runner_setup, tear_down)
    const struct CMUnitTest tests[] = {
        overflow_test(a_full_topic_refuses_a_move),
        overflow_test(a_move_drops_the_oldest),
        overflow_test(a_redrive_takes_what_its_topic_has_room_for),
        overflow_test(bytes_do_not_hold_up_a_redrive_in_place),
        overflow_test(a_redrive_takes_what_another_topic_has_room_for),
        overflow_test(a_redrive_drops_nothing),
        overflow_test(a_redrive_in_an_exec_counts_what_stays),
        overflow_test(what_dies_passes_the_limits_of_its_dead_letter_topic),
        overflow_test(a_larger_body_is_refused_as_a_push_is),
        overflow_test(a_follow_up_is_refused_as_a_push_is),
        overflow_test(a_larger_body_drops_other_jobs),
        overflow_test(a_dead_job_that_is_replaced_needs_a_place),
        overflow_test(a_dead_body_that_goes_leaves_its_bytes),
        overflow_test(a_job_that_hands_over_leaves_its_bytes),
        overflow_test(a_job_that_hands_over_late_is_not_dropped),
        overflow_test(a_batch_does_not_drop_its_own_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
