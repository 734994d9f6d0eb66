/* What a restart keeps, after a clean stop and after kill -9. */
#include "tests/support/client/client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

typedef void (*end_fn)(struct server_process *server);

/* Ends the server, starts it again on the same directory and connects. */
static redisContext *restart(struct server_process *server, redisContext *client, end_fn end)
{
    end(server);
    client_close(client);
    server_process_run(server);
    return client_open(server);
}

/* Runs a test for both ways to end. */
static void both_ways(void (*test)(struct server_process *, end_fn))
{
    static const end_fn ends[] = {server_process_stop, server_process_kill};
    for (int i = 0; i < 2; i++) {
        test(server_process_start(""), ends[i]);
        client_cleanup();
        server_process_cleanup();
    }
}

static void keep_every_state(struct server_process *server, end_fn end)
{
    static const char *const ids[] = {"delayed", "ready", "claimed", "dead"};
    redisContext *client = client_open(server);
    char *before[4];
    expect(client, "*", "Q.PUSH mail c ID claimed LEASE 1h");
    int64_t token = claim(client, "mail", "claimed");
    expect(client, "*", "Q.PUSH mail d ID dead");
    expect(client, "\"dead\"", "Q.NACK mail dead %lld DEAD ERROR broken",
           (long long)claim(client, "mail", "dead"));
    expect(client, "*", "Q.PUSH mail r ID ready PRIORITY 9 TTL 1d BACKOFF 3s 4s RETRIES 7");
    expect(client, "*", "Q.PUSH mail l ID delayed DELAY 1h");
    for (int i = 0; i < 4; i++)
        before[i] = ask_text(client, "Q.GET mail %s", ids[i]);

    client = restart(server, client, end);
    for (int i = 0; i < 4; i++) {
        char *after = ask_text(client, "Q.GET mail %s", ids[i]);
        expect_same_job(before[i], after);
        free(before[i]);
        free(after);
        expect(client, "1", "Q.LEN mail %s", ids[i]);
    }
    expect(client, "[[\"ready\" * \"r\" 1]]", "Q.CLAIM mail COUNT 10");
    expect(client, "1", "Q.ACK mail claimed %lld", (long long)token);
    expect_field(client, "total-pushed", "4", "Q.STATS mail");
    expect_field(client, "total-acked", "1", "Q.STATS mail");
}

static void jobs_in_every_state_survive(void **state)
{
    (void)state;
    both_ways(keep_every_state);
}

static void keep_the_rest_of_a_lease(struct server_process *server, end_fn end)
{
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH mail body ID short");
    expect(client, "*", "Q.PUSH mail body ID long");
    expect(client, "[[\"short\" 1 *]]", "Q.CLAIM mail LEASE 3s");
    expect(client, "[[\"long\" 2 *]]", "Q.CLAIM mail LEASE 1h");
    client = restart(server, client, end);
    expect_field(client, "state", "\"claimed\"", "Q.GET mail long");
    expect(client, "[[\"short\" 3 \"body\" 2]]", "Q.CLAIM mail BLOCK 60s LEASE 1h");
    expect(client, "!STALE *", "Q.ACK mail short 1");
    expect(client, "1", "Q.ACK mail short 3");
    expect(client, "1", "Q.ACK mail long 2");
}

static void leases_keep_their_remaining_time(void **state)
{
    (void)state;
    both_ways(keep_the_rest_of_a_lease);
}

static void fall_due_across(struct server_process *server, end_fn end)
{
    redisContext *client = client_open(server);
    expect(client, "*", "Q.PUSH mail body ID relative DELAY 300");
    expect(client, "*", "Q.PUSH mail body ID absolute AT %lld", (long long)unix_ms() + 300);
    expect(client, "*", "Q.PUSH mail body ID lapsing TTL 300 DELAY 0");
    end(server);
    sleep_ms(400);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "[[*]]", "Q.CLAIM mail BLOCK 60s");
    expect(client, "[[*]]", "Q.CLAIM mail BLOCK 60s");
    expect(client, "2", "Q.LEN mail claimed");
    expect_field(client, "state", "\"dead\"", "Q.GET mail lapsing");
}

static void jobs_fall_due_while_the_server_is_down(void **state)
{
    (void)state;
    both_ways(fall_due_across);
}

static void keep_what_is_gone_gone(struct server_process *server, end_fn end)
{
    redisContext *client = client_open(server);
    for (int i = 0; i < 30; i++)
        expect(client, "*", "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < 10; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%d", i);
        expect(client, "1", "Q.ACK mail %s %lld", id, (long long)claim(client, "mail", id));
    }
    for (int i = 10; i < 20; i++)
        expect(client, "1", "Q.DEL mail %d", i);
    client = restart(server, client, end);
    expect(client, "10", "Q.LEN mail");
    for (int i = 0; i < 20; i++)
        expect(client, "nil", "Q.GET mail %d", i);
    expect(client, "[[\"20\" 11 \"body\" 1]]", "Q.CLAIM mail");
}

static void acked_and_deleted_jobs_do_not_come_back(void **state)
{
    (void)state;
    both_ways(keep_what_is_gone_gone);
}

static void keep_a_flush(struct server_process *server, end_fn end)
{
    redisContext *client = client_open(server);
    for (int i = 0; i < 2000; i++)
        redisAppendCommand(client, "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < 2000; i++)
        expect_reply(client, "*");
    expect(client, "OK", "FLUSHALL");
    expect(client, "\"5\"", "Q.PUSH mail other ID 5");
    client = restart(server, client, end);
    expect(client, "1", "Q.LEN mail");
    expect(client, "[[\"5\" * \"other\" 1]]", "Q.CLAIM mail COUNT 100");
}

static void a_flush_holds(void **state)
{
    (void)state;
    both_ways(keep_a_flush);
}

static void never_reuse_a_token(struct server_process *server, end_fn end)
{
    redisContext *client = client_open(server);
    int64_t previous = 0;
    char *last = NULL;
    for (int round = 0; round < 5; round++) {
        expect(client, "*", "Q.PUSH mail body ID a");
        int64_t token = claim(client, "mail", "a");
        assert_true(token > previous);
        previous = token;
        expect(client, "1", "Q.DEL mail a");
        char *id = ask_string(client, "Q.PUSH other body");
        assert_true(!last || strcmp(last, id) < 0);
        free(last);
        last = id;
        client = restart(server, client, end);
    }
    free(last);
}

static void tokens_and_ids_go_on_growing(void **state)
{
    (void)state;
    both_ways(never_reuse_a_token);
}

static void recover_a_backlog(struct server_process *server, end_fn end)
{
    enum { JOBS = 20000 };
    redisContext *client = client_open(server);
    char body[512];
    memset(body, 'b', sizeof(body));
    for (int i = 0; i < JOBS; i++)
        redisAppendCommand(client, "Q.PUSH mail %b ID %d", body, sizeof(body), i);
    for (int i = 0; i < JOBS; i++)
        expect_reply(client, "*");
    client = restart(server, client, end);
    expect(client, "20000", "Q.LEN mail ready");
    for (int i = 0; i < JOBS; i += 100) {
        redisReply *reply = ask(client, "Q.CLAIM mail COUNT 100");
        assert_int_equal(reply->elements, 100);
        for (int k = 0; k < 100; k++) {
            assert_int_equal(atoi(reply->element[k]->element[0]->str), i + k);
            assert_memory_equal(reply->element[k]->element[2]->str, body, sizeof(body));
        }
        freeReplyObject(reply);
    }
}

static void a_backlog_over_many_segments_is_recovered(void **state)
{
    (void)state;
    both_ways(recover_a_backlog);
}

enum { SCORES = 60000, A_TIME = 1000 };

static void fill_sorted_set(redisContext *client)
{
    redisReply *reply;
    for (int at = 0; at < SCORES; at += A_TIME) {
        for (int i = at; i < at + A_TIME; i++)
            redisAppendCommand(client, "ZADD scores %d m%d", i, i);
        for (int i = 0; i < A_TIME; i++) {
            assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
            freeReplyObject(reply);
        }
    }
}

/* The server ends while it erases; elements that were added again stay. */
static void keep_removals(struct server_process *server, end_fn end)
{
    redisContext *client = client_open(server);
    fill_sorted_set(client);
    expect(client, "50000", "ZREMRANGEBYRANK scores 0 49999");
    expect(client, "1", "ZADD scores 7 m7");
    expect(client, "[\"m59999\" *", "ZPOPMAX scores 5000");
    for (int i = 0; i < 3; i++) {
        client = restart(server, client, end);
        expect(client, "5001", "ZCARD scores");
        expect(client, "[\"m7\" \"m50000\"]", "ZRANGE scores 0 1");
        expect(client, "[\"m54999\"]", "ZRANGE scores -1 -1");
        expect(client, "5001", "ZCOUNT scores -inf inf");
        expect(client, "nil", "ZSCORE scores m8");
    }
}

static void removals_hold_while_they_are_erased(void **state)
{
    (void)state;
    both_ways(keep_removals);
}

static void every_durability_survives_kill(void **state)
{
    static const char *const modes[] = {"durability always", "durability interval 1000",
                                        "durability none"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct server_process *server = server_process_start(modes[i]);
        redisContext *client = client_open(server);
        for (int k = 0; k < 100; k++)
            expect(client, "*", "Q.PUSH mail body ID %d", k);
        client = restart(server, client, server_process_kill);
        expect(client, "100", "Q.LEN mail");
    }
}

static void a_second_server_on_the_same_directory_is_refused(void **state)
{
    struct server_process *server = served_server(state);
    char output[4096];
    int status = run_shell(output, sizeof(output), "timeout 60 %s server --port %d --dir %s",
                           server_binary(), free_port(), server->data);
    assert_int_equal(status, 1);
    assert_non_null(strstr(output, server->data));
    expect(served_client(state), "PONG", "PING");
}

/* Changes a byte of that text in the file. */
static void damage(const char *directory, const char *text)
{
    char path[4096], found;
    FILE *file;
    size_t matched = 0;
    int byte;

    snprintf(path, sizeof(path), "%s/data.mdb", directory);
    file = fopen(path, "r+");
    assert_non_null(file);
    while (matched < strlen(text) && (byte = fgetc(file)) != EOF)
        matched = byte == text[matched] ? matched + 1 : byte == text[0];
    assert_int_equal(matched, strlen(text));
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    found = '#';
    assert_int_equal(fwrite(&found, 1, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* Starts a server whose data.mdb is damaged at that text, in the middle of a large value. */
static redisContext *serve_damaged(struct server_process **ret_server, const char *format)
{
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    char body[9000]; /* on pages of its own */

    memset(body, 'b', sizeof(body));
    expect(client, "1", "HSET first f %b", body, sizeof(body));
    memcpy(body + sizeof(body) / 2, "a-body-of-its-own", 17);
    expect(client, "*", format, body, sizeof(body));
    server_process_stop(server);
    client_close(client);
    damage(server->data, "a-body-of-its-own");
    server_process_run(server);
    *ret_server = server;
    return client_open(server);
}

static void a_damaged_job_is_named(void **state)
{
    (void)state;
    struct server_process *server;
    redisContext *client = serve_damaged(&server, "Q.PUSH mail %b ID order-17");
    expect(client,
           "!ERR the data on disk is damaged: page * is damaged: * (q.get 'mail' 'order-17')",
           "Q.GET mail order-17");
    expect(client, "PONG", "PING");
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "q.get 'mail' 'order-17' met damaged data: page"));
    free(log);
}

static void a_damaged_value_is_named_by_its_key_alone(void **state)
{
    (void)state;
    struct server_process *server;
    redisContext *client = serve_damaged(&server, "SET token %b");
    expect(client, "!ERR the data on disk is damaged: page * is damaged: * (append 'token')",
           "APPEND token my-secret");
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "append 'token' met damaged data: page"));
    assert_null(strstr(log, "my-secret"));
    free(log);
}

/* The reply neither leaves out what is damaged nor ends early. */
static void a_reply_that_needs_it_is_an_error(void **state)
{
    (void)state;
    struct server_process *server;
    redisContext *client = serve_damaged(&server, "HSET h f %b");
    static const char *const asked[] = {
        "HGET h f",        "HMGET h f g",    "HGETALL h",    "HVALS h",   "HSTRLEN h f",
        "HRANDFIELD h -3", "HRANDFIELD h 1", "HRANDFIELD h", "HSCAN h 0", "HINCRBY h f 1",
        "HSET h f 1",      "HDEL h f",       "COPY h i",
    };
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        expect(client, "!ERR the data on disk is damaged: page *", asked[i]);
        expect(client, "PONG", "PING");
    }
    expect(client, "!ERR the data on disk is damaged: page * (hget 'h')", "HGET h f");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "HMGET h f g");
    expect(client, "QUEUED", "HLEN first");
    expect(client, "[!ERR the data on disk is damaged: page * 1]", "EXEC");
}

static void a_value_among_others_is_an_error(void **state)
{
    (void)state;
    struct server_process *server;
    redisContext *client = serve_damaged(&server, "SET token %b");
    static const char *const asked[] = {
        "MGET first token",   "SET token new GET", "GETSET token new", "GETDEL token",
        "GETEX token EX 100", "BITOP NOT b token", "STRLEN token",
    };
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        expect(client, "!ERR the data on disk is damaged: page *", asked[i]);
        expect(client, "PONG", "PING");
    }
    expect(client, "1", "DEL token");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(jobs_in_every_state_survive),
        serving_test(leases_keep_their_remaining_time),
        serving_test(jobs_fall_due_while_the_server_is_down),
        serving_test(acked_and_deleted_jobs_do_not_come_back),
        serving_test(a_flush_holds),
        serving_test(tokens_and_ids_go_on_growing),
        serving_test(a_backlog_over_many_segments_is_recovered),
        serving_test(removals_hold_while_they_are_erased),
        serving_test(every_durability_survives_kill),
        serving_test(a_damaged_job_is_named),
        serving_test(a_damaged_value_is_named_by_its_key_alone),
        serving_test(a_reply_that_needs_it_is_an_error),
        serving_test(a_value_among_others_is_an_error),
        served_test(a_second_server_on_the_same_directory_is_refused),
    };
    return cmocka_run_group_tests_name("restart", tests, NULL, NULL);
}
