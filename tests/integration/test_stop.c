/* SIGTERM and SHUTDOWN: what was accepted is settled, who waits is told, and nothing new is
 * claimed. */
#include "tests/support/client/client.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <setjmp.h>
#include <cmocka.h>

/* More than sockets buffer: a server that owes it to somebody cannot stop. */
enum { OWED = 32 * 1024 * 1024 };

static struct server_process *start_patient(void)
{
    struct server_process *server = server_process_start("shutdown-timeout 3600");
    redisContext *client = client_open(server);
    char last[16];
    snprintf(last, sizeof(last), "%d", OWED - 1);
    expect(client, "*", "SETRANGE big %s x", last);
    client_close(client);
    return server;
}

/* Reads it at last. */
static void take_big(redisContext *client)
{
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->len, OWED);
    freeReplyObject(reply);
}

static size_t count_in_log(const struct server_process *server, const char *words)
{
    char *log = server_process_log(server);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    free(log);
    return count;
}

static void terminate(struct server_process *server)
{
    assert_int_equal(kill(server->pid, SIGTERM), 0);
    while (count_in_log(server, "Received SIGTERM") == 0)
        sleep_ms(1);
}

/* ---- what clients hear */

static void blocked_clients_hear_what_a_time_out_tells(void **state)
{
    static const struct {
        const char *command, *reply;
    } waits[] = {{"Q.CLAIM mail BLOCK 0", "nil"},       {"Q.MCLAIM 2 mail news BLOCK 0", "nil"},
                 {"Q.POP mail BLOCK 0", "nil"},         {"BLPOP list 0", "nil"},
                 {"BLMOVE list to LEFT LEFT 0", "nil"}, {"BZPOPMIN zset 0", "nil"}};
    enum { WAITS = sizeof(waits) / sizeof(waits[0]) };
    struct server_process *server = served_server(state);
    redisContext *clients[WAITS];
    for (size_t i = 0; i < WAITS; i++)
        clients[i] = served_waiter(state, (int)i + 1, waits[i].command);
    terminate(server);
    for (size_t i = 0; i < WAITS; i++) {
        expect_reply(clients[i], waits[i].reply);
        expect_closed(clients[i]);
    }
    assert_int_equal(server_process_wait(server), 0);
}

/* The requests are there when the stop begins, and run when the client has read. */
static void what_was_sent_is_settled_but_nothing_new_is_claimed(void **state)
{
    (void)state;
    struct server_process *server = start_patient();
    redisContext *client = client_open(server), *reader = client_open(server);
    expect(client, "*", "Q.PUSH mail one ID a");
    int64_t token = claim(client, "mail", "a");
    expect(client, "*", "Q.PUSH mail two ID b");
    say(reader, "GET big");
    say(reader, "Q.ACK mail a %lld", (long long)token);
    say(reader, "Q.PUSH mail three ID c");
    say(reader, "Q.CLAIM mail");
    say(reader, "Q.CLAIM mail BLOCK 0");
    say(reader, "Q.POP mail");
    say(reader, "BLPOP none 0");
    terminate(server);
    take_big(reader);
    expect_reply(reader, "1");
    expect_reply(reader, "\"c\"");
    expect_reply(reader, "[]");
    expect_reply(reader, "nil");
    expect_reply(reader, "[]");
    expect_reply(reader, "nil");
    expect_closed(reader);
    assert_int_equal(server_process_wait(server), 0);
    server_process_run(server);
    client = client_open(server);
    expect(client, "2", "Q.LEN mail");
    expect(client, "nil", "Q.GET mail a");
}

static void a_long_command_is_run_to_its_end(void **state)
{
    enum { STEP = 1000, STEPS = 400 };
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state), *copier = client_open(server);
    const char *words[STEP + 2] = {"RPUSH", "list"};
    for (int i = 0; i < STEP; i++)
        words[i + 2] = "element-of-some-length-for-the-copy";
    for (int i = 0; i < STEPS; i++)
        redisAppendCommandArgv(client, STEP + 2, words, NULL);
    for (int i = 0; i < STEPS; i++)
        expect_reply(client, "*");
    say(copier, "COPY list copy");
    say(copier, "LLEN copy");
    expect(client, "PONG", "PING");
    terminate(server);
    expect_reply(copier, "1");
    expect_reply(copier, "400000");
    expect_closed(copier);
    assert_int_equal(server_process_wait(server), 0);
}

/* A client that looks at its socket before it sends, as pools do, never sends into the void. */
static void the_end_of_the_connection_comes_with_a_reply(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct server_process *server = server_process_start("");
        redisContext *client = client_open(server);
        int64_t answered = 0;
        char byte;
        do {
            expect(client, "*", "Q.PUSH mail body");
            if (++answered == 20)
                assert_int_equal(kill(server->pid, SIGTERM), 0);
        } while (recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0);
        assert_int_equal(server_process_wait(server), 0);
        server_process_run(server);
        assert_int_equal(ask_integer(client_open(server), "Q.LEN mail"), answered);
        server_process_cleanup();
        client_cleanup();
    }
}

/* It sends the rest of its transaction, and gets the reply to EXEC. */
static void a_transaction_under_way_is_not_cut_in_two(void **state)
{
    (void)state;
    struct server_process *server = start_patient();
    redisContext *reader = client_open(server);
    say(reader, "GET big");
    say(reader, "MULTI");
    say(reader, "Q.PUSH mail body ID a");
    say(reader, "EXEC");
    terminate(server);
    take_big(reader);
    expect_reply(reader, "OK");
    expect_reply(reader, "QUEUED");
    expect_reply(reader, "[\"a\"]");
    expect_closed(reader);
    assert_int_equal(server_process_wait(server), 0);
}

static void a_pause_does_not_keep_requests_from_their_end(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state), *other = client_open(server);
    expect(client, "OK", "CLIENT PAUSE 1000000 WRITE");
    say(other, "Q.PUSH mail body ID a");
    await_blocked(client, 1);
    terminate(server);
    expect_reply(other, "\"a\"");
    expect_closed(other);
    assert_int_equal(server_process_wait(server), 0);
}

/* ---- ABORT */

/* As in Redis 7.0: who asked for the stop gets an error, who came meanwhile is served. */
static void an_aborted_stop_goes_on_as_before(void **state)
{
    static const char *const stops[] = {"SHUTDOWN", "SHUTDOWN NOSAVE", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
        struct server_process *server = start_patient();
        redisContext *reader = client_open(server), *stopper = client_open(server), *late;
        say(reader, "GET big");
        if (stops[i] == NULL) {
            terminate(server);
        } else {
            say(stopper, stops[i]);
            while (count_in_log(server, "User requested shutdown") == 0)
                sleep_ms(1);
        }
        late = client_open(server);
        assert_true(ask_info(late, "server", "shutdown_in_milliseconds") > 3000 * 1000);
        say(late, "Q.PUSH mail body ID a");
        redisContext *admin = client_open(server);
        expect(admin, "OK", "SHUTDOWN ABORT");
        expect(admin, "!ERR No shutdown in progress.", "SHUTDOWN ABORT");
        expect_reply(late, "\"a\"");
        if (stops[i] != NULL) {
            expect_reply(stopper, "!ERR Errors trying to SHUTDOWN. Check logs.");
            expect(stopper, "PONG", "PING");
        }
        take_big(reader);
        expect(admin, "[[\"a\" * \"body\" 1]]", "Q.CLAIM mail");
        server_process_stop(server); /* and it stops for good */
        server_process_cleanup();
        client_cleanup();
    }
}

static void who_came_late_is_closed_without_a_reply(void **state)
{
    (void)state;
    struct server_process *server = start_patient();
    redisContext *reader = client_open(server), *late;
    say(reader, "GET big");
    terminate(server);
    late = client_open(server);
    expect(late, "*", "CLIENT ID");
    say(late, "Q.PUSH mail body");
    say(late, "PING");
    take_big(reader);
    expect_closed(late);
    assert_int_equal(server_process_wait(server), 0);
    server_process_run(server);
    expect(client_open(server), "0", "Q.LEN mail");
}

static void now_does_not_wait(void **state)
{
    (void)state;
    struct server_process *server = start_patient();
    redisContext *reader = client_open(server), *stopper = client_open(server);
    say(reader, "GET big");
    terminate(server);
    client_close(stopper);
    stopper = client_open(server);
    say(stopper, "SHUTDOWN NOW");
    expect_closed(stopper);
    assert_int_equal(server_process_wait(server), 0);
}

/* At rest it looks at no clock: what a stop leaves its clients begins with the signal. */
static void who_is_there_has_time_also_after_a_long_sleep(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("shutdown-timeout 1");
    redisContext *client = client_open(server);
    struct timespec before, after;
    expect(client, "*", "Q.PUSH mail body");
    sleep_ms(16 * 1000);
    clock_gettime(CLOCK_MONOTONIC, &before);
    terminate(server);
    expect_closed(client);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true((after.tv_sec - before.tv_sec) * 1000 +
                    (after.tv_nsec - before.tv_nsec) / 1000000 >=
                99);
    assert_int_equal(server_process_wait(server), 0);
}

/* ---- and the next start */

/* What it has found, what it has replayed, and how long that took. */
static void a_start_says_what_it_found(void **state)
{
    struct server_process *server = served_server(state);
    char *log, *line;
    unsigned long topics, megabytes, records;
    long ms;
    expect(served_client(state), "*", "Q.PUSH mail body");
    expect(served_client(state), "*", "Q.PUSH news body");
    server_process_kill(server);
    server_process_run(server);
    log = server_process_log(server);
    line = strstr(strstr(log, "Store open in ") + 1, "Store open in ");
    assert_non_null(line);
    line = strchr(line, ':');
    assert_int_equal(sscanf(line,
                            ": %lu topics, %lu MB in data.mdb, %lu journal records replayed, "
                            "in %ld ms",
                            &topics, &megabytes, &records, &ms),
                     4);
    assert_int_equal(topics, 2);
    assert_true(records > 0 && ms >= 0);
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(blocked_clients_hear_what_a_time_out_tells),
        serving_test(what_was_sent_is_settled_but_nothing_new_is_claimed),
        served_test(a_long_command_is_run_to_its_end),
        serving_test(the_end_of_the_connection_comes_with_a_reply),
        serving_test(a_transaction_under_way_is_not_cut_in_two),
        served_test(a_pause_does_not_keep_requests_from_their_end),
        serving_test(an_aborted_stop_goes_on_as_before),
        serving_test(who_came_late_is_closed_without_a_reply),
        serving_test(now_does_not_wait),
        serving_test(who_is_there_has_time_also_after_a_long_sleep),
        served_test(a_start_says_what_it_found),
    };
    return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}
