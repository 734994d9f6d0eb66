/* An EXEC of many commands, or a command with many arguments, takes several turns of the loop,
 * and is one step nevertheless: for other clients, for who is blocked, for a stop and for a
 * kill. */
#include "tests/support/client/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { MANY = 40000 };

/* SET k0 v ... in a MULTI, all QUEUED. */
static void queue_many(redisContext *client, int count)
{
    expect(client, "OK", "MULTI");
    for (int first = 0; first < count; first += 1000) {
        for (int i = first; i < first + 1000; i++)
            say(client, "SET k%d v", i);
        for (int i = first; i < first + 1000; i++)
            expect_reply(client, "QUEUED");
    }
}

static void take_exec_reply(redisContext *client, size_t count)
{
    void *got = NULL;

    assert_int_equal(redisGetReply(client, &got), REDIS_OK);
    const redisReply *reply = got;
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    assert_int_equal(reply->elements, count);
    freeReplyObject(got);
}

/* Who asks for keys sees nothing or all; a PING does not wait for it. */
static void others_go_on_and_see_no_part(void **state)
{
    redisContext *client = served_client(state);
    redisContext *reader = client_open(served_server(state));
    redisContext *bystander = client_open(served_server(state));
    queue_many(client, MANY);
    int64_t before = ask_info(bystander, "stats", "turns");
    say(client, "EXEC");
    for (int i = 0; i < 200; i++) {
        expect(bystander, "PONG", "PING");
        int64_t size = ask_integer(reader, "DBSIZE");
        assert_true(size == 0 || size == MANY);
        if (size == MANY)
            break;
    }
    take_exec_reply(client, MANY);
    expect(reader, "40000", "DBSIZE");
    assert_true(ask_info(bystander, "stats", "turns") - before >= 3);
}

static void what_others_write_comes_before_or_after(void **state)
{
    redisContext *client = served_client(state);
    redisContext *other = client_open(served_server(state));
    expect(client, "OK", "MULTI");
    for (int i = 0; i < 10000; i++)
        say(client, "INCR n");
    for (int i = 0; i < 10000; i++)
        expect_reply(client, "QUEUED");
    kill(served_server(state)->pid, SIGSTOP);
    say(client, "EXEC");
    say(other, "INCRBY n 1000000");
    kill(served_server(state)->pid, SIGCONT);
    void *got = NULL;
    assert_int_equal(redisGetReply(client, &got), REDIS_OK);
    const redisReply *reply = got;
    assert_int_equal(reply->elements, 10000);
    for (size_t i = 1; i < reply->elements; i++)
        assert_int_equal(reply->element[i]->integer, reply->element[i - 1]->integer + 1);
    freeReplyObject(got);
    expect_reply(other, "10*");
    expect(client, "\"1010000\"", "GET n");
}

/* Two of them follow each other, and who watches learns of the first. */
static void two_follow_each_other(void **state)
{
    redisContext *client = served_client(state);
    redisContext *other = client_open(served_server(state));
    queue_many(client, 10000);
    expect(other, "OK", "WATCH k9999");
    queue_many(other, 10000);
    kill(served_server(state)->pid, SIGSTOP);
    say(client, "EXEC");
    say(other, "EXEC");
    kill(served_server(state)->pid, SIGCONT);
    void *first = NULL, *second = NULL;
    assert_int_equal(redisGetReply(client, &first), REDIS_OK);
    assert_int_equal(redisGetReply(other, &second), REDIS_OK);
    const redisReply *a = first, *b = second;
    assert_true((a->elements == 10000 && b->type == REDIS_REPLY_NIL) ||
                (a->elements == 10000 && b->elements == 10000));
    freeReplyObject(first);
    freeReplyObject(second);
}

/* As Redis shows it: after what it has run. */
static void monitors_are_shown_it_last(void **state)
{
    redisContext *client = served_client(state);
    redisContext *monitor = client_open(served_server(state));
    queue_many(client, 5000);
    expect(monitor, "OK", "MONITOR");
    say(client, "EXEC");
    take_exec_reply(client, 5000);
    for (int i = 0; i < 5000; i++)
        expect_reply(monitor, "* \"SET\" *");
    expect_reply(monitor, "* \"EXEC\"");
}

static void it_is_done_when_its_client_goes(void **state)
{
    redisContext *client = client_open(served_server(state));
    redisContext *other = served_client(state);
    queue_many(client, MANY);
    say(client, "EXEC");
    client_close(client);
    for (int i = 0; i < 1000 && ask_integer(other, "DBSIZE") == 0; i++)
        sleep_ms(2);
    expect(other, "40000", "DBSIZE");
}

static void who_is_blocked_is_served_after_it(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waits = served_waiter(state, 1, "BLPOP l 0");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "RPUSH l first");
    for (int i = 0; i < 5000; i++)
        say(client, "SET k v");
    for (int i = 0; i < 5000; i++)
        expect_reply(client, "QUEUED");
    expect(client, "QUEUED", "LPOP l");
    expect(client, "QUEUED", "RPUSH l second");
    say(client, "EXEC");
    take_exec_reply(client, 5003);
    expect_reply(waits, "[\"l\" \"second\"]");
}

static void a_stop_waits_for_it(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);
    queue_many(client, MANY);
    say(client, "EXEC");
    kill(server->pid, SIGTERM);
    take_exec_reply(client, MANY);
    assert_int_equal(server_process_wait(server), 0);
    server_process_run(server);
    redisContext *again = client_open(server);
    expect(again, "40000", "DBSIZE");
}

/* One record: all of it, or nothing. */
static void a_kill_leaves_nothing_or_all(void **state)
{
    struct server_process *server = served_server(state);
    bool nothing = false;

    for (int ms = 0; ms < 6; ms++) {
        redisContext *client = client_open(server);
        queue_many(client, MANY);
        say(client, "EXEC");
        sleep_ms(ms * 3);
        server_process_kill(server);
        client_close(client);
        server_process_run(server);
        client = client_open(server);
        int64_t size = ask_integer(client, "DBSIZE");
        assert_true(size == 0 || size == MANY);
        nothing = nothing || size == 0;
        expect(client, "OK", "FLUSHALL");
        client_close(client);
    }
    assert_true(nothing); /* else no kill came early enough to show anything */
}

/* "MSET k0 v k1 v ...", "DEL k0 k1 ..." */
static void say_many(redisContext *client, const char *command, bool with_values)
{
    enum { WORD = 16 };
    size_t count = 1 + (size_t)MANY * (with_values ? 2 : 1);
    const char **words = calloc(count, sizeof(*words));
    char *bytes = calloc(MANY, WORD);

    words[0] = command;
    for (size_t i = 0, at = 1; i < MANY; i++) {
        snprintf(bytes + i * WORD, WORD, "k%zu", i);
        words[at++] = bytes + i * WORD;
        if (with_values)
            words[at++] = "v";
    }
    assert_int_equal(redisAppendCommandArgv(client, (int)count, words, NULL), REDIS_OK);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
    free(words);
    free(bytes);
}

static void a_command_with_many_arguments_shows_no_part(void **state)
{
    redisContext *client = served_client(state);
    redisContext *reader = client_open(served_server(state));

    for (int round = 0; round < 4; round++) {
        say_many(client, round % 2 == 0 ? "MSET" : "DEL", round % 2 == 0);
        int64_t end = round % 2 == 0 ? MANY : 0;
        for (int64_t size = -1; size != end;) {
            size = ask_integer(reader, "DBSIZE");
            assert_true(size == 0 || size == MANY);
        }
        expect_reply(client, round % 2 == 0 ? "OK" : "40000");
    }
}

static void a_kill_leaves_nothing_or_all_of_its_arguments(void **state)
{
    struct server_process *server = served_server(state);

    for (int ms = 0; ms < 4; ms++) {
        redisContext *client = client_open(server);
        say_many(client, "MSET", true);
        sleep_ms(ms * 10);
        server_process_kill(server);
        client_close(client);
        server_process_run(server);
        client = client_open(server);
        int64_t size = ask_integer(client, "DBSIZE");
        assert_true(size == 0 || size == MANY);
        expect(client, "OK", "FLUSHALL");
        client_close(client);
    }
}

/* SORT ... STORE of a list, then the list is deleted: one of the two keys is there at any time.
 */
static void queue_a_sort(redisContext *client)
{
    for (int first = 0; first < MANY; first += 1000) {
        for (int i = first; i < first + 1000; i++)
            say(client, "RPUSH l %d", i * 7 % MANY);
        for (int i = first; i < first + 1000; i++)
            expect_reply(client, "*");
    }
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "SORT l STORE to");
    expect(client, "QUEUED", "DEL l");
}

static void a_long_command_in_it_shows_no_part(void **state)
{
    redisContext *client = served_client(state);
    redisContext *reader = client_open(served_server(state));
    redisContext *bystander = client_open(served_server(state));
    queue_a_sort(client);
    int64_t before = ask_info(bystander, "stats", "turns");
    say(client, "EXEC");
    for (int64_t done = 0; done == 0;) {
        expect(bystander, "PONG", "PING");
        say(reader, "MULTI");
        say(reader, "LLEN l");
        say(reader, "LLEN to");
        say(reader, "EXEC");
        expect_reply(reader, "OK");
        expect_reply(reader, "QUEUED");
        expect_reply(reader, "QUEUED");
        void *got = NULL;
        assert_int_equal(redisGetReply(reader, &got), REDIS_OK);
        const redisReply *reply = got;
        done = reply->element[1]->integer;
        assert_int_equal(reply->element[0]->integer, done == 0 ? MANY : 0);
        assert_true(done == 0 || done == MANY);
        freeReplyObject(got);
    }
    expect_reply(client, "[40000 1]");
    expect(reader, "[\"0\" \"1\" \"2\"]", "LRANGE to 0 2");
    assert_true(ask_info(bystander, "stats", "turns") - before >= 5);
}

static void a_long_command_in_it_is_done_when_its_client_goes(void **state)
{
    redisContext *client = client_open(served_server(state));
    redisContext *other = served_client(state);
    queue_a_sort(client);
    say(client, "EXEC");
    client_close(client);
    expect(other, "*", "RPUSH l 5"); /* before, or after */
    for (int i = 0; i < 1000 && ask_integer(other, "LLEN to") == 0; i++)
        sleep_ms(2);
    int64_t sorted = ask_integer(other, "LLEN to"), left = ask_integer(other, "LLEN l");
    assert_true((sorted == MANY && left == 1) || (sorted == MANY + 1 && left == 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(others_go_on_and_see_no_part),
        served_test(what_others_write_comes_before_or_after),
        served_test(two_follow_each_other),
        served_test(monitors_are_shown_it_last),
        served_test(it_is_done_when_its_client_goes),
        served_test(who_is_blocked_is_served_after_it),
        served_test(a_stop_waits_for_it),
        served_test(a_kill_leaves_nothing_or_all),
        served_test(a_command_with_many_arguments_shows_no_part),
        served_test(a_kill_leaves_nothing_or_all_of_its_arguments),
        served_test(a_long_command_in_it_shows_no_part),
        served_test(a_long_command_in_it_is_done_when_its_client_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
