/* Replies and searches that grow with what is stored: slices have a limit, the reply shows one
 * state, writers get their turn, and nothing is left when the client disconnects. */
#include "storage/store.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/keys.h"
#include "storage/keys/hash.h"
#include "storage/keys/state/access.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/string.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/client/command_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 20000, SLICES = MANY / LONG_STEPS };

static struct keys_view view_of(struct command_runner *runner)
{
    return (struct keys_view){store_keys(runner->server.store), 0, runner->server.now};
}

static void add(const struct keys_view *view, enum keys_type type, struct dueq_slice key, int i)
{
    char text[16];
    struct dueq_slice e = dueq_slice(text, (size_t)snprintf(text, 16, "e%05d", i));
    bool added;
    if (type == KEYS_LIST)
        assert_int_equal(list_push(view, key, LIST_TAIL, e), DUEQ_OK);
    else if (type == KEYS_HASH)
        assert_int_equal(hash_set(view, key, e, e, &added), DUEQ_OK);
    else if (type == KEYS_SET)
        assert_int_equal(set_add(view, key, e, &added), DUEQ_OK);
    else
        assert_int_equal(zset_put(view, key, e, key.size == 3 ? 0 : i, &added), DUEQ_OK);
}

static void fill(struct command_runner *runner, enum keys_type type, const char *key)
{
    struct keys_view view = view_of(runner);
    for (int i = 0; i < MANY; i++)
        add(&view, type, dueq_slice(key, strlen(key)), i);
    runner_commit(runner);
}

static void fill_topics(struct command_runner *runner)
{
    struct dueq_push push;
    struct dueq_slice id;
    char name[16];

    dueq_push_init(&push);
    for (int i = 0; i < MANY; i++) {
        push.topic = dueq_slice(name, (size_t)snprintf(name, sizeof(name), "t%05d", i));
        push.delay = 1000;
        assert_int_equal(dueq_push(runner->server.store, &push, runner->server.now, &id),
                         DUEQ_OK);
    }
    runner_commit(runner);
}

/* Of each type one, under the first letter of its name; "lex" has one score for all. */
static void fill_all(struct command_runner *runner)
{
    fill(runner, KEYS_LIST, "l");
    fill(runner, KEYS_HASH, "h");
    fill(runner, KEYS_SET, "s");
    fill(runner, KEYS_ZSET, "z");
    fill(runner, KEYS_ZSET, "lex");
    fill_topics(runner);
}

/* One that has nothing to do. */
static struct connection *another(struct command_runner *runner)
{
    for (size_t i = 1; i < runner->client_count; i++)
        if (runner->clients[i]->session.waiter == NULL &&
            buffer_size(&runner->clients[i]->output) == 0)
            return runner->clients[i];
    return runner_connect(runner);
}

static struct connection *begin(struct command_runner *runner, const char *line)
{
    struct connection *client = another(runner);
    runner->by_slices = true;
    runner_expect_of(runner, client, "", line);
    assert_non_null(client->session.waiter);
    return client;
}

static void leave(struct command_runner *runner, struct connection *client)
{
    waiters_cancel(&runner->server, &client->session);
    buffer_clear(&client->output);
}

static bool is_held(struct command_runner *runner, const char *line)
{
    char copy[64], *words[8];
    struct argument arguments[8];
    struct request request = {0, arguments, 0};
    snprintf(copy, sizeof(copy), "%s", line);
    words[0] = strtok(copy, " ");
    for (char *word = words[0]; word != NULL; word = strtok(NULL, " "))
        arguments[request.count++] = (struct argument){word, strlen(word)};
    return long_works_hold(&runner->server, &runner->clients[0]->session, &request);
}

/* What a transaction replies, whose slices follow each other. */
static char *at_once(struct command_runner *runner, const char *line)
{
    char *reply, *element;
    runner->by_slices = false;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", line);
    reply = runner_bytes(runner, "EXEC");
    assert_memory_equal(reply, "*1\r\n", 4);
    element = strdup(reply + 4);
    free(reply);
    return element;
}

static const struct {
    const char *line;
    int slices; /* 0: done at once */
} reads[] = {
    {"SMEMBERS s", SLICES},
    {"HGETALL h", SLICES},
    {"HKEYS h", SLICES},
    {"HVALS h", SLICES},
    {"LRANGE l 0 -1", SLICES},
    {"LRANGE l -100 -1", 0},
    {"LRANGE l 3000 12999", SLICES / 2},
    {"LPOS l none", SLICES},
    {"LPOS l e15000", SLICES * 3 / 4},
    {"LPOS l e15000 RANK -1 MAXLEN 6000", SLICES / 4},
    {"LPOS l e19999 RANK -1", 0},
    {"LPOS l e10000 COUNT 0", SLICES},
    {"LPOS l e10000 COUNT 1", SLICES / 2},
    {"LPOS l e10000 MAXLEN 9000", SLICES * 9 / 20},
    {"ZRANGE z 0 -1", SLICES},
    {"ZRANGE z 0 -1 REV WITHSCORES", SLICES},
    {"ZRANGE z 10000 10001", SLICES / 2},
    {"ZRANGE z 12000 12001", SLICES * 2 / 5},
    {"ZRANGE z 12000 -1 WITHSCORES", SLICES * 4 / 5},
    {"ZRANGE z 12000 19000 REV", SLICES * 3 / 4},
    {"ZRANGE z -3 -1", 0},
    {"ZREVRANGE z 5000 -1", SLICES},
    {"ZRANGE z -inf +inf BYSCORE", SLICES},
    {"ZRANGE z 5000 (15000 BYSCORE WITHSCORES", SLICES / 2},
    {"ZRANGE z +inf -inf BYSCORE REV LIMIT 9000 2", SLICES * 9 / 20},
    {"ZRANGE z -inf +inf BYSCORE LIMIT 0 10", 0},
    {"ZRANGE z 0 1 BYSCORE LIMIT -1 10", 0},
    {"ZRANGEBYSCORE z 5000 +inf LIMIT 100 -1", SLICES * 3 / 4},
    {"ZREVRANGEBYSCORE z +inf 5000 WITHSCORES", SLICES * 3 / 4},
    {"ZRANGE lex - + BYLEX", SLICES},
    {"ZRANGE lex [e15000 [e01 BYLEX REV", SLICES * 7 / 10},
    {"ZRANGEBYLEX lex (e05000 +", SLICES * 3 / 4},
    {"ZREVRANGEBYLEX lex + - LIMIT 19990 20", SLICES},
    {"ZCOUNT z -inf +inf", SLICES},
    {"ZCOUNT z 100 200", 0},
    {"ZLEXCOUNT lex - +", SLICES},
    {"ZRANK z e15000", SLICES * 3 / 4},
    {"ZREVRANK z e15000", SLICES / 4},
    {"ZRANK z e03000", 0},
    {"ZRANK z none", 0},
    {"Q.TOPICS", SLICES},
    {"Q.TOPICS MATCH t1*9", SLICES},
};

static void what_is_large_is_read_in_slices(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    for (int version = 2; version <= 3; version++) {
        runner_expect(runner, "*", version == 2 ? "HELLO 2" : "HELLO 3");
        for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
            struct connection *client = another(runner);
            char *expected = at_once(runner, reads[i].line);
            runner_expect_of(runner, client, "*", version == 2 ? "HELLO 2" : "HELLO 3");
            runner->by_slices = true;
            if (reads[i].slices > 0) {
                runner_expect_of(runner, client, "", reads[i].line);
                assert_in_range(runner_finish(runner, UINT64_MAX), reads[i].slices,
                                reads[i].slices + 2);
                assert_null(client->session.waiter);
                assert_int_equal(buffer_size(&client->output), strlen(expected));
                assert_memory_equal(buffer_content(&client->output), expected,
                                    strlen(expected));
            } else {
                runner_expect_of(runner, client, "*", reads[i].line);
            }
            free(expected);
            leave(runner, client);
        }
    }
}

/* Between the slices nothing of the reply is to leave. */
static void the_reply_is_whole_and_in_order(void **state)
{
    struct command_runner *runner = *state;
    char *text;
    size_t at = strlen("*20000\r\n");
    fill(runner, KEYS_LIST, "l");
    struct connection *client = begin(runner, "LRANGE l 0 -1");
    while (runner_slice(runner))
        assert_true(client->session.waiter == NULL || client->written == 0);
    assert_int_equal(client->written, buffer_size(&client->output));
    text = buffer_content(&client->output);
    assert_memory_equal(text, "*20000\r\n", at);
    for (int i = 0; i < MANY; i++, at += strlen("$6\r\ne00000\r\n")) {
        char element[32];
        snprintf(element, sizeof(element), "$6\r\ne%05d\r\n", i);
        assert_memory_equal(text + at, element, strlen(element));
    }
    assert_int_equal(at, buffer_size(&client->output));
    leave(runner, client);
}

static void large_elements_count_as_many(void **state)
{
    enum { SIZE = 100000, ELEMENTS = 500 };
    struct command_runner *runner = *state;
    struct keys_view view = view_of(runner);
    static char bytes[SIZE];
    bool added;
    for (int i = 0; i < ELEMENTS; i++) {
        memcpy(bytes, &i, sizeof(i));
        list_push(&view, dueq_slice("l", 1), LIST_TAIL, dueq_slice(bytes, SIZE));
        set_add(&view, dueq_slice("s", 1), dueq_slice(bytes, SIZE), &added);
        runner_commit(runner);
    }
    for (int i = 0; i < 2; i++) {
        struct connection *client = begin(runner, i == 0 ? "LRANGE l 0 -1" : "SMEMBERS s");
        size_t before = 0;
        while (runner_slice(runner)) {
            assert_in_range(buffer_size(&client->output) - before, 0, 5000000);
            before = buffer_size(&client->output);
        }
        assert_in_range(before, ELEMENTS * SIZE, ELEMENTS * (SIZE + 12) + 8);
        leave(runner, client);
    }
}

/* ---- others meanwhile */

static void who_writes_the_key_waits(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_SET, "s");
    struct connection *client = begin(runner, "SMEMBERS s");
    runner_slice(runner);
    assert_true(is_held(runner, "SADD s x"));
    assert_true(is_held(runner, "RENAME t s"));
    assert_false(is_held(runner, "SADD t x"));
    assert_false(is_held(runner, "SISMEMBER s x"));
    assert_false(is_held(runner, "SMEMBERS s"));
    runner_finish(runner, UINT64_MAX);
    assert_false(is_held(runner, "SADD s x"));
    leave(runner, client);
}

static void all_that_only_read_take_turns(void **state)
{
    struct command_runner *runner = *state;
    struct connection *clients[6];
    fill(runner, KEYS_SET, "s");
    for (int i = 0; i < 6; i++)
        clients[i] = begin(runner, "SMEMBERS s");
    for (int i = 0; i < 12; i++)
        runner_slice(runner);
    for (int i = 0; i < 6; i++)
        assert_in_range(buffer_size(&clients[i]->output), LONG_STEPS, 4 * 12 * LONG_STEPS);
    runner_finish(runner, UINT64_MAX);
    for (int i = 5; i >= 0; i--) {
        assert_null(clients[i]->session.waiter);
        leave(runner, clients[i]);
    }
}

/* A stream of readers does not starve a writer. */
static void who_begins_after_a_writer_waits_reads_what_it_wrote(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "l");
    struct connection *first = begin(runner, "LRANGE l 0 -1");
    runner_slice(runner);
    assert_true(is_held(runner, "RPUSH l x"));
    struct connection *second = begin(runner, "LRANGE l 0 -1");
    assert_false(is_held(runner, "LLEN l"));
    while (first->session.waiter != NULL)
        assert_true(runner_slice(runner));
    assert_true(runner_slice(runner));
    assert_non_null(second->session.waiter);
    assert_true(long_works_freed(&runner->server));
    assert_false(is_held(runner, "RPUSH l x"));
    runner_expect(runner, "20001", "RPUSH l x");
    runner_finish(runner, UINT64_MAX);
    assert_null(second->session.waiter);
    assert_memory_equal(buffer_content(&second->output), "*20001\r\n", 8);
    leave(runner, second);
    leave(runner, first);
}

static const char *const lines[] = {"SMEMBERS s", "HGETALL h", "LRANGE l 0 -1", "ZRANGE z 0 -1",
                                    "LPOS l none COUNT 0"};

/* By what names no key. */
static void a_key_that_goes_meanwhile_was_never_there(void **state)
{
    static const char *const ways[] = {"FLUSHALL", "FLUSHDB", "SWAPDB 0 1"};
    struct command_runner *runner = *state;
    for (size_t i = 0; i < 3; i++)
        for (size_t line = 0; line < 5; line++) {
            fill_all(runner);
            struct connection *client = begin(runner, lines[line]);
            for (int slice = 0; slice < 5; slice++)
                runner_slice(runner);
            runner_expect(runner, "OK", ways[i]);
            runner_finish(runner, UINT64_MAX);
            runner_expect_reply(client, "[]");
            leave(runner, client);
            runner_expect(runner, "OK", "FLUSHALL");
        }
}

/* It is read as it was at the beginning until it is reclaimed. */
static void a_key_that_expires_meanwhile_is_there_or_not(void **state)
{
    struct command_runner *runner = *state;
    for (size_t line = 0; line < 5; line++) {
        fill_all(runner);
        runner->by_slices = false;
        char *whole = runner_bytes(runner, lines[line]);
        for (const char *const *key = (const char *[]){"s", "h", "l", "z", NULL}; *key != NULL;
             key++) {
            char text[32];
            snprintf(text, sizeof(text), "PEXPIRE %s 10", *key);
            runner_expect(runner, "1", text);
        }
        struct connection *client = begin(runner, lines[line]);
        for (int slice = 0; slice < 5; slice++)
            runner_slice(runner);
        runner_move_clock(runner, 20); /* before a tick comes to it */
        runner_finish(runner, UINT64_MAX);
        if (buffer_size(&client->output) == strlen(whole)) {
            assert_memory_equal(buffer_content(&client->output), whole, strlen(whole));
            buffer_clear(&client->output);
        } else {
            runner_expect_reply(client, "[]");
        }
        free(whole);
        leave(runner, client);
        runner_expect(runner, "OK", "FLUSHALL");
    }
}

static void another_key_that_comes_by_a_swap_is_read(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_SET, "s");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "1", "SADD s member");
    struct connection *client = begin(runner, "SMEMBERS s");
    for (int slice = 0; slice < 5; slice++)
        runner_slice(runner);
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "[\"member\"]");
    leave(runner, client);
}

static void one_of_another_type_is_refused(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_SET, "s");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "OK", "SET s text");
    struct connection *client = begin(runner, "SMEMBERS s");
    for (int slice = 0; slice < 5; slice++)
        runner_slice(runner);
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "!WRONGTYPE *");
    leave(runner, client);
}

/* Not by a request for the key, but in another client's wait: it comes when the list is read.
 */
static void a_list_that_another_client_waits_to_write_is_read_as_it_is(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "l");
    struct connection *mover = runner_connect(runner);
    runner_expect_of(runner, mover, "", "BLMOVE from l LEFT RIGHT 0");
    struct connection *client = begin(runner, "LRANGE l 0 -1");
    for (int slice = 0; slice < 5; slice++)
        runner_slice(runner);
    runner_expect(runner, "1", "RPUSH from x");
    runner_expect_reply(mover, "");
    assert_in_range(runner_finish(runner, UINT64_MAX), SLICES - 5, SLICES);
    assert_memory_equal(buffer_content(&client->output), "*20000\r\n", 8);
    runner_expect_reply(mover, "\"x\"");
    runner_expect(runner, "20001", "LLEN l");
    leave(runner, client);
    leave(runner, mover);
}

static void a_client_that_leaves_takes_its_reply_along(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_SET, "s");
    struct connection *client = begin(runner, "SMEMBERS s");
    for (int slice = 0; slice < 5; slice++)
        runner_slice(runner);
    assert_true(buffer_size(&client->output) > LONG_STEPS);
    waiters_cancel(&runner->server, &client->session);
    assert_int_equal(buffer_size(&client->output), 0);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
    assert_false(is_held(runner, "SADD s x"));
    leave(runner, client);
}

static void a_message_comes_behind_the_reply(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    fill(runner, KEYS_SET, "s");
    runner_expect_of(runner, client, "*", "HELLO 3");
    runner_expect_of(runner, client, "*", "SUBSCRIBE news");
    runner->by_slices = true;
    runner_expect_of(runner, client, "", "SMEMBERS s");
    for (int slice = 0; slice < 5; slice++)
        runner_slice(runner);
    runner_expect(runner, "1", "PUBLISH news hello");
    runner_finish(runner, UINT64_MAX);
    assert_memory_equal(buffer_content(&client->output), "~20000\r\n", 8);
    assert_memory_equal(buffer_content(&client->output) + 8 + MANY * strlen("$6\r\ne00000\r\n"),
                        ">3\r\n", 4);
    leave(runner, client);
}

static void a_silent_client_gets_nothing(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    fill(runner, KEYS_SET, "s");
    runner_expect_of(runner, client, "", "CLIENT REPLY SKIP");
    runner_expect_of(runner, client, "", "SMEMBERS s");
    runner_expect_of(runner, client, "PONG", "PING");
    leave(runner, client);
}

static void a_key_read_in_slices_is_looked_up_once(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_SET, "s");
    access_reset_lookups(store_keys(runner->server.store));
    struct connection *client = begin(runner, "SMEMBERS s");
    runner_finish(runner, UINT64_MAX);
    assert_int_equal(access_get_lookups(store_keys(runner->server.store)).hits, 1);
    leave(runner, client);
}

/* ---- some, by chance */

/* As many as are wanted, none twice. */
static void check_parts(struct connection *client, size_t count, size_t every)
{
    const char *text = buffer_content(&client->output);
    static bool seen[MANY];
    size_t found = 0;
    memset(seen, 0, sizeof(seen));
    for (const char *at = strstr(text, "$6\r\ne"); found < count;
         at += strlen("$6\r\ne00000\r\n")) {
        int number = atoi(at + 5);
        assert_false(seen[number]);
        seen[number] = true;
        found++;
        if (every > 1)
            at += strlen("$6\r\ne00000\r\n");
    }
}

static void a_part_is_chosen_in_slices(void **state)
{
    static const struct {
        const char *line, *head;
        size_t count, every;
    } parts[] = {{"SRANDMEMBER s 10000", "*10000\r\n", 10000, 1},
                 {"SRANDMEMBER s 2000", "*2000\r\n", 2000, 1},
                 {"SRANDMEMBER s 30000", "*20000\r\n", 20000, 1},
                 {"HRANDFIELD h 10000", "*10000\r\n", 10000, 1},
                 {"HRANDFIELD h 15000 WITHVALUES", "*30000\r\n", 15000, 2},
                 {"ZRANDMEMBER z 10000", "*10000\r\n", 10000, 1}};
    struct command_runner *runner = *state;
    fill_all(runner);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct connection *client = begin(runner, parts[i].line);
        assert_in_range(runner_finish(runner, UINT64_MAX), SLICES - 1, SLICES + 2);
        assert_null(client->session.waiter);
        assert_memory_equal(buffer_content(&client->output), parts[i].head,
                            strlen(parts[i].head));
        check_parts(client, parts[i].count, parts[i].every);
        leave(runner, client);
    }
}

/* Each may come from the disk, so a slice has a quarter as many as of neighbours. */
static void few_of_many_are_chosen_in_slices(void **state)
{
    static const struct {
        const char *at_once, *in_slices, *head;
        size_t every;
    } few[] = {{"SRANDMEMBER s 240", "SRANDMEMBER s 1000", "*1000\r\n", 1},
               {"HRANDFIELD h 240", "HRANDFIELD h 1000 WITHVALUES", "*2000\r\n", 2},
               {"ZRANDMEMBER z 240", "ZRANDMEMBER z 1000", "*1000\r\n", 1}};
    struct command_runner *runner = *state;
    fill_all(runner);
    runner->by_slices = true;
    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        char *reply = runner_bytes(runner, few[i].at_once);
        assert_int_equal(strlen(reply), strlen("*240\r\n") + 240 * strlen("$6\r\ne00000\r\n"));
        free(reply);
        struct connection *client = begin(runner, few[i].in_slices);
        assert_in_range(runner_finish(runner, UINT64_MAX), 4, 5);
        assert_memory_equal(buffer_content(&client->output), few[i].head, 7);
        check_parts(client, 1000, few[i].every);
        leave(runner, client);
    }
}

static void few_of_many_are_of_one_moment(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    struct connection *client = begin(runner, "SRANDMEMBER s 1000");
    runner_slice(runner);
    assert_true(is_held(runner, "SREM s e00001"));
    assert_false(is_held(runner, "SADD other e00001"));
    runner_expect(runner, "OK", "FLUSHDB");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "[]");
    fill(runner, KEYS_SET, "s");
    client = begin(runner, "SRANDMEMBER s 1000");
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHDB");
    for (int i = 0; i < 2000; i++) { /* of so few many are wanted */
        struct keys_view view = view_of(runner);
        add(&view, KEYS_SET, dueq_slice("s", 1), i);
    }
    runner_commit(runner);
    runner_finish(runner, UINT64_MAX);
    assert_memory_equal(buffer_content(&client->output), "*1000\r\n", 7);
    check_parts(client, 1000, 1);
    leave(runner, client);
}

static void few_of_many_are_chosen_in_a_transaction(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner->clients[0];
    fill_all(runner);
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "SRANDMEMBER s 1000");
    runner_run(runner, client, "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 4, 5);
    assert_memory_equal(buffer_content(&client->output), "*1\r\n*1000\r\n", 11);
    check_parts(client, 1000, 1);
    buffer_clear(&client->output);
}

/* On pages that are new to the process each may take as long as hundreds of others. */
static void a_long_turn_has_one_pick(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    turn_watch_begin(&runner->server.turn, 1, 1);
    struct connection *client = begin(runner, "SRANDMEMBER s 100");
    int slices = runner_finish(runner, UINT64_MAX);
    turn_watch_end(&runner->server.turn, 2);
    assert_in_range(slices, 100, 110);
    check_parts(client, 100, 1);
    leave(runner, client);
}

/* ---- all keys */

static void all_names_are_listed_in_slices(void **state)
{
    struct command_runner *runner = *state;
    for (int i = 0; i < MANY; i++) {
        struct keys_view view = view_of(runner);
        char text[16];
        struct dueq_slice name = dueq_slice(text, (size_t)snprintf(text, 16, "key:%d", i));
        assert_int_equal(string_set(&view, name, name, DUEQ_NEVER, STRING_GIVEN), DUEQ_OK);
    }
    runner_commit(runner);
    struct connection *client = begin(runner, "KEYS *:*9");
    runner_slice(runner);
    assert_false(is_held(runner, "DEL key:9"));
    runner_expect(runner, "1", "DEL key:5");
    assert_in_range(runner_finish(runner, UINT64_MAX), SLICES - 1, SLICES + 2);
    assert_memory_equal(buffer_content(&client->output), "*2000\r\n", 7);
    leave(runner, client);
    client = begin(runner, "KEYS *");
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHDB");
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "[*]");
    leave(runner, client);
    runner_expect(runner, "[]", "KEYS *");
}

/* A hint, not a promise. */
static void a_scan_of_all_comes_to_an_end_soon(void **state)
{
    static const char *const scans[] = {"SSCAN s 0 COUNT 1000000", "HSCAN h 0 COUNT 1000000",
                                        "ZSCAN z 0 COUNT 1000000",
                                        "SSCAN s 0 COUNT 1000000 MATCH none"};
    struct command_runner *runner = *state;
    fill_all(runner);
    for (size_t i = 0; i < 4; i++) {
        char *reply = runner_bytes(runner, scans[i]);
        assert_true(strncmp(reply, "*2\r\n$", 5) == 0);
        assert_false(strncmp(reply, "*2\r\n$1\r\n0", 10) == 0);
        assert_in_range(strlen(reply), 25, LONG_ENOUGH * 40);
        free(reply);
    }
}

/* ---- transactions */

static void a_transaction_reads_as_much_as_there_is(void **state)
{
    struct command_runner *runner = *state;
    struct keys_view view = view_of(runner);
    for (int i = 0; i <= LONG_WHOLE; i++)
        list_push(&view, dueq_slice("l", 1), LIST_TAIL, dueq_slice("e", 1));
    runner_commit(runner);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "LRANGE l 0 -1");
    runner_expect(runner, "QUEUED", "LPOS l none");
    runner_expect(runner, "QUEUED", "LRANGE l 0 1");
    runner_expect(runner, "[[*] nil [\"e\" \"e\"]]", "EXEC");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        runner_test(what_is_large_is_read_in_slices),
        runner_test(the_reply_is_whole_and_in_order),
        runner_test(large_elements_count_as_many),
        runner_test(who_writes_the_key_waits),
        runner_test(all_that_only_read_take_turns),
        runner_test(who_begins_after_a_writer_waits_reads_what_it_wrote),
        runner_test(a_key_that_goes_meanwhile_was_never_there),
        runner_test(a_key_that_expires_meanwhile_is_there_or_not),
        runner_test(another_key_that_comes_by_a_swap_is_read),
        runner_test(one_of_another_type_is_refused),
        runner_test(a_list_that_another_client_waits_to_write_is_read_as_it_is),
        runner_test(a_client_that_leaves_takes_its_reply_along),
        runner_test(a_message_comes_behind_the_reply),
        runner_test(a_silent_client_gets_nothing),
        runner_test(a_key_read_in_slices_is_looked_up_once),
        runner_test(a_part_is_chosen_in_slices),
        runner_test(few_of_many_are_chosen_in_slices),
        runner_test(few_of_many_are_of_one_moment),
        runner_test(few_of_many_are_chosen_in_a_transaction),
        runner_test(a_long_turn_has_one_pick),
        runner_test(all_names_are_listed_in_slices),
        runner_test(a_scan_of_all_comes_to_an_end_soon),
        runner_test(a_transaction_reads_as_much_as_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
