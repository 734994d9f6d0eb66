/* Q.CLAIM ... BLOCK: which clients wait, which one is served, and when. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <cmocka.h>

static void a_waiter_gets_what_is_pushed(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    expect_reply(waiting, "[[\"a\" 1 \"body\" 1]]");
    await_blocked(client, 0);
}

static void with_a_job_there_block_answers_at_once(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "*", "Q.PUSH mail body ID b");
    expect(client, "[[\"a\" *] [\"b\" *]]", "Q.CLAIM mail COUNT 5 BLOCK 0");
}

static void a_waiter_wakes_when_a_job_falls_due(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a DELAY 60");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM mail BLOCK 60s");
    assert_true(ask_field(client, "due", "Q.GET mail a") > 0);
}

/* The stats say by how much it woke late. */
static void a_claim_that_waited_counts_its_lateness(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 60s");
    expect(client, "*", "Q.PUSH mail body ID a DELAY 30");
    expect_reply(waiting, "[[\"a\" 1 \"body\" 1]]");
    expect(client, "*", "Q.PUSH mail body ID b");
    expect(client, "[[\"b\" 2 \"body\" 1]]", "Q.CLAIM mail BLOCK 60s");
    expect(client,
           "[*\"wait\" [\"minute\" [\"count\" 2 *\"lateness\" [\"minute\" [\"count\" 1 *]",
           "Q.STATS mail");
}

static void a_job_is_never_given_out_early(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 1; i <= 20; i++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        expect(client, "*", "Q.PUSH mail body ID %d DELAY %d", i, i * 3);
        expect(client, "[[*]]", "Q.CLAIM mail BLOCK 60s");
        clock_gettime(CLOCK_MONOTONIC, &end);
        long elapsed =
            (long)(end.tv_sec - start.tv_sec) * 1000000 + (end.tv_nsec - start.tv_nsec) / 1000;
        assert_true(elapsed >= i * 3000 - 1000); /* rounding to ms can lose one */
    }
}

static void a_job_of_at_wakes_too(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 1m");
    expect(client, "*", "Q.PUSH mail body ID a AT %lld", (long long)unix_ms() + 50);
    expect_reply(waiting, "[[\"a\" 1 \"body\" 1]]");
}

static void a_block_that_runs_out_is_nil(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "nil", "Q.CLAIM mail BLOCK 20");
    expect(client, "nil", "Q.CLAIM mail BLOCK 20ms COUNT 3");
    expect(client, "nil", "Q.MCLAIM 2 mail sms BLOCK 20");
    expect(client, "*", "Q.PUSH mail body DELAY 1h");
    expect(client, "nil", "Q.CLAIM mail BLOCK 20");
    expect(client, "PONG", "PING");
    await_blocked(client, 0);
}

static void block_0_waits_on(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    expect_silence(waiting, 200);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect_reply(waiting, "[[\"a\" *]]");
}

static void one_job_goes_to_the_waiter_who_came_first(void **state)
{
    redisContext *client = served_client(state);
    redisContext *first = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    redisContext *second = served_waiter(state, 2, "Q.CLAIM mail BLOCK 0");
    expect(client, "*", "Q.PUSH mail one ID a");
    expect_reply(first, "[[\"a\" *]]");
    expect_silence(second, 50);
    expect(client, "*", "Q.PUSH mail two ID b");
    expect_reply(second, "[[\"b\" *]]");
}

static void waiters_are_served_in_order_of_arrival(void **state)
{
    enum { WAITERS = 20 };
    redisContext *waiting[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        waiting[i] = served_waiter(state, i + 1, "Q.CLAIM mail BLOCK 0");
    for (int i = 0; i < WAITERS; i++)
        expect(served_client(state), "*", "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < WAITERS; i++) {
        char pattern[32];
        snprintf(pattern, sizeof(pattern), "[[\"%d\" *]]", i);
        expect_reply(waiting[i], pattern);
    }
}

static void who_waited_goes_before_who_comes(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    say(client, "Q.PUSH mail body ID a");
    say(client, "Q.CLAIM mail");
    expect_reply(client, "\"a\"");
    expect_reply(client, "[]");
    expect_reply(waiting, "[[\"a\" *]]");
}

static void several_jobs_falling_due_together_serve_several_waiters(void **state)
{
    redisContext *client = served_client(state);
    redisContext *first = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0 COUNT 2");
    redisContext *second = served_waiter(state, 2, "Q.CLAIM mail BLOCK 0");
    long long at = unix_ms() + 100;
    for (int i = 0; i < 3; i++)
        expect(client, "*", "Q.PUSH mail body ID %d AT %lld", i, at);
    expect_reply(first, "[[\"0\" *]*]");
    expect_reply(second, "[[*]]");
}

static void mclaim_waits_on_all_its_topics(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.MCLAIM 3 one two three BLOCK 0");
    expect(client, "*", "Q.PUSH other body");
    expect_silence(waiting, 50);
    expect(client, "*", "Q.PUSH three body ID a");
    expect_reply(waiting, "[[\"three\" \"a\" 1 \"body\" 1]]");
    await_blocked(client, 0);
    expect(client, "*", "Q.PUSH one body ID b");
    expect(client, "[[\"b\" *]]", "Q.CLAIM one");
}

static void a_topic_named_twice_in_mclaim_does_no_harm(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.MCLAIM 2 one one BLOCK 0");
    expect(client, "*", "Q.PUSH one body ID a");
    expect_reply(waiting, "[[\"one\" \"a\" *]]");
    expect(client, "*", "Q.PUSH one body ID b");
    expect(client, "[[\"b\" *]]", "Q.CLAIM one");
}

static void a_lease_that_ends_wakes_a_waiter(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    expect(client, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM mail LEASE 50");
    expect(client, "[[\"a\" 2 \"body\" 2]]", "Q.CLAIM mail BLOCK 60s");
}

static void a_nack_wakes_a_waiter(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body ID a");
    int64_t token = claim(client, "mail", "a");
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    expect(client, "\"ready\"", "Q.NACK mail a %lld DELAY 0", (long long)token);
    expect_reply(waiting, "[[\"a\" 2 \"body\" 2]]");
}

static void a_waiter_that_goes_away_takes_no_job_along(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 20; i++) {
        redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
        client_close(waiting);
        await_blocked(client, 0);
        expect(client, "*", "Q.PUSH mail body ID %d", i);
        expect(client, "[[*]]", "Q.CLAIM mail");
    }
}

/* The push may come before the server notices that the waiter is gone: then the job comes after
 * its lease. */
static void a_waiter_that_vanishes_at_the_same_moment_loses_nothing(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 20; i++) {
        redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0 LEASE 50");
        client_close(waiting);
        expect(client, "*", "Q.PUSH mail body ID %d", i);
        expect(client, "[[*]]", "Q.CLAIM mail BLOCK 60s LEASE 1h");
    }
    expect(client, "20", "Q.LEN mail claimed");
}

static void a_blocked_client_may_pipeline_more(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    say(waiting, "PING");
    say(waiting, "Q.CLAIM mail BLOCK 0");
    say(waiting, "ECHO done");
    expect_silence(waiting, 50);
    expect(client, "*", "Q.PUSH mail one ID a");
    expect_reply(waiting, "[[\"a\" *]]");
    expect_reply(waiting, "PONG");
    expect_silence(waiting, 50);
    expect(client, "*", "Q.PUSH mail two ID b");
    expect_reply(waiting, "[[\"b\" *]]");
    expect_reply(waiting, "\"done\"");
}

static void a_pipeline_that_blocks_has_its_earlier_replies_first(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = client_open(served_server(state));
    say(waiting, "Q.PUSH other body ID x");
    say(waiting, "Q.CLAIM mail BLOCK 0");
    expect_reply(waiting, "\"x\"");
    expect(client, "*", "Q.PUSH mail body ID a");
    expect_reply(waiting, "[[\"a\" *]]");
}

static void deleting_a_topic_s_jobs_leaves_waiters_waiting(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = served_waiter(state, 1, "Q.CLAIM mail BLOCK 0");
    expect(client, "*", "Q.PUSH mail body ID a DELAY 1h");
    expect(client, "1", "Q.DEL mail a");
    expect(client, "OK", "FLUSHALL");
    expect_silence(waiting, 50);
    expect(client, "*", "Q.PUSH mail body ID b");
    expect_reply(waiting, "[[\"b\" *]]");
}

static void a_blocked_client_can_be_killed(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = client_open(served_server(state));
    int64_t id = ask_integer(waiting, "CLIENT ID");
    say(waiting, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    expect(client, "1", "CLIENT KILL ID %lld", (long long)id);
    expect_closed(waiting);
    await_blocked(client, 0);
}

static void many_waiters_and_many_jobs_pair_up(void **state)
{
    enum { WAITERS = 200 };
    redisContext *client = served_client(state);
    redisContext *waiting[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        waiting[i] = client_open(served_server(state));
        say(waiting[i], "Q.CLAIM mail BLOCK 0");
    }
    await_blocked(client, WAITERS);
    for (int i = 0; i < WAITERS; i++)
        redisAppendCommand(client, "Q.PUSH mail body ID %d DELAY %d", i, i % 40);
    for (int i = 0; i < WAITERS; i++)
        expect_reply(client, "*");
    for (int i = 0; i < WAITERS; i++)
        expect_reply(waiting[i], "[[\"*\" * \"body\" 1]]");
    expect(client, "200", "Q.LEN mail claimed");
    expect(client, "200", "Q.LEN mail");
}

/* Both in one turn, so that a slow machine does not pause when the job is due. */
static void push_and_pause(redisContext *client, const char *id, int pause_ms)
{
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "Q.PUSH mail body ID %s DELAY 200ms", id);
    expect(client, "QUEUED", "CLIENT PAUSE %d WRITE", pause_ms);
    expect(client, "[* OK]", "EXEC");
}

/* A claim is a write, also when another client's push causes it. */
static void jobs_that_fall_due_while_writes_are_paused_are_claimed_afterwards(void **state)
{
    redisContext *client = served_client(state);
    redisContext *worker = client_open(served_server(state));
    say(worker, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    push_and_pause(client, "a", 1000000);
    expect_silence(worker, 500);
    expect(client, "[\"id\" \"a\" *\"state\" \"ready\"*]", "Q.GET mail a");
    expect(client, "OK", "CLIENT UNPAUSE");
    expect_reply(worker, "[[\"a\" * \"body\" 1]]");
    say(worker, "Q.CLAIM mail BLOCK 0");
    await_blocked(client, 1);
    push_and_pause(client, "b", 500); /* its end is enough */
    expect_reply(worker, "[[\"b\" * \"body\" 1]]");
}

static void paused_clients_count_as_blocked(void **state)
{
    redisContext *client = served_client(state);
    redisContext *paused = client_open(served_server(state));
    int64_t id = ask_integer(paused, "CLIENT ID");
    expect(client, "OK", "CLIENT PAUSE 1000000 WRITE");
    say(paused, "SET a b");
    await_blocked(client, 1);
    expect(client, "\"*flags=b*\"", "CLIENT LIST ID %lld", (long long)id);
    expect(client, "OK", "CLIENT UNPAUSE");
    expect_reply(paused, "OK");
    await_blocked(client, 0);
}

static void a_pause_holds_back_no_request_that_is_refused(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CLIENT PAUSE 1000000 WRITE");
    expect(client, "!ERR wrong number of arguments for 'set' command", "SET a");
    expect(client, "!ERR unknown command *", "NOSUCH a");
    expect(client, "nil", "GET a");
    expect(client, "OK", "CLIENT PAUSE 1000000 ALL");
    expect(client, "!ERR wrong number of arguments for 'get' command", "GET");
    expect(client, "!ERR unknown subcommand *", "CLIENT NOSUCH");
}

static void make_set(redisContext *client, int elements)
{
    for (int i = 0; i < elements; i += 100) {
        char line[2000] = "SADD set";
        for (int j = i; j < i + 100; j++)
            snprintf(line + strlen(line), sizeof(line) - strlen(line), " e%d", j);
        expect(client, "100", line);
    }
}

static void await_copies(redisContext *client, int64_t count)
{
    for (int waited = 0; ask_integer(client, "INCRBY copied 0") < count; waited++) {
        assert_in_range(waited, 0, 10000);
        sleep_ms(1);
    }
}

/* Two clients in turn keep a key busy, for as long as they like. */
static void a_writer_waits_for_the_copies_that_came_before_it_only(void **state)
{
    enum { COPIES = 40 };
    static const char *const copies[] = {"COPY set a REPLACE", "COPY set b REPLACE"};
    redisContext *client = served_client(state), *writer = client_open(served_server(state));
    redisContext *copiers[2];
    make_set(client, 20000);
    for (int i = 0; i < 2; i++) {
        copiers[i] = client_open(served_server(state));
        for (int j = 0; j < COPIES; j++) {
            say(copiers[i], copies[i]);
            say(copiers[i], "INCR copied");
        }
    }
    await_copies(client, 2);
    say(writer, "SADD set more");
    expect_reply(writer, "1");
    assert_in_range(ask_integer(client, "INCRBY copied 0"), 2, COPIES);
    await_copies(client, 2 * COPIES);
    expect(client, "20001", "SCARD a");
    expect(client, "20001", "SCARD b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_waiter_gets_what_is_pushed),
        served_test(with_a_job_there_block_answers_at_once),
        served_test(a_waiter_wakes_when_a_job_falls_due),
        served_test(a_claim_that_waited_counts_its_lateness),
        served_test(a_job_is_never_given_out_early),
        served_test(a_job_of_at_wakes_too),
        served_test(a_block_that_runs_out_is_nil),
        served_test(block_0_waits_on),
        served_test(one_job_goes_to_the_waiter_who_came_first),
        served_test(waiters_are_served_in_order_of_arrival),
        served_test(who_waited_goes_before_who_comes),
        served_test(several_jobs_falling_due_together_serve_several_waiters),
        served_test(mclaim_waits_on_all_its_topics),
        served_test(a_topic_named_twice_in_mclaim_does_no_harm),
        served_test(a_lease_that_ends_wakes_a_waiter),
        served_test(a_nack_wakes_a_waiter),
        served_test(a_waiter_that_goes_away_takes_no_job_along),
        served_test(a_waiter_that_vanishes_at_the_same_moment_loses_nothing),
        served_test(a_blocked_client_may_pipeline_more),
        served_test(a_pipeline_that_blocks_has_its_earlier_replies_first),
        served_test(deleting_a_topic_s_jobs_leaves_waiters_waiting),
        served_test(a_blocked_client_can_be_killed),
        served_test(many_waiters_and_many_jobs_pair_up),
        served_test(jobs_that_fall_due_while_writes_are_paused_are_claimed_afterwards),
        served_test(a_writer_waits_for_the_copies_that_came_before_it_only),
        served_test(paused_clients_count_as_blocked),
        served_test(a_pause_holds_back_no_request_that_is_refused),
    };
    return cmocka_run_group_tests_name("blocking", tests, NULL, NULL);
}
