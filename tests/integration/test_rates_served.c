/* Rates with real clients: settings, blocked claims that wake when a permit is there, pops,
 * transactions. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void settings_are_read_and_shown(void **state)
{
    redisContext *client = served_client(state);
    static const char *const wrong[] = {"100",          "/1s",
                                        "0/1s",         "1000001/1s",
                                        "5/0",          "5/1s burst",
                                        "5/1s burst 0", "5/1s burst x",
                                        "5/1s bust 5",  "-5/1s",
                                        "5/1s 5",       "5/-1s",
                                        "5 /1s",        "5/1s burst 1 2",
                                        "5/1y",         "5/1s burst 1000001"};

    expect(client, "[\"rate\" [nil \"server\"] \"group-rate\" [nil \"server\"]]",
           "Q.CONFIG GET t rate group-rate");
    expect(client, "OK", "Q.CONFIG SET t rate 100/1s group-rate %s", "5/1m BURST 20");
    expect(client,
           "[\"rate\" [\"100/1000ms\" \"topic\"] \"group-rate\" [\"5/60000ms burst 20\" "
           "\"topic\"]]",
           "Q.CONFIG GET t rate group-rate");
    expect(client, "OK", "Q.CONFIG SET other rate %s group-rate %s", "100/1000ms",
           "5/60000ms burst 20");
    expect(client, "OK", "Q.CONFIG RESET t rate");
    expect(client, "[\"rate\" [nil \"server\"] \"group-rate\" [* \"topic\"]]",
           "Q.CONFIG GET t rate group-rate");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        expect(client, "!ERR rate must be 'n/duration' or *", "Q.CONFIG SET t rate %s",
               wrong[i]);
    expect(client, "!ERR group-rate must be *", "Q.CONFIG SET t group-rate %b", "5/1s\0x",
           (size_t)6);
}

/* The waiter is not served before, and its claim is not tried again until then. */
static void a_blocked_claim_wakes_when_a_permit_is_there(void **state)
{
    redisContext *client = served_client(state), *waiting;
    int64_t until;

    expect(client, "OK", "Q.CONFIG SET t rate %s", "1/300ms burst 1");
    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "\"b\"", "Q.PUSH t body ID b");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t COUNT 5");
    expect_field(client, "rate-left", "0", "Q.STATS t");
    expect_field(client, "limit", "\"rate\"", "Q.EXPLAIN t b");
    until = ask_field(client, "until", "Q.EXPLAIN t b");
    waiting = served_waiter(state, 1, "Q.CLAIM t BLOCK 0");
    expect_reply(waiting, "[[\"b\" 2 \"body\" 1]]");
    assert_true(ask_field(client, "claimed-at", "Q.GET t b") >= until);
    assert_in_range(ask_info(client, "queue", "rate_refused_claims"), 2, 3);
}

static void blocked_claims_are_served_in_order(void **state)
{
    redisContext *client = served_client(state), *first, *second;

    expect(client, "OK", "Q.CONFIG SET t group-rate %s", "1/100ms burst 1");
    expect(client, "\"a\"", "Q.PUSH t body ID a GROUP g");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    first = served_waiter(state, 1, "Q.CLAIM t BLOCK 0");
    second = served_waiter(state, 2, "Q.CLAIM t BLOCK 0");
    expect(client, "\"b\"", "Q.PUSH t body ID b GROUP g");
    expect(client, "\"c\"", "Q.PUSH t body ID c GROUP g");
    expect_reply(first, "[[\"b\" 2 \"body\" 1]]");
    expect_reply(second, "[[\"c\" 3 \"body\" 1]]");
}

static void a_change_of_the_rate_wakes_blocked_claims(void **state)
{
    redisContext *client = served_client(state), *waiting;

    expect(client, "OK", "Q.CONFIG SET t rate 1/1d group-rate 1/1d");
    for (int i = 0; i < 4; i++)
        expect(client, "\"*\"", "Q.PUSH t body ID %d GROUP g", i);
    expect(client, "[[\"0\" 1 \"body\" 1]]", "Q.CLAIM t COUNT 5");
    waiting = served_waiter(state, 1, "Q.CLAIM t BLOCK 0");
    expect(client, "OK", "Q.CONFIG SET t rate 10000/1s");
    expect(client, "OK", "Q.CONFIG SET t group-rate 10000/1s");
    expect_reply(waiting, "[[\"1\" 2 \"body\" 1]]");
    expect(client, "OK", "Q.CONFIG SET t rate %s group-rate %s", "1/1d burst 1",
           "1/1d burst 1");
    expect(client, "[*]", "Q.CLAIM t COUNT 5"); /* it may be one or none */
    say(waiting, "Q.CLAIM t COUNT 5 BLOCK 0");
    await_blocked(client, 1);
    expect(client, "OK", "Q.CONFIG RESET t rate group-rate");
    expect_reply(waiting, "[[* * \"body\" 1]*]");
}

static void all_ways_to_take_a_job_need_a_permit(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "OK", "Q.CONFIG SET t rate 4/1d");
    for (int i = 0; i < 9; i++)
        expect(client, "\"*\"", "Q.PUSH t body ID %d", i);
    expect(client, "[[\"0\" \"body\"]]", "Q.POP t");
    expect(client, "[[\"t\" \"1\" 2 \"body\" 1]]", "Q.MCLAIM 1 t");
    expect(client, "[[\"2\" 3 \"body\" 1]]", "Q.CLAIM t ACK 1 2");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.CLAIM t COUNT 5");
    expect(client, "QUEUED", "Q.POP t BLOCK 0");
    expect(client, "[[[\"3\" 4 \"body\" 1]] *]", "EXEC");
    expect(client, "\"ready\"", "Q.NACK t 3 4 DELAY 0");
    expect(client, "[]", "Q.CLAIM t");
    expect_field(client, "rate-left", "0", "Q.STATS t");
}

static void explain_names_the_rate_of_the_group(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "OK", "Q.CONFIG SET t group-rate 1/1d");
    expect(client, "\"a\"", "Q.PUSH t body ID a GROUP g");
    expect(client, "\"b\"", "Q.PUSH t body ID b GROUP g");
    expect(client, "\"c\"", "Q.PUSH t body ID c");
    expect_field(client, "reason", "\"ready\"", "Q.EXPLAIN t b");
    expect(client, "[[\"a\" 1 \"body\" 1] [\"c\" 2 \"body\" 1]]", "Q.CLAIM t COUNT 5");
    expect_field(client, "reason", "\"limit\"", "Q.EXPLAIN t b");
    expect_field(client, "limit", "\"group-rate\"", "Q.EXPLAIN t b");
    expect_field(client, "group", "\"g\"", "Q.EXPLAIN t b");
    assert_in_range(ask_field(client, "wait", "Q.EXPLAIN t b"), 1, 86400000);
    expect_field(client, "rate-left", "nil", "Q.STATS t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(settings_are_read_and_shown),
        served_test(a_blocked_claim_wakes_when_a_permit_is_there),
        served_test(blocked_claims_are_served_in_order),
        served_test(a_change_of_the_rate_wakes_blocked_claims),
        served_test(all_ways_to_take_a_job_need_a_permit),
        served_test(explain_names_the_rate_of_the_group),
    };
    return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
