/* Results of jobs and waits for them, on the real server: with clients that go away and servers
 * that are killed in between. */
#include "tests/support/client/client.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static int64_t push_and_claim(redisContext *client, const char *id)
{
    expect(client, "*", "Q.PUSH mail body ID %s", id);
    return claim(client, "mail", id);
}

static void a_waiter_gets_the_result_of_a_worker(void **state)
{
    redisContext *worker = served_client(state);
    int64_t token = push_and_claim(worker, "a");
    redisContext *waiter = served_waiter(state, 1, "Q.WAIT mail a BLOCK 0");
    expect(worker, "1", "Q.ACK mail a %lld RESULT 42 KEEP 1m", (long long)token);
    expect_reply(waiter, "[[\"a\" \"done\" \"42\"]]");
    expect(waiter, "[[\"a\" \"done\" \"42\"]]", "Q.WAIT mail a BLOCK 0");
    await_blocked(worker, 0);
}

static void time_ends_a_wait(void **state)
{
    redisContext *client = served_client(state);
    push_and_claim(client, "a");
    expect(client, "[[\"a\" \"claimed\" nil] [\"b\" nil nil]]", "Q.WAIT mail a b BLOCK 50ms");
    await_blocked(client, 0);
}

static void a_lease_that_ends_wakes_who_waits(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a CRASHES 0");
    expect(client, "[[\"a\" *]]", "Q.CLAIM mail LEASE 50ms");
    expect(client, "[[\"a\" \"dead\" \"crashed: 1 leases expired\"]]", "Q.WAIT mail a BLOCK 0");
}

static void results_survive_kill(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    int64_t token = push_and_claim(client, "a");
    expect(client, "1", "Q.ACK mail a %lld RESULT 42 KEEP 1h", (long long)token);
    token = push_and_claim(client, "b");
    redisContext *waiter = client_open(server);
    say(waiter, "Q.WAIT mail b BLOCK 0");
    await_blocked(client, 1);
    server_process_kill(server);
    client_close(client);
    client_close(waiter);
    server_process_run(server);
    client = client_open(server);
    waiter = client_open(server);
    expect(client, "1", "Q.LEN mail done");
    say(waiter, "Q.WAIT mail a b BLOCK 0");
    await_blocked(client, 1);
    expect(client, "1", "Q.ACK mail a %lld RESULT other", (long long)(token - 1));
    expect(client, "1", "Q.ACK mail b %lld", (long long)token);
    expect_reply(waiter, "[[\"a\" \"done\" \"42\"] [\"b\" \"done\" nil]]");
}

static void done_jobs_go_after_a_restart(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    int64_t token = push_and_claim(client, "a");
    expect(client, "1", "Q.ACK mail a %lld KEEP 100ms", (long long)token);
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    while (ask_integer(client, "Q.LEN mail done") > 0)
        sleep_ms(10);
    expect(client, "nil", "Q.GET mail a");
}

static void who_goes_away_while_waiting_leaves_no_trace(void **state)
{
    redisContext *client = served_client(state);
    int64_t token = push_and_claim(client, "a");
    redisContext *first = served_waiter(state, 1, "Q.WAIT mail a BLOCK 0");
    redisContext *second = served_waiter(state, 2, "Q.WAIT mail a a nothing BLOCK 0");
    client_close(first);
    await_blocked(client, 1);
    expect(client, "1", "Q.ACK mail a %lld RESULT 42", (long long)token);
    expect_reply(second,
                 "[[\"a\" \"done\" \"42\"] [\"a\" \"done\" \"42\"] [\"nothing\" nil nil]]");
    await_blocked(client, 0);
}

static void a_wait_ends_by_client_unblock(void **state)
{
    redisContext *client = served_client(state);
    push_and_claim(client, "a");
    redisContext *waiter = client_open(served_server(state));
    int64_t id = ask_integer(waiter, "CLIENT ID");
    say(waiter, "Q.WAIT mail a BLOCK 0");
    await_blocked(client, 1);
    expect(client, "1", "CLIENT UNBLOCK %lld", (long long)id);
    expect_reply(waiter, "[[\"a\" \"claimed\" nil]]");
    say(waiter, "Q.WAIT mail a BLOCK 0");
    await_blocked(client, 1);
    expect(client, "1", "CLIENT UNBLOCK %lld ERROR", (long long)id);
    expect_reply(waiter, "!UNBLOCKED client unblocked via CLIENT UNBLOCK");
}

/* A pipeline behind the wait runs when it has ended. */
static void what_follows_in_the_pipeline_comes_later(void **state)
{
    redisContext *client = served_client(state);
    int64_t token = push_and_claim(client, "a");
    redisContext *waiter = served_waiter(state, 1, "Q.WAIT mail a BLOCK 0");
    say(waiter, "Q.DEL mail a");
    say(waiter, "Q.WAIT mail a BLOCK 0");
    expect(client, "1", "Q.ACK mail a %lld RESULT 42", (long long)token);
    expect_reply(waiter, "[[\"a\" \"done\" \"42\"]]");
    expect_reply(waiter, "1");
    expect_reply(waiter, "[[\"a\" nil nil]]");
}

static redisReply *wait_for_many(redisContext *client, int ids)
{
    const char **words = calloc((size_t)ids + 4, sizeof(*words));
    words[0] = "Q.WAIT";
    words[1] = "mail";
    for (int i = 0; i < ids; i++)
        words[2 + i] = "a";
    words[2 + ids] = "BLOCK";
    words[3 + ids] = "10ms";
    redisReply *reply = redisCommandArgv(client, ids + 4, words, NULL);
    assert_non_null(reply);
    free(words);
    return reply;
}

/* Many clients that wait for many jobs, and go without a word. */
static void nothing_of_many_who_go_is_kept(void **state)
{
    enum { CLIENTS = 50, IDS = 1000 };
    redisContext *client = served_client(state), *waiters[CLIENTS];
    const char **words = calloc(IDS + 4, sizeof(*words));
    static char ids[IDS][16];
    int64_t before;
    for (int i = 0; i < IDS; i++) {
        snprintf(ids[i], sizeof(ids[i]), "%d", i);
        words[i + 2] = ids[i];
        freeReplyObject(ask(client, "Q.PUSH mail x ID %d DELAY 1h", i));
    }
    words[0] = "Q.WAIT";
    words[1] = "mail";
    words[IDS + 2] = "BLOCK";
    words[IDS + 3] = "0";
    before = ask_info(client, "memory", "mem_clients_normal");
    for (int i = 0; i < CLIENTS; i++) {
        int done = 0;
        waiters[i] = client_open(served_server(state));
        redisAppendCommandArgv(waiters[i], IDS + 4, words, NULL);
        while (!done)
            assert_int_equal(redisBufferWrite(waiters[i], &done), REDIS_OK);
    }
    await_blocked(client, CLIENTS);
    assert_true(ask_info(client, "memory", "mem_clients_normal") > before + CLIENTS * IDS);
    for (int i = 0; i < CLIENTS; i++)
        client_close(waiters[i]);
    await_blocked(client, 0);
    for (int waited = 0;
         waited < 60000 && ask_info(client, "memory", "mem_clients_normal") > 2 * before;
         waited++)
        sleep_ms(1);
    assert_true(ask_info(client, "memory", "mem_clients_normal") <= 2 * before);
    expect(client, "1", "Q.DROP mail");
    free(words);
}

static void one_wait_takes_1000_ids(void **state)
{
    redisContext *client = served_client(state);
    push_and_claim(client, "a");
    redisReply *reply = wait_for_many(client, 1000);
    assert_int_equal(reply->elements, 1000);
    freeReplyObject(reply);
    reply = wait_for_many(client, 1001);
    assert_string_equal(reply->str, "ERR a command takes at most 1000 jobs");
    freeReplyObject(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_waiter_gets_the_result_of_a_worker),
        served_test(time_ends_a_wait),
        served_test(a_lease_that_ends_wakes_who_waits),
        serving_test(results_survive_kill),
        serving_test(done_jobs_go_after_a_restart),
        served_test(who_goes_away_while_waiting_leaves_no_trace),
        served_test(a_wait_ends_by_client_unblock),
        served_test(what_follows_in_the_pipeline_comes_later),
        served_test(nothing_of_many_who_go_is_kept),
        served_test(one_wait_takes_1000_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
