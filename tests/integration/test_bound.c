/* Workers by name, and leases that end with a connection: Q.CLAIM ... WORKER, BOUND, NOTIFY,
 * Q.WORKERS, Q.RELEASE. */
#include "tests/support/client/client.h"
#include "tests/support/client/raw_client.h"
#include "tests/support/client/server_process.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { PATIENCE_MS = 30000, THOUSANDS = 10000 };

static void push(redisContext *client, int count)
{
    for (int i = 0; i < count; i++)
        expect(client, "*", "Q.PUSH mail body ID %d", i);
}

static void push_many(redisContext *client, int count)
{
    for (int i = 0; i < count; i++)
        redisAppendCommand(client, "Q.PUSH mail body");
    for (int i = 0; i < count; i++) {
        redisReply *reply;
        assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
        freeReplyObject(reply);
    }
}

/* The server sees it in a turn of its own. */
static void await_ready(redisContext *client, int wanted)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (ask_integer(client, "Q.LEN mail ready") == wanted)
            return;
        sleep_ms(10);
    }
    fail_msg("%d jobs are ready", (int)ask_integer(client, "Q.LEN mail ready"));
}

/* ---- BOUND */

static void a_bound_lease_ends_with_its_connection(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push(client, 3);
    expect(worker, "[[\"0\" 1 *] [\"1\" 2 *]]", "Q.CLAIM mail COUNT 2 LEASE 1h BOUND");
    expect(worker, "[[\"2\" 3 *]]", "Q.CLAIM mail LEASE 1h");
    expect(worker, "1", "Q.ACK mail 0 1");
    client_close(worker);
    await_ready(client, 1);
    expect(client, "1", "Q.LEN mail claimed"); /* a plain lease stays */
    expect_field(client, "leases-expired", "1", "Q.GET mail 1");
    expect(client, "[[\"1\" 4 *]]", "Q.CLAIM mail");
}

static void a_waiting_claim_gets_the_job_at_once(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push(client, 1);
    expect(worker, "[[\"0\" 1 *]]", "Q.CLAIM mail LEASE 1h BOUND");
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    client_close(worker);
    expect_reply(waiting, "[[\"0\" 2 \"body\" 2]]");
}

/* It has a bound job and waits for one more when its connection breaks. */
static void a_blocked_worker_that_goes_gives_back_too(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push(client, 1);
    expect(worker, "[[\"0\" 1 *]]", "Q.CLAIM mail LEASE 1h BOUND");
    say(worker, "Q.CLAIM other BLOCK 0 BOUND");
    await_blocked(client, 1);
    client_close(worker);
    await_ready(client, 1);
}

static void a_killed_client_gives_back_too(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push(client, 1);
    expect(worker, "[[\"0\" 1 *]]", "Q.CLAIM mail LEASE 1h BOUND");
    expect(client, "1", "CLIENT KILL ID %lld", (long long)ask_integer(worker, "CLIENT ID"));
    await_ready(client, 1);
    client_close(worker);
}

/* A job that was claimed again is not taken from its second worker. */
static void an_old_claim_ends_nothing(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push(client, 1);
    expect(worker, "[[\"0\" 1 *]]", "Q.CLAIM mail LEASE 1h BOUND");
    expect(worker, "\"ready\"", "Q.NACK mail 0 1 DELAY 0");
    expect(client, "[[\"0\" 2 *]]", "Q.CLAIM mail LEASE 1h");
    client_close(worker);
    expect(client, "*", "Q.PUSH mail body ID end");
    await_ready(client, 1);
    expect(client, "1", "Q.ACK mail 0 2");
}

static void ten_thousand_leases_end_in_slices(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push_many(client, THOUSANDS);
    for (int i = 0; i < THOUSANDS / 1000; i++)
        expect(worker, "[*]", "Q.CLAIM mail COUNT 1000 LEASE 1h BOUND");
    expect(client, "0", "Q.LEN mail ready");
    client_close(worker);
    await_ready(client, THOUSANDS);
}

/* Each takes some 200 bytes of the server. */
static void bound_leases_count_as_memory_of_the_client(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    push_many(client, THOUSANDS);
    expect(client, "OK", "CONFIG SET maxmemory-clients 500kb");
    expect(worker, "[*]", "Q.CLAIM mail COUNT 1000 LEASE 1h");
    expect(worker, "[*]", "Q.CLAIM mail COUNT 1000 LEASE 1h BOUND");
    for (int i = 0; i < THOUSANDS / 1000 - 2; i++) {
        redisReply *reply = redisCommand(worker, "Q.CLAIM mail COUNT 1000 LEASE 1h BOUND");
        if (reply == NULL)
            break;
        freeReplyObject(reply);
    }
    await_ready(client, THOUSANDS - 1000);
    assert_int_equal(ask_info(client, "stats", "evicted_clients"), 1);
    client_close(worker);
}

/* What acks leave behind does not grow. */
static void acked_jobs_are_forgotten(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    for (int i = 0; i < 2000; i++) {
        expect(client, "*", "Q.PUSH mail body ID job");
        expect(worker, "[[\"job\" *]]", "Q.CLAIM mail BOUND");
        expect(worker, "1", "Q.ACK mail job %d", i + 1);
    }
    client_close(worker);
    expect(client, "0", "Q.LEN mail");
}

static void after_a_kill_it_is_a_plain_lease(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);
    push(client, 1);
    expect(client, "[[\"0\" 1 *]]", "Q.CLAIM mail LEASE 1h WORKER w BOUND");
    server_process_kill(server);
    server_process_run(server);
    redisContext *again = client_open(server);
    expect(again, "1", "Q.LEN mail claimed");
    expect_field(again, "worker", "\"w\"", "Q.GET mail 0");
    expect(again,
           "[[\"name\" \"w\" \"address\" nil \"connections\" 0 \"held\" 1 "
           "\"oldest-lease\" * \"rate\" 0 \"last-seen\" nil]]",
           "Q.WORKERS");
    expect(again, "1", "Q.RELEASE WORKER w");
    expect(again, "[[\"0\" 2 *]]", "Q.CLAIM mail");
    client_close(again);
}

/* ---- NOTIFY */

static void a_worker_is_told_of_a_cancel(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client worker;
    raw_open(&worker, served_server(state));
    raw_expect(&worker, "{*}", "HELLO 3");
    push(client, 2);
    raw_expect(&worker, "[[\"0\" 1 *] [\"1\" 2 *]]", "Q.CLAIM mail COUNT 2 LEASE 1h NOTIFY");
    expect(client, "\"claimed\"", "Q.CANCEL mail 0");
    expect(client, "\"claimed\"", "Q.CANCEL mail 0"); /* said once */
    raw_expect_bytes(&worker, ">4\r\n$9\r\ncancelled\r\n$4\r\nmail\r\n$1\r\n0\r\n:1\r\n");
    raw_expect(&worker, "PONG", "PING");
    raw_close(&worker);
    expect(client, "0", "Q.LEN mail ready"); /* it is not bound */
}

static void notify_needs_resp3(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR NOTIFY needs RESP3: HELLO 3", "Q.CLAIM mail NOTIFY");
    push(client, 1);
    expect(client, "[[\"0\" *]]", "Q.CLAIM mail BOUND");
    expect(client, "\"claimed\"", "Q.CANCEL mail 0");
    expect(client, "PONG", "PING");
}

/* ---- Q.WORKERS, Q.RELEASE */

static void workers_are_listed(void **state)
{
    redisContext *client = served_client(state), *worker = client_open(served_server(state));
    expect(client, "[]", "Q.WORKERS");
    expect(client, "[]", "Q.WORKERS mail");
    push(client, 4);
    expect(client, "*", "Q.PUSH other body ID x");
    expect(worker, "OK", "CLIENT SETNAME alice");
    expect(worker, "[* * *]", "Q.CLAIM mail COUNT 3");
    expect(worker, "[[\"x\" *]]", "Q.CLAIM other WORKER bob");
    expect(client,
           "[[\"name\" \"alice\" \"address\" \"127.0.0.1:*\" \"connections\" 0 \"held\" 3 "
           "\"oldest-lease\" * \"rate\" 3 \"last-seen\" *] [\"name\" \"bob\" \"address\" "
           "\"127.0.0.1:*\" \"connections\" 1 \"held\" 1 *\"rate\" 1 *]]",
           "Q.WORKERS");
    expect(client, "[[\"name\" \"bob\" *\"held\" 1 *]]", "Q.WORKERS other");
    expect(worker, "1", "Q.ACK mail 0 1");
    expect(worker, "1", "Q.ACK other x 1");
    client_close(worker);
    expect(client, "[[\"name\" \"alice\" *\"held\" 2 *] [\"name\" \"bob\" *\"held\" 0 *]]",
           "Q.WORKERS");
    expect(client, "[]", "Q.WORKERS other");
}

static void release_ends_the_leases_of_a_worker(void **state)
{
    redisContext *client = served_client(state);
    push(client, 3);
    expect(client, "*", "Q.PUSH other body ID x");
    expect(client, "[* *]", "Q.CLAIM mail COUNT 2 LEASE 1h WORKER lost");
    expect(client, "[*]", "Q.CLAIM mail LEASE 1h WORKER other");
    expect(client, "[*]", "Q.CLAIM other LEASE 1h WORKER lost");
    expect(client, "0", "Q.RELEASE WORKER nobody");
    expect(client, "2", "Q.RELEASE WORKER lost TOPIC mail");
    expect(client, "1", "Q.LEN mail claimed");
    expect_field(client, "error", "\"lease expired\"", "Q.GET mail 0");
    expect(client, "1", "Q.RELEASE WORKER lost");
    expect(client, "0", "Q.RELEASE WORKER lost");
    expect(client, "1", "Q.ACK mail 0 1"); /* late, with nobody in between */
    expect(client, "!ERR syntax error", "Q.RELEASE TOPIC mail");
    expect(client, "!ERR syntax error", "Q.RELEASE WORKER lost TOPIC");
}

static void ten_thousand_are_released_in_slices(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < THOUSANDS; i++)
        redisAppendCommand(client, "Q.PUSH topic-%d body", i % 100);
    for (int i = 0; i < THOUSANDS; i++)
        redisAppendCommand(client, "Q.CLAIM topic-%d LEASE 1h WORKER w%d", i % 100, i % 2);
    for (int i = 0; i < 2 * THOUSANDS; i++) {
        redisReply *reply;
        assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
        freeReplyObject(reply);
    }
    expect(client, "[[*\"held\" 5000 *] [*\"held\" 5000 *]]", "Q.WORKERS");
    expect(client, "5000", "Q.RELEASE WORKER w1");
    expect(client, "[[\"name\" \"w0\" *\"held\" 5000 *] [\"name\" \"w1\" *\"held\" 0 *]]",
           "Q.WORKERS");
    expect(client, "*", "MULTI");
    expect(client, "*", "Q.RELEASE WORKER w0");
    expect(client, "[5000]", "EXEC");
}

static void release_needs_rights_to_the_topics(void **state)
{
    redisContext *client = served_client(state), *user = client_open(served_server(state));
    expect(client, "OK", "ACL SETUSER u on nopass ~mail +@queue");
    push(client, 1);
    expect(client, "*", "Q.PUSH other body");
    expect(client, "[*]", "Q.CLAIM mail WORKER w");
    expect(client, "[*]", "Q.CLAIM other WORKER w");
    expect(user, "OK", "AUTH u x");
    expect(user, "!NOPERM *", "Q.RELEASE WORKER w");
    expect(user, "!NOPERM *", "Q.RELEASE WORKER w TOPIC other");
    expect(user, "!NOPERM *", "Q.RELEASE WORKER w TOPIC other TOPIC mail");
    expect(user, "!NOPERM *", "Q.WORKERS other");
    expect(user, "1", "Q.RELEASE WORKER w TOPIC mail");
    client_close(user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {served_test(a_bound_lease_ends_with_its_connection),
                                       served_test(a_waiting_claim_gets_the_job_at_once),
                                       served_test(a_blocked_worker_that_goes_gives_back_too),
                                       served_test(a_killed_client_gives_back_too),
                                       served_test(an_old_claim_ends_nothing),
                                       served_test(ten_thousand_leases_end_in_slices),
                                       served_test(bound_leases_count_as_memory_of_the_client),
                                       served_test(acked_jobs_are_forgotten),
                                       served_test(after_a_kill_it_is_a_plain_lease),
                                       served_test(a_worker_is_told_of_a_cancel),
                                       served_test(notify_needs_resp3),
                                       served_test(workers_are_listed),
                                       served_test(release_ends_the_leases_of_a_worker),
                                       served_test(ten_thousand_are_released_in_slices),
                                       served_test(release_needs_rights_to_the_topics)};

    return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
