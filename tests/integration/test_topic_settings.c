/* Settings and pauses of topics, on the real server: they outlive it. */
#include "tests/support/client/client.h"

#include <setjmp.h>
#include <cmocka.h>

static void settings_and_a_pause_survive_kill(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server), *worker;
    expect(client, "OK", "Q.CONFIG SET m* lease 5m backoff %s", "STEPS 1s 1m");
    expect(client, "OK", "Q.PAUSE mail OUT");
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    worker = client_open(server);
    expect(client, "[\"lease\" [\"300000\" \"m*\"] \"backoff\" [\"steps 1000 60000\" \"m*\"]]",
           "Q.CONFIG GET mail lease backoff");
    say(worker, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    expect_field(client, "paused", "\"out\"", "Q.STATS mail");
    expect(client, "OK", "Q.RESUME mail");
    expect_reply(worker, "[[\"a\" 1 \"body\" 1]]");
}

static void a_pause_that_ends_by_itself_serves_who_waits(void **state)
{
    redisContext *client = served_client(state), *worker;
    expect(client, "OK", "Q.PAUSE mail FOR 300ms");
    expect(client, "!PAUSED *", "Q.PUSH mail body");
    expect(client, "OK", "Q.PAUSE mail OUT FOR 300ms");
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    worker = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    expect_reply(worker, "[[\"a\" 1 \"body\" 1]]");
    expect_field(client, "paused", "nil", "Q.STATS mail");
}

/* What ticks had not removed yet is removed after the restart; the new topic stays. */
static void a_drop_survives_kill(void **state)
{
    (void)state;
    enum { JOBS = 5000 };
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server), *worker = client_open(server);
    for (int i = 0; i < JOBS; i++)
        say(client, "Q.PUSH mail body ID old%d", i);
    for (int i = 0; i < JOBS; i++)
        expect_reply(client, "*");
    expect(client, "OK", "Q.PAUSE mail OUT");
    say(worker, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    expect(client, "1", "Q.DROP mail");
    expect(client, "\"new\"", "Q.PUSH mail body ID new");
    expect_reply(worker, "[[\"new\" 1 \"body\" 1]]");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "1", "Q.LEN mail");
    expect(client, "nil", "Q.GET mail old7");
    expect(client, "1", "Q.ACK mail new 1");
    expect(client, "0", "Q.PURGE mail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(settings_and_a_pause_survive_kill),
        serving_test(a_drop_survives_kill),
        served_test(a_pause_that_ends_by_itself_serves_who_waits),
    };
    return cmocka_run_group_tests_name("topic settings", tests, NULL, NULL);
}
