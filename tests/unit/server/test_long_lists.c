/* Long lists of names in requests: a client waits for them, watches them, subscribes to them or
 * sets them. The work is linear in their number. */
#include "server/containers/spent.h"
#include "server/containers/seeded_table.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "server/dispatch/long_work.h"
#include "tests/support/client/command_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 20000 };

/* Runs `head`, MANY names and `tail`. Each name is `name`, followed by its number if
 * `numbered`. */
static void run_long(struct command_runner *runner, struct connection *client, const char *head,
                     const char *name, bool numbered, const char *tail)
{
    struct argument *words = calloc(MANY + 8, sizeof(*words));
    char *texts = malloc(MANY * 16), *at = texts, heads[64];
    struct request request = {0, words, 0};
    assert_non_null(words);
    assert_non_null(texts);
    snprintf(heads, sizeof(heads), "%s", head);
    for (char *word = strtok(heads, " "); word != NULL; word = strtok(NULL, " "))
        words[request.count++] = (struct argument){word, strlen(word)};
    for (int i = 0; i < MANY; i++) {
        int size = numbered ? snprintf(at, 16, "%s%d", name, i) : snprintf(at, 16, "%s", name);
        words[request.count++] = (struct argument){at, (size_t)size};
        at += size + 1;
    }
    if (tail != NULL)
        words[request.count++] = (struct argument){(char *)(uintptr_t)tail, strlen(tail)};
    for (size_t i = 0; i < request.count; i++)
        request.bytes += words[i].size;
    connection_run(client, &request, NULL, false);
    waiters_serve(&runner->server);
    free(texts);
    free(words);
    while (runner_slice(runner))
        ;
}

static uint64_t steps_of(struct command_runner *runner)
{
    return waiters_steps(runner->server.waiters) + watches_steps(runner->server.watches);
}

/* ---- waiting */

static void a_name_given_many_times_is_looked_at_once(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    run_long(runner, client, "BLPOP", "k", false, "0");
    assert_non_null(client->session.waiter);
    uint64_t before = steps_of(runner);
    runner_expect(runner, "1", "SADD k member");
    runner_expect(runner, "1", "DEL k");
    assert_in_range(steps_of(runner) - before, 0, 4);
    before = steps_of(runner);
    runner_expect(runner, "1", "RPUSH k x");
    runner_expect_reply(client, "[\"k\" \"x\"]");
    assert_in_range(steps_of(runner) - before, 0, 4);
    assert_null(client->session.waiter);
}

static void a_sorted_set_named_many_times_is_looked_at_once(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    run_long(runner, client, "BZPOPMIN", "k", false, "0");
    uint64_t before = steps_of(runner);
    runner_expect(runner, "1", "RPUSH k x");
    runner_expect(runner, "1", "DEL k");
    runner_expect(runner, "1", "ZADD k 1 x");
    runner_expect_reply(client, "[\"k\" \"x\" \"1\"]");
    assert_in_range(steps_of(runner) - before, 0, 8);
}

static void who_waits_for_a_list_is_not_asked_about_a_set(void **state)
{
    struct command_runner *runner = *state;
    struct connection *list = NULL, *zset = NULL;
    for (int i = 0; i < 3; i++) {
        zset = runner_connect(runner);
        runner_expect_of(runner, zset, "", "BZPOPMAX k 0");
        list = runner_connect(runner);
        runner_expect_of(runner, list, "", "BLMOVE k to LEFT LEFT 0");
    }
    uint64_t before = steps_of(runner);
    runner_expect(runner, "1", "SADD k member");
    runner_expect(runner, "0", "SADD k member");
    assert_in_range(steps_of(runner) - before, 0, 2);
    runner_expect(runner, "1", "DEL k");
    runner_expect(runner, "3", "ZADD k 1 a 2 b 3 c");
    runner_expect_reply(zset, "[\"k\" \"a\" \"1\"]"); /* the third and last */
    assert_non_null(list->session.waiter);
}

static void a_wait_for_many_topics_looks_at_the_one_that_changed(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    char head[64];
    snprintf(head, sizeof(head), "Q.MCLAIM %d", MANY);
    run_long(runner, client, head, "t", true, NULL);
    runner_expect_reply(client, "!ERR a command takes at most 1000 topics");
    runner_expect_of(runner, client, "", "Q.MCLAIM 3 a b a BLOCK 0");
    runner_expect(runner, "\"x\"", "Q.PUSH a body ID x DELAY 1s");
    runner_expect(runner, "\"y\"", "Q.PUSH b body ID y");
    runner_expect_reply(client, "[[\"b\" \"y\" *]]");
}

static void who_waits_for_many_keys_is_found_when_databases_are_swapped(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    run_long(runner, client, "BLPOP", "k", true, "0");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "1", "RPUSH k19999 found");
    uint64_t before = steps_of(runner);
    runner_expect(runner, "OK", "SWAPDB 0 1");
    assert_in_range(steps_of(runner) - before, 1, 1000); /* not all names in one turn */
    int turns = 0;
    for (; client->session.waiter != NULL && turns < 1000; turns++) {
        assert_int_equal(waiters_next(runner->server.waiters, runner->server.now.now), 0);
        waiters_serve(&runner->server);
    }
    assert_in_range(turns, MANY / 1000, MANY / 100);
    runner_expect_reply(client, "[\"k19999\" \"found\"]");
    assert_true(waiters_next(runner->server.waiters, runner->server.now.now) == DUEQ_NEVER);
}

static void an_empty_database_has_nothing_for_those_who_wait(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    run_long(runner, client, "BLPOP", "k", true, "0");
    uint64_t before = steps_of(runner);
    runner_expect(runner, "OK", "FLUSHDB");
    assert_in_range(steps_of(runner) - before, 0, 0);
    assert_non_null(client->session.waiter);
}

/* The client is served by one of its names while the search continues for the others; it leaves
 * their queues bit by bit. */
static void who_leaves_in_the_middle_is_not_looked_for_again(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner), *other = runner_connect(runner);
    run_long(runner, client, "BLPOP", "k", true, "0");
    runner_expect_of(runner, other, "", "BLPOP last 0");
    runner_expect(runner, "OK", "SELECT 1");
    runner_expect(runner, "1", "RPUSH k500 a");
    runner_expect(runner, "1", "RPUSH last b");
    runner_expect(runner, "OK", "SWAPDB 0 1");
    for (int turns = 0; turns < 10; turns++) {
        waiters_serve(&runner->server);
        spent_free_some();
    }
    runner_expect_reply(client, "[\"k500\" \"a\"]");
    runner_expect_reply(other, "[\"last\" \"b\"]");
}

/* ---- watching */

static void watching_costs_what_is_named(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    uint64_t before = steps_of(runner);
    run_long(runner, client, "WATCH", "k", true, NULL);
    run_long(runner, client, "WATCH", "k", true, NULL);
    runner_expect_reply(client, "OK OK");
    assert_in_range(steps_of(runner) - before, 2 * MANY, 2 * MANY + 8 * (MANY / LONG_STEPS));
    before = steps_of(runner);
    runner_expect(runner, "OK", "FLUSHDB");
    runner_expect(runner, "OK", "SWAPDB 0 1");
    runner_expect(runner, "OK", "SET k7 x");
    assert_in_range(steps_of(runner) - before, 0, 4);
}

static void a_swap_is_seen_by_who_watches(void **state)
{
    static const struct runner_step steps[] = {
        {'a', "OK", "SET there x"},
        {'a', "OK", "SELECT 1"},
        {'a', "OK", "SET comes x PX 1000"},
        {'b', "OK", "WATCH there"}, /* the other database does not have the key */
        {'c', "OK", "WATCH comes"}, /* the other database has the key */
        {'d', "OK", "WATCH never"},
        {'e', "OK", "WATCH comes"}, /* the other database has the key, which expires before the
                                       EXEC */
        {'a', "OK", "SWAPDB 0 1"},
    };
    struct command_runner *runner = *state;
    runner_follow(runner, steps);
    for (size_t i = 1; i < 4; i++) {
        runner_expect_of(runner, runner->clients[i], "OK", "MULTI");
        runner_expect_of(runner, runner->clients[i], i == 3 ? "[]" : "nil", "EXEC");
    }
    runner_pass(runner, 2000);
    runner_expect_of(runner, runner->clients[4], "OK", "MULTI");
    runner_expect_of(runner, runner->clients[4], "nil", "EXEC");
}

/* ---- clients */

static void many_ids_pick_the_same_clients(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    run_long(runner, runner->clients[0], "CLIENT KILL", "ID", false, NULL);
    runner_expect_reply(runner->clients[0], "!ERR client-id should be greater than 0");
    runner_expect(runner, "\"id=2 *\\nid=2 *\\n\"", "CLIENT LIST ID 9 2 7 2 -1");
    runner_expect(runner, "0", "CLIENT KILL ID 9 ID 8");
    runner_expect(runner, "1", "CLIENT KILL ID 9 ID 2 ID 8");
    assert_true(client->session.life == SESSION_GONE);
}

static void sessions_are_found_by_id(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client = runner_connect(runner);
    assert_ptr_equal(server_find_session(&runner->server, 2), &client->session);
    assert_null(server_find_session(&runner->server, 3));
    server_remove_session(&runner->server, &client->session);
    assert_null(server_find_session(&runner->server, 2));
    server_add_session(&runner->server, &client->session);
}

/* ---- tables */

static void no_two_processes_hash_alike(void **state)
{
    uint64_t hashes[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            uint64_t hash = seeded_table_hash("name", 4);
            _exit(write(ends[1], &hash, sizeof(hash)) == sizeof(hash) ? 0 : 1);
        }
        assert_int_equal(read(ends[0], &hashes[i], sizeof(hashes[i])), sizeof(hashes[i]));
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
    }
    assert_true(hashes[0] != hashes[1]);
}

static void *refuse(size_t size)
{
    (void)size;
    return NULL;
}

/* The first item of a table needs memory for the table. */
static void memory_that_ends_is_an_error_for_who_asked(void **state)
{
    static const char *const lines[] = {"BLPOP k 0", "Q.CLAIM t BLOCK 0", "WATCH k",
                                        "SUBSCRIBE c", "ZUNION 1 z"};
    struct command_runner *runner = *state;
    runner_expect(runner, "1", "ZADD z 1 a");
    seeded_table_allocate = refuse;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        runner_expect(runner, "!ERR out of memory", lines[i]);
    seeded_table_allocate = malloc;
    assert_int_equal(waiters_count(runner->server.waiters), 0);
    assert_null(runner->clients[0]->session.watcher);
    runner_expect(runner, "OK", "WATCH k");
    runner_expect(runner, "1", "RPUSH k x");
    runner_expect(runner, "[\"k\" \"x\"]", "BLPOP k 0");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_processes_hash_alike), /* before the first hash */
        runner_test(a_name_given_many_times_is_looked_at_once),
        runner_test(a_sorted_set_named_many_times_is_looked_at_once),
        runner_test(who_waits_for_a_list_is_not_asked_about_a_set),
        runner_test(a_wait_for_many_topics_looks_at_the_one_that_changed),
        runner_test(who_waits_for_many_keys_is_found_when_databases_are_swapped),
        runner_test(an_empty_database_has_nothing_for_those_who_wait),
        runner_test(who_leaves_in_the_middle_is_not_looked_for_again),
        runner_test(watching_costs_what_is_named),
        runner_test(a_swap_is_seen_by_who_watches),
        runner_test(many_ids_pick_the_same_clients),
        runner_test(sessions_are_found_by_id),
        runner_test(memory_that_ends_is_an_error_for_who_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
