/* Much load: pipelines, huge bodies, slow readers, a thousand connections. */
#include "tests/support/client/raw_client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <cmocka.h>

static void a_pipeline_of_a_thousand_answers_in_order(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 1000; i++)
        redisAppendCommand(client, "Q.PUSH mail body-%d ID %d", i, i);
    for (int i = 0; i < 1000; i++)
        redisAppendCommand(client, "Q.CLAIM mail");
    for (int i = 0; i < 1000; i++) {
        char pattern[64];
        snprintf(pattern, sizeof(pattern), "\"%d\"", i);
        expect_reply(client, pattern);
    }
    for (int i = 0; i < 1000; i++) {
        char pattern[64];
        snprintf(pattern, sizeof(pattern), "[[\"%d\" %d \"body-%d\" 1]]", i, i + 1, i);
        expect_reply(client, pattern);
    }
    for (int i = 0; i < 1000; i++)
        redisAppendCommand(client, "Q.ACK mail %d %d", i, i + 1);
    for (int i = 0; i < 1000; i++)
        expect_reply(client, "1");
    expect(client, "0", "Q.LEN mail");
}

static void pipelines_of_several_clients_do_not_mix(void **state)
{
    enum { CLIENTS = 20, COMMANDS = 500 };
    redisContext *clients[CLIENTS];
    for (int c = 0; c < CLIENTS; c++) {
        clients[c] = client_open(served_server(state));
        for (int i = 0; i < COMMANDS; i++)
            redisAppendCommand(clients[c], i % 2 ? "ECHO %d-%d" : "Q.PUSH mail x ID %d-%d", c,
                               i);
        say(clients[c], "PING");
    }
    for (int c = 0; c < CLIENTS; c++) {
        for (int i = 0; i < COMMANDS; i++) {
            char pattern[64];
            snprintf(pattern, sizeof(pattern), "\"%d-%d\"", c, i);
            expect_reply(clients[c], pattern);
        }
        expect_reply(clients[c], "PONG");
    }
}

static void round_trip(redisContext *client, size_t size)
{
    char *body = malloc(size);
    assert_non_null(body);
    for (size_t i = 0; i < size; i++)
        body[i] = (char)(i * 2654435761U >> 13);
    expect(client, "\"huge\"", "Q.PUSH mail %b ID huge", body, size);
    redisReply *reply = ask(client, "Q.CLAIM mail");
    const redisReply *got = reply->element[0]->element[2];
    assert_int_equal(got->len, size);
    assert_memory_equal(got->str, body, size);
    expect(client, "1", "Q.ACK mail huge %lld", reply->element[0]->element[1]->integer);
    freeReplyObject(reply);
    free(body);
}

static void a_body_of_64_mib_comes_back_whole(void **state)
{
    redisContext *client = served_client(state);
    round_trip(client, (size_t)64 << 20);
    round_trip(client, (size_t)64 << 20);
    expect(client, "0", "Q.LEN mail");
}

static void a_huge_body_survives_kill(void **state)
{
    enum { SIZE = 64 << 20 };
    struct server_process *server = served_server(state);
    char *body = malloc(SIZE);
    assert_non_null(body);
    memset(body, 'h', SIZE);
    expect(served_client(state), "*", "Q.PUSH mail %b ID huge", body, (size_t)SIZE);
    server_process_kill(server);
    server_process_run(server);
    redisReply *reply = ask(client_open(server), "Q.CLAIM mail");
    assert_int_equal(reply->element[0]->element[2]->len, SIZE);
    assert_memory_equal(reply->element[0]->element[2]->str, body, SIZE);
    freeReplyObject(reply);
    free(body);
}

static void bodies_of_every_size_class_come_back(void **state)
{
    redisContext *client = served_client(state);
    for (size_t size = 1; size <= (size_t)8 << 20; size *= 2) {
        round_trip(client, size - 1);
        round_trip(client, size);
    }
}

static void a_body_above_the_limit_is_refused(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("proto-max-bulk-len 1mb");
    struct raw_client raw;
    raw_open(&raw, server);
    raw_say(&raw, "*3\r\n$6\r\nQ.PUSH\r\n$4\r\nmail\r\n$1048577");
    raw_expect_reply(&raw, "!ERR Protocol error: invalid bulk length");
    raw_expect_closed(&raw);
    raw_close(&raw);
    round_trip(client_open(server), 1048576);
}

static void set_non_blocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* A client sends requests and never reads: the server stops reading from it, stays small, and
 * serves others. */
static void a_reader_that_does_not_read_is_held_back(void **state)
{
    enum { BODY = 100000, ASKED = 20000 };
    redisContext *client = served_client(state);
    struct raw_client raw;
    static char body[BODY];
    static const char request[] = "Q.GET mail a\r\n";
    memset(body, 'b', sizeof(body));
    expect(client, "*", "Q.PUSH mail %b ID a", body, sizeof(body));
    raw_open(&raw, served_server(state));
    set_non_blocking(raw.fd);
    for (int i = 0; i < ASKED; i++) { /* requests for 2 GB of replies */
        struct pollfd writable = {.fd = raw.fd, .events = POLLOUT};
        if (send(raw.fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0 &&
            poll(&writable, 1, 100) == 0)
            break; /* the server reads no more */
    }
    for (int i = 0; i < 100; i++)
        expect(client, "PONG", "PING");
    assert_true(ask_info(client, "memory", "used_memory_rss") < 1000000000);
    raw_close(&raw);
    expect(client, "PONG", "PING");
}

static void a_slow_reader_gets_everything_in_the_end(void **state)
{
    enum { BODY = 50000, ASKED = 400 };
    redisContext *client = served_client(state);
    static char body[BODY];
    struct raw_client raw;
    memset(body, 'b', sizeof(body));
    expect(client, "*", "Q.PUSH mail %b ID a", body, sizeof(body));
    raw_open(&raw, served_server(state));
    for (int i = 0; i < ASKED; i++)
        raw_say(&raw, "Q.GET mail a");
    sleep_ms(200);
    for (int i = 0; i < ASKED; i++)
        raw_expect_reply(&raw, "[\"id\" \"a\" *bbbb*]");
    raw_expect(&raw, "PONG", "PING");
    raw_close(&raw);
}

static void a_thousand_connections_are_served(void **state)
{
    enum { CONNECTIONS = 1000 };
    redisContext *clients[CONNECTIONS];
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < CONNECTIONS; i++)
        clients[i] = client_open(served_server(state));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < CONNECTIONS; i++)
            say(clients[i], "Q.PUSH mail body ID %d-%d", round, i);
        for (int i = 0; i < CONNECTIONS; i++)
            expect_reply(clients[i], "\"*\"");
        for (int i = 0; i < CONNECTIONS; i++)
            say(clients[i], "Q.CLAIM mail");
        for (int i = 0; i < CONNECTIONS; i++)
            expect_reply(clients[i], "[[\"*\" * \"body\" 1]]");
    }
    expect(served_client(state), "3000", "Q.LEN mail claimed");
    for (int i = 0; i < CONNECTIONS; i += 2)
        client_close(clients[i]);
    for (int i = 1; i < CONNECTIONS; i += 2)
        expect(clients[i], "PONG", "PING");
}

static void thousands_of_short_connections_leave_nothing_behind(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 3000; i++) {
        redisContext *once = client_open(served_server(state));
        if (i % 3)
            expect(once, "PONG", "PING");
        if (i % 5 == 0)
            say(once, "Q.CLAIM none BLOCK 0");
        client_close(once);
    }
    for (int waited = 0; waited < 60000; waited++) {
        if (ask_info(client, "clients", "connected_clients") == 1)
            return;
        sleep_ms(1);
    }
    fail_at(__FILE__, __LINE__, "closed connections are still counted");
}

static void a_checkpointed_backlog_is_claimed_in_order(void **state)
{
    enum { JOBS = 30000 };
    (void)state;
    struct server_process *server = server_process_start("memtable-size 1mb, journal-size 4mb");
    redisContext *client = client_open(server);
    for (int i = 0; i < JOBS; i++)
        redisAppendCommand(client, "Q.PUSH mail body-of-some-length-%d ID %d PRIORITY %d", i, i,
                           i % 2);
    for (int i = 0; i < JOBS; i++)
        expect_reply(client, "*");
    for (int i = 0; i < JOBS; i += 1000) {
        redisReply *reply = ask(client, "Q.CLAIM mail COUNT 1000");
        assert_int_equal(reply->elements, 1000);
        for (int k = 0; k < 1000; k++) {
            int place = i + k, half = JOBS / 2;
            int expected = place < half ? 2 * place : 2 * (place - half) + 1;
            assert_int_equal(atoi(reply->element[k]->element[0]->str), expected);
        }
        freeReplyObject(reply);
    }
    expect(client, "[]", "Q.CLAIM mail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_pipeline_of_a_thousand_answers_in_order),
        served_test(pipelines_of_several_clients_do_not_mix),
        served_test(a_body_of_64_mib_comes_back_whole),
        served_test(a_huge_body_survives_kill),
        served_test(bodies_of_every_size_class_come_back),
        serving_test(a_body_above_the_limit_is_refused),
        served_test(a_reader_that_does_not_read_is_held_back),
        served_test(a_slow_reader_gets_everything_in_the_end),
        served_test(a_thousand_connections_are_served),
        served_test(thousands_of_short_connections_leave_nothing_behind),
        serving_test(a_checkpointed_backlog_is_claimed_in_order),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
