/* Connections that end: requests that were sent before are run and answered, and a client that
 * is known to be gone gets no job or element. Where Redis has the same command, the expected
 * results are those of Redis 7.0.15. */
#include "tests/support/client/raw_client.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <cmocka.h>

/* ---- half-closed */

static void say_no_more(struct raw_client *raw)
{
    assert_int_equal(shutdown(raw->fd, SHUT_WR), 0);
}

static void what_was_sent_before_a_half_close_is_answered(void **state)
{
    for (int i = 0; i < 50; i++) {
        struct raw_client raw;
        raw_open(&raw, served_server(state));
        raw_say(&raw, "SET a b\r\nQ.PUSH mail body\r\nGET a");
        say_no_more(&raw);
        raw_expect_reply(&raw, "OK");
        raw_expect_reply(&raw, "\"*\"");
        raw_expect_reply(&raw, "\"b\"");
        raw_expect_closed(&raw);
        raw_close(&raw);
    }
    expect(served_client(state), "50", "Q.LEN mail");
}

/* More bytes than one read gets, and more requests than one turn runs. */
static void a_long_pipeline_before_a_half_close_is_run_to_its_end(void **state)
{
    enum { REQUESTS = 30000 };
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    for (int i = 0; i < REQUESTS / 10; i++)
        raw_say(&raw, "INCR n\r\nINCR n\r\nINCR n\r\nINCR n\r\nINCR n\r\n"
                      "INCR n\r\nINCR n\r\nINCR n\r\nINCR n\r\nINCR n");
    say_no_more(&raw);
    for (int i = 1; i <= REQUESTS; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", i);
        raw_expect_reply(&raw, number);
    }
    raw_expect_closed(&raw);
    raw_close(&raw);
    expect(served_client(state), "\"30000\"", "GET n");
}

static void half_a_request_before_a_half_close_is_dropped(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_say(&raw, "SET a b\r\n*2\r\n$3\r\nGET");
    say_no_more(&raw);
    raw_expect_reply(&raw, "OK");
    raw_expect_closed(&raw);
    raw_close(&raw);
}

/* As in Redis: a client that waits and closes its sending side is not served any more. */
static void a_half_close_ends_the_wait_and_what_stands_behind(void **state)
{
    static const char *const waits[] = {"BLPOP none 0", "Q.CLAIM none BLOCK 0"};
    for (size_t i = 0; i < 2; i++) {
        struct raw_client raw;
        char lines[128];
        raw_open(&raw, served_server(state));
        snprintf(lines, sizeof(lines), "SET before 1\r\n%s\r\nSET behind 1", waits[i]);
        raw_say(&raw, lines);
        say_no_more(&raw);
        raw_expect_reply(&raw, "OK");
        raw_expect_closed(&raw);
        raw_close(&raw);
        expect(served_client(state), "0", "EXISTS behind");
    }
}

static void a_paused_request_is_run_although_its_client_half_closed(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    expect(client, "OK", "CLIENT PAUSE 100000 WRITE");
    raw_say(&raw, "SET a b");
    say_no_more(&raw);
    await_blocked(client, 1);
    expect(client, "nil", "GET a");
    expect(client, "OK", "CLIENT UNPAUSE");
    raw_expect_reply(&raw, "OK");
    raw_expect_closed(&raw);
    raw_close(&raw);
    expect(client, "\"b\"", "GET a");
}

/* A list so long that COPY takes many turns. */
static void fill_list(redisContext *client, int steps)
{
    enum { STEP = 1000 };
    const char *words[STEP + 2] = {"RPUSH", "list"};
    for (int i = 0; i < STEP; i++)
        words[i + 2] = "element-of-some-length-for-the-copy";
    for (int i = 0; i < steps; i++)
        redisAppendCommandArgv(client, STEP + 2, words, NULL);
    for (int i = 0; i < steps; i++)
        expect_reply(client, "*");
}

static void a_long_command_is_answered_although_its_client_half_closed(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client raw;
    fill_list(client, 200);
    raw_open(&raw, served_server(state));
    raw_say(&raw, "COPY list copy\r\nSET behind 1");
    say_no_more(&raw);
    raw_expect_reply(&raw, "1");
    raw_expect_reply(&raw, "OK");
    raw_expect_closed(&raw);
    raw_close(&raw);
    expect(client, "200000", "LLEN copy");
}

/* ---- waiting clients that go */

/* The key is free at once: a client that waits for it does not wait for the whole work. */
static void a_long_command_ends_with_its_client(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 2; i++) {
        struct raw_client raw;
        fill_list(client, 500);
        raw_open(&raw, served_server(state));
        raw_say(&raw, "COPY list copy");
        if (i == 0)
            raw_close(&raw);
        else
            say_no_more(&raw);
        expect(client, "*", "RPUSH list more");
        while (ask_info(client, "clients", "connected_clients") > 1)
            sleep_ms(1);
        expect(client, "0", "EXISTS copy");
        if (i > 0) {
            raw_expect_closed(&raw);
            raw_close(&raw);
        }
    }
}

/* So many bytes follow the waiting request that a part of them stays in the kernel. */
static void a_peer_that_goes_is_noticed_behind_any_backlog(void **state)
{
    enum { BACKLOG = 100000 };
    redisContext *client = served_client(state);
    static char bytes[BACKLOG];
    struct raw_client raw;
    for (int i = 0; i + 6 <= BACKLOG; i += 6)
        memcpy(bytes + i, "PING\r\n", 6);
    for (int reset = 0; reset < 2; reset++) {
        struct linger abruptly = {.l_onoff = 1, .l_linger = 0};
        raw_open(&raw, served_server(state));
        raw_say(&raw, "BLPOP none 0");
        await_blocked(client, 1);
        raw_send(&raw, bytes, sizeof(bytes));
        if (reset)
            setsockopt(raw.fd, SOL_SOCKET, SO_LINGER, &abruptly, sizeof(abruptly));
        raw_close(&raw);
        await_blocked(client, 0);
    }
}

/* The loop gets both events at once, the end first. */
static void nothing_is_given_to_a_client_whose_end_was_read(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    for (int i = 0; i < 10; i++) {
        redisContext *list = client_open(server), *queue = client_open(server);
        say(list, "BLPOP list 0");
        say(queue, "Q.CLAIM mail BLOCK 0");
        await_blocked(client, 2);
        sleep_ms(20); /* until the loop waits for events and has none of this client */
        kill(server->pid, SIGSTOP);
        client_close(list);
        client_close(queue);
        sleep_ms(5);
        say(client, "RPUSH list element");
        say(client, "Q.PUSH mail body ID %d", i);
        kill(server->pid, SIGCONT);
        expect_reply(client, "1");
        expect_reply(client, "\"*\"");
        expect(client, "\"element\"", "LPOP list");
        expect(client, "[[\"*\" * \"body\" 1]]", "Q.CLAIM mail");
    }
}

static void nothing_is_given_to_a_client_that_was_killed_in_the_same_pipeline(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 10; i++) {
        redisContext *list = client_open(served_server(state));
        redisContext *queue = client_open(served_server(state));
        int64_t first = ask_integer(list, "CLIENT ID"),
                second = ask_integer(queue, "CLIENT ID");
        say(list, "BLPOP list 0");
        say(queue, "Q.CLAIM mail BLOCK 0");
        await_blocked(client, 2);
        redisAppendCommand(client, "CLIENT KILL ID %lld ID %lld", (long long)first,
                           (long long)second);
        redisAppendCommand(client, "RPUSH list element");
        redisAppendCommand(client, "Q.PUSH mail body ID %d", i);
        redisAppendCommand(client, "LPOP list");
        redisAppendCommand(client, "Q.CLAIM mail");
        expect_reply(client, "2");
        expect_reply(client, "1");
        expect_reply(client, "\"*\"");
        expect_reply(client, "\"element\"");
        expect_reply(client, "[[\"*\" * \"body\" 1]]");
        expect_closed(list);
        expect_closed(queue);
    }
}

static void a_killed_client_is_in_no_list_any_more(void **state)
{
    redisContext *client = served_client(state);
    redisContext *other = client_open(served_server(state));
    int64_t id = ask_integer(other, "CLIENT ID");
    say(other, "SUBSCRIBE news");
    expect_reply(other, "[\"subscribe\" \"news\" 1]");
    redisAppendCommand(client, "CLIENT KILL ID %lld", (long long)id);
    redisAppendCommand(client, "PUBLISH news now");
    redisAppendCommand(client, "CLIENT LIST ID %lld", (long long)id);
    redisAppendCommand(client, "CLIENT KILL ID %lld", (long long)id);
    expect_reply(client, "1");
    expect_reply(client, "0");
    expect_reply(client, "\"\"");
    expect_reply(client, "0");
    expect_closed(other);
}

/* Requests after an error that ends the connection are not run, however many there are. */
static void the_goodbye_is_heard_whatever_was_sent_behind(void **state)
{
    static char rest[300000];
    memset(rest, 'x', sizeof(rest));
    for (int i = 0; i < 5; i++) {
        struct raw_client raw;
        raw_open(&raw, served_server(state));
        raw_say(&raw, "QUIT");
        raw_send(&raw, rest, 30000);
        raw_expect_reply(&raw, "OK");
        raw_expect_closed(&raw);
        raw_close(&raw);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(what_was_sent_before_a_half_close_is_answered),
        served_test(a_long_pipeline_before_a_half_close_is_run_to_its_end),
        served_test(half_a_request_before_a_half_close_is_dropped),
        served_test(a_half_close_ends_the_wait_and_what_stands_behind),
        served_test(a_paused_request_is_run_although_its_client_half_closed),
        served_test(a_long_command_is_answered_although_its_client_half_closed),
        served_test(a_long_command_ends_with_its_client),
        served_test(a_peer_that_goes_is_noticed_behind_any_backlog),
        served_test(nothing_is_given_to_a_client_whose_end_was_read),
        served_test(nothing_is_given_to_a_client_that_was_killed_in_the_same_pipeline),
        served_test(a_killed_client_is_in_no_list_any_more),
        served_test(the_goodbye_is_heard_whatever_was_sent_behind),
    };
    return cmocka_run_group_tests_name("endings", tests, NULL, NULL);
}
