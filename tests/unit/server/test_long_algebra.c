/* Sets and sorted sets that are combined, and keys that are sorted, in slices: the reply and
 * the stored key are the same as in one turn, slices have a limit, every reader sees one state,
 * and nothing remains of a work that ends early. */
#include "storage/store.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/keys.h"
#include "storage/kv/kv.h"
#include "storage/keys/list.h"
#include "storage/keys/set.h"
#include "storage/keys/zset/zset.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/store/record_count.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 9000,                    /* elements of each source */
    SLICE_BYTES = 400 * LONG_STEPS, /* in the journal */
    STORES = 200                    /* slices at most */
};

static struct keys_view view_of(struct command_runner *runner)
{
    return (struct keys_view){store_keys(runner->server.store), 0, runner->server.now};
}

/* Adds the members e<from> to e<from + MANY - 1>; in a sorted set scores repeat. */
static void fill(struct command_runner *runner, enum keys_type type, const char *key, int from)
{
    struct keys_view view = view_of(runner);
    struct dueq_slice name = dueq_slice(key, strlen(key));
    bool added;
    for (int i = from; i < from + MANY; i++) {
        char text[16];
        struct dueq_slice e = dueq_slice(text, (size_t)snprintf(text, 16, "e%d", i));
        if (type == KEYS_SET)
            set_add(&view, name, e, &added);
        else if (type == KEYS_ZSET)
            zset_put(&view, name, e, i % 7 == 0 ? -0.0 : i % 70 / 10.0, &added);
        else
            list_push(&view, name, LIST_TAIL, dueq_slice(text + 1, e.size - 1));
    }
    runner_commit(runner);
}

/* s and t, y and z share half of their members; l contains numbers. */
static void fill_all(struct command_runner *runner)
{
    fill(runner, KEYS_SET, "s", 0);
    fill(runner, KEYS_SET, "t", MANY / 2);
    fill(runner, KEYS_ZSET, "y", 0);
    fill(runner, KEYS_ZSET, "z", MANY / 2);
    fill(runner, KEYS_LIST, "l", 0);
    runner_expect(runner, "3", "SADD few e1 e4600 other");
    runner_expect(runner, "2", "ZADD fewer 3 e2 4 e4601");
    runner_expect(runner, "1", "HSET weight_e5 field 7");
    runner_expect(runner, "OK", "SET w_77 -5");
}

static struct connection *begin_as(struct command_runner *runner, size_t number,
                                   const char *line)
{
    while (runner->client_count <= number)
        runner_connect(runner);
    struct connection *client = runner->clients[number];
    runner->by_slices = true;
    runner_expect_of(runner, client, "", line);
    assert_non_null(client->session.waiter);
    return client;
}

static struct connection *begin(struct command_runner *runner, const char *line)
{
    return begin_as(runner, 1, line);
}

/* Returns the reply of the command when it runs in one turn. */
static char *whole(struct command_runner *runner, const char *line)
{
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", line);
    char *bytes = runner_bytes(runner, "EXEC");
    assert_memory_equal(bytes, "*1\r\n", 4);
    memmove(bytes, bytes + 4, strlen(bytes + 4) + 1);
    return bytes;
}

static void expect_alike(const char *line, char *one, char *other)
{
    size_t same = 0;
    while (one[same] != '\0' && one[same] == other[same])
        same++;
    if (one[same] != other[same])
        fail_msg("%s: from %zu on %.50s instead of %.50s", line, same, other + same,
                 one + same);
    free(one);
    free(other);
}

static const char *const replies[] = {
    "SUNION s t",
    "SINTER s t",
    "SDIFF s t",
    "SUNION few s none t",
    "SINTERCARD 2 s t",
    "SINTERCARD 2 s t LIMIT 4000",
    "ZUNION 2 y z WITHSCORES",
    "ZUNION 3 y z s",
    "ZUNION 3 z y s WEIGHTS 2 -1.5 0.1 AGGREGATE MIN WITHSCORES",
    "ZUNION 2 y z WEIGHTS inf -inf WITHSCORES",
    "ZINTER 2 y z WITHSCORES",
    "ZINTER 3 y s z WEIGHTS 1 2 3 AGGREGATE MAX WITHSCORES",
    "ZDIFF 2 y z WITHSCORES",
    "ZDIFF 3 y few fewer",
    "ZINTERCARD 2 y z",
    "ZINTERCARD 2 y z LIMIT 10",
    "SORT l",
    "SORT l DESC LIMIT 10 5000",
    "SORT l ALPHA",
    "SORT l BY w_* GET # GET w_*",
    "SORT s ALPHA DESC",
    "SORT s BY weight_*->field GET # GET weight_*->field LIMIT 0 20",
    "SORT y ALPHA LIMIT 5 8000",
    "SORT y BY nosort DESC",
    "SORT_RO l BY nosort GET #",
    "SORT s",
};

static const char *const stores[] = {
    "SUNIONSTORE d s t",
    "SINTERSTORE d s t",
    "SDIFFSTORE d s t",
    "SDIFFSTORE d s s",
    "SUNIONSTORE s s t",
    "ZUNIONSTORE d 2 y z",
    "ZUNIONSTORE d 2 y z WEIGHTS -0 0",
    "ZUNIONSTORE y 3 y z t WEIGHTS 1 0.3 7 AGGREGATE MAX",
    "ZINTERSTORE d 2 y z AGGREGATE MIN",
    "ZDIFFSTORE d 2 z y",
    "ZDIFFSTORE z 2 z y",
    "ZRANGESTORE d y 0 -1",
    "ZRANGESTORE d y 100 -200 REV",
    "ZRANGESTORE d y 0 3 BYSCORE LIMIT 100 5000",
    "ZRANGESTORE y y (0 +inf BYSCORE",
    "SORT y BY nosort DESC STORE d",
    "SORT l STORE d",
    "SORT l BY w_* DESC GET # GET w_* STORE d",
    "SORT s BY nosort STORE d",
    "SORT l STORE l",
};

static void slices_reply_what_one_turn_does(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
        char *at_once = whole(runner, replies[i]);
        expect_alike(replies[i], at_once, runner_bytes(runner, replies[i]));
    }
    runner_expect(runner, "*", "HELLO 3");
    char *at_once = whole(runner, "ZUNION 2 y z WITHSCORES");
    expect_alike("RESP3", at_once, runner_bytes(runner, "ZUNION 2 y z WITHSCORES"));
}

static char *content(struct command_runner *runner, const char *line)
{
    const char *store = strstr(line, " STORE ");
    char key = store != NULL ? store[7] : *(strchr(line, ' ') + 1), read[64];
    if (store != NULL)
        snprintf(read, sizeof(read), "LRANGE %c 0 -1", key);
    else if (line[0] == 'Z')
        snprintf(read, sizeof(read), "ZRANGE %c 0 -1 WITHSCORES", key);
    else
        snprintf(read, sizeof(read), "SMEMBERS %c", key);
    char *bytes = runner_bytes(runner, read);
    snprintf(read, sizeof(read), "OBJECT ENCODING %c", key);
    char *encoding = runner_bytes(runner, read), *both = malloc(strlen(bytes) + 64);
    strcat(strcpy(both, encoding), bytes);
    free(bytes);
    free(encoding);
    return both;
}

static void slices_store_what_one_turn_does(void **state)
{
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        fill_all(runner);
        char *reply = whole(runner, stores[i]), *key = content(runner, stores[i]);
        runner_expect(runner, "OK", "FLUSHDB");
        fill_all(runner);
        runner_expect(runner, "1", "HSET d some thing");
        runner_expect(runner, "1", "EXPIRE d 1000");
        expect_alike(stores[i], reply, runner_bytes(runner, stores[i]));
        expect_alike(stores[i], key, content(runner, stores[i]));
        if (strstr(stores[i], "d s s") == NULL && strstr(stores[i], " d") != NULL)
            runner_expect(runner, "-1", "TTL d");
        runner_expect(runner, "OK", "FLUSHDB");
    }
}

static void others_see_the_target_as_it_was_until_the_end(void **state)
{
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        if (strstr(stores[i], " d") == NULL)
            continue;
        fill_all(runner);
        runner_expect(runner, "OK", "SET d old");
        struct connection *client = begin(runner, stores[i]);
        for (int slice = 0; slice < 4; slice++) {
            assert_true(runner_slice(runner));
            assert_non_null(client->session.waiter);
            runner_expect(runner, "\"old\"", "GET d");
        }
        assert_in_range(runner_finish(runner, SLICE_BYTES), 1, STORES);
        assert_null(client->session.waiter);
        runner_expect_reply(client, "*");
        assert_int_equal(long_works_count(runner->server.long_works), 0);
        runner->by_slices = false;
        runner_expect(runner, "OK", "FLUSHDB");
    }
}

static void long_replies_are_made_in_slices(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++) {
        if (strcmp(replies[i], "SORT s") == 0 || strstr(replies[i], "LIMIT 10") != NULL)
            continue; /* these end early */
        struct connection *client = begin(runner, replies[i]);
        assert_in_range(runner_finish(runner, SLICE_BYTES), 4, STORES);
        assert_null(client->session.waiter);
        buffer_clear(&client->output);
    }
}

static void a_client_that_leaves_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    uint64_t before = record_count(runner->server.store, "ghly");
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        struct connection *client = begin(runner, stores[i]);
        for (int slice = 0; slice < 6; slice++)
            runner_slice(runner);
        assert_non_null(client->session.waiter);
        waiters_cancel(&runner->server, &client->session);
        assert_int_equal(long_works_count(runner->server.long_works), 0);
        runner_pass(runner, 1);
        for (int turns = 0; turns < 100; turns++)
            dueq_tick(runner->server.store, runner->server.now, 1000);
        runner_commit(runner);
        assert_int_equal(record_count(runner->server.store, "ghly"), before);
    }
}

static void sources_that_change_meanwhile_are_read_anew(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    struct connection *client = begin(runner, "ZUNIONSTORE d 2 y z");
    for (int slice = 0; slice < 6; slice++)
        runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "0");
    runner_expect(runner, "0", "EXISTS d");
    fill_all(runner);
    runner_expect_of(runner, client, "", "SUNION s t");
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_expect(runner, "1", "SADD s one");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "[\"one\"]");
    fill_all(runner);
    runner_expect_of(runner, client, "", "SORT l STORE d");
    runner_slice(runner);
    runner_expect(runner, "OK", "FLUSHALL");
    runner_expect(runner, "OK", "SET l text");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "!WRONGTYPE*");
}

static void let_expire(struct command_runner *runner, const char *keys)
{
    for (char line[] = "PEXPIRE ? 10"; *keys != '\0'; keys++) {
        line[8] = *keys;
        runner_expect(runner, "1", line);
    }
}

/* Moves the clock, and nothing is reclaimed before the next slice. */
/* The result is that of one moment: with or without all of the key. */
static void sources_that_expire_meanwhile_are_there_or_not(void **state)
{
    static const char *const cases[][4] = {
        {"SDIFF s t", "t", "9000"},
        {"SDIFFSTORE d s t", "t", "9000", "SCARD d"},
        {"SUNIONSTORE d s t", "st", "0", "SCARD d"},
        {"SINTERCARD 2 s t", "t", "0"},
        {"ZUNIONSTORE d 2 y z", "z", "9000", "ZCARD d"},
        {"ZINTERSTORE d 2 y z", "y", "0", "ZCARD d"},
        {"SORT l", "l", "0"},
        {"SORT s ALPHA", "s", "0"},
        {"SORT l BY nosort DESC", "l", "0"},
        {"SORT l STORE d", "l", "0", "LLEN d"},
        {"SORT y BY nosort STORE d", "y", "0", "LLEN d"},
    };
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        fill_all(runner);
        let_expire(runner, cases[i][1]);
        struct connection *client = begin(runner, cases[i][0]);
        for (int slice = 0; slice < 5; slice++)
            runner_slice(runner);
        runner_move_clock(runner, 20);
        for (int slice = 0; slice < STORES && client->session.waiter != NULL; slice++)
            runner_slice(runner);
        assert_null(client->session.waiter);
        if (cases[i][3] != NULL) {
            runner_expect_reply(client, cases[i][2]);
            runner_expect(runner, cases[i][2], cases[i][3]);
        } else {
            char *reply = buffer_content(&client->output);
            assert_int_equal(atol(reply + 1), atol(cases[i][2]));
            buffer_clear(&client->output);
        }
        runner_expect(runner, "OK", "FLUSHALL");
        runner_finish(runner, UINT64_MAX);
    }
}

/* Another work stores a source of this one, and slices of both fit into one turn. */
static void a_source_that_another_work_stores_is_old_or_new(void **state)
{
    struct command_runner *runner = *state;
    for (int lead = 0; lead < 32; lead++) {
        fill_all(runner);
        fill(runner, KEYS_SET, "u", 2 * MANY);
        fill(runner, KEYS_SET, "v", 2 * MANY);
        struct connection *storing = begin(runner, "SUNIONSTORE t u v");
        for (int slice = 0; slice < lead / 4; slice++)
            runner_slice(runner);
        struct connection *client = begin_as(runner, 2, "SDIFFSTORE d s t");
        do
            turn_watch_begin(&runner->server.turn, clock_usec(), clock_cpu_usec());
        while (runner_slice(runner));
        buffer_clear(&storing->output);
        char *reply = buffer_content(&client->output);
        assert_true(atol(reply + 1) == MANY || atol(reply + 1) == MANY / 2);
        buffer_clear(&client->output);
        turn_watch_end(&runner->server.turn, clock_cpu_usec());
        runner_expect(runner, "OK", "FLUSHALL");
        runner_finish(runner, UINT64_MAX);
    }
}

/* The end of an EXEC whose client goes away comes between two turns. */
static void what_a_client_that_leaves_flushes_is_noticed(void **state)
{
    struct command_runner *runner = *state;
    struct connection *gone = runner_connect(runner);
    fill_all(runner);
    struct connection *client = begin_as(runner, 2, "SDIFFSTORE d s t");
    int slices = runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "4500");
    runner_expect_of(runner, client, "", "SDIFFSTORE d s t");
    for (int slice = 1; slice < slices; slice++)
        runner_slice(runner);
    assert_non_null(client->session.waiter);
    runner_run(runner, gone, "MULTI");
    for (int i = 0; i < 2 * ALONE_AFTER; i++)
        runner_run(runner, gone, "GET none");
    runner_run(runner, gone, "FLUSHALL");
    runner_run(runner, gone, "EXEC");
    assert_true(alone_runs(&runner->server));
    session_leave(&runner->server, &gone->session);
    runner_finish(runner, UINT64_MAX);
    runner_expect_reply(client, "0");
    runner_expect(runner, "0", "EXISTS d");
}

static void crossing_stores_both_end(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    struct connection *one = begin(runner, "ZUNIONSTORE y 2 z s");
    struct connection *two = begin_as(runner, 2, "ZUNIONSTORE z 2 y t");
    assert_in_range(runner_finish(runner, SLICE_BYTES), 1, STORES * 2);
    assert_null(one->session.waiter);
    assert_null(two->session.waiter);
    runner_expect_reply(one, "13500");
    runner_expect_reply(two, "13500");
}

static void without_room_nothing_changes(void **state)
{
    struct command_runner *runner = *state;
    struct dueq_options full;
    fill_all(runner);
    runner_expect(runner, "OK", "SET d old");
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++) {
        if (strstr(stores[i], " d") == NULL)
            continue;
        runner_reopen(runner, NULL);
        struct connection *client = begin(runner, stores[i]);
        for (int slice = 0; slice < 6; slice++)
            runner_slice(runner);
        dueq_options_init(&full);
        full.disk_reserve_bytes = UINT64_MAX / 2;
        runner_reopen(runner, &full);
        runner_finish(runner, SLICE_BYTES);
        runner_expect_reply(client, "!FULL *");
        runner_expect(runner, "\"old\"", "GET d");
    }
}

static void a_store_that_is_opened_again_meanwhile_is_no_loss(void **state)
{
    struct command_runner *runner = *state;
    fill_all(runner);
    struct connection *client = begin(runner, "SUNIONSTORE d s t");
    for (int slice = 0; slice < 12; slice++)
        runner_slice(runner);
    runner_reopen(runner, NULL);
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "13500");
    runner_expect(runner, "13500", "SCARD d");
}

static void too_much_for_a_transaction_is_refused(void **state)
{
    struct command_runner *runner = *state;
    char line[100] = "SUNIONSTORE d";
    for (int from = 0; from < 3 * MANY; from += MANY)
        fill(runner, KEYS_SET, "s", from);
    for (int i = 0; i < 38; i++)
        strcat(line, " s");
    fill(runner, KEYS_SET, "t", 0);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", line);
    runner_expect(runner, "QUEUED", "SINTERCARD 2 s t");
    runner_expect(runner, "[!ERR 1026000 elements are too much* 9000]", "EXEC");
    runner_expect(runner, "0", "EXISTS d");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        runner_test(slices_reply_what_one_turn_does),
        runner_test(slices_store_what_one_turn_does),
        runner_test(others_see_the_target_as_it_was_until_the_end),
        runner_test(long_replies_are_made_in_slices),
        runner_test(a_client_that_leaves_leaves_nothing),
        runner_test(sources_that_change_meanwhile_are_read_anew),
        runner_test(sources_that_expire_meanwhile_are_there_or_not),
        runner_test(a_source_that_another_work_stores_is_old_or_new),
        runner_test(what_a_client_that_leaves_flushes_is_noticed),
        runner_test(crossing_stores_both_end),
        runner_test(without_room_nothing_changes),
        runner_test(a_store_that_is_opened_again_meanwhile_is_no_loss),
        runner_test(too_much_for_a_transaction_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
