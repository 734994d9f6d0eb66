/* server/dispatch/alone: a long EXEC takes several slices, is one record, and always ends. */
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/session/waiters.h"
#include "storage/keys/state/changes.h"
#include "storage/store.h"
#include "tests/support/client/command_runner.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS = 5000, ARGUMENTS = 3, STEPS = COMMANDS * ARGUMENTS };

static void forget_output(struct connection *client)
{
    buffer_clear(&client->output);
}

/* Queues SET k0 v, SET k1 v, ... and begins the EXEC. */
static struct connection *begin_exec(struct command_runner *runner, unsigned count)
{
    struct connection *client = runner_connect(runner);
    char line[64];

    runner->by_slices = true;
    runner_expect_of(runner, client, "OK", "MULTI");
    for (unsigned i = 0; i < count; i++) {
        snprintf(line, sizeof(line), "SET k%u v", i);
        runner_run(runner, client, line);
    }
    forget_output(client);
    runner_run(runner, client, "EXEC");
    return client;
}

static uint64_t records(struct command_runner *runner)
{
    return dueq_written_lsn(runner->server.store);
}

static unsigned slices_to_the_end(struct command_runner *runner)
{
    unsigned slices = 0;

    while (runner_slice(runner))
        slices++;
    return slices;
}

static void a_short_exec_is_one_step(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin_exec(runner, ALONE_AFTER / ARGUMENTS);

    assert_false(alone_runs(&runner->server));
    assert_null(client->session.waiter);
    runner_expect(runner, "1333", "DBSIZE");
}

static void a_long_exec_is_cut_into_slices_and_is_one_record(void **state)
{
    struct command_runner *runner = *state;
    uint64_t before;

    runner_commit(runner);
    assert_int_equal(dueq_wait(runner->server.store, records(runner)), DUEQ_OK);
    before = records(runner);
    begin_exec(runner, COMMANDS);
    assert_true(alone_runs(&runner->server));
    for (int i = 0; i < 5; i++) {
        assert_true(runner_slice(runner));
        assert_int_equal(before, records(runner));
    }
    assert_in_range(slices_to_the_end(runner), (STEPS - ALONE_AFTER) / ALONE_STEPS - 10,
                    (STEPS - ALONE_AFTER) / ALONE_STEPS + 1);
    assert_false(alone_runs(&runner->server));
    assert_int_equal(before + 1, records(runner));
    runner_expect(runner, "5000", "DBSIZE");
    assert_int_equal(0, long_works_count(runner->server.long_works));
}

/* A reply counts, too: 20 commands that read a lot. */
static void an_exec_that_reads_much_is_cut(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    char line[64];

    for (unsigned i = 0; i < 1000; i++) {
        snprintf(line, sizeof(line), "RPUSH l a-long-element-of-a-list-%u", i);
        runner_run(runner, runner->clients[0], line);
    }
    forget_output(runner->clients[0]);
    runner->by_slices = true;
    runner_expect_of(runner, client, "OK", "MULTI");
    for (unsigned i = 0; i < 20; i++)
        runner_expect_of(runner, client, "QUEUED", "LRANGE l 0 -1");
    runner_run(runner, client, "EXEC");
    assert_true(alone_runs(&runner->server));
    assert_in_range(slices_to_the_end(runner), 14, 20);
    assert_memory_equal("*20\r\n*1000\r\n", buffer_content(&client->output), 12);
}

static bool is_held(struct command_runner *runner, struct connection *client, const char *line)
{
    struct argument words[8];
    struct request request = {0, words, 0};
    char copy[128], *rest = copy, *word;

    snprintf(copy, sizeof(copy), "%s", line);
    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        words[request.count++] = (struct argument){word, strlen(word)};
    return alone_holds(&runner->server, &client->session, &request);
}

static void others_wait_only_for_the_store(void **state)
{
    static const char *const held[] = {
        "GET k",    "SET k v",   "Q.PUSH t b",    "Q.CLAIM t", "DBSIZE", "WATCH k",     "EXEC",
        "FLUSHALL", "ACL USERS", "CLIENT KILL x", "SAVE",      "KEYS *", "CONFIG GET x"};
    static const char *const free_to_run[] = {"PING", "MULTI",  "PUBLISH c m", "SUBSCRIBE c",
                                              "INFO", "AUTH x", "NOSUCH x",    "GET"};
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner), *in_multi = runner_connect(runner);

    runner_expect_of(runner, in_multi, "OK", "MULTI");
    assert_false(is_held(runner, other, "GET k"));
    begin_exec(runner, COMMANDS);
    for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
        if (!is_held(runner, other, held[i]))
            fail_msg("%s is not held", held[i]);
    for (size_t i = 0; i < sizeof(free_to_run) / sizeof(*free_to_run); i++)
        if (is_held(runner, other, free_to_run[i]))
            fail_msg("%s is held", free_to_run[i]);
    assert_false(is_held(runner, in_multi, "GET k"));
    assert_true(is_held(runner, in_multi, "EXEC"));
    slices_to_the_end(runner);
    assert_false(is_held(runner, other, "GET k"));
}

static bool has_changes(struct command_runner *runner)
{
    struct keys_change change;

    return changes_look(store_keys(runner->server.store), &change) == DUEQ_OK;
}

/* Else they would all be noted in the turn in which it ends. */
static void changes_are_noted_while_it_runs(void **state)
{
    struct command_runner *runner = *state;
    struct connection *watching = runner_connect(runner);

    runner_expect_of(runner, watching, "OK", "WATCH k4000");
    begin_exec(runner, COMMANDS);
    while (runner_slice(runner))
        assert_false(has_changes(runner));
    runner_expect_of(runner, watching, "OK", "MULTI");
    runner_expect_of(runner, watching, "QUEUED", "GET k4000");
    runner_expect_of(runner, watching, "nil", "EXEC");
}

/* Those that somebody waits for, and all after them, come in their order when it has ended. */
static void waiters_are_served_when_it_has_ended(void **state)
{
    struct command_runner *runner = *state;
    struct connection *first = runner_waiting(runner, "BLPOP a b 0");
    struct connection *client = runner_connect(runner);

    runner->by_slices = true;
    runner_expect_of(runner, client, "OK", "MULTI");
    for (unsigned i = 0; i < COMMANDS; i++)
        runner_run(runner, client,
                   i == 2000   ? "RPUSH b 1"
                   : i == 3000 ? "RPUSH a 2"
                               : "SET x y");
    forget_output(client);
    runner_run(runner, client, "EXEC");
    assert_true(runner_slice(runner));
    while (alone_runs(&runner->server)) {
        assert_int_equal(0, buffer_size(&first->output));
        runner_slice(runner);
    }
    slices_to_the_end(runner);
    runner_commit(runner);
    runner_expect_reply(first, "[\"b\" \"1\"]");
}

static void the_rest_is_done_when_the_client_goes(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin_exec(runner, COMMANDS);

    assert_true(runner_slice(runner));
    waiters_cancel(&runner->server, &client->session);
    assert_false(alone_runs(&runner->server));
    assert_null(client->session.waiter);
    runner_commit(runner);
    alone_settled(&runner->server);
    runner_expect(runner, "5000", "DBSIZE");
}

static void the_rest_is_done_when_the_server_stops(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = begin_exec(runner, COMMANDS);

    assert_true(runner_slice(runner));
    alone_finish_all(&runner->server);
    assert_false(alone_runs(&runner->server));
    assert_memory_equal("*5000\r\n+OK\r\n", buffer_content(&client->output), 12);
    assert_int_equal(7 + COMMANDS * 5, buffer_size(&client->output));
}

static void the_rest_is_done_when_it_kills_its_own_client(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    char line[64];

    runner->by_slices = true;
    snprintf(line, sizeof(line), "CLIENT KILL ID %llu SKIPME no",
             (unsigned long long)client->session.id);
    runner_expect_of(runner, client, "OK", "MULTI");
    for (unsigned i = 0; i < COMMANDS; i++)
        runner_run(runner, client, i == COMMANDS / 2 ? line : "INCR n");
    forget_output(client);
    runner_run(runner, client, "EXEC");
    assert_true(alone_runs(&runner->server));
    slices_to_the_end(runner);
    assert_false(alone_runs(&runner->server));
    assert_null(client->session.waiter);
    runner_expect(runner, "\"4999\"", "GET n");
}

/* A claim of another client is served when all of it has happened. */
static void waiters_are_served_after_it(void **state)
{
    struct command_runner *runner = *state;
    struct connection *waits = runner_waiting(runner, "Q.POP t BLOCK 0"), *client;

    runner->by_slices = true;
    client = runner_connect(runner);
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "QUEUED", "Q.PUSH t body ID first");
    for (unsigned i = 0; i < COMMANDS; i++)
        runner_run(runner, client, "SET k v");
    runner_run(runner, client, "Q.DEL t first");
    runner_run(runner, client, "Q.PUSH t last ID second");
    forget_output(client);
    runner_run(runner, client, "EXEC");
    assert_true(runner_slice(runner));
    assert_non_null(waits->session.waiter);
    slices_to_the_end(runner);
    assert_null(waits->session.waiter);
    runner_expect_reply(waits, "*\"second\"*");
}

/* What has not ended is nothing: the record is missing. */
static void a_crash_leaves_nothing_of_it(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "SET before v");
    runner_commit(runner);
    begin_exec(runner, COMMANDS);
    for (int i = 0; i < 10; i++)
        assert_true(runner_slice(runner));
    alone_drop(&runner->server);
    runner_abandon(runner);
    runner_expect(runner, "1", "DBSIZE");
    runner_expect(runner, "\"v\"", "GET before");
}

/* ---- SPOP of few of many */

enum { MEMBERS = 10000, POPPED = 1250, POPS = 125 /* of a slice */ };

static void fill_set(struct command_runner *runner)
{
    char line[64];

    for (int i = 0; i < MEMBERS; i++) {
        snprintf(line, sizeof(line), "SADD s m%04d", i);
        runner_expect(runner, "1", line);
    }
    runner_commit(runner);
    runner->by_slices = true;
}

/* Each may come from the disk. */
static void few_members_are_popped_in_slices_as_one_record(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    uint64_t before;

    fill_set(runner);
    assert_int_equal(dueq_wait(runner->server.store, records(runner)), DUEQ_OK);
    before = records(runner);
    runner_run(runner, client, "SPOP s 1250");
    assert_true(is_held(runner, runner->clients[0], "SCARD s"));
    assert_in_range(slices_to_the_end(runner), POPPED / POPS - 1, POPPED / POPS);
    assert_int_equal(before + 1, records(runner));
    assert_memory_equal(buffer_content(&client->output), "*1250\r\n$5\r\nm", 12);
    assert_int_equal(buffer_size(&client->output), 7 + POPPED * strlen("$5\r\nm0000\r\n"));
    forget_output(client);
    runner_expect(runner, "8750", "SCARD s");
    runner_expect(runner, "[*]", "SPOP s 120");
    runner_expect(runner, "8630", "SCARD s");
}

static void few_members_are_popped_in_an_exec(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    fill_set(runner);
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "QUEUED", "SPOP s 1250");
    runner_expect_of(runner, client, "QUEUED", "SCARD s");
    runner_run(runner, client, "EXEC");
    assert_in_range(slices_to_the_end(runner), POPPED / POPS - 1, POPPED / POPS);
    runner_expect_reply(client, "[[*] 8750]");
}

static void all_are_popped_though_the_client_goes(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    fill_set(runner);
    runner_run(runner, client, "SPOP s 1250");
    assert_true(runner_slice(runner));
    waiters_cancel(&runner->server, &client->session);
    forget_output(client);
    assert_false(alone_runs(&runner->server));
    runner_slice(runner);
    runner_expect(runner, "8750", "SCARD s");
}

static void a_long_turn_pops_few(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    fill_set(runner);
    turn_watch_begin(&runner->server.turn, 1, 1);
    runner_expect(runner, "[*]", "SPOP s 8");
    runner_run(runner, client, "SPOP s 20");
    assert_int_equal(slices_to_the_end(runner), 12);
    turn_watch_end(&runner->server.turn, 2);
    runner_expect_reply(client, "[*]");
    runner_expect(runner, "9972", "SCARD s");
}

/* ---- Q.GET of a job that waits for thousands */

enum { AWAITED = 3000 };

/* The job w of t waits for one job of each of so many topics. */
static void push_one_that_waits(struct command_runner *runner)
{
    char *line = malloc(AWAITED * 10 + 100), *at = line;

    assert_non_null(line);
    at += sprintf(at, "Q.PUSH t body ID w ON-DEAD WAIT AFTER");
    for (int i = 0; i < AWAITED; i++) {
        char push[64];

        snprintf(push, sizeof(push), "Q.PUSH k%04d body ID a DELAY 1h", i);
        runner_expect(runner, "\"a\"", push);
        at += sprintf(at, " k%04d:a", i);
    }
    runner_expect(runner, "\"w\"", line);
    free(line);
}

static bool holds_others(struct command_runner *runner)
{
    return is_held(runner, runner->clients[0], "Q.DEL k0000 a");
}

/* Of the jobs in the reply, how many are delayed. */
static size_t count_delayed(struct connection *client)
{
    size_t size = buffer_size(&client->output), count = 0;
    const char *at = buffer_content(&client->output), *end = at + size;

    while ((at = memmem(at, (size_t)(end - at), "$7\r\ndelayed", 11)) != NULL) {
        at += 11;
        count++;
    }
    return count;
}

static void what_a_job_waits_for_is_shown_in_slices_alone(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    char head[64];

    push_one_that_waits(runner);
    runner->by_slices = true;
    runner_run(runner, client, "Q.GET t w WITHAFTER");
    assert_non_null(client->session.waiter);
    assert_true(holds_others(runner));
    assert_in_range(slices_to_the_end(runner), AWAITED / 500, AWAITED / 500 + 1);
    assert_false(holds_others(runner));
    assert_null(client->session.waiter);
    assert_int_equal(count_delayed(client), AWAITED);
    snprintf(head, sizeof(head), "*%d\r\n*3\r\n$5\r\nk0000\r\n", AWAITED);
    assert_non_null(memmem(buffer_content(&client->output), buffer_size(&client->output), head,
                           strlen(head)));
    forget_output(client);
    runner_run(runner, client, "Q.GET t w");
    assert_int_equal(count_delayed(client), 100);
    forget_output(client);
}

static void a_few_jobs_are_shown_at_once_in_a_long_turn(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    runner_expect(runner, "\"a\"", "Q.PUSH t body ID a DELAY 1h");
    runner_expect(runner, "\"b\"", "Q.PUSH t body ID b DELAY 1h");
    runner_expect(runner, "\"w\"", "Q.PUSH t body ID w AFTER a b");
    runner->by_slices = true;
    turn_watch_begin(&runner->server.turn, 1, 1);
    runner_run(runner, client, "Q.GET t w WITHAFTER");
    turn_watch_end(&runner->server.turn, 2);
    assert_null(client->session.waiter);
    assert_int_equal(count_delayed(client), 2);
    forget_output(client);
}

static void what_must_be_asked_for_is_not_asked_alone(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    push_one_that_waits(runner);
    runner_expect(runner, "OK", "ACL SETUSER u on nopass +@all ~t ~k1*");
    runner_expect_of(runner, client, "OK", "AUTH u x");
    runner->by_slices = true;
    runner_run(runner, client, "Q.GET t w WITHAFTER");
    for (int i = 0; i < AWAITED / 500; i++) {
        assert_false(holds_others(runner));
        assert_true(runner_slice(runner));
    }
    runner_run(runner, runner->clients[0], "Q.DEL k1000 a");
    forget_output(runner->clients[0]);
    while (!holds_others(runner))
        assert_true(runner_slice(runner));
    slices_to_the_end(runner);
    assert_null(client->session.waiter);
    assert_int_equal(count_delayed(client), 1000 - 1); /* of one moment: after the delete */
    forget_output(client);
}

static void in_an_exec_it_takes_slices_too(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);

    push_one_that_waits(runner);
    runner->by_slices = true;
    runner_expect_of(runner, client, "OK", "MULTI");
    runner_expect_of(runner, client, "QUEUED", "Q.GET t w WITHAFTER");
    runner_expect_of(runner, client, "QUEUED", "PING");
    runner_run(runner, client, "EXEC");
    assert_in_range(slices_to_the_end(runner), AWAITED / 500, AWAITED / 500 + 1);
    assert_int_equal(count_delayed(client), AWAITED);
    assert_memory_equal(buffer_content(&client->output), "*2\r\n", 4);
    forget_output(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(a_short_exec_is_one_step),
        runner_test(a_long_exec_is_cut_into_slices_and_is_one_record),
        runner_test(an_exec_that_reads_much_is_cut),
        runner_test(others_wait_only_for_the_store),
        runner_test(changes_are_noted_while_it_runs),
        runner_test(waiters_are_served_when_it_has_ended),
        runner_test(the_rest_is_done_when_the_client_goes),
        runner_test(the_rest_is_done_when_the_server_stops),
        runner_test(the_rest_is_done_when_it_kills_its_own_client),
        runner_test(waiters_are_served_after_it),
        runner_test(a_crash_leaves_nothing_of_it),
        runner_test(few_members_are_popped_in_slices_as_one_record),
        runner_test(few_members_are_popped_in_an_exec),
        runner_test(all_are_popped_though_the_client_goes),
        runner_test(a_long_turn_pops_few),
        runner_test(what_a_job_waits_for_is_shown_in_slices_alone),
        runner_test(a_few_jobs_are_shown_at_once_in_a_long_turn),
        runner_test(what_must_be_asked_for_is_not_asked_alone),
        runner_test(in_an_exec_it_takes_slices_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
