/* MULTI, EXEC, DISCARD, WATCH, UNWATCH. Expected is what Redis 7.0.15 answers. */
#include "storage/kv/kv.h"
#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

/* ---- MULTI and EXEC */

static void commands_are_queued_and_run_together(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "SET k 1"},
        {"QUEUED", "INCR k"},
        {"QUEUED", "GET k"},
        {"QUEUED", "LPUSH k x"},
        {"QUEUED", "PING"},
        {"QUEUED", "ECHO hello"},
        {"[OK 2 \"2\" !WRONGTYPE Operation against a key holding the wrong kind of value PONG "
         "\"hello\"]",
         "EXEC"},
        {"\"2\"", "GET k"},
        {"!ERR EXEC without MULTI", "EXEC"},
        {"!ERR DISCARD without MULTI", "DISCARD"},
        {"OK", "MULTI"},
        {"[]", "EXEC"},
        {"!ERR wrong number of arguments for 'multi' command", "MULTI x"},
        {"!EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' "
         "command",
         "EXEC x"},
        {"!ERR wrong number of arguments for 'discard' command", "DISCARD x"},
    };

    runner_expect_all(*state, cases);
}

static void nothing_happens_before_exec(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "!ERR unknown command 'a:', with args beginning with: 'SET' 'k' '1' ",
         "a: SET k 1"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SET k 2"},
        {'b', "nil", "GET k"},
        {'a', "OK", "DISCARD"},
        {'b', "nil", "GET k"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SET k 3"},
        {'b', "nil", "GET k"},
        {'a', "[OK]", "EXEC"},
        {'b', "\"3\"", "GET k"},
    };

    runner_follow(*state, steps);
}

static void a_transaction_is_not_nested(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},       {"!ERR MULTI calls can not be nested", "MULTI"},
        {"QUEUED", "SET k v"}, {"[OK]", "EXEC"},
        {"\"v\"", "GET k"},
    };

    runner_expect_all(*state, cases);
}

static void what_cannot_be_queued_aborts(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"!ERR wrong number of arguments for 'set' command", "SET k"},
        {"QUEUED", "SET k v"},
        {"!EXECABORT Transaction discarded because of previous errors.", "EXEC"},
        {"0", "EXISTS k"},
        {"OK", "MULTI"},
        {"!ERR unknown command 'NOSUCH', with args beginning with: 'x' ", "NOSUCH x"},
        {"!EXECABORT Transaction discarded because of previous errors.", "EXEC"},
        {"OK", "MULTI"},
        {"!ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.", "CLIENT NOSUCH"},
        {"QUEUED", "PING"},
        {"!EXECABORT Transaction discarded because of previous errors.", "EXEC"},
        {"OK", "MULTI"},
        {"QUEUED", "SET k v"},
        {"[OK]", "EXEC"},
    };

    runner_expect_all(*state, cases);
}

static void a_watch_inside_is_refused_and_does_not_abort(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},       {"!ERR WATCH inside MULTI is not allowed", "WATCH k"},
        {"QUEUED", "SET k v"}, {"[OK]", "EXEC"},
        {"OK", "MULTI"},       {"QUEUED", "UNWATCH"},
        {"QUEUED", "SET k w"}, {"[OK OK]", "EXEC"},
    };

    runner_expect_all(*state, cases);
}

static void a_command_that_fails_does_not_stop_the_others(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET s v"},
        {"OK", "MULTI"},
        {"QUEUED", "LPUSH s x"},
        {"QUEUED", "SET t v"},
        {"QUEUED", "INCR s"},
        {"[!WRONGTYPE Operation against a key holding the wrong kind of value OK !ERR value is "
         "not an integer or out of range]",
         "EXEC"},
        {"\"v\"", "GET t"},
    };

    runner_expect_all(*state, cases);
}

/* Seven SETRANGE to 512 MB are more than one record holds; the test has a smaller limit. */
static void what_its_record_cannot_hold_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "SETRANGE a 3000000 x"},
        {"QUEUED", "SETRANGE b 3000000 x"},
        {"QUEUED", "SETRANGE c 3000000 x"},
        {"QUEUED", "SET d small"},
        {"[3000001 3000001 !TOOBIG * OK]", "EXEC"},
        {"nil", "GET c"},
        {"\"small\"", "GET d"},
        {"3000001", "SETRANGE c 3000000 x"},
    };
    struct command_runner *runner = *state;
    struct dueq_options options;
    uint64_t lsn;

    dueq_options_init(&options);
    options.record_bytes = 8 << 20;
    runner_reopen(runner, &options);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        runner_expect(runner, cases[i][0], cases[i][1]);
        if (i >= 5) /* the turn ends */
            assert_int_equal(dueq_commit(runner->server.store, runner->server.now, &lsn),
                             DUEQ_OK);
    }
}

/* The bytes are told, but not there: they are never touched. */
static void what_is_queued_has_a_largest_size(void **state)
{
    struct command_runner *runner = *state;
    struct argument words[] = {{"DEL", 3}, {"k", 1}};
    struct request request = {2, words, ((size_t)1 << 30) + 1};

    runner_expect(runner, "OK", "MULTI");
    connection_run(runner->clients[0], &request, NULL, false);
    runner_expect_reply(runner->clients[0],
                        "!TOOBIG larger than the limit: 512 MiB a value, the topic's max-body; "
                        "in a transaction 1 GiB of arguments and 2688 MiB of changes");
    runner_expect(runner, "QUEUED", "SET k v");
    runner_expect(runner, "!EXECABORT Transaction discarded because of previous errors.",
                  "EXEC");
    runner_expect(runner, "0", "EXISTS k");
}

/* Each argument becomes records, which are larger than it. */
static void what_many_arguments_become_is_reckoned_with(void **state)
{
    struct command_runner *runner = *state;
    struct dueq_options options;
    char line[256] = "SADD s";
    for (int i = 0; i < 60; i++)
        sprintf(line + strlen(line), " %d", i);
    dueq_options_init(&options);
    options.record_bytes = 4 << 20;
    runner_reopen(runner, &options);
    runner_expect(runner, "OK", "MULTI");
    for (int i = 0; i < 1000; i++)
        runner_expect(runner, "QUEUED", line);
    runner_expect(runner, "!EXECABORT Transaction discarded because of: TOOBIG *", "EXEC");
    runner_expect(runner, "0", "EXISTS s");
}

static void databases_are_chosen_inside(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SET k zero"},
        {"OK", "MULTI"},
        {"QUEUED", "SELECT 1"},
        {"QUEUED", "SET k one"},
        {"QUEUED", "SELECT 99"},
        {"QUEUED", "GET k"},
        {"[OK OK !ERR DB index is out of range \"one\"]", "EXEC"},
        {"\"one\"", "GET k"},
        {"OK", "SELECT 0"},
        {"\"zero\"", "GET k"},
        {"OK", "MULTI"},
        {"QUEUED", "SELECT 1"},
        {"OK", "DISCARD"},
        {"\"zero\"", "GET k"},
    };

    runner_expect_all(*state, cases);
}

static void blocking_commands_do_not_wait_inside(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "BLPOP none 0"},
        {"QUEUED", "BRPOP none 0"},
        {"QUEUED", "BRPOPLPUSH none other 0"},
        {"QUEUED", "BLMOVE none other LEFT RIGHT 0"},
        {"QUEUED", "BLMPOP 0 1 none LEFT"},
        {"QUEUED", "BZPOPMIN none 0"},
        {"QUEUED", "BZPOPMAX none 0"},
        {"QUEUED", "BZMPOP 0 1 none MIN"},
        {"QUEUED", "WAIT 1 0"},
        {"QUEUED", "BLPOP none x"},
        {"QUEUED", "BLPOP none -1"},
        {"[nil nil nil nil nil nil nil nil 0 !ERR timeout is not a float or out of range !ERR "
         "timeout is negative]",
         "EXEC"},
        {"2", "RPUSH l a b"},
        {"OK", "MULTI"},
        {"QUEUED", "BLPOP l 0"},
        {"QUEUED", "BLPOP l 0"},
        {"QUEUED", "BLPOP l 0"},
        {"[[\"l\" \"a\"] [\"l\" \"b\"] nil]", "EXEC"},
        {"*", "HELLO 3"},
        {"OK", "MULTI"},
        {"QUEUED", "BLPOP none 0"},
        {"QUEUED", "BRPOPLPUSH none other 0"},
        {"QUEUED", "BZPOPMIN none 0"},
        {"[_ _ _]", "EXEC"},
    };

    runner_expect_all(*state, cases);
}

static void subscriptions_begin_inside(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SUBSCRIBE c"},
        {'a', "QUEUED", "PING"},
        {'a', "[[\"subscribe\" \"c\" 1] [\"pong\" \"\"]]", "EXEC"},
        {'b', "1", "PUBLISH c hello"},
        {'a', "[\"message\" \"c\" \"hello\"]", NULL},
    };

    runner_follow(*state, steps);
}

/* ---- all of it or nothing */

/* Opens the store again, with a full disk or without. */
static void reopen(struct command_runner *runner, bool full)
{
    struct dueq_options options;
    dueq_options_init(&options);
    if (full)
        options.disk_reserve_bytes = UINT64_MAX / 2;
    runner_reopen(runner, &options);
}

static void no_room_before_exec_aborts_it(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "\"a\"", "Q.PUSH step1 body ID a");
    runner_expect(runner, "[[\"a\" 1 *]]", "Q.CLAIM step1");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.ACK step1 a 1");
    runner_expect(runner, "QUEUED", "Q.PUSH step2 body ID a");
    reopen(runner, true);
    runner_expect(runner, "!EXECABORT Transaction discarded because of: FULL there is no room*",
                  "EXEC");
    runner_expect(runner, "!ERR EXEC without MULTI", "EXEC");
    runner_expect(runner, "1", "Q.LEN step1 claimed");
    runner_expect(runner, "0", "Q.LEN step2");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "Q.ACK step1 a 1");
    runner_expect(runner, "[1]", "EXEC"); /* commands that drain still work */
}

static void a_store_that_is_gone_before_exec_aborts_it(void **state)
{
    struct command_runner *runner = *state;
    struct dueq *store = runner->server.store;
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "CLIENT SETNAME me");
    runner_expect(runner, "QUEUED", "SET k v");
    runner->server.store = NULL;
    runner_expect(runner, "!EXECABORT Transaction discarded because of: MISCONF *", "EXEC");
    runner_expect(runner, "nil", "CLIENT GETNAME");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "!MISCONF *", "GET k");
    runner_expect(runner, "!EXECABORT *previous errors.", "EXEC");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "PING");
    runner_expect(runner, "QUEUED", "CLIENT GETNAME");
    runner_expect(runner, "[PONG nil]", "EXEC");
    runner->server.store = store;
    runner_expect(runner, "nil", "GET k");
}

static uint64_t records(struct command_runner *runner)
{
    return kv_last_lsn(runner->server.store->kv);
}

/* The EXEC writes eight times the bytes at which a batch is committed early. In its middle it
 * unblocks a waiting client. */
static void a_large_exec_is_one_record(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    runner_expect_of(runner, other, "", "BLPOP nothing 0");
    runner_expect(runner, "OK", "MULTI");
    for (int i = 0; i < 8; i++) {
        char line[64];
        snprintf(line, sizeof(line), "SETRANGE k%d 8388608 x", i);
        runner_expect(runner, "QUEUED", line);
        runner_expect(runner, "QUEUED", "CLIENT UNBLOCK 2");
    }
    runner_expect(runner, "QUEUED", "BGSAVE");
    uint64_t before = records(runner);
    runner_expect(runner, "[8388609 1 8388609 0 *]", "EXEC");
    runner_expect_reply(other, "nil");
    runner_reopen(runner, NULL);
    assert_int_equal(records(runner), before + 1);
}

static void subscriptions_do_not_refuse_what_is_queued(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "SUBSCRIBE c"},
        {"QUEUED", "SET k v"},
        {"[[\"subscribe\" \"c\" 1] OK]", "EXEC"},
        {"[\"unsubscribe\" \"c\" 0]", "UNSUBSCRIBE"},
        {"\"v\"", "GET k"},
    };

    runner_expect_all(*state, cases);
}

static void some_commands_are_not_allowed_inside(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "MONITOR"},
        {"QUEUED", "SET k v"},
        {"[!ERR MONITOR isn't allowed for DENY BLOCKING client OK]", "EXEC"},
        {"OK", "MULTI"},
        {"QUEUED", "WAIT 0 0"},
        {"[0]", "EXEC"},
    };

    runner_expect_all(*state, cases);
}

static void an_exec_wakes_who_waits(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "", "BLPOP l 0"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "RPUSH l a"},
        {'a', "QUEUED", "LPOP l"},
        {'a', "QUEUED", "RPUSH l b"},
        {'a', "QUEUED", "SET k v"},
        {'a', "[1 \"a\" 1 OK]", "EXEC"},
        {'b', "[\"l\" \"b\"]", NULL},
        {'a', "0", "LLEN l"},
    };

    runner_follow(*state, steps);
}

static void what_is_taken_away_inside_is_not_given_out(void **state)
{
    static const struct runner_step steps[] = {
        {'b', "", "BLPOP l 0"},   {'a', "OK", "MULTI"},         {'a', "QUEUED", "RPUSH l a"},
        {'a', "QUEUED", "DEL l"}, {'a', "[1 1]", "EXEC"},       {'b', "", NULL},
        {'a', "1", "RPUSH l b"},  {'b', "[\"l\" \"b\"]", NULL},
    };

    runner_follow(*state, steps);
}

static void a_reset_ends_it(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},    {"QUEUED", "SET k v"},
        {"RESET", "RESET"}, {"!ERR EXEC without MULTI", "EXEC"},
        {"0", "EXISTS k"},
    };

    runner_expect_all(*state, cases);
}

static void a_null_is_resp3_when_the_watched_changed(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "*", "HELLO 3"}, {'a', "OK", "WATCH k"},  {'b', "OK", "SET k v"},
        {'a', "OK", "MULTI"},  {'a', "QUEUED", "PING"}, {'a', "_", "EXEC"},
    };

    runner_follow(*state, steps);
}

/* ---- WATCH */

static void a_change_by_another_client_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k 1"},  {'a', "OK", "WATCH k"},     {'b', "OK", "SET k 2"},
        {'a', "OK", "MULTI"},    {'a', "QUEUED", "SET k 3"}, {'a', "nil", "EXEC"},
        {'a', "\"2\"", "GET k"}, {'a', "OK", "MULTI"},       {'a', "QUEUED", "SET k 3"},
        {'a', "[OK]", "EXEC"},   {'a', "\"3\"", "GET k"},
    };

    runner_follow(*state, steps);
}

static void a_change_of_its_own_aborts(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "WATCH k"},     {"OK", "SET k 1"}, {"OK", "MULTI"},
        {"QUEUED", "SET k 2"}, {"nil", "EXEC"},   {"\"1\"", "GET k"},
    };

    runner_expect_all(*state, cases);
}

static void a_change_of_another_key_does_not_abort(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH k l"},   {'b', "OK", "SET m 1"}, {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SET k 2"}, {'a', "[OK]", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void one_of_several_keys_is_enough(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH a b c"}, {'b', "OK", "SET c 1"}, {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SET k 2"}, {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void what_does_not_change_the_key_does_not_abort(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET s v"},
        {'a', "1", "SADD set x"},
        {'a', "1", "ZADD z 1 a"},
        {'a', "1", "HSET h f v"},
        {'a', "OK", "WATCH s set z h none"},
        {'b', "0", "SADD set x"},
        {'b', "0", "ZADD z 1 a"},
        {'b', "0", "ZADD z NX 2 a"},
        {'b', "0", "HDEL h none"},
        {'b', "0", "SREM set none"},
        {'b', "0", "ZREM z none"},
        {'b', "0", "DEL none"},
        {'b', "\"v\"", "GET s"},
        {'b', "0", "HSETNX h f w"},
        {'b', "0", "SETNX s w"},
        {'b', "0", "PERSIST s"},
        {'b', "0", "EXPIRE none 10"},
        {'b', "0", "LPUSHX none x"},
        {'b', "1", "SETRANGE s 0 \"\""},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void the_same_value_again_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET s v"},    {'a', "OK", "WATCH s"},    {'b', "OK", "SET s v"},
        {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},   {'a', "nil", "EXEC"},
        {'a', "1", "HSET h f v"},  {'a', "OK", "WATCH h"},    {'b', "0", "HSET h f v"},
        {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},   {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH none"}, {'b', "OK", "SET none v"}, {'b', "1", "DEL none"},
        {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},   {'a', "nil", "EXEC"},
        {'a', "1", "RPUSH l a"},   {'a', "OK", "WATCH l"},    {'b', "OK", "LSET l 0 a"},
        {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},   {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void a_change_of_the_expiry_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v"},
        {'a', "OK", "WATCH k"},
        {'b', "1", "EXPIRE k 100"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH k"},
        {'b', "1", "PERSIST k"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH k"},
        {'b', "\"v\"", "GETEX k EX 100"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH k"},
        {'b', "\"v\"", "GETEX k"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void a_key_that_expires_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v PX 500"}, {'a', "OK", "WATCH k"},  {'+', NULL, "600"},
        {'a', "OK", "MULTI"},          {'a', "QUEUED", "PING"}, {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void a_key_that_had_expired_before_does_not(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v PX 100"}, {'+', NULL, "200"},   {'a', "OK", "WATCH k"},
        {'b', "nil", "GET k"},         {'a', "OK", "MULTI"}, {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void a_key_that_comes_and_expires_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH k"}, {'b', "OK", "SET k v PX 200"}, {'+', NULL, "300"},
        {'a', "OK", "MULTI"},   {'a', "QUEUED", "PING"},       {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void emptying_the_database_aborts_when_the_key_was_there(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v"},  {'a', "OK", "WATCH k"},  {'b', "OK", "FLUSHDB"},
        {'a', "OK", "MULTI"},    {'a', "QUEUED", "PING"}, {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH k"},  {'b', "OK", "FLUSHDB"},  {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"}, {'a', "[PONG]", "EXEC"}, {'a', "OK", "WATCH k"},
        {'b', "OK", "FLUSHALL"}, {'a', "OK", "MULTI"},    {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"}, {'a', "OK", "SET k v"},  {'a', "OK", "WATCH k"},
        {'b', "OK", "SELECT 1"}, {'b', "OK", "FLUSHDB"},  {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"}, {'a', "[PONG]", "EXEC"}, {'a', "OK", "WATCH k"},
        {'b', "OK", "FLUSHALL"}, {'a', "OK", "MULTI"},    {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void another_database_in_its_place_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET k v"},    {'a', "OK", "WATCH k"},    {'b', "OK", "SWAPDB 0 1"},
        {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},   {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH k"},    {'b', "OK", "SWAPDB 0 1"}, {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},   {'a', "nil", "EXEC"},      {'a', "OK", "WATCH none"},
        {'b', "OK", "SWAPDB 0 1"}, {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},   {'a', "OK", "FLUSHALL"},   {'a', "OK", "WATCH k"},
        {'b', "OK", "SELECT 1"},   {'b', "OK", "SET k v"},    {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},   {'a', "[PONG]", "EXEC"},   {'a', "OK", "WATCH k"},
        {'b', "OK", "SWAPDB 2 3"}, {'a', "OK", "MULTI"},      {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void watches_are_of_the_database_at_the_time(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH k"},  {'a', "OK", "SELECT 1"}, {'a', "OK", "SET k v"},
        {'a', "OK", "MULTI"},    {'a', "QUEUED", "PING"}, {'a', "[PONG]", "EXEC"},
        {'a', "OK", "SELECT 0"}, {'a', "OK", "WATCH k"},  {'a', "OK", "SELECT 1"},
        {'b', "OK", "SET k v"},  {'a', "OK", "MULTI"},    {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void renaming_aborts_for_both_names(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET from v"},
        {'a', "OK", "WATCH from"},
        {'b', "OK", "RENAME from to"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH from"},
        {'b', "OK", "RENAME to from"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH from"},
        {'b', "OK", "RENAME from from"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
        {'a', "OK", "WATCH to"},
        {'b', "1", "COPY from to"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH from"},
        {'b', "1", "COPY from to REPLACE"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
        {'a', "OK", "WATCH from"},
        {'b', "1", "MOVE from 1"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void moving_elements_aborts_for_both_lists(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "2", "RPUSH from a b"},
        {'a', "OK", "WATCH to"},
        {'b', "\"a\"", "LMOVE from to LEFT RIGHT"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "WATCH from"},
        {'b', "\"b\"", "RPOPLPUSH from to"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void what_another_client_takes_while_waiting_aborts(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH l"},       {'b', "", "BLPOP l 0"}, {'c', "1", "RPUSH l a"},
        {'b', "[\"l\" \"a\"]", NULL}, {'a', "OK", "MULTI"},   {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void unwatch_and_discard_forget(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH k"},
        {'b', "OK", "SET k 1"},
        {'a', "OK", "UNWATCH"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
        {'a', "OK", "WATCH k"},
        {'b', "OK", "SET k 2"},
        {'a', "OK", "MULTI"},
        {'a', "OK", "DISCARD"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
        {'a', "OK", "WATCH k"},
        {'b', "OK", "SET k 3"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
        {'a', "OK", "WATCH k"},
        {'b', "OK", "SET k 4"},
        {'a', "RESET", "RESET"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
        {'a', "OK", "UNWATCH"},
        {'a', "!ERR wrong number of arguments for 'unwatch' command", "UNWATCH x"},
        {'a', "!ERR wrong number of arguments for 'watch' command", "WATCH"},
    };

    runner_follow(*state, steps);
}

static void a_failed_queue_forgets_too(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH k"},
        {'a', "OK", "MULTI"},
        {'a', "!ERR wrong number of arguments for 'set' command", "SET k"},
        {'a', "!EXECABORT Transaction discarded because of previous errors.", "EXEC"},
        {'b', "OK", "SET k 1"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "PING"},
        {'a', "[PONG]", "EXEC"},
    };

    runner_follow(*state, steps);
}

static void a_watch_is_told_once_and_by_many(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "WATCH k"}, {'b', "OK", "WATCH k"}, {'a', "OK", "WATCH k k"},
        {'c', "OK", "SET k v"}, {'a', "OK", "MULTI"},   {'a', "QUEUED", "PING"},
        {'a', "nil", "EXEC"},   {'b', "OK", "MULTI"},   {'b', "QUEUED", "PING"},
        {'b', "nil", "EXEC"},
    };

    runner_follow(*state, steps);
}

/* ---- events */

static void events_of_an_exec_come_behind_one_another(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "CONFIG SET notify-keyspace-events EA"},
        {'b', "[\"psubscribe\" \"*\" 1]", "PSUBSCRIBE *"},
        {'a', "OK", "MULTI"},
        {'a', "QUEUED", "SET k 1"},
        {'a', "QUEUED", "INCR k"},
        {'a', "QUEUED", "DEL k"},
        {'a', "[OK 2 1]", "EXEC"},
        {'b',
         "[\"pmessage\" \"*\" \"__keyevent@0__:set\" \"k\"] [\"pmessage\" \"*\" "
         "\"__keyevent@0__:incrby\" \"k\"] [\"pmessage\" \"*\" \"__keyevent@0__:del\" \"k\"]",
         NULL},
    };

    runner_follow(*state, steps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(commands_are_queued_and_run_together),
        runner_test(nothing_happens_before_exec),
        runner_test(a_transaction_is_not_nested),
        runner_test(what_cannot_be_queued_aborts),
        runner_test(a_watch_inside_is_refused_and_does_not_abort),
        runner_test(a_command_that_fails_does_not_stop_the_others),
        runner_test(what_its_record_cannot_hold_is_refused),
        runner_test(what_is_queued_has_a_largest_size),
        runner_test(what_many_arguments_become_is_reckoned_with),
        runner_test(databases_are_chosen_inside),
        runner_test(blocking_commands_do_not_wait_inside),
        runner_test(subscriptions_begin_inside),
        runner_test(no_room_before_exec_aborts_it),
        runner_test(a_store_that_is_gone_before_exec_aborts_it),
        runner_test(a_large_exec_is_one_record),
        runner_test(subscriptions_do_not_refuse_what_is_queued),
        runner_test(some_commands_are_not_allowed_inside),
        runner_test(an_exec_wakes_who_waits),
        runner_test(what_is_taken_away_inside_is_not_given_out),
        runner_test(a_reset_ends_it),
        runner_test(a_null_is_resp3_when_the_watched_changed),
        runner_test(a_change_by_another_client_aborts),
        runner_test(a_change_of_its_own_aborts),
        runner_test(a_change_of_another_key_does_not_abort),
        runner_test(one_of_several_keys_is_enough),
        runner_test(what_does_not_change_the_key_does_not_abort),
        runner_test(the_same_value_again_aborts),
        runner_test(a_change_of_the_expiry_aborts),
        runner_test(a_key_that_expires_aborts),
        runner_test(a_key_that_had_expired_before_does_not),
        runner_test(a_key_that_comes_and_expires_aborts),
        runner_test(emptying_the_database_aborts_when_the_key_was_there),
        runner_test(another_database_in_its_place_aborts),
        runner_test(watches_are_of_the_database_at_the_time),
        runner_test(renaming_aborts_for_both_names),
        runner_test(moving_elements_aborts_for_both_lists),
        runner_test(what_another_client_takes_while_waiting_aborts),
        runner_test(unwatch_and_discard_forget),
        runner_test(a_failed_queue_forgets_too),
        runner_test(a_watch_is_told_once_and_by_many),
        runner_test(events_of_an_exec_come_behind_one_another),
    };
    return cmocka_run_group_tests_name("transactions", tests, NULL, NULL);
}
