/* Commands that continue in later turns: slices have a limit, every reader sees one state, and
 * nothing is left when the client disconnects. */
#include "storage/store.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/hash.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/faults/fake_disk.h"
#include "tests/support/store/record_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 20000, SLICE_BYTES = 400 * LONG_STEPS };
enum { LARGE = 5000000, LONG_BYTES = 1024 * LONG_STEPS }; /* an element; copied in a slice */

static struct keys_view view_of(struct command_runner *runner)
{
    return (struct keys_view){store_keys(runner->server.store), 0, runner->server.now};
}

/* Fills the key with e0 to e19999, as elements, fields or members. */
static void fill(struct command_runner *runner, enum keys_type type, const char *key)
{
    struct keys_view view = view_of(runner);
    struct dueq_slice name = dueq_slice(key, strlen(key));
    bool added;
    for (int i = 0; i < MANY; i++) {
        char text[16];
        struct dueq_slice e = dueq_slice(text, (size_t)snprintf(text, 16, "e%d", i));
        if (type == KEYS_LIST)
            assert_int_equal(list_push(&view, name, LIST_TAIL, e), DUEQ_OK);
        else if (type == KEYS_HASH)
            assert_int_equal(hash_set(&view, name, e, e, &added), DUEQ_OK);
        else if (type == KEYS_SET)
            assert_int_equal(set_add(&view, name, e, &added), DUEQ_OK);
        else
            assert_int_equal(zset_put(&view, name, e, i, &added), DUEQ_OK);
    }
    runner_commit(runner);
}

/* Another client begins a command that takes several turns. */
static struct connection *begin(struct command_runner *runner, const char *line)
{
    struct connection *client = runner_connect(runner);
    runner->by_slices = true;
    runner_expect_of(runner, client, "", line);
    assert_non_null(client->session.waiter);
    assert_false(waiters_is_blocked(&client->session));
    assert_int_equal(runner->server.stats.blocked_clients, 0);
    return client;
}

static struct request request_of(const char *const *words, size_t count,
                                 struct argument *arguments)
{
    struct request request = {count, arguments, 0};
    for (size_t i = 0; i < count; i++) {
        arguments[i] = (struct argument){(char *)(uintptr_t)words[i], strlen(words[i])};
        request.bytes += arguments[i].size;
    }
    return request;
}

static bool is_held(struct command_runner *runner, const char *command, const char *key)
{
    const char *words[] = {command, key, "1", "1"};
    struct argument arguments[4];
    struct request request = request_of(words, strcmp(command, "HSET") == 0 ? 4 : 3, arguments);
    return long_works_hold(&runner->server, &runner->clients[0]->session, &request);
}

static bool exec_is_held(struct command_runner *runner)
{
    struct argument exec = {(char *)(uintptr_t) "EXEC", 4};
    struct request request = {1, &exec, 4};
    return long_works_hold(&runner->server, &runner->clients[0]->session, &request);
}

/* ---- COPY */

static void a_large_copy_goes_on_while_others_work(void **state)
{
    static const enum keys_type types[] = {KEYS_LIST, KEYS_HASH, KEYS_SET, KEYS_ZSET};
    static const char *const counts[] = {"LLEN to", "HLEN to", "SCARD to", "ZCARD to"};
    struct command_runner *runner = *state;
    for (size_t i = 0; i < 4; i++) {
        fill(runner, types[i], "k");
        struct connection *client = begin(runner, "COPY k to");
        for (int slice = 0; slice < 5; slice++)
            assert_true(runner_slice(runner));
        runner_expect(runner, "0", "EXISTS to");
        runner_expect(runner, "1", "EXISTS k");
        assert_in_range(runner_finish(runner, SLICE_BYTES), MANY / LONG_STEPS / 2,
                        MANY / LONG_STEPS * 3);
        runner_expect_reply(client, "1");
        assert_null(client->session.waiter);
        runner_expect(runner, "20000", counts[i]);
        assert_int_equal(long_works_count(runner->server.long_works), 0);
        runner_expect(runner, "OK", "FLUSHDB");
    }
}

static void a_target_that_comes_meanwhile_stays_or_is_replaced(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    struct connection *client = begin(runner, "COPY k to");
    runner_slice(runner);
    runner_expect(runner, "OK", "SET to mine");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "0");
    runner_expect(runner, "\"mine\"", "GET to");
    runner_expect_of(runner, client, "", "COPY k to REPLACE");
    runner_slice(runner);
    runner_expect(runner, "\"mine\"", "GET to");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
    runner_expect(runner, "20000", "HLEN to");
}

static void who_writes_the_source_waits_until_the_copy_is_made(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    struct connection *client = begin(runner, "COPY k to");
    assert_true(is_held(runner, "HSET", "k"));
    assert_true(is_held(runner, "RENAME", "k"));
    assert_false(is_held(runner, "HSET", "other"));
    assert_false(is_held(runner, "HMGET", "k"));
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "HSET k 1 1");
    assert_true(exec_is_held(runner));
    runner_expect(runner, "OK", "DISCARD");
    assert_false(long_works_freed(&runner->server));
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
    assert_true(long_works_freed(&runner->server));
    assert_false(is_held(runner, "HSET", "k"));
}

static void a_transaction_waits_for_the_keys_of_the_databases_that_it_selects(void **state)
{
    static const struct {
        const char *first, *then;
        bool held;
    } cases[] = {{"SELECT 1", "HSET k 1 1", false}, {"SELECT 0", "HSET k 1 1", true},
                 {"SELECT 99", "HSET k 1 1", true}, {"SELECT x", "HSET k 1 1", true},
                 {"SELECT", "HSET k 1 1", true},    {"HSET k 1 1", "SELECT 1", true},
                 {"SELECT 1", "SELECT 0", false},   {"SELECT 1", "HGET k 1", false}};
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    begin(runner, "COPY k to");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        runner_expect(runner, "OK", "MULTI");
        runner_expect(runner, "*", cases[i].first);
        runner_expect(runner, "*", cases[i].then);
        assert_int_equal(exec_is_held(runner), cases[i].held);
        runner_expect(runner, "OK", "DISCARD");
    }
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "SELECT 0");
    runner_expect(runner, "QUEUED", "HSET k 1 1");
    assert_true(exec_is_held(runner));
    runner_expect(runner, "OK", "DISCARD");
    runner_finish(runner, SLICE_BYTES);
}

static void nobody_begins_anew_on_a_key_that_somebody_waits_for(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    begin(runner, "COPY k to");
    assert_false(is_held(runner, "COPY", "k"));
    assert_true(is_held(runner, "HDEL", "k"));
    assert_true(is_held(runner, "COPY", "k"));
    assert_false(is_held(runner, "HMGET", "k"));
    runner_finish(runner, SLICE_BYTES);
    assert_false(is_held(runner, "COPY", "k"));
}

/* By a command that names no key, and so does not wait. */
static void a_source_that_goes_meanwhile_was_never_there(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_ZSET, "k");
    struct connection *client = begin(runner, "COPY k to");
    runner_slice(runner);
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "0");
    runner_expect(runner, "0", "DBSIZE");
}

static void another_source_that_comes_by_a_swap_is_copied(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_ZSET, "k");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "1", "SADD k member");
    struct connection *client = begin(runner, "COPY k to");
    runner_slice(runner);
    runner_slice(runner);
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
    runner_expect(runner, "OK", "SELECT 0");
    runner_expect(runner, "1", "SCARD to");
}

static void a_client_that_leaves_takes_its_work_along(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_SET, "k");
    struct connection *client = begin(runner, "COPY k to");
    for (int slice = 0; slice < 5; slice++)
        runner_slice(runner);
    assert_true(record_count(runner->server.store, "h") > MANY);
    waiters_cancel(&runner->server, &client->session);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
    assert_true(long_works_freed(&runner->server));
    runner_pass(runner, 1);
    assert_int_equal(record_count(runner->server.store, "h"), MANY);
    runner_expect(runner, "0", "EXISTS to");
}

static void many_copies_take_turns(void **state)
{
    struct command_runner *runner = *state;
    struct connection *clients[6];
    fill(runner, KEYS_HASH, "k");
    for (int i = 0; i < 6; i++) {
        char line[32];
        snprintf(line, sizeof(line), "COPY k to%d", i);
        clients[i] = begin(runner, line);
    }
    runner_finish(runner, SLICE_BYTES);
    for (int i = 0; i < 6; i++)
        runner_expect_reply(clients[i], "1");
    runner_expect(runner, "7", "DBSIZE");
}

static void in_a_transaction_its_slices_follow_each_other(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "COPY k to");
    runner_expect(runner, "QUEUED", "HLEN to");
    runner_expect(runner, "QUEUED", "SRANDMEMBER s -2");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 10, 100);
    runner_expect_reply(runner->clients[0], "[1 20000 []]");
    runner_expect(runner, "1", "SADD s m");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "SRANDMEMBER s -1000000000");
    runner_expect(runner, "QUEUED", "HRANDFIELD k -2000000");
    runner_expect(runner, "QUEUED", "SRANDMEMBER s -2");
    runner_expect(runner, "[!ERR 1000000000 elements * !ERR 2000000 elements * [\"m\" \"m\"]]",
                  "EXEC");
}

static void a_slice_of_it_ends_one_of_the_transaction(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "1", "SADD s m");
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "SRANDMEMBER s -1000");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_int_equal(runner_finish(runner, UINT64_MAX), 4 - 1);
    runner_expect_reply(runner->clients[0], "[[*]]");
}

static bool is_line_held(struct command_runner *runner, const char *const *words, size_t count)
{
    struct argument arguments[8];
    struct request request = request_of(words, count, arguments);
    return long_works_hold(&runner->server, &runner->clients[0]->session, &request);
}

static const char *const swap[] = {"SWAPDB", "1", "0"};

static void no_swapping_of_databases_puts_a_copy_off_for_ever(void **state)
{
    static const char *const other[] = {"SWAPDB", "2", "3"};
    struct command_runner *runner = *state;
    int swaps = 0;
    fill(runner, KEYS_HASH, "k");
    runner_expect(runner, "OK", "SWAPDB 0 1");
    fill(runner, KEYS_HASH, "k");
    struct connection *client = begin(runner, "COPY k to");
    for (int slice = 0; client->session.waiter != NULL && swaps < 10; slice++) {
        runner_slice(runner);
        if (slice % 10 != 5 || is_line_held(runner, swap, 3))
            continue;
        runner_expect(runner, "OK", "SWAPDB 0 1"); /* k is another one */
        swaps++;
    }
    assert_in_range(swaps, 3, 4);
    runner_expect_reply(client, "1");
    runner_expect(runner, "20000", "HLEN to");
    assert_false(is_line_held(runner, swap, 3));
    assert_false(is_line_held(runner, other, 3));
}

static void a_copy_from_another_database_waits_for_its_target(void **state)
{
    static const char *const here[] = {"COPY", "other", "k", "REPLACE", "DB", "0"};
    static const char *const there[] = {"COPY", "other", "k", "REPLACE", "DB", "2"};
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    begin(runner, "COPY k to");
    runner_expect(runner, "OK", "SELECT 1");
    assert_true(is_line_held(runner, here, 6));
    assert_false(is_line_held(runner, there, 6));
    assert_false(is_line_held(runner, here, 4)); /* k of its own database */
    runner_finish(runner, SLICE_BYTES);
    assert_false(is_line_held(runner, here, 6));
}

/* The list that it fills is copied: it waits as if its request came now, and in its order. */
static void who_was_blocked_and_writes_the_source_waits(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "k");
    struct connection *client = begin(runner, "COPY k to");
    struct connection *mover = runner_waiting(runner, "BLMOVE from k LEFT RIGHT 0");
    struct connection *popper = runner_waiting(runner, "BLPOP from 0");
    runner_slice(runner);
    runner_expect(runner, "1", "RPUSH from x");
    runner_expect_reply(popper, "[\"from\" \"x\"]"); /* it writes from alone */
    runner_expect(runner, "2", "RPUSH from y z");
    runner_slice(runner);
    runner_expect(runner, "20000", "LLEN k");
    runner_expect(runner, "2", "LLEN from");
    runner_finish(runner, SLICE_BYTES);
    waiters_serve(&runner->server);
    runner_expect_reply(client, "1");
    runner_expect_reply(mover, "\"y\"");
    runner_expect(runner, "20000", "LLEN to");
    runner_expect(runner, "20001", "LLEN k");
    runner_expect(runner, "[\"z\"]", "LRANGE from 0 -1");
}

/* As in Redis, where a command is done before the pause comes. */
static void a_pause_lets_what_has_begun_end(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    struct connection *client = begin(runner, "COPY k to");
    runner_slice(runner);
    runner_expect(runner, "OK", "CLIENT PAUSE 1000000 WRITE");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
    runner_expect(runner, "20000", "HLEN to");
}

/* ---- COPY, LINSERT and LREM of what is large itself */

static void a_long_string_is_copied_in_slices(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "9000003", "SETRANGE k 9000000 end");
    runner_expect(runner, "1", "EXPIRE k 100");
    struct connection *client = begin(runner, "COPY k to");
    assert_true(runner_slice(runner));
    runner_expect(runner, "0", "EXISTS to");
    runner_expect(runner, "\"end\"", "GETRANGE k -3 -1");
    assert_true(is_held(runner, "APPEND", "k"));
    assert_false(is_held(runner, "APPEND", "to"));
    assert_in_range(runner_finish(runner, 9000000 + 1000), 7, 10);
    runner_expect_reply(client, "1");
    runner_expect(runner, "\"\\x00end\"", "GETRANGE to -4 -1");
    runner_expect(runner, "9000003", "STRLEN to");
    runner_expect(runner, "100", "TTL to");
    runner_expect(runner, "\"raw\"", "OBJECT ENCODING to");
    assert_int_equal(record_count(runner->server.store, "g"), 0);
}

/* In an EXEC, into another database; when its client leaves; when the string goes, and when it
 * becomes a short one. */
static void a_copy_of_a_long_string_always_ends(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "9000003", "SETRANGE k 9000000 end");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "COPY k to DB 1");
    runner_expect(runner, "QUEUED", "SET k short");
    runner_expect(runner, "QUEUED", "COPY k to");
    runner_expect(runner, "[1 OK 1]", "EXEC");
    runner_expect(runner, "\"short\"", "GET to");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "\"end\"", "GETRANGE to -3 -1");
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_expect(runner, "OK", "SELECT 0");
    struct connection *client = begin(runner, "COPY to other");
    runner_slice(runner);
    waiters_cancel(&runner->server, &client->session);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
    client = begin(runner, "COPY to other REPLACE");
    runner_slice(runner);
    runner_expect(runner, "OK", "SWAPDB 0 1"); /* to where it is short */
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
    runner_expect(runner, "\"short\"", "GET other");
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_expect_of(runner, client, "", "COPY to third");
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "0");
}

/* Of the words, which end with NULL, "%" stands for LARGE such letters. */
static void run_with(struct command_runner *runner, char letter, const char *const *words)
{
    struct argument arguments[8];
    struct request request = {0, arguments, 0};
    char *large = malloc(LARGE);
    assert_non_null(large);
    memset(large, letter, LARGE);
    for (; words[request.count] != NULL; request.count++) {
        const char *word = words[request.count];
        arguments[request.count] = strcmp(word, "%") == 0
                                       ? (struct argument){large, LARGE}
                                       : (struct argument){word, strlen(word)};
        request.bytes += arguments[request.count].size;
    }
    connection_run(runner->clients[0], &request, NULL, false);
    waiters_serve(&runner->server);
    while (!runner->by_slices && runner_slice(runner))
        continue;
    free(large);
}

#define RUN_WITH(letter, ...) run_with(runner, letter, (const char *const[]){__VA_ARGS__, NULL})

static void push_large(struct command_runner *runner, char letter)
{
    RUN_WITH(letter, "RPUSH", "k", "%");
    runner_expect_reply(runner->clients[0], "*");
}

static void few_large_elements_are_copied_in_slices(void **state)
{
    struct command_runner *runner = *state;
    for (int letter = 'a'; letter < 'd'; letter++)
        push_large(runner, (char)letter);
    runner->by_slices = true;
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "", "COPY k to");
    assert_in_range(runner_finish(runner, 2 * LARGE), 3 * LARGE / LONG_BYTES,
                    6 * LARGE / LONG_BYTES);
    runner_expect_reply(client, "1");
    runner_expect(runner, "3", "LLEN to");
    runner->by_slices = false;
    RUN_WITH('c', "LPOS", "to", "%");
    runner_expect_reply(runner->clients[0], "2");
    runner_expect(runner, "3", "RPUSH small 1 2 3");
    runner->by_slices = true;
    runner_expect(runner, "1", "COPY small other"); /* at once */
}

/* The pivot is the second; nothing of the list is on its way meanwhile. */
static void a_large_element_is_moved_in_slices(void **state)
{
    struct command_runner *runner = *state;
    for (int letter = 'a'; letter < 'e'; letter++)
        push_large(runner, (char)letter);
    runner->by_slices = true;
    RUN_WITH('b', "LINSERT", "k", "BEFORE", "%", "new");
    assert_true(is_held(runner, "RPUSH", "k"));
    assert_in_range(runner_finish(runner, 2 * LARGE), 4 * LARGE / LONG_BYTES,
                    8 * LARGE / LONG_BYTES);
    runner_expect_reply(runner->clients[0], "5");
    runner_expect(runner, "\"new\"", "LINDEX k 1");
    RUN_WITH('c', "LREM", "k", "1", "%");
    runner_finish(runner, 2 * LARGE);
    runner_expect_reply(runner->clients[0], "1");
    runner->by_slices = false;
    RUN_WITH('d', "LPOS", "k", "%");
    runner_expect_reply(runner->clients[0], "3");
    RUN_WITH('e', "LINSERT", "k", "AFTER", "new", "%");
    runner_expect_reply(runner->clients[0], "5");
    RUN_WITH('e', "LPOS", "k", "%");
    runner_expect_reply(runner->clients[0], "2");
    RUN_WITH('c', "LPOS", "k", "%");
    runner_expect_reply(runner->clients[0], "nil");
}

/* ---- LINSERT and LREM */

static void an_insertion_in_the_middle_goes_on_in_slices(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "k");
    struct connection *client = begin(runner, "LINSERT k AFTER e9999 new");
    for (int slice = 0; slice < 12; slice++)
        assert_true(runner_slice(runner));
    runner_expect(runner, "\"e10000\"", "LINDEX k 10000"); /* unchanged */
    assert_true(is_held(runner, "RPUSH", "k"));
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "20001");
    runner_expect(runner, "[\"e9999\" \"new\" \"e10000\"]", "LRANGE k 9999 10001");
    runner_expect(runner, "20001", "LLEN k");
}

static void a_search_in_vain_changes_nothing(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "k");
    struct connection *client = begin(runner, "LINSERT k BEFORE none new");
    assert_in_range(runner_finish(runner, SLICE_BYTES), MANY / LONG_STEPS,
                    MANY / LONG_STEPS + 3);
    runner_expect_reply(client, "-1");
    runner_expect_of(runner, client, "", "LREM k 0 none");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "0");
    runner_expect(runner, "20000", "LLEN k");
}

static void what_is_near_an_end_is_done_at_once(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "k");
    runner->by_slices = true;
    runner_expect(runner, "20001", "LINSERT k BEFORE e100 new");
    runner_expect(runner, "1", "LREM k 1 new");
    runner_expect(runner, "1", "LREM k -1 e19990");
    runner_expect(runner, "\"e19991\"", "LINDEX k -9");
    runner_expect(runner, "[\"e99\" \"e100\" \"e101\"]", "LRANGE k 99 101");
    struct connection *client =
        begin(runner, "LREM k 1 e19980"); /* the search is long, the removal short */
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
    runner_expect(runner, "19998", "LLEN k");
}

static void elements_all_over_a_list_are_removed_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct keys_view view = view_of(runner);
    runner->by_slices = true;
    for (int way = 0; way < 3; way++) {
        static const char *const lines[] = {"LREM k 0 x", "LREM k 100 x", "LREM k -100 x"};
        static const char *const removed[] = {"5000", "100", "100"};
        static const char *const left[] = {"15000", "19900", "19900"};
        static const char *const first[] = {"\"y\"", "\"y\"", "\"x\""};
        static const char *const last[] = {"\"y\"", "\"x\"", "\"y\""};
        for (int i = 0; i < MANY; i++)
            list_push(&view, dueq_slice("k", 1), LIST_TAIL,
                      dueq_slice(i % 4 == 0 ? "x" : "y", 1));
        runner_commit(runner);
        struct connection *client = begin(runner, lines[way]);
        runner_finish(runner, SLICE_BYTES);
        runner_expect_reply(client, removed[way]);
        runner_expect(runner, left[way], "LLEN k");
        runner_expect(runner, first[way], "LINDEX k 0");
        runner_expect(runner, last[way], "LINDEX k -4");
        runner_expect(runner, "1", "DEL k");
    }
}

static void a_list_that_loses_everything_is_gone(void **state)
{
    struct command_runner *runner = *state;
    struct keys_view view = view_of(runner);
    for (int i = 0; i < MANY; i++)
        list_push(&view, dueq_slice("k", 1), LIST_TAIL, dueq_slice("x", 1));
    runner_commit(runner);
    struct connection *client = begin(runner, "LREM k 0 x");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "20000");
    runner_expect(runner, "0", "EXISTS k");
}

/* Removing few elements near an end needs no room. An edit that needs a second list is refused;
 * it does not wait for room. */
static void without_room_a_long_edit_is_refused(void **state)
{
    struct command_runner *runner = *state;
    struct dueq_options full;
    fill(runner, KEYS_LIST, "k");
    for (int i = 0; i < 100; i++) {
        struct keys_view view = view_of(runner);
        list_put(&view, dueq_slice("k", 1), (uint64_t)i * 150, dueq_slice("x", 1));
    }
    runner_commit(runner);
    dueq_options_init(&full);
    full.disk_reserve_bytes = UINT64_MAX / 2;
    runner_reopen(runner, &full);
    struct connection *client = begin(runner, "LREM k 0 x");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "!FULL *");
    assert_int_equal(long_works_count(runner->server.long_works), 0);
    runner_expect(runner, "20000", "LLEN k");
    runner_expect(runner, "1", "LREM k -1 e19990");
    runner_expect(runner, "19999", "LLEN k");
}

/* In an EXEC nothing goes on later, and many elements move at once: they are written again. */
static void without_room_an_exec_moves_few_elements(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "LREM k 1 e10000"},
        {"QUEUED", "LREM k -1 e19990"},
        {"QUEUED", "LREM k 0 x"},
        {"QUEUED", "LREM k 0 none"},
        {"[!FULL * 1 !FULL * 0]", "EXEC"},
        {"19999", "LLEN k"},
        {"\"e10000\"", "LINDEX k 10000"},
    };
    struct command_runner *runner = *state;
    struct dueq_options full;
    fill(runner, KEYS_LIST, "k");
    for (int i = 0; i < 100; i++) {
        struct keys_view view = view_of(runner);
        list_put(&view, dueq_slice("k", 1), (uint64_t)i * 150 + 1, dueq_slice("x", 1));
    }
    dueq_options_init(&full);
    full.disk_reserve_bytes = UINT64_MAX / 2;
    runner_reopen(runner, &full);
    runner_expect_all(runner, cases);
}

/* The disk fills while the second list is built: the first stays, whole. */
static void an_edit_that_runs_out_of_room_changes_nothing(void **state)
{
    struct command_runner *runner = *state;
    struct fake_disk *disk = fake_disk_new();
    struct dueq_options options;
    dueq_options_init(&options);
    options.disk_reserve_bytes = 0;
    options.io = fake_disk_io(disk);
    runner_reopen(runner, &options);
    fill(runner, KEYS_LIST, "k");
    for (int i = 0; i < 200; i += 2) {
        struct keys_view view = view_of(runner);
        list_put(&view, dueq_slice("k", 1), (uint64_t)i, dueq_slice("x", 1));
    }
    runner_commit(runner);
    struct connection *client = begin(runner, "LREM k 0 x");
    for (int i = 0; i < MANY / LONG_STEPS + 5; i++) /* the search, and a part of the list */
        assert_true(runner_slice(runner));
    fake_disk_fail(disk, DISK_ALLOCATE, 0, FAKE_DISK_ALWAYS, ENOSPC);
    fake_disk_set_free_bytes(disk, 0);
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "!FULL *");
    runner_expect(runner, "20000", "LLEN k");
    runner_expect(runner, "[\"x\" \"e1\" \"x\"]", "LRANGE k 0 2");
    runner_expect(runner, "\"e19999\"", "LINDEX k -1");
    fake_disk_fail(disk, DISK_ALLOCATE, 0, 0, 0);
    fake_disk_set_free_bytes(disk, UINT64_MAX);
    runner_expect_of(runner, client, "", "LREM k 0 x");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "100");
    runner_expect(runner, "[\"e1\" \"e3\"]", "LRANGE k 0 1");
    runner_reopen(runner, NULL);
    fake_disk_free(disk);
    runner_expect(runner, "19900", "LLEN k");
}

static void who_watches_a_list_sees_the_change_when_it_is_made(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "k");
    runner_expect(runner, "OK", "WATCH k");
    struct connection *client = begin(runner, "LINSERT k AFTER e9999 new");
    runner_slice(runner);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "[]", "EXEC"); /* the list has not changed yet */
    runner_expect(runner, "OK", "WATCH k");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "20001");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "nil", "EXEC");
}

/* ---- a billion picks */

static size_t take_output(struct connection *client)
{
    size_t size = buffer_size(&client->output);
    buffer_clear(&client->output);
    long_works_drained(client->server, &client->session);
    return size;
}

static void picks_are_written_as_they_are_read(void **state)
{
    static const char *const lines[][4] = {{"SRANDMEMBER", "k", "-1000000000"},
                                           {"HRANDFIELD", "k", "-1000000000", "WITHVALUES"},
                                           {"ZRANDMEMBER", "k", "-1000000000", "WITHSCORES"}};
    static const enum keys_type types[] = {KEYS_SET, KEYS_HASH, KEYS_ZSET};
    struct command_runner *runner = *state;
    for (int i = 0; i < 3; i++) {
        struct connection *client = runner_connect(runner);
        fill(runner, types[i], "k");
        runner->by_slices = true;
        struct argument arguments[4];
        struct request request = request_of(lines[i], i == 0 ? 3 : 4, arguments);
        connection_run(client, &request, NULL, false);
        assert_non_null(client->session.waiter);
        for (int round = 0; round < 3; round++) {
            runner_finish(runner,
                          SLICE_BYTES); /* until the output is full, as nobody reads it */
            assert_in_range(buffer_size(&client->output), 1 << 20, (1 << 20) + 100000);
            take_output(client);
        }
        assert_false(is_held(runner, "HSET", "k"));
        runner_expect(runner, "1", "DEL k"); /* the picks continue from the old elements */
        runner_finish(runner, SLICE_BYTES);
        assert_in_range(take_output(client), 1 << 20, (1 << 20) + 100000);
        waiters_cancel(&runner->server, &client->session);
        assert_int_equal(long_works_count(runner->server.long_works), 0);
    }
}

/* Each may come from the disk. */
static void a_slice_has_a_quarter_of_the_picks(void **state)
{
    static const char *const words[][3] = {{"SRANDMEMBER", "k", "-8000"},
                                           {"HRANDFIELD", "k", "-8000"},
                                           {"ZRANDMEMBER", "k", "-8000"}};
    static const enum keys_type types[] = {KEYS_SET, KEYS_HASH, KEYS_ZSET};
    struct command_runner *runner = *state;
    for (int i = 0; i < 3; i++) {
        struct connection *client = runner_connect(runner);
        fill(runner, types[i], "k");
        runner->by_slices = true;
        struct argument arguments[3];
        struct request request = request_of(words[i], 3, arguments);
        connection_run(client, &request, NULL, false);
        assert_in_range(runner_finish(runner, SLICE_BYTES), 4 * 8000 / LONG_STEPS - 1,
                        4 * 8000 / LONG_STEPS + 1);
        assert_null(client->session.waiter);
        runner_expect(runner, "1", "DEL k");
    }
}

static void the_last_pick_ends_the_reply(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "2", "SADD k a b");
    struct connection *client = runner_connect(runner);
    char *reply = NULL;
    runner_expect_of(runner, client, "*", "SRANDMEMBER k -5000");
    reply = runner_bytes(runner, "SRANDMEMBER k -5000");
    assert_int_equal(strlen(reply), strlen("*5000\r\n") + 5000 * strlen("$1\r\na\r\n"));
    assert_null(client->session.waiter);
    free(reply);
    runner_expect_of(runner, client, "PONG", "PING");
}

static void a_message_does_not_come_into_the_middle_of_a_reply(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "*", "HELLO 3");
    runner_expect_of(runner, client, "*", "SUBSCRIBE news");
    runner_expect(runner, "1", "SADD k a");
    runner->by_slices = true;
    const char *words[] = {"SRANDMEMBER", "k", "-3000"};
    struct argument arguments[3];
    struct request request = request_of(words, 3, arguments);
    connection_run(client, &request, NULL, false);
    runner_expect(runner, "1", "PUBLISH news hello");
    runner_finish(runner, SLICE_BYTES);
    assert_null(client->session.waiter);
    const char *text = buffer_content(&client->output);
    size_t reply = strlen("*3000\r\n") + 3000 * strlen("$1\r\na\r\n");
    assert_memory_equal(text, "*3000\r\n", 7);
    assert_memory_equal(text + reply, ">3\r\n", 4);
    take_output(client);
}

static void clients_without_replies_do_not_stop_it(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    runner_expect(runner, "1", "SADD k a");
    runner_expect_of(runner, client, "", "CLIENT REPLY OFF");
    runner_expect_of(runner, client, "", "SRANDMEMBER k -50000");
    assert_null(client->session.waiter);
    runner_expect_of(runner, client, "OK", "CLIENT REPLY ON");
    runner_expect_of(runner, client, "", "CLIENT REPLY SKIP");
    runner_expect_of(runner, client, "", "SRANDMEMBER k -50000");
    runner_expect_of(runner, client, "PONG", "PING");
}

static void it_is_not_unblocked(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_HASH, "k");
    struct connection *client = begin(runner, "COPY k to");
    runner_expect(runner, "0", "CLIENT UNBLOCK 2");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "1");
}

/* ---- MEMORY USAGE */

static void what_a_large_key_takes_is_counted_in_slices(void **state)
{
    static const enum keys_type types[] = {KEYS_LIST, KEYS_HASH, KEYS_SET, KEYS_ZSET};
    /* 64 and the name; for each element 48, its 5 bytes on the average, and its value */
    static const char *const counts[] = {"1060065", "1160065", "1060065", "1220065"};
    struct command_runner *runner = *state;
    for (size_t i = 0; i < 4; i++) {
        fill(runner, types[i], "k");
        struct connection *client = begin(runner, "MEMORY USAGE k SAMPLES 0");
        assert_true(runner_slice(runner));
        assert_true(is_held(runner, "DEL", "k"));
        assert_in_range(runner_finish(runner, SLICE_BYTES), MANY / LONG_STEPS / 2,
                        MANY / LONG_STEPS * 3);
        runner_expect_reply(client, counts[i]);
        runner_expect(runner, "OK", "FLUSHDB");
    }
}

static void a_key_that_goes_or_changes_meanwhile_is_counted_as_it_is_then(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_ZSET, "k");
    struct connection *client = begin(runner, "MEMORY USAGE k SAMPLES 100000");
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "nil");
    fill(runner, KEYS_SET, "k");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "OK", "SET k value");
    client = begin(runner, "MEMORY USAGE k SAMPLES 0");
    runner_slice(runner);
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "70");
}

static void in_a_transaction_a_key_is_counted_in_slices(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, KEYS_LIST, "k");
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "MEMORY USAGE k SAMPLES 0");
    runner_expect(runner, "QUEUED", "RPUSH k e");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 10, 100);
    runner_expect_reply(runner->clients[0], "[1060065 20001]");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        runner_test(a_large_copy_goes_on_while_others_work),
        runner_test(a_target_that_comes_meanwhile_stays_or_is_replaced),
        runner_test(who_writes_the_source_waits_until_the_copy_is_made),
        runner_test(no_swapping_of_databases_puts_a_copy_off_for_ever),
        runner_test(a_copy_from_another_database_waits_for_its_target),
        runner_test(who_was_blocked_and_writes_the_source_waits),
        runner_test(a_pause_lets_what_has_begun_end),
        runner_test(a_transaction_waits_for_the_keys_of_the_databases_that_it_selects),
        runner_test(nobody_begins_anew_on_a_key_that_somebody_waits_for),
        runner_test(a_source_that_goes_meanwhile_was_never_there),
        runner_test(another_source_that_comes_by_a_swap_is_copied),
        runner_test(a_client_that_leaves_takes_its_work_along),
        runner_test(a_long_string_is_copied_in_slices),
        runner_test(a_copy_of_a_long_string_always_ends),
        runner_test(few_large_elements_are_copied_in_slices),
        runner_test(a_large_element_is_moved_in_slices),
        runner_test(many_copies_take_turns),
        runner_test(in_a_transaction_its_slices_follow_each_other),
        runner_test(a_slice_of_it_ends_one_of_the_transaction),
        runner_test(an_insertion_in_the_middle_goes_on_in_slices),
        runner_test(a_search_in_vain_changes_nothing),
        runner_test(what_is_near_an_end_is_done_at_once),
        runner_test(elements_all_over_a_list_are_removed_in_slices),
        runner_test(a_list_that_loses_everything_is_gone),
        runner_test(without_room_a_long_edit_is_refused),
        runner_test(without_room_an_exec_moves_few_elements),
        runner_test(an_edit_that_runs_out_of_room_changes_nothing),
        runner_test(who_watches_a_list_sees_the_change_when_it_is_made),
        runner_test(picks_are_written_as_they_are_read),
        runner_test(a_slice_has_a_quarter_of_the_picks),
        runner_test(the_last_pick_ends_the_reply),
        runner_test(a_message_does_not_come_into_the_middle_of_a_reply),
        runner_test(clients_without_replies_do_not_stop_it),
        runner_test(it_is_not_unblocked),
        runner_test(what_a_large_key_takes_is_counted_in_slices),
        runner_test(a_key_that_goes_or_changes_meanwhile_is_counted_as_it_is_then),
        runner_test(in_a_transaction_a_key_is_counted_in_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
