/* Channels on which the server says what happens to jobs: __queue__:topic:event. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static redisContext *subscribe(void **state, const char *command)
{
    redisContext *listener = client_open(served_server(state));
    expect(listener, "[* * 1]", command);
    return listener;
}

static void expect_event(redisContext *listener, const char *event)
{
    char wanted[128];

    snprintf(wanted, sizeof(wanted),
             "[\"pmessage\" \"__queue__:mail:*\" \"__queue__:mail:%s\" \"a\"]", event);
    expect_reply(listener, wanted);
}

/* A claim that comes before the tick would find the job, and there would be no `due`. */
static void a_pattern_hears_of_a_life(void **state)
{
    redisContext *client = served_client(state);
    redisContext *listener = subscribe(state, "PSUBSCRIBE __queue__:mail:*");
    expect(client, "*", "Q.PUSH other body");
    expect(client, "*", "Q.PUSH mail body ID a DELAY 20");
    expect_event(listener, "pushed");
    expect_event(listener, "due");
    expect(client, "[[\"a\" 1 *]]", "Q.CLAIM mail BLOCK 0");
    expect_event(listener, "claimed");
    expect(client, "1", "Q.ACK mail a 1");
    expect_event(listener, "acked");
    client_close(listener);
}

static void a_channel_hears_of_one_event(void **state)
{
    redisContext *client = served_client(state);
    redisContext *listener = subscribe(state, "SUBSCRIBE __queue__:mail:dead");
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "[*]", "Q.CLAIM mail");
    expect(client, "*", "Q.NACK mail a 1 FATAL");
    expect_reply(listener, "[\"message\" \"__queue__:mail:dead\" \"a\"]");
    client_close(listener);
    expect(client, "*", "Q.PUSH mail body ID b"); /* nobody listens any more */
}

/* All of a transaction are told, in order, after it. */
static void a_transaction_is_told(void **state)
{
    redisContext *client = served_client(state);
    redisContext *listener = subscribe(state, "PSUBSCRIBE __queue__:*");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.PUSH mail body ID a");
    expect(client, "QUEUED", "Q.CLAIM mail");
    expect(client, "[*]", "EXEC");
    expect_reply(listener, "[* * \"__queue__:mail:pushed\" \"a\"]");
    expect_reply(listener, "[* * \"__queue__:mail:claimed\" \"a\"]");
    client_close(listener);
}

static void ten_thousand_are_told(void **state)
{
    redisContext *client = served_client(state);
    redisContext *listener = subscribe(state, "SUBSCRIBE __queue__:mail:pushed");
    for (int i = 0; i < 10000; i++)
        redisAppendCommand(client, "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < 10000; i++) {
        redisReply *reply;
        char wanted[64];
        assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
        freeReplyObject(reply);
        snprintf(wanted, sizeof(wanted), "[\"message\" * \"%d\"]", i);
        expect_reply(listener, wanted);
    }
    client_close(listener);
}

static void rights_to_channels_hold(void **state)
{
    redisContext *client = served_client(state), *user = client_open(served_server(state));
    expect(client, "OK", "ACL SETUSER u on nopass +@all ~* &__queue__:mail:*");
    expect(user, "OK", "AUTH u x");
    expect(user, "!NOPERM *", "SUBSCRIBE __queue__:other:pushed");
    expect(user, "!NOPERM *", "PSUBSCRIBE __queue__:*");
    expect(user, "[* * 1]", "SUBSCRIBE __queue__:mail:pushed");
    expect(client, "*", "Q.PUSH mail body ID a");
    expect_reply(user, "[\"message\" \"__queue__:mail:pushed\" \"a\"]");
    client_close(user);
}

/* What clients publish there themselves is a message like others. */
static void other_subscribers_hear_nothing(void **state)
{
    redisContext *client = served_client(state);
    redisContext *listener = subscribe(state, "PSUBSCRIBE news:*");
    expect(client, "*", "Q.PUSH news body");
    expect(client, "1", "PUBLISH news:a hello");
    expect_reply(listener, "[\"pmessage\" \"news:*\" \"news:a\" \"hello\"]");
    client_close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_pattern_hears_of_a_life), served_test(a_channel_hears_of_one_event),
        served_test(a_transaction_is_told),     served_test(ten_thousand_are_told),
        served_test(rights_to_channels_hold),   served_test(other_subscribers_hear_nothing)};

    return cmocka_run_group_tests_name("events", tests, NULL, NULL);
}
