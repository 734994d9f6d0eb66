/* Commands that do several things at once, on the real server: with clients that go away and
 * servers that are killed in between. */
#include "tests/support/client/client.h"
#include "tests/support/client/reply_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static int64_t push_and_claim(redisContext *client, const char *id)
{
    expect(client, "*", "Q.PUSH mail body ID %s", id);
    return claim(client, "mail", id);
}

/* Sends `head` and then `count` times `words`, which are separated by single spaces. */
static redisReply *ask_many(redisContext *client, const char *head, const char *words,
                            size_t count)
{
    enum { WORDS = 8 };
    const char *heads[WORDS] = {NULL}, *repeated[WORDS] = {NULL};
    char text[2][128];
    size_t sizes[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        const char **to = i == 0 ? heads : repeated;
        snprintf(text[i], sizeof(text[i]), "%s", i == 0 ? head : words);
        for (char *at = strtok(text[i], " "); at != NULL; at = strtok(NULL, " "))
            to[sizes[i]++] = at;
    }
    size_t total = sizes[0] + count * sizes[1];
    const char **arguments = calloc(total + 1, sizeof(*arguments));
    for (size_t i = 0; i < total; i++)
        arguments[i] = i < sizes[0] ? heads[i] : repeated[(i - sizes[0]) % sizes[1]];
    redisReply *reply = redisCommandArgv(client, (int)total, arguments, NULL);
    assert_non_null(reply);
    free(arguments);
    return reply;
}

/* ---- how many jobs */

/* More are refused before anything happens. */
static void a_command_takes_at_most_1000_jobs(void **state)
{
    enum { MOST = 1000 };
    static const char *const cases[][3] = {{"[]", "Q.CLAIM mail ACK", "b 1"},
                                           {"[]", "Q.MCLAIM 1 mail ACK", "mail b 1"},
                                           {"0", "Q.ACK mail", "b 1"},
                                           {"0", "Q.DEL mail", "b"},
                                           {"0", "Q.RUN mail", "b"},
                                           {"[[\"b\" nil nil]*", "Q.WAIT mail", "b"},
                                           {"!*", "Q.CLAIM mail BLOCK 0 ACK", "a 1"},
                                           {"!*", "Q.MCLAIM 1 mail ACK", "mail a 1"},
                                           {"!*", "Q.ACK mail", "a 1"},
                                           {"!*", "Q.DEL mail", "a"},
                                           {"!*", "Q.RUN mail", "a"},
                                           {"!*", "Q.WAIT mail", "a"}};
    redisContext *client = served_client(state);
    push_and_claim(client, "a");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool fits = cases[i][0][0] != '!';
        redisReply *reply = ask_many(client, cases[i][1], cases[i][2], fits ? MOST : MOST + 1);
        char *text = reply_text(reply);
        if (!reply_text_matches(fits ? cases[i][0] : "!ERR a command takes at most 1000 jobs",
                                text))
            fail_at(__FILE__, __LINE__, "%s: %.200s", cases[i][1], text);
        free(text);
        freeReplyObject(reply);
        expect(client, "1", "Q.LEN mail claimed");
    }
}

/* ---- Q.CLAIM ... ACK */

static void what_a_blocked_claim_acknowledged_survives_kill(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server), *worker = client_open(server);
    int64_t token = push_and_claim(client, "a");
    push_and_claim(client, "b");
    say(worker, "Q.CLAIM mail BLOCK 0 ACK a %lld", (long long)token);
    await_blocked(client, 1);
    expect(client, "1", "Q.LEN mail");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "nil", "Q.GET mail a");
    expect(client, "1", "Q.LEN mail claimed");
    expect(client, "[]", "Q.CLAIM mail ACK a %lld", (long long)token);
}

static void a_client_that_goes_has_acknowledged_and_takes_nothing(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 10; i++) {
        char id[16], command[64];
        snprintf(id, sizeof(id), "a%d", i);
        snprintf(command, sizeof(command), "Q.CLAIM mail BLOCK 0 ACK %s %lld", id,
                 (long long)push_and_claim(client, id));
        redisContext *worker = served_waiter(state, 1, command);
        client_close(worker);
        await_blocked(client, 0);
        expect(client, "0", "Q.LEN mail");
    }
    expect(client, "*", "Q.PUSH mail body ID next");
    expect(client, "[[\"next\" *]]", "Q.CLAIM mail");
}

static void two_workers_that_acknowledge_the_same_job_both_go_on(void **state)
{
    redisContext *client = served_client(state);
    char command[64];
    snprintf(command, sizeof(command), "Q.CLAIM mail BLOCK 0 ACK a %lld",
             (long long)push_and_claim(client, "a"));
    redisContext *first = served_waiter(state, 1, command);
    redisContext *second = served_waiter(state, 2, command);
    expect(client, "*", "Q.PUSH mail body ID b");
    expect(client, "*", "Q.PUSH mail body ID c");
    expect_reply(first, "[[\"b\" *]]");
    expect_reply(second, "[[\"c\" *]]");
    expect_field(client, "total-acked", "1", "Q.STATS mail");
}

/* ---- Q.MPUSH */

static void what_was_pushed_together_survives_kill(void **state)
{
    (void)state;
    enum { JOBS = 1000 };
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    redisReply *reply = ask_many(client, "Q.MPUSH mail 1000", "body", JOBS);
    assert_int_equal(reply->elements, JOBS);
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "1000", "Q.LEN mail ready");
    expect_field(client, "body", "\"body\"", "Q.GET mail %s", reply->element[JOBS - 1]->str);
    freeReplyObject(reply);
    reply = ask_many(client, "Q.MPUSH mail 1001", "body", JOBS + 1);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* ---- Q.POP */

/* A push may find a client that has just gone still waiting: the job goes to the next one. */
static void a_pop_gives_nothing_to_a_client_that_is_gone(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 50; i++) {
        redisContext *gone = served_waiter(state, 1, "Q.POP mail BLOCK 0");
        redisContext *there = served_waiter(state, 2, "Q.POP mail BLOCK 0");
        client_close(gone);
        expect(client, "*", "Q.PUSH mail body ID %d", i);
        char reply[32];
        snprintf(reply, sizeof(reply), "[[\"%d\" \"body\"]]", i);
        expect_reply(there, reply);
        client_close(there);
        await_blocked(client, 0);
    }
}

static void what_was_popped_is_gone_after_kill(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    expect(client, "[\"a\" \"b\"]", "Q.MPUSH mail EACH 2 a 0 0 one b 0 0 two");
    expect(client, "[[\"a\" \"one\"]]", "Q.POP mail");
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "nil", "Q.GET mail a");
    expect(client, "[[\"b\" \"two\"]]", "Q.POP mail COUNT 10");
}

/* ---- Q.ACK ... THEN PUSH */

static void a_hand_over_survives_kill_as_a_whole(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    int64_t token = push_and_claim(client, "a");
    expect(client, "[\"b\" \"c\"]",
           "Q.ACK mail a %lld THEN PUSH sms one ID b THEN PUSH mail two ID c",
           (long long)token);
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "nil", "Q.GET mail a");
    expect(client, "[[\"b\" * \"one\" 1]]", "Q.CLAIM sms");
    expect(client, "[[\"c\" * \"two\" 1]]", "Q.CLAIM mail");
    expect(client, "!STALE *", "Q.ACK mail a %lld THEN PUSH sms one ID d", (long long)token);
}

static void two_workers_with_one_job_produce_once(void **state)
{
    redisContext *client = served_client(state);
    redisContext *slow = client_open(served_server(state));
    expect(client, "*", "Q.PUSH mail body ID a");
    redisReply *reply = ask(slow, "Q.CLAIM mail LEASE 1");
    long long token = reply->element[0]->element[1]->integer;
    freeReplyObject(reply);
    expect(client, "[[\"a\" *]]", "Q.CLAIM mail BLOCK 60s");
    expect(slow, "OK", "MULTI");
    expect(slow, "QUEUED", "Q.PUSH sms slow");
    expect(slow, "QUEUED", "Q.ACK mail a %lld", token);
    expect(slow, "!EXECABORT Transaction discarded because of: STALE *", "EXEC");
    expect(slow, "!STALE *", "Q.ACK mail a %lld THEN PUSH sms slow", token);
    expect(client, "[*]", "Q.ACK mail a %lld THEN PUSH sms quick", token + 1);
    expect(client, "1", "Q.LEN sms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_command_takes_at_most_1000_jobs),
        serving_test(what_a_blocked_claim_acknowledged_survives_kill),
        served_test(a_client_that_goes_has_acknowledged_and_takes_nothing),
        served_test(two_workers_that_acknowledge_the_same_job_both_go_on),
        serving_test(what_was_pushed_together_survives_kill),
        served_test(a_pop_gives_nothing_to_a_client_that_is_gone),
        serving_test(what_was_popped_is_gone_after_kill),
        serving_test(a_hand_over_survives_kill_as_a_whole),
        served_test(two_workers_with_one_job_produce_once),
    };
    return cmocka_run_group_tests_name("queue batch", tests, NULL, NULL);
}
