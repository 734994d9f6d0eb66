/* Redis' types in the real server: restarts, expiry, waiting clients, many clients and large
 * keys at once. */
#include "tests/support/client/raw_client.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { LARGE = 600, PIPELINE = 1000, HUGE_SIZE = 64 << 20 };

/* A name longer than the keys of the key space. */
static const char *large(char letter)
{
    static char text[LARGE + 1];

    memset(text, letter, LARGE);
    return text;
}

/* ---- restarts */

static void fill(redisContext *client)
{
    expect(client, "OK", "SET string %b", "a\0b", (size_t)3);
    expect(client, "OK", "SET %s large", large('n'));
    expect(client, "4", "RPUSH list a b %s c", large('e'));
    expect(client, "\"a\"", "LPOP list");
    expect(client, "3", "HSET hash f v g w %s large", large('f'));
    expect(client, "3", "SADD set x y %s", large('m'));
    expect(client, "4", "ZADD zset 1 one 2.5 two -inf least 3 %s", large('z'));
    expect(client, "1", "ZREM zset two");
    expect(client, "OK", "SET lasting v EX 100000");
    expect(client, "1", "COPY list other DB 3");
    expect(client, "OK", "RENAME hash renamed");
}

static void expect_filled(redisContext *client)
{
    expect(client, "\"a\\x00b\"", "GET string");
    expect(client, "\"large\"", "GET %s", large('n'));
    expect(client, "[\"b\" \"eee*e\" \"c\"]", "LRANGE list 0 -1");
    expect(client, "[\"v\" \"w\" \"large\"]", "HMGET renamed f g %s", large('f'));
    expect(client, "0", "EXISTS hash");
    expect(client, "[1 1 1 0]", "SMISMEMBER set x y %s z", large('m'));
    expect(client, "[\"least\" \"-inf\" \"one\" \"1\" \"zzz*z\" \"3\"]",
           "ZRANGE zset 0 -1 WITHSCORES");
    assert_true(ask_integer(client, "TTL lasting") > 90000);
    expect(client, "7", "DBSIZE");
    expect(client, "OK", "SELECT 3");
    expect(client, "3", "LLEN other");
    expect(client, "1", "DBSIZE");
    expect(client, "OK", "SELECT 0");
}

static redisContext *restart(void **state, bool killed)
{
    struct server_process *server = served_server(state);

    client_cleanup();
    if (killed)
        server_process_kill(server);
    else
        server_process_stop(server);
    server_process_run(server);
    return client_open(server);
}

static void every_type_survives_a_restart(void **state)
{
    redisContext *client = served_client(state);

    fill(client);
    expect_filled(client);
    client = restart(state, false);
    expect_filled(client);
    client = restart(state, true);
    expect_filled(client);
    expect(client, "OK", "SWAPDB 0 3");
    client = restart(state, true);
    expect(client, "OK", "SWAPDB 3 0");
    expect_filled(client);
    expect(client, "OK", "FLUSHALL");
    client = restart(state, true);
    expect(client, "0", "DBSIZE");
    expect(client, "0", "EXISTS string list renamed set zset lasting");
}

/* Also asks for PTTL, as the key could be hidden and not removed. */
static void await_expired(redisContext *client, const char *name)
{
    for (int waited = 0; ask_integer(client, "EXISTS %s", name) != 0; waited++) {
        int64_t left = ask_integer(client, "PTTL %s", name);

        assert_true(left == -2 || (left >= 0 && left <= 2000));
        assert_true(waited < 60000);
        sleep_ms(1);
    }
}

static void keys_expire_across_restarts(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "OK", "SET while-down v PX 1");
    expect(client, "3", "RPUSH soon a b c");
    expect(client, "1", "PEXPIRE soon 2000");
    expect(client, "OK", "SET lasting v EX 100000");
    client = restart(state, true);
    await_expired(client, "while-down");
    client = restart(state, false);
    await_expired(client, "soon");
    assert_true(ask_integer(client, "TTL lasting") > 90000);
    for (int waited = 0; ask_integer(client, "DBSIZE") != 1; waited++) {
        assert_true(waited < 60000);
        sleep_ms(1);
    }
    client = restart(state, true);
    expect(client, "0", "EXISTS while-down soon");
}

/* ---- large keys */

/* The test stores eight of them. data.mdb of a machine with 32 bits has room for 460 MB. */
static size_t huge_size(redisContext *client)
{
    return ask_info(client, "journal", "map_bytes") / 16 < HUGE_SIZE ? HUGE_SIZE / 4
                                                                     : HUGE_SIZE;
}

static char *make_huge(size_t size)
{
    char *bytes = malloc(size);

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(i * 2654435761U >> 13);
    return bytes;
}

static void expect_huge(redisContext *client, const char *command, const char *huge,
                        size_t size)
{
    redisReply *reply = ask(client, command);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_int_equal(reply->len, size);
    assert_memory_equal(reply->str, huge, size);
    freeReplyObject(reply);
}

static void huge_elements_of_every_type_survive_a_kill(void **state)
{
    redisContext *client = served_client(state);
    size_t size = huge_size(client);
    char *huge = make_huge(size);

    expect(client, "OK", "SET string %b", huge, size);
    expect(client, "2", "HSET hash f %b %b v", huge, size, huge, size);
    expect(client, "1", "RPUSH list %b", huge, size);
    expect(client, "1", "SADD set %b", huge, size);
    expect(client, "1", "ZADD zset 1.5 %b", huge, size);
    client = restart(state, true);
    expect_huge(client, "GET string", huge, size);
    expect_huge(client, "HGET hash f", huge, size);
    expect_huge(client, "LINDEX list 0", huge, size);
    expect(client, "\"v\"", "HGET hash %b", huge, size);
    expect(client, "1", "SISMEMBER set %b", huge, size);
    expect(client, "\"1.5\"", "ZSCORE zset %b", huge, size);
    huge[size - 1] ^= 1;
    expect(client, "0", "SISMEMBER set %b", huge, size);
    expect(client, "nil", "ZSCORE zset %b", huge, size);
    free(huge);
}

/* ---- waiting */

static void waiters_are_woken_in_order_by_others_and_by_exec(void **state)
{
    redisContext *client = served_client(state);
    redisContext *first = served_waiter(state, 1, "BLPOP a b 0");
    redisContext *second = served_waiter(state, 2, "BRPOP b a 0");
    redisContext *third = served_waiter(state, 3, "BZPOPMIN z 0");

    expect(client, "1", "RPUSH b one");
    expect_reply(first, "[\"b\" \"one\"]");
    expect(client, "OK", "MULTI");
    expect(client, "QUEUED", "RPUSH a two three");
    expect(client, "QUEUED", "ZADD z 2 late 1 early");
    expect(client, "QUEUED", "LPUSH a zero");
    expect(client, "[2 2 3]", "EXEC");
    expect_reply(second, "[\"a\" \"three\"]");
    expect_reply(third, "[\"z\" \"early\" \"1\"]");
    expect(client, "[\"zero\" \"two\"]", "LRANGE a 0 -1");
    await_blocked(client, 0);
}

static void one_push_wakes_as_many_as_it_brings(void **state)
{
    redisContext *client = served_client(state), *waiting[3];
    static const char *const got[] = {"[\"l\" \"a\"]", "[\"l\" \"b\"]", "[\"l\" \"c\"]"};

    for (int i = 0; i < 3; i++)
        waiting[i] = served_waiter(state, i + 1, "BLPOP l 0");
    expect(client, "4", "RPUSH l a b c d");
    for (int i = 0; i < 3; i++)
        expect_reply(waiting[i], got[i]);
    expect(client, "[\"d\"]", "LRANGE l 0 -1");
}

static void who_leaves_while_waiting_takes_nothing(void **state)
{
    redisContext *client = served_client(state);

    client_close(served_waiter(state, 1, "BLPOP l 0"));
    await_blocked(client, 0);
    expect(client, "1", "RPUSH l a");
    expect(client, "1", "LLEN l");
    client_close(served_waiter(state, 1, "BRPOPLPUSH m l 0"));
    await_blocked(client, 0);
    expect(client, "1", "RPUSH m b");
    expect(client, "[\"b\"]", "LRANGE m 0 -1");
    expect(client, "[\"a\"]", "LRANGE l 0 -1");
}

static void what_is_pipelined_behind_a_wait_comes_after_it(void **state)
{
    redisContext *client = served_client(state);
    redisContext *waiting = client_open(served_server(state));

    say(waiting, "BLPOP l 0");
    say(waiting, "BLPOP l 0");
    say(waiting, "INCR n");
    await_blocked(client, 1);
    expect(client, "nil", "GET n");
    expect(client, "1", "RPUSH l a");
    expect_reply(waiting, "[\"l\" \"a\"]");
    await_blocked(client, 1);
    expect(client, "1", "RPUSH l b");
    expect_reply(waiting, "[\"l\" \"b\"]");
    expect_reply(waiting, "1");
}

/* ---- publish and subscribe */

static void messages_arrive_in_order(void **state)
{
    redisContext *client = served_client(state);
    redisContext *listener = client_open(served_server(state));

    expect(listener, "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    for (int i = 0; i < PIPELINE; i++)
        say(client, "PUBLISH c %d", i);
    for (int i = 0; i < PIPELINE; i++)
        expect_reply(client, "1");
    for (int i = 0; i < PIPELINE; i++) {
        char wanted[64];

        snprintf(wanted, sizeof(wanted), "[\"message\" \"c\" \"%d\"]", i);
        expect_reply(listener, wanted);
    }
    client_close(listener);
    for (int waited = 0; ask_integer(client, "PUBLISH c x") != 0; waited++) {
        assert_true(waited < 60000);
        sleep_ms(1);
    }
}

static void who_does_not_read_is_cut_off(void **state)
{
    enum { MESSAGES_MAX = 20000, MESSAGE = 50000 };
    redisContext *client = served_client(state);
    redisContext *reader = client_open(served_server(state));
    struct raw_client idle;
    char *message = calloc(1, MESSAGE + 1);
    int sent = 0;

    assert_non_null(message);
    memset(message, 'x', MESSAGE);
    raw_open(&idle, served_server(state));
    expect(client, "OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 1mb 0 0");
    expect(reader, "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    raw_expect(&idle, "[\"subscribe\" \"c\" 1]", "SUBSCRIBE c");
    while (ask_integer(client, "PUBLISH c %s", message) == 2) {
        expect_reply(reader, "[\"message\" \"c\" \"xxx*\"]");
        assert_true(++sent < MESSAGES_MAX);
    }
    expect_reply(reader, "[\"message\" \"c\" \"xxx*\"]");
    expect(client, "1", "PUBLISH c end");
    expect_reply(reader, "[\"message\" \"c\" \"end\"]");
    raw_close(&idle);
    free(message);
}

/* ---- pausing */

static void paused_writes_wait_and_reads_do_not(void **state)
{
    redisContext *client = served_client(state);
    redisContext *writer = client_open(served_server(state));
    redisContext *reader = client_open(served_server(state));
    redisContext *executor = client_open(served_server(state));

    expect(executor, "OK", "MULTI");
    expect(executor, "QUEUED", "INCR n");
    expect(client, "OK", "CLIENT PAUSE 100000 WRITE");
    say(writer, "INCR n");
    say(writer, "GET n");
    say(executor, "EXEC");
    expect(reader, "nil", "GET n");
    expect(reader, "PONG", "PING");
    expect_silence(writer, 50);
    expect_silence(executor, 1);
    expect(client, "OK", "CLIENT UNPAUSE");
    expect_reply(writer, "*");
    expect_reply(writer, "*");
    expect_reply(executor, "[*]");
    expect(reader, "\"2\"", "GET n");
}

static void a_pause_of_all_ends_by_itself(void **state)
{
    redisContext *client = served_client(state);
    redisContext *reader = client_open(served_server(state));

    expect(client, "OK", "CLIENT PAUSE 200 ALL");
    say(reader, "GET n");
    expect_silence(reader, 20);
    expect_reply(reader, "nil");
    expect(client, "PONG", "PING");
}

/* ---- many elements at once */

static void long_pipelines_are_answered_in_order(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < PIPELINE; i++) {
        say(client, "INCR n");
        say(client, "RPUSH l %d", i);
        say(client, "LPOP l");
    }
    for (int i = 0; i < PIPELINE; i++) {
        char number[32], quoted[32];

        snprintf(number, sizeof(number), "%d", i + 1);
        snprintf(quoted, sizeof(quoted), "\"%d\"", i);
        expect_reply(client, number);
        expect_reply(client, "1");
        expect_reply(client, quoted);
    }
    expect(client, "0", "EXISTS l");
}

/* Adds `each` elements per command, in a pipeline; checks the count in the last reply. */
static void grow(redisContext *client, const char *command, bool scored, int64_t elements)
{
    enum { EACH = 500, WORD = 24 };
    static char words[2 * EACH + 2][WORD];
    const char *arguments[2 * EACH + 2] = {command, "big"};
    int64_t next = 0, sent = 0;

    for (; next < elements; sent++) {
        int count = 2;

        for (int i = 0; i < EACH; i++, next++) {
            if (scored) {
                snprintf(words[count], WORD, "%d", (int)(next % 1000));
                arguments[count] = words[count];
                count++;
            }
            snprintf(words[count], WORD, "%lld", (long long)next);
            arguments[count] = words[count];
            count++;
        }
        redisAppendCommandArgv(client, count, arguments, NULL);
        if (sent % 100 == 99)
            for (int i = 0; i < 100; i++)
                expect_reply(client, "*");
    }
    for (int64_t i = 0; i < sent % 100; i++)
        expect_reply(client, "*");
}

/* Waits until nothing more is written, and returns how many records were: a turn writes one at
 * most. What is deleted may be erased only after a checkpoint. */
static int64_t records_meanwhile(redisContext *client)
{
    int64_t began = ask_info(client, "journal", "journal_lsn"), lsn = began;

    for (int quiet = 0; quiet < 5; quiet++) {
        int64_t last = lsn;

        lsn = ask_info(client, "journal", "journal_lsn");
        if (lsn != last || ask_info(client, "persistence", "rdb_bgsave_in_progress") == 1)
            quiet = 0;
    }
    return lsn - began;
}

static void deleting_a_large_key_holds_nobody_up(void **state)
{
    static const struct {
        const char *grow, *remove;
        bool scored;
        int64_t elements;
    } cases[] = {{"RPUSH", "DEL big", false, 1000000},
                 {"ZADD", "DEL big", true, 200000},
                 {"SADD", "FLUSHALL", false, 200000},
                 {"RPUSH", "LTRIM big 0 0", false, 200000}};
    redisContext *client = served_client(state);

    expect(client, "OK", "CONFIG SET durability none");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(client, "*", "DEL big");
        records_meanwhile(client);
        grow(client, cases[i].grow, cases[i].scored, cases[i].elements);
        expect(client, "*", cases[i].remove);
        assert_true(records_meanwhile(client) >= 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(every_type_survives_a_restart),
        served_test(huge_elements_of_every_type_survive_a_kill),
        served_test(keys_expire_across_restarts),
        served_test(waiters_are_woken_in_order_by_others_and_by_exec),
        served_test(one_push_wakes_as_many_as_it_brings),
        served_test(who_leaves_while_waiting_takes_nothing),
        served_test(what_is_pipelined_behind_a_wait_comes_after_it),
        served_test(messages_arrive_in_order),
        served_test(who_does_not_read_is_cut_off),
        served_test(paused_writes_wait_and_reads_do_not),
        served_test(a_pause_of_all_ends_by_itself),
        served_test(long_pipelines_are_answered_in_order),
        served_test(deleting_a_large_key_holds_nobody_up),
    };
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
