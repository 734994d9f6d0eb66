/* A request with many MB of values takes several turns of the loop, and is one step
 * nevertheless: for other clients, for who goes away in the middle, for a stop and for a kill.
 * Its large values, whose memory the store takes over, arrive as they were sent. */
#include "tests/support/client/client.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum {
    MIDDLE = 60 * 1000, /* copied: many of them in one request */
    LARGE = 200 * 1000, /* from 128 KiB on a value has memory of its own; 16 are lent at once */
    MANY = 600,
    SOME = 40,
    WORD = 16,
    BEFORE_EACH = 4 /* words before a value, at most */
};

/* ---- requests */

struct words {
    const char **words;
    size_t *sizes;
    size_t count;
    char *bytes, *place;
};

static void add_text(struct words *words, const char *text, int number)
{
    const char *mark = strchr(text, '#');

    words->words[words->count] = words->place;
    if (mark == NULL)
        words->sizes[words->count++] = (size_t)sprintf(words->place, "%s", text);
    else
        words->sizes[words->count++] =
            (size_t)sprintf(words->place, "%.*s%d", (int)(mark - text), text, number);
    words->place += WORD;
}

static void add_value(struct words *words, int number, size_t size)
{
    memset(words->place, 'a' + number % 26, size);
    sprintf(words->place, "%d:", number);
    words->words[words->count] = words->place;
    words->sizes[words->count++] = size;
    words->place += size;
}

/* The first words, and then for each number those of `each`, and a value. */
static void say_values(redisContext *client, const char *const first[],
                       const char *const each[], int count, size_t size)
{
    size_t words_most = 8 + (1 + BEFORE_EACH) * (size_t)count;
    struct words words = {.words = calloc(words_most, sizeof(char *)),
                          .sizes = calloc(words_most, sizeof(size_t)),
                          .bytes = malloc(words_most * WORD + (size_t)count * size)};

    words.place = words.bytes;
    for (size_t i = 0; first[i] != NULL; i++)
        add_text(&words, first[i], count);
    for (int i = 0; i < count; i++) {
        for (size_t word = 0; each[word] != NULL; word++)
            add_text(&words, each[word], i);
        add_value(&words, i, size);
    }
    assert_int_equal(redisAppendCommandArgv(client, (int)words.count, words.words, words.sizes),
                     REDIS_OK);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
    free(words.words);
    free(words.sizes);
    free(words.bytes);
}

static void say_mset(redisContext *client, int count, size_t size)
{
    static const char *const first[] = {"MSET", NULL}, *const each[] = {"k#", NULL};

    say_values(client, first, each, count, size);
}

static void say_mpush(redisContext *client, int count, size_t size)
{
    static const char *const first[] = {"Q.MPUSH", "t", "#", NULL}, *const each[] = {NULL};

    say_values(client, first, each, count, size);
}

static void say_named_mpush(redisContext *client, int count, size_t size)
{
    static const char *const first[] = {"Q.MPUSH", "t", "EACH", "#", NULL};
    static const char *const each[] = {"id#", "0", "0", NULL};

    say_values(client, first, each, count, size);
}

/* Job a is claimed, and hands over. */
static void say_hand_over(redisContext *client, int count, size_t size)
{
    static const char *const each[] = {"THEN", "PUSH", "u", NULL};
    redisReply *claimed = ask(client, "Q.CLAIM t");
    char token[WORD];
    const char *const first[] = {"Q.ACK", "t", "a", token, NULL};

    snprintf(token, sizeof(token), "%lld", claimed->element[0]->element[1]->integer);
    freeReplyObject(claimed);
    say_values(client, first, each, count, size);
}

/* "COMMAND t id0 id1 ...". */
static void say_ids(redisContext *client, const char *command, int count)
{
    const char **words = calloc((size_t)count + 2, sizeof(*words));
    char(*ids)[WORD] = calloc((size_t)count, sizeof(*ids));

    words[0] = command;
    words[1] = "t";
    for (int i = 0; i < count; i++) {
        snprintf(ids[i], sizeof(ids[i]), "id%d", i);
        words[i + 2] = ids[i];
    }
    assert_int_equal(redisAppendCommandArgv(client, count + 2, words, NULL), REDIS_OK);
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
    free(words);
    free(ids);
}

static void is_value(const redisReply *reply, int number, size_t size)
{
    char head[WORD];

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, size);
    assert_memory_equal(reply->str, head, (size_t)sprintf(head, "%d:", number));
    assert_int_equal(reply->str[size - 1], 'a' + number % 26);
}

static void take_ids(redisContext *client, size_t count)
{
    void *got = NULL;

    assert_int_equal(redisGetReply(client, &got), REDIS_OK);
    assert_int_equal(((redisReply *)got)->type, REDIS_REPLY_ARRAY);
    assert_int_equal(((redisReply *)got)->elements, count);
    freeReplyObject(got);
}

/* ---- */

/* A PING is answered meanwhile, and nobody sees a part. (That it takes slices:
 * tests/unit/server/test_large_elements.c.) */
static void others_go_on_and_see_no_part(void **state)
{
    redisContext *client = served_client(state);
    redisContext *reader = client_open(served_server(state));
    redisContext *bystander = client_open(served_server(state));

    say_mset(client, MANY, MIDDLE);
    for (int i = 0; i < 500; i++) {
        expect(bystander, "PONG", "PING");
        int64_t size = ask_integer(reader, "DBSIZE");
        assert_true(size == 0 || size == MANY);
        if (size == MANY)
            break;
    }
    expect_reply(client, "OK");
    for (int i = 0; i < MANY; i += 7) {
        redisReply *reply = ask(reader, "GET k%d", i);
        is_value(reply, i, MIDDLE);
        freeReplyObject(reply);
    }
}

/* More than are lent at once. */
static void large_values_arrive_as_they_were_sent(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    say_mset(client, SOME, LARGE);
    expect_reply(client, "OK");
    say_mpush(client, SOME, LARGE);
    take_ids(client, SOME);
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    for (int i = 0; i < SOME; i++) {
        redisReply *value = ask(client, "GET k%d", i), *jobs = ask(client, "Q.POP t");
        is_value(value, i, LARGE);
        is_value(jobs->element[0]->element[1], i, LARGE);
        freeReplyObject(value);
        freeReplyObject(jobs);
    }
    expect(client, "0", "Q.LEN t");
}

static void it_is_done_when_its_client_goes(void **state)
{
    redisContext *client = client_open(served_server(state));
    redisContext *other = served_client(state);

    say_mpush(client, MANY, MIDDLE);
    client_close(client);
    for (int i = 0; i < 1000 && ask_integer(other, "Q.LEN t") == 0; i++)
        sleep_ms(2);
    expect(other, "600", "Q.LEN t");
}

static void a_stop_waits_for_it(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    say_mpush(client, MANY, MIDDLE);
    kill(server->pid, SIGTERM);
    take_ids(client, MANY);
    assert_int_equal(server_process_wait(server), 0);
    server_process_run(server);
    expect(client_open(server), "600", "Q.LEN t");
}

/* One record: all of it, or nothing. */
static void a_kill_leaves_nothing_or_all(void **state)
{
    struct server_process *server = served_server(state);
    bool nothing = false;

    for (int ms = 0; ms < 6; ms++) {
        redisContext *client = client_open(server);
        say_mpush(client, MANY, MIDDLE);
        sleep_ms(ms * 4);
        server_process_kill(server);
        client_close(client);
        server_process_run(server);
        client = client_open(server);
        int64_t jobs = ask_integer(client, "Q.LEN t");
        assert_true(jobs == 0 || jobs == MANY);
        nothing = nothing || jobs == 0;
        expect(client, "OK", "FLUSHALL");
        client_close(client);
    }
    assert_true(nothing); /* else no kill came early enough to show anything */
}

/* The ack and all pushes, or nothing. */
static void a_kill_leaves_the_ack_with_what_follows(void **state)
{
    struct server_process *server = served_server(state);
    bool nothing = false;

    for (int ms = 0; ms < 6; ms++) {
        redisContext *client = client_open(server);
        expect(client, "\"a\"", "Q.PUSH t body ID a");
        say_hand_over(client, MANY, MIDDLE);
        sleep_ms(ms * 4);
        server_process_kill(server);
        client_close(client);
        server_process_run(server);
        client = client_open(server);
        int64_t jobs = ask_integer(client, "Q.LEN u"), held = ask_integer(client, "Q.LEN t");
        assert_true((jobs == 0 && held == 1) || (jobs == MANY && held == 0));
        nothing = nothing || jobs == 0;
        expect(client, "OK", "FLUSHALL");
        client_close(client);
    }
    assert_true(nothing);
}

/* Named jobs whose bodies are on the disk: they are read and checked in slices. */
static redisContext *with_jobs_on_disk(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    say_named_mpush(client, MANY, MIDDLE);
    take_ids(client, MANY);
    server_process_stop(server);
    client_close(client);
    server_process_run(server);
    return client_open(server);
}

static void thousands_of_bytes_each_are_run_and_deleted(void **state)
{
    redisContext *client = with_jobs_on_disk(state);

    say_ids(client, "Q.RUN", MANY);
    expect_reply(client, "600");
    say_ids(client, "Q.DEL", MANY / 2);
    expect_reply(client, "300");
    say_ids(client, "Q.DEL", MANY);
    expect_reply(client, "300");
    expect(client, "0", "Q.LEN t");
}

static void jobs_are_deleted_when_the_client_goes(void **state)
{
    redisContext *client = with_jobs_on_disk(state);
    redisContext *other = client_open(served_server(state));

    say_ids(client, "Q.DEL", MANY);
    client_close(client);
    for (int i = 0; i < 1000 && ask_integer(other, "Q.LEN t") > 0; i++)
        sleep_ms(2);
    expect(other, "0", "Q.LEN t");
}

/* What is waited for is taken when all of it is there. */
static void who_is_blocked_is_served_after_it(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waits = served_waiter(state, 1, "Q.CLAIM t BLOCK 0 COUNT 1000");

    say_mpush(client, MANY, MIDDLE);
    take_ids(client, MANY);
    void *got = NULL;
    assert_int_equal(redisGetReply(waits, &got), REDIS_OK);
    const redisReply *jobs = got;
    assert_in_range(jobs->elements, 2, MANY - 1); /* as many as fit a reply */
    for (size_t i = 0; i < jobs->elements; i++)
        is_value(jobs->element[i]->element[2], (int)i, MIDDLE);
    freeReplyObject(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(others_go_on_and_see_no_part),
        served_test(large_values_arrive_as_they_were_sent),
        served_test(it_is_done_when_its_client_goes),
        served_test(a_stop_waits_for_it),
        served_test(a_kill_leaves_nothing_or_all),
        served_test(a_kill_leaves_the_ack_with_what_follows),
        served_test(thousands_of_bytes_each_are_run_and_deleted),
        served_test(jobs_are_deleted_when_the_client_goes),
        served_test(who_is_blocked_is_served_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
