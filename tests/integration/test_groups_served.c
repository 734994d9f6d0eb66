/* Groups with real clients: options, settings, blocked claims, a restart, dump and load. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void options_are_read_and_shown(void **state)
{
    redisContext *client = served_client(state);
    char long_name[256];

    memset(long_name, 'x', sizeof(long_name));
    expect(client, "\"a\"", "Q.PUSH t body ID a GROUP g WEIGHT 3");
    expect_field(client, "group", "\"g\"", "Q.GET t a");
    expect_field(client, "weight", "3", "Q.GET t a");
    expect(client, "\"b\"", "Q.PUSH t body ID b");
    expect_field(client, "group", "nil", "Q.GET t b");
    expect(client, "!ERR WEIGHT needs a GROUP", "Q.PUSH t body WEIGHT 3");
    expect(client, "!ERR WEIGHT is out of range*", "Q.PUSH t body GROUP g WEIGHT 0");
    expect(client, "!ERR group must be 1 to 255 bytes long", "Q.PUSH t body GROUP %s", "");
    expect(client, "!ERR group must be 1 to 255 bytes long", "Q.PUSH t body GROUP %b",
           long_name, sizeof(long_name));
    expect(client, "[* *]", "Q.MPUSH t 2 x y GROUP g");
    expect(client, "[\"0\" [[\"id\" \"a\" *] [*] [*]]]", "Q.SCAN t 0 COUNT 100 GROUP g");
    expect(client, "[\"0\" [[\"id\" \"b\" *]]]", "Q.SCAN t 0 COUNT 100 GROUP %s", "");
}

static void settings_are_read_and_shown(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "[\"group-mode\" [\"none\" \"server\"]]", "Q.CONFIG GET t group-mode");
    expect(client, "OK", "Q.CONFIG SET t group-mode %s group-on-failure pass", "CAP 12");
    expect(client,
           "[\"group-mode\" [\"cap 12\" \"topic\"] \"group-on-failure\" [\"pass\" \"topic\"]]",
           "Q.CONFIG GET t group-mode group-on-failure");
    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    expect(client, "[\"group-mode\" [\"serial\" \"topic\"]]", "Q.CONFIG GET t group-mode");
    expect(client, "!ERR group-mode must be *", "Q.CONFIG SET t group-mode %s", "cap 0");
    expect(client, "!ERR group-mode must be *", "Q.CONFIG SET t group-mode %s", "cap 1 2");
    expect(client, "!ERR group-mode must be *", "Q.CONFIG SET t group-mode %s",
           "cap 1000000001");
    expect(client, "!ERR group-mode must be *", "Q.CONFIG SET t group-mode cap");
}

/* Each wakes when the group is free, and not before. */
static void blocked_claims_wake_when_their_group_is_free(void **state)
{
    redisContext *client = served_client(state), *waiting;

    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    expect(client, "\"a\"", "Q.PUSH t body ID a GROUP g");
    expect(client, "\"b\"", "Q.PUSH t body ID b GROUP g");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    waiting = served_waiter(state, 1, "Q.CLAIM t BLOCK 0");
    expect(client, "\"c\"", "Q.PUSH t body ID c GROUP g");
    expect(client, "\"*\"", "Q.PUSH t body ID d GROUP g DELAY 1ms");
    expect_silence(waiting, 50);
    expect(client, "1", "Q.ACK t a 1");
    expect_reply(waiting, "[[\"b\" 2 \"body\" 1]]");
    say(waiting, "Q.CLAIM t BLOCK 0");
    await_blocked(client, 1);
    expect(client, "\"ready\"", "Q.NACK t b 2 DELAY 0");
    expect_reply(waiting, "[[\"b\" 3 \"body\" 2]]");
    say(waiting, "Q.CLAIM t BLOCK 0");
    await_blocked(client, 1);
    expect(client, "OK", "Q.CONFIG SET t group-mode %s", "cap 2");
    expect_reply(waiting, "[[\"c\" 4 \"body\" 1]]");
}

static void blocked_claims_wake_when_a_slot_is_free(void **state)
{
    redisContext *client = served_client(state), *waiting;

    expect(client, "OK", "Q.CONFIG SET t concurrency 1");
    expect(client, "\"a\"", "Q.PUSH t body ID a");
    expect(client, "\"b\"", "Q.PUSH t body ID b");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t COUNT 5");
    expect_field(client, "reason", "\"limit\"", "Q.EXPLAIN t b");
    expect_field(client, "limit", "\"concurrency\"", "Q.EXPLAIN t b");
    expect_field(client, "text",
                 "\"1 job of the topic is claimed, and no more may be (concurrency)\"",
                 "Q.EXPLAIN t b");
    waiting = served_waiter(state, 1, "Q.CLAIM t BLOCK 0");
    expect(client, "\"c\"", "Q.PUSH t body ID c");
    expect_silence(waiting, 50);
    expect(client, "1", "Q.ACK t a 1");
    expect_reply(waiting, "[[\"b\" 2 \"body\" 1]]");
    say(waiting, "Q.CLAIM t BLOCK 0");
    await_blocked(client, 1);
    expect(client, "OK", "Q.CONFIG SET t concurrency 2");
    expect_reply(waiting, "[[\"c\" 3 \"body\" 1]]");
}

/* Of two that hold it, the stricter one. */
static void explain_names_the_limit_of_the_group(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "OK", "Q.CONFIG SET t group-mode %s group-concurrency 1", "cap 2");
    expect(client, "[* * * *]", "Q.MPUSH t 4 a b c d GROUP g");
    expect(client, "\"z\"", "Q.PUSH t body ID z GROUP g");
    expect(client, "[[* 1 \"a\" 1]]", "Q.CLAIM t COUNT 5");
    expect_field(client, "limit", "\"group-concurrency\"", "Q.EXPLAIN t z");
    expect_field(client, "text",
                 "\"1 job of its group is claimed, and no more may be (group-concurrency)\"",
                 "Q.EXPLAIN t z");
    expect(client, "OK", "Q.CONFIG SET t group-concurrency 7");
    expect(client, "[[* 2 \"b\" 1]]", "Q.CLAIM t COUNT 5");
    expect_field(client, "limit", "\"group-mode\"", "Q.EXPLAIN t z");
    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    expect_field(client, "limit", "\"group-mode\"", "Q.EXPLAIN t z");
    expect(client, "OK", "Q.CONFIG SET t group-mode none group-concurrency 2");
    expect_field(client, "limit", "\"group-concurrency\"", "Q.EXPLAIN t z");
    expect(client, "OK", "Q.CONFIG RESET t");
    expect_field(client, "reason", "\"ready\"", "Q.EXPLAIN t z");
}

static void explain_names_the_group(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    expect(client, "\"a\"", "Q.PUSH t body ID a GROUP g");
    expect(client, "\"b\"", "Q.PUSH t body ID b GROUP g");
    expect_field(client, "reason", "\"ready\"", "Q.EXPLAIN t b");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM t");
    expect_field(client, "reason", "\"group\"", "Q.EXPLAIN t b");
    expect_field(client, "group-claimed", "1", "Q.EXPLAIN t b");
    expect(client, "\"delayed\"", "Q.NACK t a 1 DELAY 1h");
    expect_field(client, "group-holding", "1", "Q.EXPLAIN t b");
    expect_field(client, "limit", "\"group-on-failure\"", "Q.EXPLAIN t b");
    expect_field(client, "text",
                 "\"a job of its group failed and is to run again before the others\"",
                 "Q.EXPLAIN t b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(options_are_read_and_shown),
        served_test(settings_are_read_and_shown),
        served_test(blocked_claims_wake_when_their_group_is_free),
        served_test(blocked_claims_wake_when_a_slot_is_free),
        served_test(explain_names_the_limit_of_the_group),
        served_test(explain_names_the_group),
    };
    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
