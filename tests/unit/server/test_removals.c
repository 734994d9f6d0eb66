/* Commands that remove many elements: they find them in slices and remove them at once. They
 * change nothing if the client disconnects before. */
#include "storage/store.h"
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
#include <string.h>

enum {
    MANY = 20000,
    TAKEN = 15000,
    LEAST_SLICES = TAKEN / LONG_STEPS,
    SLICE_BYTES = 4096 /* in the journal: only the last step writes, and it is small */
};

static struct keys_view view_of(struct command_runner *runner)
{
    return (struct keys_view){store_keys(runner->server.store), 0, runner->server.now};
}

/* Fills the key with e10000 to e29999; in a sorted set with scores from 0 on, or all 0. */
static void fill(struct command_runner *runner, const char *key, enum keys_type type,
                 bool scored)
{
    struct keys_view view = view_of(runner);
    struct dueq_slice name = dueq_slice(key, strlen(key));
    bool added;
    for (int i = 0; i < MANY; i++) {
        char text[16];
        struct dueq_slice e = dueq_slice(text, (size_t)snprintf(text, 16, "e%d", 10000 + i));
        if (type == KEYS_LIST)
            assert_int_equal(list_push(&view, name, LIST_TAIL, e), DUEQ_OK);
        else if (type == KEYS_SET)
            assert_int_equal(set_add(&view, name, e, &added), DUEQ_OK);
        else
            assert_int_equal(zset_put(&view, name, e, scored ? i : 0, &added), DUEQ_OK);
    }
    runner_commit(runner);
}

static struct connection *begin(struct command_runner *runner, const char *line)
{
    struct connection *client = runner_connect(runner);
    runner->by_slices = true;
    runner_expect_of(runner, client, "", line);
    assert_non_null(client->session.waiter);
    return client;
}

static void erase(struct command_runner *runner)
{
    while (dueq_tick(runner->server.store, runner->server.now, 1000))
        runner_commit(runner);
    runner_commit(runner);
}

/* ---- */

struct taking {
    enum keys_type type;
    bool scored;
    const char *line, *reply;  /* the command, and how its reply begins */
    const char *shown, *first; /* a command that shows what remains, and how its reply begins */
};

static const struct taking takings[] = {
    {KEYS_LIST, false, "LPOP k 15000", "[\"e10000\" \"e10001\" *", "LINDEX k 0", "\"e25000\""},
    {KEYS_LIST, false, "RPOP k 15000", "[\"e29999\" \"e29998\" *", "LINDEX k -1", "\"e14999\""},
    {KEYS_LIST, false, "LMPOP 2 none k LEFT COUNT 15000", "[\"k\" [\"e10000\" *", "LINDEX k 0",
     "\"e25000\""},
    {KEYS_LIST, false, "BLMPOP 0 1 k RIGHT COUNT 15000", "[\"k\" [\"e29999\" *", "LINDEX k -1",
     "\"e14999\""},
    {KEYS_SET, false, "SPOP k 15000", "[\"e*", "TYPE k", "set"},
    {KEYS_ZSET, true, "ZPOPMIN k 15000", "[\"e10000\" \"0\" \"e10001\" \"1\" *", "ZRANGE k 0 0",
     "[\"e25000\"]"},
    {KEYS_ZSET, true, "ZPOPMAX k 15000", "[\"e29999\" \"19999\" *", "ZRANGE k -1 -1",
     "[\"e14999\"]"},
    {KEYS_ZSET, true, "ZMPOP 1 k MAX COUNT 15000", "[\"k\" [[\"e29999\" \"19999\"] *",
     "ZRANGE k -1 -1", "[\"e14999\"]"},
    {KEYS_ZSET, true, "BZMPOP 0 1 k MIN COUNT 15000", "[\"k\" [[\"e10000\" \"0\"] *",
     "ZRANGE k 0 0", "[\"e25000\"]"},
    {KEYS_ZSET, true, "ZREMRANGEBYRANK k 1000 15999", "15000", "ZRANGE k 999 1000",
     "[\"e10999\" \"e26000\"]"},
    {KEYS_ZSET, true, "ZREMRANGEBYRANK k 4500 -501", "15000", "ZRANGE k 4499 4500",
     "[\"e14499\" \"e29500\"]"},
    {KEYS_ZSET, true, "ZREMRANGEBYSCORE k (4999 inf", "15000", "ZRANGE k -1 -1",
     "[\"e14999\"]"},
    {KEYS_ZSET, false, "ZREMRANGEBYLEX k [e12000 (e27000", "15000", "ZRANGE k 1999 2000",
     "[\"e11999\" \"e27000\"]"},
};

static const char *size_line(enum keys_type type)
{
    return type == KEYS_LIST ? "LLEN k" : type == KEYS_SET ? "SCARD k" : "ZCARD k";
}

static void others_see_all_of_it_and_then_what_is_left(void **state)
{
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(takings) / sizeof(takings[0]); i++) {
        const struct taking *taking = &takings[i];
        fill(runner, "k", taking->type, taking->scored);
        struct connection *client = begin(runner, taking->line);
        for (int slice = 0; slice < LEAST_SLICES - 1; slice++) {
            assert_true(runner_slice(runner));
            runner_expect(runner, "20000", size_line(taking->type));
        }
        runner_finish(runner, SLICE_BYTES);
        runner_expect_reply(client, taking->reply);
        for (int erased = 0; erased < 2; erased++) {
            runner_expect(runner, "5000", size_line(taking->type));
            runner_expect(runner, taking->first, taking->shown);
            erase(runner);
        }
        runner_expect(runner, "OK", "FLUSHDB");
        erase(runner);
    }
}

static void a_client_that_leaves_has_taken_nothing(void **state)
{
    struct command_runner *runner = *state;
    for (size_t i = 0; i < sizeof(takings) / sizeof(takings[0]); i++) {
        fill(runner, "k", takings[i].type, takings[i].scored);
        struct connection *client = begin(runner, takings[i].line);
        runner_slice(runner);
        runner_slice(runner);
        waiters_cancel(&runner->server, &client->session);
        assert_int_equal(long_works_count(runner->server.long_works), 0);
        runner_expect(runner, "20000", size_line(takings[i].type));
        runner_expect(runner, "OK", "FLUSHDB");
    }
}

static void two_take_from_one_key_one_after_the_other(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, "k", KEYS_ZSET, true);
    struct connection *first = begin(runner, "ZPOPMIN k 8000");
    struct connection *second = begin(runner, "ZPOPMIN k 8000");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(first, "[\"e10000\" *");
    runner_expect_reply(second, "[\"e18000\" *");
    runner_expect(runner, "4000", "ZCARD k");
    runner_expect(runner, "[\"e26000\"]", "ZRANGE k 0 0");
}

static void a_key_that_goes_meanwhile_has_nothing_to_take(void **state)
{
    static const char *const lines[][2] = {{"LPOP k 15000", "nil"},
                                           {"LMPOP 1 k LEFT COUNT 15000", "nil"},
                                           {"BLMPOP 0 1 k LEFT COUNT 15000", "nil"}};
    struct command_runner *runner = *state;
    for (size_t i = 0; i < 3; i++) {
        fill(runner, "k", KEYS_LIST, false);
        struct connection *client = begin(runner, lines[i][0]);
        runner_slice(runner);
        runner_slice(runner);
        runner_expect(runner, "OK", "FLUSHDB");
        runner_finish(runner, SLICE_BYTES);
        runner_expect_reply(client, lines[i][1]);
    }
}

static void what_comes_back_stays_while_the_rest_is_erased(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, "k", KEYS_ZSET, true);
    struct connection *client = begin(runner, "ZREMRANGEBYSCORE k 0 14999");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "15000");
    runner_expect(runner, "nil", "ZSCORE k e10007");
    runner_expect(runner, "3", "ZADD k 7 e10007 50000 e10008 8.5 new");
    for (int erased = 0; erased < 2; erased++) {
        runner_expect(runner, "5003", "ZCARD k");
        runner_expect(runner, "[\"e10007\" \"new\" \"e25000\"]", "ZRANGE k 0 2");
        runner_expect(runner, "\"50000\"", "ZSCORE k e10008");
        runner_expect(runner, "[\"e10008\"]", "ZRANGE k -1 -1");
        runner_expect(runner, "nil", "ZSCORE k e10009");
        erase(runner);
    }
}

static void who_waited_for_a_key_takes_many_in_slices(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "", "BLMPOP 0 1 k LEFT COUNT 15000");
    runner->by_slices = true;
    fill(runner, "source", KEYS_LIST, false);
    runner_expect(runner, "OK", "RENAME source k");
    runner_commit(runner);
    runner_expect(runner, "20000", "LLEN k");
    assert_true(runner_finish(runner, SLICE_BYTES) >= LEAST_SLICES);
    runner_expect_reply(client, "[\"k\" [\"e10000\" *");
    runner_expect(runner, "5000", "LLEN k");
}

static void in_a_transaction_its_slices_follow_each_other(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, "k", KEYS_ZSET, true);
    runner->by_slices = true;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "ZREMRANGEBYRANK k 0 9999");
    runner_expect(runner, "QUEUED", "ZADD k 3 e10003");
    runner_expect(runner, "QUEUED", "ZPOPMAX k 5000");
    runner_expect(runner, "QUEUED", "ZCARD k");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, UINT64_MAX), 5, 100);
    runner_expect_reply(runner->clients[0], "[10000 1 [*] 5001]");
    runner_expect(runner, "[\"e10003\" \"e20000\"]", "ZRANGE k 0 1");
    runner_expect(runner, "[\"e24999\"]", "ZRANGE k -1 -1");
    erase(runner);
    runner_expect(runner, "[\"e10003\" \"e20000\"]", "ZRANGE k 0 1");
}

static void a_key_that_goes_while_it_is_erased_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;
    fill(runner, "k", KEYS_ZSET, true);
    runner_expect(runner, "15000", "ZREMRANGEBYRANK k 0 14999");
    runner_expect(runner, "OK", "RENAME k other");
    runner_expect(runner, "1", "COPY other copy");
    runner_expect(runner, "1", "DEL other");
    erase(runner);
    runner_expect(runner, "5000", "ZCARD copy");
    runner_expect(runner, "[\"e25000\"]", "ZRANGE copy 0 0");
    runner_expect(runner, "1", "DEL copy");
    erase(runner);
    assert_int_equal(record_count(runner->server.store, "hygz"), 0);
}

static void all_of_a_key_may_go(void **state)
{
    static const char *const lines[] = {"SPOP k 20000", "SPOP k 99999999"};
    struct command_runner *runner = *state;
    for (size_t i = 0; i < 2; i++) {
        fill(runner, "k", KEYS_SET, false);
        struct connection *client = begin(runner, lines[i]);
        runner_finish(runner, SLICE_BYTES);
        runner_expect_reply(client, "[\"e*");
        runner_expect(runner, "0", "EXISTS k");
    }
    fill(runner, "k", KEYS_ZSET, true);
    struct connection *client = begin(runner, "ZREMRANGEBYSCORE k -inf inf");
    runner_finish(runner, SLICE_BYTES);
    runner_expect_reply(client, "20000");
    runner_expect(runner, "0", "EXISTS k");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(others_see_all_of_it_and_then_what_is_left),
        runner_test(a_client_that_leaves_has_taken_nothing),
        runner_test(two_take_from_one_key_one_after_the_other),
        runner_test(a_key_that_goes_meanwhile_has_nothing_to_take),
        runner_test(what_comes_back_stays_while_the_rest_is_erased),
        runner_test(who_waited_for_a_key_takes_many_in_slices),
        runner_test(in_a_transaction_its_slices_follow_each_other),
        runner_test(a_key_that_goes_while_it_is_erased_leaves_nothing),
        runner_test(all_of_a_key_may_go),
    };
    return cmocka_run_group_tests_name("removals", tests, NULL, NULL);
}
