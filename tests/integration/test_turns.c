/* What thousands of connections need at once is spread over several turns of the loop, so that
 * others are served in between. */
#include "tests/support/client/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <setjmp.h>
#include <cmocka.h>

/* As many as come at once fit into the queue of a listener. */
enum { MANY = 800, COME = 400, ACCEPTS_MOST = 64, SENDS_MOST = 128, CLOSES_MOST = 64 };

static redisContext *many[MANY];

static void open_many(void **state, int count)
{
    for (int i = 0; i < count; i++)
        many[i] = client_open(served_server(state));
}

static int64_t turns(redisContext *client)
{
    return ask_info(client, "stats", "turns");
}

/* Each with a message that is there already, and none with two. */
static void all_get(const char *pattern)
{
    for (int i = 0; i < MANY; i++)
        expect_reply(many[i], pattern);
}

static void await_clients(redisContext *client, int64_t count)
{
    while (ask_info(client, "clients", "connected_clients") != count)
        sleep_ms(1);
}

static void messages_to_many_leave_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    open_many(state, MANY);
    for (int i = 0; i < MANY; i++)
        expect(many[i], "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    int64_t before = turns(client);
    expect(client, "800", "PUBLISH c hello");
    all_get("[\"message\" \"c\" \"hello\"]");
    assert_true(turns(client) - before >= MANY / SENDS_MOST + 2);
}

enum { REPLY = 32 << 20, SEND_MOST = 512 * 1024 };

/* The kernel takes 4 MB at once, for 6 to 10 ms. */
static void a_long_reply_leaves_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "33554432", "SETRANGE s 33554431 x");
    int64_t before = turns(client);
    redisReply *reply = redisCommand(client, "GET s");
    assert_non_null(reply);
    assert_int_equal(reply->len, REPLY);
    freeReplyObject(reply);
    assert_true(turns(client) - before >= REPLY / SEND_MOST);
}

enum { LONG = 10000, COST = 1 + LONG / 512, SLICE = 1000 };

static char long_message[LONG + 1];

static void all_subscribe(void **state)
{
    memset(long_message, 'x', LONG);
    open_many(state, MANY);
    for (int i = 0; i < MANY; i++)
        expect(many[i], "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
}

static void all_get_long(void)
{
    char pattern[LONG + 64];
    snprintf(pattern, sizeof(pattern), "[\"message\" \"c\" \"%s\"]", long_message);
    all_get(pattern);
}

/* To copy it for 10,000 took 120 ms. */
static void a_long_message_to_many_is_copied_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    all_subscribe(state);
    int64_t before = turns(client);
    expect(client, "800", "PUBLISH c %s", long_message);
    assert_true(turns(client) - before >= MANY * COST / SLICE);
    all_get_long();
}

/* Who goes meanwhile, the publisher too, is in nobody's way. */
static void messages_come_in_order_whoever_goes(void **state)
{
    redisContext *client = served_client(state);
    redisContext *publisher = client_open(served_server(state));
    redisContext *goes = client_open(served_server(state));
    expect(goes, "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    all_subscribe(state);
    kill(served_server(state)->pid, SIGSTOP);
    say(publisher, "PUBLISH c %s", long_message);
    say(client, "PUBLISH c short");
    client_close(publisher);
    say(goes, "UNSUBSCRIBE c");
    kill(served_server(state)->pid, SIGCONT);
    expect_reply(client, "80*");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "PUBLISH c last");
    say(client, "PUBLISH c none"); /* QUEUED */
    expect_reply(client, "QUEUED");
    expect(client, "[800 800]", "EXEC");
    all_get_long();
    all_get("[\"message\" \"c\" \"short\"]");
    all_get("[\"message\" \"c\" \"last\"]");
    all_get("[\"message\" \"c\" \"none\"]");
}

/* The kernel accepts them for a server that is stopped. */
static void who_comes_together_is_accepted_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    pid_t pid = served_server(state)->pid;
    int64_t before = turns(client);
    kill(pid, SIGSTOP);
    open_many(state, COME);
    kill(pid, SIGCONT);
    await_clients(client, COME + 1);
    assert_true(turns(client) - before >= COME / ACCEPTS_MOST);
}

/* Nothing is asked meanwhile, because each request is another turn. */
static void who_leaves_together_is_closed_in_several_turns(void **state)
{
    redisContext *client = served_client(state);
    pid_t pid = served_server(state)->pid;
    open_many(state, MANY);
    for (int i = 0; i < MANY; i++)
        expect(many[i], "PONG", "PING");
    int64_t before = turns(client);
    kill(pid, SIGSTOP);
    for (int i = 0; i < MANY; i++)
        shutdown(many[i]->fd, SHUT_WR);
    kill(pid, SIGCONT);
    for (int i = 0; i < MANY; i++)
        expect_closed(many[i]);
    assert_true(turns(client) - before >= MANY / CLOSES_MOST);
}

/* What a killer has asked for is done, although it goes after the first turn of it. Each look
 * is another turn. */
static void a_kill_is_completed_without_its_client(void **state)
{
    redisContext *client = served_client(state);
    redisContext *killer = client_open(served_server(state));
    pid_t pid = served_server(state)->pid;
    open_many(state, MANY);
    for (int i = 0; i < MANY; i++)
        expect(many[i], "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    kill(pid, SIGSTOP);
    say(killer, "CLIENT KILL TYPE pubsub");
    client_close(killer);
    kill(pid, SIGCONT);
    for (int i = 0; i < MANY && ask_info(client, "clients", "connected_clients") > 1; i++)
        sleep_ms(1);
    expect(client, "[\"c\" 0]", "PUBSUB NUMSUB c");
    assert_int_equal(ask_info(client, "clients", "connected_clients"), 1);
}

static void who_kills_itself_with_many_gets_the_reply(void **state)
{
    expect(served_client(state), "1", "CLIENT KILL TYPE normal SKIPME no");
    for (int in_exec = 0; in_exec < 2; in_exec++) {
        redisContext *killer = client_open(served_server(state));
        open_many(state, MANY);
        await_clients(killer, MANY + 1);
        if (in_exec)
            expect(killer, "OK", "MULTI");
        say(killer, "CLIENT KILL TYPE normal SKIPME no");
        if (in_exec) {
            expect_reply(killer, "QUEUED");
            say(killer, "EXEC");
        }
        expect_reply(killer, in_exec ? "[801]" : "801");
        expect_closed(killer);
        for (int i = 0; i < MANY; i++)
            expect_closed(many[i]);
    }
}

/* The kill and the newcomer arrive in the same turn. */
static void a_doomed_client_takes_no_place(void **state)
{
    redisContext *client = served_client(state);
    pid_t pid = served_server(state)->pid;
    open_many(state, 1);
    int64_t id = ask_integer(many[0], "CLIENT ID");
    expect(client, "OK", "CONFIG SET maxclients 2");
    kill(pid, SIGSTOP);
    say(client, "CLIENT KILL ID %lld", (long long)id);
    redisContext *newcomer = client_open(served_server(state));
    kill(pid, SIGCONT);
    expect_reply(client, "1");
    expect(newcomer, "PONG", "PING");
}

enum { PIPELINES = 50, PIPELINE = 200, ROUND = PIPELINES * PIPELINE };

/* Each pipeline is sent at once: a kernel takes 5 KB, but not 200 packets of a few bytes. What
 * it holds back comes by itself, is little, and makes a client one that asks for little. */
static void all_count(void)
{
    for (int i = 0; i < PIPELINES; i++) {
        for (int left = PIPELINE - 1; left > 0; left--)
            assert_int_equal(redisAppendCommand(many[i], "INCR counter"), REDIS_OK);
        say(many[i], "INCR counter");
    }
}

static void all_have_counted(void)
{
    for (int i = 0; i < ROUND; i++)
        expect_reply(many[i / PIPELINE], "*");
}

/* Returns when it has stopped: it runs nothing of what is sent from now on. */
static void stop(pid_t pid)
{
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
}

/* A round of all pipelines is longer than a turn: 15 ms. */
static void who_asks_for_little_does_not_wait_for_all_pipelines(void **state)
{
    redisContext *client = served_client(state);
    pid_t pid = served_server(state)->pid;
    open_many(state, PIPELINES);
    for (int i = 0; i < 2; i++) { /* once in a while is not much */
        stop(pid);
        all_count();
        kill(pid, SIGCONT);
        all_have_counted();
    }
    stop(pid);
    all_count();
    say(client, "INCR counter");
    kill(pid, SIGCONT);
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
    assert_in_range(reply->integer, 2 * ROUND + 1, 2 * ROUND + ROUND / 2);
    freeReplyObject(reply);
    all_have_counted();
    expect(client, "\"30001\"", "GET counter");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(who_asks_for_little_does_not_wait_for_all_pipelines),
        served_test(messages_to_many_leave_in_several_turns),
        served_test(a_long_reply_leaves_in_several_turns),
        served_test(a_long_message_to_many_is_copied_in_several_turns),
        served_test(messages_come_in_order_whoever_goes),
        served_test(who_comes_together_is_accepted_in_several_turns),
        served_test(who_leaves_together_is_closed_in_several_turns),
        served_test(a_kill_is_completed_without_its_client),
        served_test(who_kills_itself_with_many_gets_the_reply),
        served_test(a_doomed_client_takes_no_place),
    };

    return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
