/* Commands while the store is opened for the first time: Redis' error, or an answer without a
 * store. */
#include "server/session/waiters.h"
#include "server/dispatch/alone.h"
#include "tests/support/client/command_runner.h"
#include "tests/support/client/raw_client.h"

#include "tests/support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADING "!LOADING Redis is loading the dataset in memory"

static struct dueq *opened;

static int set_up(void **state)
{
    int result = runner_setup(state);
    struct command_runner *runner = *state;

    if (result != 0)
        return result;
    opened = runner->server.store;
    runner->server.store = NULL;
    runner->server.loading = true;
    return 0;
}

static void end_loading(struct command_runner *runner)
{
    runner->server.store = opened;
    runner->server.loading = false;
}

static int tear_down(void **state)
{
    end_loading(*state);
    return runner_teardown(state);
}

/* ---- who is answered */

static void what_needs_data_gets_redis_error(void **state)
{
    static const char *const cases[][2] = {
        {LOADING, "GET k"},
        {LOADING, "SET k v"},
        {LOADING, "PING"},
        {LOADING, "DBSIZE"},
        {LOADING, "FLUSHALL"},
        {LOADING, "BLPOP k 0"},
        {LOADING, "EVAL x 0"},
        {LOADING, "WAIT 0 0"},
        {LOADING, "OBJECT ENCODING k"},
        {LOADING, "MEMORY USAGE k"},
        {LOADING, "Q.PUSH topic body"},
        {LOADING, "Q.CLAIM topic BLOCK 0"},
        {LOADING, "Q.STATS topic"},
        {LOADING, "SAVE"},
        {LOADING, "BGSAVE"},
        /* Errors of the form come first. */
        {"!ERR unknown command 'NOSUCH'*", "NOSUCH"},
        {"!ERR wrong number of arguments for 'get' command", "GET"},
        {"!ERR unknown subcommand*", "OBJECT NOSUCH"},
    };
    runner_expect_all((struct command_runner *)*state, cases);
}

static void what_needs_none_works(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "SELECT 1"},
        {"OK", "CLIENT SETNAME me"},
        {"\"me\"", "CLIENT GETNAME"},
        {"[\"maxclients\" *]", "CONFIG GET maxclients"},
        {"OK", "CONFIG SET queue-lease 5000"},
        {"\"*loading:1*aof_last_write_status:ok*\"", "INFO persistence"},
        {"\"*store_status:loading*\"", "INFO"},
        {"[*]", "COMMAND INFO get"},
        {"[[*loading*]]", "COMMAND INFO info"},
        {"[*]", "ROLE"},
        {"*", "LASTSAVE"},
        {"0", "PUBLISH channel message"},
        {"[\"subscribe\" \"channel\" 1]", "SUBSCRIBE channel"},
        /* The answer to a subscriber comes before the one about loading. */
        {"!ERR Can't execute 'get': *", "GET k"},
        {LOADING, "PING"},
        {"RESET", "RESET"},
        {"!ERR No shutdown in progress.", "SHUTDOWN ABORT"},
    };
    struct command_runner *runner = *state;

    runner_expect_all(runner, cases);
}

static void a_login_comes_first(void **state)
{
    struct command_runner *runner = *state;
    struct connection *client;

    runner_expect(runner, "OK", "CONFIG SET requirepass secret");
    client = runner_connect(runner);
    runner_expect_of(runner, client, "!NOAUTH *", "GET k");
    runner_expect_of(runner, client, "OK", "AUTH secret");
    runner_expect_of(runner, client, LOADING, "GET k");
}

/* ---- transactions */

static void a_transaction_of_what_may_run_runs(void **state)
{
    static const char *const cases[][2] = {
        {"OK", "MULTI"},
        {"QUEUED", "CLIENT GETNAME"},
        {"QUEUED", "TIME"},
        {"[nil [*]]", "EXEC"},
        {"OK", "MULTI"},
        {"QUEUED", "TIME"},
        {LOADING, "GET k"},
        {"!EXECABORT Transaction discarded because of previous errors.", "EXEC"},
        {"!ERR EXEC without MULTI", "EXEC"},
    };
    runner_expect_all((struct command_runner *)*state, cases);
}

/* It takes slices, alone, without a store, before and after there is one. */
static void a_long_transaction_runs_while_the_store_comes(void **state)
{
    enum { COMMANDS = 9000 };
    struct command_runner *runner = *state;
    struct server *server = &runner->server;

    runner_expect(runner, "OK", "MULTI");
    for (int i = 0; i < COMMANDS; i++)
        runner_expect(runner, "QUEUED", "CLIENT GETNAME");
    runner->by_slices = true;
    runner_run(runner, runner->clients[0], "EXEC");
    assert_true(alone_runs(server));
    alone_turn(server);
    end_loading(runner);
    while (alone_runs(server))
        alone_turn(server);
    runner_expect_reply(runner->clients[0], "[nil nil *]");
    runner->by_slices = false;
    runner_expect(runner, "OK", "SET k v");
}

static void a_watch_begins_without_a_store(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);

    runner_expect(runner, "OK", "WATCH k");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "TIME");
    runner_expect(runner, "[[*]]", "EXEC");
    runner_expect(runner, "OK", "WATCH changed");
    end_loading(runner);
    runner_expect_of(runner, other, "OK", "SET changed 1");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "TIME");
    runner_expect(runner, "nil", "EXEC");
}

/* Nobody knew whether the key was there: the client tries again, and then it works. */
static void a_watch_of_an_absent_key_aborts_once(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, "OK", "WATCH absent");
    end_loading(runner);
    for (int try = 0; try < 2; try++) {
        runner_expect(runner, "OK", "MULTI");
        runner_expect(runner, "QUEUED", "SET absent 1");
        runner_expect(runner, try == 0 ? "nil" : "[OK]", "EXEC");
        runner_expect(runner, "OK", "WATCH absent");
    }
}

static void after_the_loading_all_works(void **state)
{
    struct command_runner *runner = *state;

    runner_expect(runner, LOADING, "SET k v");
    end_loading(runner);
    runner_expect(runner, "OK", "SET k v");
    runner_expect(runner, "\"v\"", "GET k");
    runner_expect(runner, "PONG", "PING");
}

/* ---- every command, with arguments of all kinds */

static const char *const fillers[] = {"1",   "k",  "0",     "*",
                                      "yes", "-1", "k get", "maxclients 100"};

static bool is_loading_error(const char *bytes)
{
    return strncmp(bytes, "-LOADING ", 9) == 0;
}

static void try_line(struct command_runner *runner, const struct command *command, size_t count,
                     const char *line)
{
    char *bytes = runner_bytes(runner, line), *reset;

    if (command_arity_fits(command, count) && !(command->flags & COMMAND_LOADING) &&
        !is_loading_error(bytes))
        fail_at(__FILE__, __LINE__, "%s: %.200s", line, bytes);
    if ((command->flags & COMMAND_LOADING) && is_loading_error(bytes))
        fail_at(__FILE__, __LINE__, "%s: %.200s", line, bytes);
    free(bytes);
    runner->server.pause_until = 0;
    reset = runner_bytes(runner, "RESET");
    free(reset);
    assert_int_equal(waiters_count(runner->server.waiters), 0);
}

/* Its name, and up to 6 arguments, which begin with each of the fillers. */
static void try_command(struct command_runner *runner, const struct command *command)
{
    char line[512], *bar;

    for (size_t filler = 0; filler < sizeof(fillers) / sizeof(fillers[0]); filler++) {
        size_t used = (size_t)snprintf(line, sizeof(line), "%s", command_full_name(command));
        size_t count = 1;

        bar = strchr(line, '|');
        if (bar != NULL) {
            *bar = ' ';
            count++;
        }
        for (size_t i = 0; i < 7; i++) {
            const char *words = fillers[(filler + i) % (sizeof(fillers) / sizeof(fillers[0]))];

            try_line(runner, command, count, line);
            used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", words);
            count += strchr(words, ' ') == NULL ? 1 : 2;
        }
    }
}

static void no_command_uses_a_store_that_is_not_there(void **state)
{
    struct command_runner *runner = *state;

    runner->server.config.enable_debug_command = true;
    for (size_t i = 0; i < command_count(); i++) {
        const struct command *command = command_at(i), *sub = command->subcommands;

        if (sub == NULL)
            try_command(runner, command);
        for (; sub != NULL && sub->name != NULL; sub++)
            try_command(runner, sub);
    }
    assert_null(runner->server.store);
}

/* The same for a store that has failed, of which the server says something else. */
static void nor_one_that_has_failed(void **state)
{
    struct command_runner *runner = *state;

    runner->server.loading = false;
    runner_expect(runner, "!MISCONF *", "GET k");
    runner_expect(runner, "OK", "WATCH k");
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "PING");
    runner_expect(runner, "[PONG]", "EXEC");
}

#define loading_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        loading_test(what_needs_data_gets_redis_error),
        loading_test(what_needs_none_works),
        loading_test(a_login_comes_first),
        loading_test(a_transaction_of_what_may_run_runs),
        loading_test(a_long_transaction_runs_while_the_store_comes),
        loading_test(a_watch_begins_without_a_store),
        loading_test(a_watch_of_an_absent_key_aborts_once),
        loading_test(after_the_loading_all_works),
        loading_test(no_command_uses_a_store_that_is_not_there),
        loading_test(nor_one_that_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
