/* An idle server uses no processor time, whatever state its clients are in: the tests count its
 * turns and its processor time, for each way in which a client can be silent, stopped or not
 * read. */
#include "tests/support/client/raw_client.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { BODY = 100000, ASKED = 600, SHRINK_AFTER_MS = 500, SETTLE_MS = 300, TRIES = 10 };

/* ---- measuring */

/* User and system time of the server, ms. */
static long processor_ms(const struct server_process *server)
{
    char path[64], text[1024], *at;
    unsigned long user, system;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)server->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    at = strrchr(text, ')');
    assert_int_equal(
        sscanf(at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system),
        2);
    return (long)((user + system) * 1000 / (unsigned long)sysconf(_SC_CLK_TCK));
}

static bool is_at_rest(const struct server_process *server, redisContext *client,
                       long long *ret_turns, long *ret_busy)
{
    int64_t turns = ask_info(client, "stats", "turns");
    long busy = processor_ms(server);

    sleep_ms(SHRINK_AFTER_MS);
    *ret_busy = processor_ms(server) - busy;
    *ret_turns = (long long)(ask_info(client, "stats", "turns") - turns);
    return *ret_turns <= 50 && *ret_busy <= SHRINK_AFTER_MS / 2;
}

/* A loop that spins makes 100,000 turns and uses all of the time, and it does not end. What the
 * clients asked for does, after a while: a disk with other work may hold it up. */
static void expect_rest(const struct server_process *server, redisContext *client)
{
    long long turns = 0;
    long busy = 0;

    sleep_ms(SETTLE_MS);
    for (int tries = 0; tries < TRIES; tries++)
        if (is_at_rest(server, client, &turns, &busy))
            return;
    fail_at(__FILE__, __LINE__, "%lld turns and %ld ms of processor time in %d ms of rest",
            turns, busy, SHRINK_AFTER_MS);
}

/* ---- clients that are not read, or send nothing */

static void send_without_reading(struct raw_client *raw, const char *request, int times)
{
    fcntl(raw->fd, F_SETFL, fcntl(raw->fd, F_GETFL) | O_NONBLOCK);
    for (int i = 0; i < times; i++) {
        struct pollfd writable = {.fd = raw->fd, .events = POLLOUT};
        if (send(raw->fd, request, strlen(request), MSG_NOSIGNAL) < 0 &&
            poll(&writable, 1, 100) == 0)
            return;
    }
}

static void make_body(redisContext *client)
{
    static char body[BODY];
    memset(body, 'b', sizeof(body));
    expect(client, "OK", "SET large %b", body, sizeof(body));
}

static void unread_output_and_a_byte_in_the_socket(void **state)
{
    struct raw_client raw;
    make_body(served_client(state));
    raw_open(&raw, served_server(state));
    for (int i = 0; i < ASKED; i++) /* 60 MB of replies: more than the kernel buffers */
        raw_say(&raw, "GET large");
    sleep_ms(SETTLE_MS);
    raw_send(&raw, "P", 1);
    expect_rest(served_server(state), served_client(state));
    for (int i = 0; i < ASKED; i++)
        raw_expect_reply(&raw, "\"bbb*\"");
    raw_send(&raw, "ING\r\n", 5);
    raw_expect_reply(&raw, "PONG");
    raw_close(&raw);
}

static void unread_output_and_endless_requests(void **state)
{
    struct raw_client raw;
    make_body(served_client(state));
    raw_open(&raw, served_server(state));
    send_without_reading(&raw, "GET large\r\n", 100000);
    expect_rest(served_server(state), served_client(state));
    raw_close(&raw);
}

static void unread_output_of_a_client_that_half_closed(void **state)
{
    struct raw_client raw;
    make_body(served_client(state));
    raw_open(&raw, served_server(state));
    for (int i = 0; i < ASKED; i++)
        raw_say(&raw, "GET large");
    assert_int_equal(shutdown(raw.fd, SHUT_WR), 0);
    expect_rest(served_server(state), served_client(state));
    for (int i = 0; i < ASKED; i++)
        raw_expect_reply(&raw, "\"bbb*\"");
    raw_expect_closed(&raw);
    raw_close(&raw);
}

static void paused(void **state)
{
    static const char *const pauses[] = {"CLIENT PAUSE 100000 WRITE",
                                         "CLIENT PAUSE 100000 ALL"};
    for (size_t i = 0; i < 2; i++) {
        struct server_process *server = served_server(state);
        redisContext *client = client_open(server), *other = client_open(server);
        struct raw_client held, gone;
        raw_open(&held, server);
        raw_open(&gone, server);
        say(other, pauses[i]);
        expect_reply(other, "OK");
        raw_say(&held, "SET a b\r\nPING");
        raw_say(&held, "PING");
        raw_say(&gone, "SET a b");
        raw_close(&gone);
        if (i == 0) {
            expect_rest(server, client);
        } else { /* INFO would wait, too: only processor time is known */
            sleep_ms(SETTLE_MS);
            long busy = processor_ms(server);
            sleep_ms(SHRINK_AFTER_MS);
            assert_true(processor_ms(server) - busy < SHRINK_AFTER_MS / 2);
        }
        server_process_kill(server);
        server_process_run(server);
        raw_close(&held);
    }
}

static void paused_again_before_anybody_went_on(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = client_open(server);
    struct raw_client held, other;
    raw_open(&held, server);
    raw_open(&other, server);
    raw_expect(&other, "OK", "CLIENT PAUSE 100000 WRITE");
    raw_say(&held, "SET a b");
    await_blocked(client, 1);
    raw_say(&other, "CLIENT UNPAUSE\r\nCLIENT PAUSE 100000 WRITE\r\nPING");
    raw_expect_reply(&other, "OK");
    raw_expect_reply(&other, "OK");
    raw_expect_reply(&other, "PONG");
    expect_rest(server, client);
    raw_expect(&other, "OK", "CLIENT UNPAUSE");
    raw_expect_reply(&held, "OK");
    raw_close(&held);
    raw_close(&other);
}

static void waiting(void **state)
{
    static const char *const waits[] = {
        "BLPOP none 0",       "BZPOPMIN none 0",        "Q.CLAIM none BLOCK 0",
        "Q.POP none BLOCK 0", "Q.WAIT jobs a BLOCK 1h", "Q.WAIT jobs a b none BLOCK 0"};
    enum { WAITS = sizeof(waits) / sizeof(waits[0]) };
    struct raw_client raw[2 * WAITS];
    redisContext *client = served_client(state);
    expect(client, "*", "Q.MPUSH jobs EACH 2 %s 1h %s x %s 1h %s x", "a", "", "b", "");
    for (size_t i = 0; i < WAITS; i++) {
        raw_open(&raw[2 * i], served_server(state));
        raw_open(&raw[2 * i + 1], served_server(state));
        raw_say(&raw[2 * i], waits[i]);
        raw_say(&raw[2 * i + 1], waits[i]);
        raw_say(&raw[2 * i + 1], "PING");
        send_without_reading(&raw[2 * i + 1], "PING\r\n", 300000);
    }
    expect_rest(served_server(state), client);
    for (size_t i = 0; i < 2 * WAITS; i++)
        raw_close(&raw[i]);
}

/* Topics are paused, purged, dropped and flushed under those who wait. */
static void waiting_for_what_has_gone(void **state)
{
    static const char *const waits[] = {"Q.CLAIM none BLOCK 0", "Q.MCLAIM 2 none jobs BLOCK 0",
                                        "Q.POP none BLOCK 1h", "Q.WAIT jobs a b BLOCK 0"};
    redisContext *client = served_client(state);
    expect(client, "*", "Q.MPUSH jobs EACH 2 %s 1h %s x %s 1h %s x", "a", "", "b", "");
    for (int i = 0; i < 4; i++)
        served_waiter(state, i + 1, waits[i]);
    expect(client, "OK", "Q.PAUSE none");
    expect(client, "OK", "Q.PAUSE jobs OUT");
    expect(client, "*", "Q.PUSH jobs body ID c");
    expect(client, "1", "Q.PURGE jobs MATCH a");
    expect_rest(served_server(state), client);
    expect(client, "1", "Q.DROP none");
    expect(client, "1", "Q.DROP jobs"); /* it ends the wait for b */
    await_blocked(client, 3);
    expect(client, "OK", "FLUSHALL");
    expect_rest(served_server(state), client);
    await_blocked(client, 3);
}

static void listening(void **state)
{
    struct raw_client subscriber, monitor, silent;
    raw_open(&subscriber, served_server(state));
    raw_open(&monitor, served_server(state));
    raw_open(&silent, served_server(state));
    raw_say(&subscriber, "SUBSCRIBE news");
    raw_say(&monitor, "MONITOR");
    raw_say(&silent, "CLIENT REPLY OFF\r\nSUBSCRIBE news");
    expect_rest(served_server(state), served_client(state));
    static char message[BODY];
    memset(message, 'm', sizeof(message));
    for (int i = 0; i < 60; i++) /* neither is read; 6 MB each */
        expect(served_client(state), "2", "PUBLISH news %b", message, sizeof(message));
    raw_say(&subscriber, "PING");
    raw_say(&monitor, "PING");
    expect_rest(served_server(state), served_client(state));
    raw_close(&subscriber);
    raw_close(&monitor);
    raw_close(&silent);
}

static void before_login(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("requirepass secret");
    redisContext *client = client_open(server);
    struct raw_client silent, half, deaf;
    expect(client, "OK", "AUTH secret");
    raw_open(&silent, server);
    raw_open(&half, server);
    raw_open(&deaf, server);
    raw_say(&half, "*2\r\n$4\r\nAUTH\r\n$100");
    send_without_reading(&deaf, "nonsense\r\n", 3000000);
    expect_rest(server, client);
    raw_close(&silent);
    raw_close(&half);
    raw_close(&deaf);
}

static void halves_of_requests(void **state)
{
    struct raw_client raw[3];
    for (int i = 0; i < 3; i++)
        raw_open(&raw[i], served_server(state));
    raw_send(&raw[0], "*", 1);
    raw_send(&raw[1], "PIN", 3);
    raw_say(&raw[2], "*2\r\n$3\r\nGET\r\n$100000\r\nabc");
    expect_rest(served_server(state), served_client(state));
    for (int i = 0; i < 3; i++)
        raw_close(&raw[i]);
}

static void connections_beyond_the_limit(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("maxclients 3");
    redisContext *client = client_open(server);
    struct raw_client raw[10];
    for (int i = 0; i < 10; i++)
        raw_open(&raw[i], server);
    expect_rest(server, client);
    for (int i = 0; i < 10; i++)
        raw_close(&raw[i]);
}

static void limit_descriptors(const struct server_process *server, rlim_t most)
{
    struct rlimit limit;
    assert_int_equal(prlimit(server->pid, RLIMIT_NOFILE, NULL, &limit), 0);
    limit.rlim_cur = most;
    assert_int_equal(prlimit(server->pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

/* More clients connect than there are descriptors: they wait until one is free. */
static void nobody_can_be_accepted(void **state)
{
    enum { CLIENTS = 60 };
    struct server_process *server = served_server(state);
    struct raw_client raw[CLIENTS];
    limit_descriptors(server, 40);
    for (int i = 0; i < CLIENTS; i++) {
        raw_open(&raw[i], server);
        raw_say(&raw[i], "PING");
    }
    expect_rest(server, served_client(state));
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "Too many open files"));
    assert_true(strlen(log) < 10000);
    free(log);
    limit_descriptors(server, 400);
    for (int i = 0; i < CLIENTS; i++) {
        raw_expect_reply(&raw[i], "PONG");
        raw_close(&raw[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(unread_output_and_a_byte_in_the_socket),
        served_test(unread_output_and_endless_requests),
        served_test(unread_output_of_a_client_that_half_closed),
        served_test(paused),
        served_test(paused_again_before_anybody_went_on),
        served_test(waiting),
        served_test(waiting_for_what_has_gone),
        served_test(listening),
        serving_test(before_login),
        served_test(halves_of_requests),
        serving_test(connections_beyond_the_limit),
        served_test(nobody_can_be_accepted),
    };
    return cmocka_run_group_tests_name("rest", tests, NULL, NULL);
}
