/* Unions, intersections, differences and sorts of hundreds of thousands of elements: other
 * clients are served between the slices; after a crash or a disconnect the old value is still
 * there; two such commands on the same keys both end. */
#include "tests/support/client/client.h"
#include "tests/support/client/raw_client.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 1000, MANY = 60000, ANSWERS = 15 };

/* `format` makes an element from its number, with its score before it if it has one. */
static void fill(redisContext *client, const char *command, const char *key, int from)
{
    bool scored = strcmp(command, "ZADD") == 0;
    static char texts[STEP][24], scores[STEP][24];
    const char *words[2 * STEP + 2] = {command, key};

    for (int i = from; i < from + MANY; i += STEP) {
        int count = 2;

        for (int j = 0; j < STEP; j++) {
            snprintf(scores[j], sizeof(scores[j]), "%d", (i + j) % 777);
            snprintf(texts[j], sizeof(texts[j]), "%d", (i + j) * 7919 % 1000003);
            if (scored)
                words[count++] = scores[j];
            words[count++] = texts[j];
        }
        redisAppendCommandArgv(client, count, words, NULL);
    }
    for (int i = 0; i < MANY / STEP; i++)
        expect_reply(client, "*");
}

static void fill_all(redisContext *client)
{
    fill(client, "SADD", "s", 0);
    fill(client, "SADD", "t", MANY / 2);
    fill(client, "ZADD", "y", 0);
    fill(client, "ZADD", "z", MANY / 2);
    fill(client, "RPUSH", "l", 0);
}

static const char *const stores[] = {"ZUNIONSTORE d 2 y z", "SUNIONSTORE d s t",
                                     "ZINTERSTORE d 2 y s", "SDIFFSTORE d s t",
                                     "SORT l STORE d"};

/* hiredis splits a format into words, but not a string. */
static void begin(redisContext *client, const char *line)
{
    const char *words[8];
    char copy[64], *rest = copy;
    int count = 0;

    strcpy(copy, line);
    for (char *word; (word = strsep(&rest, " ")) != NULL;)
        words[count++] = word;
    redisAppendCommandArgv(client, count, words, NULL);
    while (client->obuf[0] != '\0') {
        int done = 0;

        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
        if (done)
            break;
    }
}

static int answers_during(redisContext *client, redisContext *other, const char *store)
{
    int answers = 0;

    begin(other, store);
    while (ask_integer(client, "EXISTS d") == 0)
        answers++;
    expect_reply(other, "*");
    expect(client, "1", "DEL d");
    return answers;
}

/* On a busy machine the server may run while the client does not: then it tries again. */
static void others_are_answered_between_the_slices(void **state)
{
    enum { ATTEMPTS = 50 };
    redisContext *client = served_client(state), *other = client_open(served_server(state));

    fill_all(client);
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        int answers = 0;

        for (int attempt = 0; attempt < ATTEMPTS && answers < ANSWERS; attempt++)
            answers = answers_during(client, other, stores[i]);
        assert_true(answers >= ANSWERS);
    }
}

static void a_long_reply_is_whole_and_its_keys_wait(void **state)
{
    redisContext *client = served_client(state), *other = client_open(served_server(state));
    redisReply *reply;

    fill_all(client);
    begin(other, "SUNION s t");
    expect(client, "PONG", "PING");
    expect(client, "1", "SADD s late"); /* waits */
    assert_int_equal(redisGetReply(other, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->elements, MANY / 2 * 3);
    freeReplyObject(reply);
    begin(other, "ZUNION 2 y z");
    assert_int_equal(redisGetReply(other, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->elements, MANY / 2 * 3);
    freeReplyObject(reply);
}

/* Is there a result by the time of some answers? */
static bool has_ended(redisContext *client)
{
    bool ended = false;

    for (int answers = 0; answers < ANSWERS && !ended; answers++) {
        redisReply *reply = ask(client, "TYPE d");

        ended = strcmp(reply->str, "string") != 0;
        freeReplyObject(reply);
    }
    return ended;
}

static void a_crash_leaves_what_was_there(void **state)
{
    redisContext *client = served_client(state), *other;
    struct server_process *server = served_server(state);

    fill_all(client);
    expect(client, "OK", "SET d old");
    for (size_t i = 0, tries = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        other = client_open(server);
        begin(other, stores[i]);
        if (has_ended(client) && tries++ < 50) { /* before this busy machine came to the kill */
            expect_reply(other, "*");
            expect(client, "OK", "SET d old");
            client_close(other);
            i--;
            continue;
        }
        server_process_kill(server);
        client_close(other);
        client_close(client);
        server_process_run(server);
        client = client_open(server);
        expect(client, "\"old\"", "GET d");
        expect(client, "6", "DBSIZE");
    }
    expect(client, "90000", "ZUNIONSTORE d 2 y z");
}

static void a_client_that_goes_takes_its_work_along(void **state)
{
    redisContext *client = served_client(state);

    fill_all(client);
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        struct raw_client raw;

        raw_open(&raw, served_server(state));
        raw_say(&raw, stores[i]);
        while (ask_info(client, "clients", "connected_clients") < 2)
            sleep_ms(1);
        expect(client, "PONG", "PING");
        raw_close(&raw);
        while (ask_info(client, "clients", "connected_clients") > 1)
            sleep_ms(1);
        expect(client, "0", "EXISTS d");
    }
    expect(client, "1", "SADD s late");
    expect(client, "1", "ZADD y 1 late");
}

static void what_is_gathered_counts_as_the_clients_memory(void **state)
{
    static const char *const lines[] = {"SUNION s t", "ZUNION 2 y z", "SORT l"};
    redisContext *client = served_client(state);

    fill_all(client);
    expect(client, "OK", "CLIENT NO-EVICT ON");
    expect(client, "OK", "CONFIG SET maxmemory-clients 2mb");
    for (int i = 0; i < 3; i++) {
        redisContext *other = client_open(served_server(state));

        begin(other, lines[i]);
        expect_closed(other);
        assert_int_equal(ask_info(client, "stats", "evicted_clients"), i + 1);
    }
    expect(client, "1", "SADD s late");
    expect(client, "1", "ZADD y 1 late");
    expect(client, "*", "RPUSH l late");
}

static void stores_that_cross_both_end(void **state)
{
    redisContext *client = served_client(state);
    redisContext *one = client_open(served_server(state));
    redisContext *two = client_open(served_server(state));
    redisContext *three = client_open(served_server(state));

    fill_all(client);
    begin(one, "ZUNIONSTORE y 2 y z");
    begin(two, "ZUNIONSTORE z 2 y z");
    begin(three, "ZINTERSTORE y 2 z y");
    expect(client, "PONG", "PING");
    expect_reply(one, "*");
    expect_reply(two, "*");
    expect_reply(three, "*");
    expect(client, "1", "ZADD y 1 late");
    expect(client, "1", "ZADD z 1 late");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(others_are_answered_between_the_slices),
        served_test(a_long_reply_is_whole_and_its_keys_wait),
        served_test(a_crash_leaves_what_was_there),
        served_test(a_client_that_goes_takes_its_work_along),
        served_test(what_is_gathered_counts_as_the_clients_memory),
        served_test(stores_that_cross_both_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
