/* The events that topics keep, on the real server: many readers, restarts, large rings. */
#include "tests/support/client/client.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/cmocka.h"

static void every_one_of_thousands_of_readers_is_woken(void **state)
{
    enum { READERS = 2000 };
    static redisContext *readers[READERS];
    redisContext *client = served_client(state);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    expect(client, "OK", "Q.CONFIG SET mail events 1000");
    for (int i = 0; i < READERS; i++) {
        readers[i] = client_open(served_server(state));
        say(readers[i], "Q.EVENTS mail FROM %s BLOCK 0", i % 2 == 0 ? "0" : "$");
    }
    await_blocked(client, READERS);
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    for (int i = 0; i < READERS; i++)
        expect_reply(readers[i], "[[1 \"pushed\" * \"a\" 0]]");
    for (int i = 0; i < READERS; i++)
        say(readers[i], "Q.EVENTS mail FROM %d BLOCK 0", i % 2 == 0 ? 1 : 2);
    await_blocked(client, READERS);
    for (int i = 0; i < READERS; i += 4)
        client_close(readers[i]);
    await_blocked(client, READERS - READERS / 4);
    expect(client, "[[\"a\" *]]", "Q.CLAIM mail");
    for (int i = 2; i < READERS; i += 4)
        expect_reply(readers[i], "[[2 \"claimed\" * \"a\" 1]]");
    expect(client, "1", "Q.ACK mail a 1");
    for (int i = 1; i < READERS; i += 2)
        expect_reply(readers[i], "[[3 \"acked\" * \"a\" 1]]");
    await_blocked(client, 0);
}

/* A reader that goes on from what it saw last, while others push: it sees each number once. */
static void a_reader_sees_each_event_once(void **state)
{
    redisContext *client = served_client(state), *reader = client_open(served_server(state));
    long long last = 0;
    expect(client, "OK", "Q.CONFIG SET mail events 100000");
    for (int i = 0; i < 3000; i++)
        say(client, "Q.PUSH mail body DELAY %d", i % 3);
    while (last < 5000) { /* two of three fall due */
        redisReply *reply = ask(reader, "Q.EVENTS mail FROM %lld COUNT 70 BLOCK 0", last);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        for (size_t i = 0; i < reply->elements; i++)
            assert_int_equal(reply->element[i]->element[0]->integer, ++last);
        freeReplyObject(reply);
    }
}

static void ten_thousand_come_in_one_reply(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "Q.CONFIG SET mail events 1000000");
    for (int i = 0; i < 12000; i++)
        say(client, "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < 12000; i++)
        expect_reply(client, "*");
    redisReply *reply = ask(client, "Q.EVENTS mail FROM 1000 COUNT 10000");
    assert_int_equal(reply->elements, 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(reply->element[i]->element[0]->integer, 1001 + i);
    freeReplyObject(reply);
    expect(client, "OK", "Q.CONFIG SET mail events 0");
    expect(client, "!ERR *", "Q.EVENTS mail FROM 1000");
    expect(client, "OK", "Q.CONFIG SET mail events 10");
    reply = ask(client, "Q.EVENTS mail FROM 1000 COUNT 1");
    assert_int_equal(reply->elements, 1);
    assert_string_equal(reply->element[0]->element[1]->str, "dropped");
    long long last = reply->element[0]->element[0]->integer;
    assert_in_range(last, 11990, 12000); /* ticks erase them: the last ten may still be there */
    assert_int_equal(reply->element[0]->element[2]->integer, last - 1000);
    freeReplyObject(reply);
}

/* What a purge removes is no event; the ring goes on. */
static void a_purge_leaves_the_ring(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "Q.CONFIG SET mail events 5");
    for (int i = 0; i < 50000; i++)
        say(client, "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < 50000; i++)
        expect_reply(client, "*");
    expect(client, "50000", "Q.PURGE mail");
    expect(client, "[[50000 \"pushed\" * \"49999\" 0]]", "Q.EVENTS mail FROM 49999");
    expect(client, "\"again\"", "Q.PUSH mail body ID again");
    expect(client, "[[50001 \"pushed\" * \"again\" 0]]", "Q.EVENTS mail FROM 50000");
}

static void numbers_outlive_restarts_drops_and_dumps(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    char text[4096];
    expect(client, "OK", "Q.CONFIG SET * events 100");
    for (int i = 0; i < 10; i++)
        expect(client, "*", "Q.PUSH mail body ID %d DELAY 1h", i);
    server_process_kill(server);
    client_close(client);
    server_process_run(server);
    client = client_open(server);
    expect(client, "[[10 \"pushed\" * \"9\" 0]]", "Q.EVENTS mail FROM 9");
    expect(client, "1", "Q.DROP mail");
    expect(client, "*", "Q.PUSH mail body ID x DELAY 1h");
    expect(client, "[[10 \"dropped\" 1] [11 \"pushed\" * \"x\" 0]]", "Q.EVENTS mail FROM 9");
    expect(client, "[[11 \"pushed\" * \"x\" 0]]", "Q.EVENTS mail FROM 0");
    server_process_stop(server);
    client_close(client);
    assert_int_equal(run_shell(text, sizeof(text),
                               "%s dump %s > %s.all && rm -r %s && %s load %s < %s.all",
                               server_binary(), server->data, server->data, server->data,
                               server_binary(), server->data, server->data),
                     0);
    server_process_run(server);
    client = client_open(server);
    expect(client, "[]", "Q.EVENTS mail FROM 0");
    expect(client, "*", "Q.PUSH mail body ID y DELAY 1h");
    expect(client, "[[12 \"pushed\" * \"y\" 0]]", "Q.EVENTS mail FROM 0");
    server_process_stop(server);
    server_process_check(server);
}

static void await_event(redisContext *client, int number, const char *word, const char *id)
{
    char wanted[80];

    snprintf(wanted, sizeof(wanted), "[[%d \"%s\" * \"%s\" *]*]", number, word, id);
    expect(client, wanted, "Q.EVENTS mail FROM %d BLOCK 1m", number - 1);
}

/* All kinds there are; the channels tell the same. */
static void every_kind_is_kept_and_told(void **state)
{
    static const char *const words[][2] = {
        {"pushed", "a"},  {"due", "a"},     {"claimed", "a"},   {"nacked", "a"},
        {"claimed", "a"}, {"expired", "a"}, {"claimed", "a"},   {"nacked", "a"},
        {"dead", "a"},    {"pushed", "b"},  {"cancelled", "b"}, {"pushed", "c"},
        {"lapsed", "c"},  {"dead", "c"},    {"pushed", "d"},    {"claimed", "d"},
        {"acked", "d"}};
    enum { WORDS = sizeof(words) / sizeof(words[0]) };
    redisContext *client = served_client(state), *listener = client_open(served_server(state));
    char told[120];

    expect(listener, "[* * 1]", "PSUBSCRIBE __queue__:mail:*");
    expect(client, "OK", "Q.CONFIG SET mail events 100");
    expect(client, "\"a\"", "Q.PUSH mail x ID a DELAY 1ms");
    await_event(client, 2, "due", "a");
    expect(client, "[[\"a\" 1 *]]", "Q.CLAIM mail");
    expect(client, "\"ready\"", "Q.NACK mail a 1 DELAY 0");
    expect(client, "[[\"a\" 2 *]]", "Q.CLAIM mail LEASE 1ms");
    await_event(client, 6, "expired", "a");
    expect(client, "[[\"a\" 3 *]]", "Q.CLAIM mail");
    expect(client, "\"dead\"", "Q.NACK mail a 3 FATAL");
    expect(client, "\"b\"", "Q.PUSH mail x ID b");
    expect(client, "*", "Q.CANCEL mail b");
    expect(client, "\"c\"", "Q.PUSH mail x ID c TTL 1ms");
    await_event(client, 14, "dead", "c");
    expect(client, "\"d\"", "Q.PUSH mail x ID d");
    expect(client, "[[\"d\" *]]", "Q.POP mail");
    for (int i = 0; i < WORDS; i++) {
        await_event(client, i + 1, words[i][0], words[i][1]);
        snprintf(told, sizeof(told), "[* * \"__queue__:mail:%s\" \"%s\"]", words[i][0],
                 words[i][1]);
        expect_reply(listener, told);
    }
    expect(client, "[]", "Q.EVENTS mail FROM %d", WORDS);
    client_close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {served_test(every_one_of_thousands_of_readers_is_woken),
                                       served_test(a_reader_sees_each_event_once),
                                       served_test(ten_thousand_come_in_one_reply),
                                       served_test(a_purge_leaves_the_ring),
                                       served_test(every_kind_is_kept_and_told),
                                       serving_test(numbers_outlive_restarts_drops_and_dumps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
