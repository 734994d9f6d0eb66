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
    WORD = 16
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

/* The first words, and then for each number `name`, if there is one, and a value. */
static void say_values(redisContext *client, const char *const first[], const char *name,
                       int count, size_t size)
{
    struct words words = {.words = calloc(8 + 2 * (size_t)count, sizeof(char *)),
                          .sizes = calloc(8 + 2 * (size_t)count, sizeof(size_t)),
                          .bytes = malloc(8 * WORD + (size_t)count * (WORD + size))};

    words.place = words.bytes;
    for (size_t i = 0; first[i] != NULL; i++)
        add_text(&words, first[i], count);
    for (int i = 0; i < count; i++) {
        if (name != NULL)
            add_text(&words, name, i);
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
    static const char *const first[] = {"MSET", NULL};

    say_values(client, first, "k#", count, size);
}

static void say_mpush(redisContext *client, int count, size_t size)
{
    static const char *const first[] = {"Q.MPUSH", "t", "#", NULL};

    say_values(client, first, NULL, count, size);
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
        served_test(who_is_blocked_is_served_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
