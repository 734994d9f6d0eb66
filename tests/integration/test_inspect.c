/* Q.GET, Q.DEL, Q.LEN, Q.STATS, Q.TOPICS, and what FLUSHALL and DBSIZE make of topics. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

/* One job in each state. */
static void fill(redisContext *client)
{
    expect(client, "*", "Q.PUSH mail body ID claimed");
    claim(client, "mail", "claimed");
    expect(client, "*", "Q.PUSH mail body ID dead");
    expect(client, "\"dead\"", "Q.NACK mail dead %lld DEAD",
           (long long)claim(client, "mail", "dead"));
    expect(client, "*", "Q.PUSH mail body ID ready");
    expect(client, "*", "Q.PUSH mail body ID delayed DELAY 1h");
}

static void get_tells_the_state(void **state)
{
    static const char *const states[] = {"delayed", "ready", "claimed", "dead"};
    redisContext *client = served_client(state);
    fill(client);
    for (int i = 0; i < 4; i++) {
        char pattern[32];
        snprintf(pattern, sizeof(pattern), "\"%s\"", states[i]);
        expect_field(client, "state", pattern, "Q.GET mail %s", states[i]);
    }
}

static void get_tells_all_about_a_job(void **state)
{
    redisContext *client = served_client(state);
    int64_t before = unix_ms();
    expect(client, "*", "Q.PUSH mail hello ID a");
    expect_field(client, "id", "\"a\"", "Q.GET mail a");
    expect_field(client, "body", "\"hello\"", "Q.GET mail a");
    expect_field(client, "attempt", "0", "Q.GET mail a");
    expect_field(client, "error", "nil", "Q.GET mail a");
    int64_t pushed = ask_field(client, "pushed", "Q.GET mail a");
    assert_true(pushed >= before - 1000 && pushed <= unix_ms() + 1000);
    int64_t token = claim(client, "mail", "a");
    assert_int_equal(ask_field(client, "token", "Q.GET mail a"), token);
    expect_field(client, "attempt", "1", "Q.GET mail a");
    assert_int_equal(ask_field(client, "pushed", "Q.GET mail a"), pushed);
}

static void get_of_what_is_not_there_is_nil(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "nil", "Q.GET nowhere a");
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "nil", "Q.GET mail b");
    expect(client, "!ERR wrong number of arguments for 'q.get' command", "Q.GET mail");
    expect(client, "!ERR syntax error", "Q.GET mail a b");
}

static void del_removes_in_whatever_state(void **state)
{
    redisContext *client = served_client(state);
    fill(client);
    expect(client, "4", "Q.DEL mail delayed ready claimed dead none ready");
    expect(client, "0", "Q.LEN mail");
    expect(client, "[]", "Q.CLAIM mail");
    expect(client, "nil", "Q.GET mail claimed");
    expect(client, "0", "Q.DEL mail ready");
    expect(client, "0", "Q.DEL nowhere ready");
    expect(client, "!ERR wrong number of arguments for 'q.del' command", "Q.DEL mail");
}

static void a_deleted_claim_cannot_be_acked(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "1", "Q.DEL mail a");
    expect(client, "0", "Q.ACK mail a %lld", (long long)token);
    expect(client, "!NOJOB *", "Q.NACK mail a %lld", (long long)token);
}

static void len_counts_by_state(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "0", "Q.LEN mail");
    expect(client, "0", "Q.LEN mail ready");
    fill(client);
    expect(client, "*", "Q.PUSH mail body ID more");
    expect(client, "5", "Q.LEN mail");
    expect(client, "2", "Q.LEN mail ready");
    expect(client, "1", "Q.LEN mail DELAYED");
    expect(client, "1", "Q.LEN mail claimed");
    expect(client, "1", "Q.LEN mail dead");
    expect(client, "!ERR syntax error", "Q.LEN mail lost");
    expect(client, "!ERR *", "Q.LEN mail ready dead");
}

static void counts_move_as_jobs_fall_due(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 100; i++)
        expect(client, "*", "Q.PUSH mail body ID %d DELAY %d", i, 1 + i % 30);
    sleep_ms(40);
    expect(client, "100", "Q.LEN mail ready");
    expect(client, "0", "Q.LEN mail delayed");
}

static void stats_count_states_and_totals(void **state)
{
    redisContext *client = served_client(state);
    fill(client);
    expect(client, "*", "Q.PUSH mail body ID a PRIORITY 0");
    expect(client, "1", "Q.ACK mail a %lld", (long long)claim(client, "mail", "a"));
    expect(client, "1", "Q.DEL mail ready");
    static const struct {
        const char *name, *value;
    } expected[] = {{"delayed", "1"},     {"ready", "0"},        {"claimed", "1"},
                    {"dead", "1"},        {"total-pushed", "5"}, {"total-claimed", "3"},
                    {"total-acked", "1"}, {"total-nacked", "1"}, {"total-expired", "0"},
                    {"total-dead", "1"}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        expect_field(client, expected[i].name, expected[i].value, "Q.STATS mail");
}

static void stats_know_the_oldest_and_the_next(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID later AT %lld", (long long)unix_ms() + 7200000);
    expect(client, "*", "Q.PUSH mail body ID next DELAY 1h");
    int64_t due = ask_field(client, "due", "Q.GET mail next");
    int64_t next = ask_field(client, "next-due", "Q.STATS mail");
    assert_true(next >= due - 5 && next <= due + 5); /* two clocks, each rounded to ms */
    expect_field(client, "oldest-ready-age", "*", "Q.STATS mail");
    expect(client, "*", "Q.PUSH mail body ID old");
    sleep_ms(20);
    expect(client, "*", "Q.PUSH mail body ID young");
    assert_true(ask_field(client, "oldest-ready-age", "Q.STATS mail") >= 19);
}

static void stats_of_an_unknown_topic_are_zero(void **state)
{
    redisContext *client = served_client(state);
    expect_field(client, "ready", "0", "Q.STATS nowhere");
    expect_field(client, "total-pushed", "0", "Q.STATS nowhere");
    expect_field(client, "next-due", "nil", "Q.STATS nowhere");
    expect(client, "[]", "Q.TOPICS");
    expect(client, "!ERR wrong number of arguments for 'q.stats' command", "Q.STATS");
}

static void topics_are_listed_and_matched(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "[]", "Q.TOPICS");
    expect(client, "*", "Q.PUSH mail:out body");
    expect(client, "*", "Q.PUSH sms body");
    expect(client, "*", "Q.PUSH mail:in body");
    expect(client, "[\"mail:in\" \"mail:out\" \"sms\"]", "Q.TOPICS");
    expect(client, "[\"mail:in\" \"mail:out\"]", "Q.TOPICS MATCH mail:*");
    expect(client, "[\"sms\"]", "Q.TOPICS match s?s");
    expect(client, "[\"mail:in\"]", "Q.TOPICS COUNT 1");
    expect(client, "[\"mail:out\"]", "Q.TOPICS COUNT 1 AFTER mail:in MATCH mail:*");
    expect(client, "[]", "Q.TOPICS AFTER sms");
    expect(client, "[\"mail:in\" \"mail:out\" \"sms\"]", "Q.TOPICS COUNT 1000000");
    expect(client, "!ERR value is out of range, must be between 1 and 1000000",
           "Q.TOPICS COUNT 0");
    expect(client, "[\"mail:in\"]", "Q.TOPICS MATCH *[i]n");
    expect(client, "[]", "Q.TOPICS MATCH none");
    expect(client, "!ERR syntax error", "Q.TOPICS MATCH");
    expect(client, "!ERR syntax error", "Q.TOPICS FOO bar");
}

static void dbsize_counts_keys_not_topics(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body");
    expect(client, "0", "DBSIZE");
    expect(client, "OK", "SET key value");
    expect(client, "1", "DBSIZE");
}

static void flushall_leaves_nothing(void **state)
{
    redisContext *client = served_client(state);
    fill(client);
    expect(client, "*", "Q.PUSH sms body ID a");
    expect(client, "OK", "FLUSHALL");
    expect(client, "[]", "Q.TOPICS");
    expect(client, "nil", "Q.GET mail ready");
    expect(client, "0", "Q.ACK mail claimed 1");
    expect(client, "\"ready\"", "Q.PUSH mail other ID ready");
    expect(client, "[[\"ready\" * \"other\" 1]]", "Q.CLAIM mail COUNT 10");
    expect(client, "OK", "FLUSHALL ASYNC");
    expect(client, "OK", "FLUSHALL SYNC");
    expect(client, "!ERR syntax error", "FLUSHALL FOO");
    expect(client, "0", "Q.LEN mail");
}

static void each_of_many_jobs_keeps_its_own_body(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 500; i++)
        expect(client, "*", "Q.PUSH mail body-%d ID %d", i, i);
    for (int i = 0; i < 500; i++) {
        char pattern[32];
        snprintf(pattern, sizeof(pattern), "\"body-%d\"", i);
        expect_field(client, "body", pattern, "Q.GET mail %d", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(get_tells_the_state),
        served_test(get_tells_all_about_a_job),
        served_test(get_of_what_is_not_there_is_nil),
        served_test(del_removes_in_whatever_state),
        served_test(a_deleted_claim_cannot_be_acked),
        served_test(len_counts_by_state),
        served_test(counts_move_as_jobs_fall_due),
        served_test(stats_count_states_and_totals),
        served_test(stats_know_the_oldest_and_the_next),
        served_test(stats_of_an_unknown_topic_are_zero),
        served_test(topics_are_listed_and_matched),
        served_test(dbsize_counts_keys_not_topics),
        served_test(flushall_leaves_nothing),
        served_test(each_of_many_jobs_keeps_its_own_body),
    };
    return cmocka_run_group_tests_name("inspect", tests, NULL, NULL);
}
