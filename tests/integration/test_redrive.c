/* Dead jobs on the real server: long work on them while clients go away and the server is
 * killed. */
#include "tests/support/client/client.h"

#include <stdarg.h>

#include <setjmp.h>
#include <cmocka.h>

enum { MANY = 20000 };

/* Their ttl is over at once. */
static void add_dead(redisContext *client, int count)
{
    for (int i = 0; i < count; i++)
        say(client, "Q.PUSH mail body ID %d TTL 0 PRIORITY 7", i);
    for (int i = 0; i < count; i++)
        expect_reply(client, "*");
    while (ask_integer(client, "Q.LEN mail dead") < count)
        sleep_ms(1);
}

/* Begins a long work on another connection, and returns in its middle. */
static redisContext *begin_work(const struct server_process *server, redisContext *client,
                                const char *command)
{
    redisContext *working = client_open(server);
    int64_t left;
    say(working, command);
    do
        left = ask_integer(client, "Q.LEN mail dead");
    while (left == MANY);
    assert_in_range(left, 1, MANY - 1);
    return working;
}

/* How many are left when the client of a purge of MANY has gone in its middle. */
static int64_t left_by_purge(const struct server_process *server, redisContext *client)
{
    int64_t left, before;
    add_dead(client, MANY);
    client_close(begin_work(server, client, "Q.DEAD mail PURGE"));
    await_blocked(client, 0);
    do { /* the server has seen it when two looks find the same */
        before = ask_integer(client, "Q.LEN mail dead");
        sleep_ms(20);
        left = ask_integer(client, "Q.LEN mail dead");
    } while (left != before);
    return left;
}

/* On a busy machine the purge may have come to its end before its client goes. */
static void a_purge_ends_when_its_client_goes(void **state)
{
    redisContext *client = served_client(state);
    int64_t left = 0;
    for (int tries = 0; left == 0 && tries < 20; tries++)
        left = left_by_purge(served_server(state), client);
    assert_true(left > 0);
    assert_int_equal(ask_integer(client, "Q.DEAD mail PURGE"), left);
    expect(client, "0", "Q.LEN mail");
    expect_field(client, "bytes", "0", "Q.STATS mail");
}

/* What is redriven stays so, and a second command redrives the rest. */
static void a_redrive_goes_on_after_a_kill(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    int64_t moved;
    add_dead(client, MANY);
    begin_work(server, client, "Q.DEAD mail REDRIVE TO other RATE 1 1h");
    server_process_kill(server);
    client_cleanup();
    server_process_run(server);
    client = client_open(server);
    moved = ask_integer(client, "Q.LEN other");
    assert_in_range(moved, 1, MANY - 1);
    assert_int_equal(ask_integer(client, "Q.LEN mail dead"), MANY - moved);
    expect(client, "[* 0]", "Q.DEAD mail REDRIVE TO other");
    assert_int_equal(ask_integer(client, "Q.LEN other"), MANY);
    expect(client, "0", "Q.LEN mail");
    expect_field(client, "error", "\"expired\"", "Q.GET other 0");
    expect_field(client, "priority", "7", "Q.GET other %d", MANY - 1);
}

/* It takes what was dead when it began; what it redrives dies again, as its ttl is over. */
static void a_redrive_of_what_dies_again_ends(void **state)
{
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    add_dead(client, MANY);
    say(other, "Q.DEAD mail REDRIVE");
    expect(client, "PONG", "PING");
    expect_reply(other, "[20000 0]");
    while (ask_integer(client, "Q.LEN mail dead") < MANY)
        sleep_ms(1);
    expect_field(client, "total-dead", "40000", "Q.STATS mail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_purge_ends_when_its_client_goes),
        serving_test(a_redrive_goes_on_after_a_kill),
        served_test(a_redrive_of_what_dies_again_ends),
    };
    return cmocka_run_group_tests_name("dead jobs", tests, NULL, NULL);
}
