/* What happens to a request before its handler runs, and what is counted. */
#include "storage/dueq.h"
#include "tests/support/client/command_runner.h"

#include "server/statistics/command_stats.h"
#include "storage/kv/kv.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct command_stats *stats_of(const char *name)
{
    return command_stats_of(command_find((struct argument){name, strlen(name)}));
}

static uint64_t errors_of(const char *code)
{
    size_t count;
    const struct error_stats *errors = error_stats_all(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(errors[i].code, code) == 0)
            return errors[i].count;
    return 0;
}

static void an_unknown_command_is_quoted_with_its_arguments(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' ",
                  "NOSUCH a b");
    runner_expect(runner,
                  "!ERR unknown command 'nosuch', with args beginning with: ", "nosuch");
}

static void an_unknown_command_is_quoted_up_to_128_bytes(void **state)
{
    struct command_runner *runner = *state;
    char line[512], name[200], pattern[512];
    memset(name, 'n', 150);
    name[150] = '\0';
    snprintf(line, sizeof(line), "%s %s last", name, name);
    snprintf(pattern, sizeof(pattern),
             "!ERR unknown command '%.128s', with args beginning with: '%.128s' ", name, name);
    runner_expect(runner, pattern, line);
}

static void arguments_cannot_break_an_error_reply(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR unknown command 'a  +OK', with args beginning with: 'b   ' ",
                  "\"a\\r\\n+OK\" \"b\\r\\n \"");
}

static void a_name_with_a_zero_byte_is_no_command(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR unknown command 'PING', *", "\"PING\\x00\"");
}

static void names_know_no_case(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "PONG", "pInG");
    runner_expect(runner, "1", "cLiEnT iD");
}

/* A web page can make a browser send this. */
static void http_ends_the_connection(void **state)
{
    static const char *const lines[] = {"POST / HTTP/1.1", "post /x", "Host: localhost:6379",
                                        "HOST: x", "host:"};
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR wrong number of arguments for 'get' command", "GET / HTTP/1.1");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct connection *client = runner_connect(runner);
        runner_expect_of(runner, client, "", lines[i]);
        assert_true(client->session.life == SESSION_CLOSING);
    }
    runner_expect(runner, "!ERR unknown command 'postx', *", "postx");
    runner_expect(runner, "!ERR unknown command 'host', *", "host");
    assert_true(runner->clients[0]->session.life == SESSION_OPEN);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "", "POST /");
}

static void arity_is_checked_for_commands_and_subcommands(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR wrong number of arguments for 'q.push' command",
                  "Q.PUSH topic");
    runner_expect(runner, "!ERR wrong number of arguments for 'echo' command", "ECHO a b");
    runner_expect(runner, "!ERR wrong number of arguments for 'client|setname' command",
                  "CLIENT SETNAME");
    runner_expect(runner, "!ERR wrong number of arguments for 'client' command", "CLIENT");
}

static void an_unknown_subcommand_names_the_help(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR unknown subcommand 'nosuch'. Try CLIENT HELP.",
                  "client nosuch a b");
    runner_expect(runner, "!ERR unknown subcommand 'FOO'. Try COMMAND HELP.", "COMMAND FOO");
}

static void without_login_only_names_and_arity_are_told(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET requirepass secret");
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "!NOAUTH Authentication required.", "PING");
    runner_expect_of(runner, client, "!NOAUTH Authentication required.", "Q.LEN topic");
    runner_expect_of(runner, client, "!NOAUTH Authentication required.", "CLIENT ID");
    runner_expect_of(runner, client, "!ERR unknown command 'NOSUCH', *", "NOSUCH");
    runner_expect_of(runner, client, "!ERR wrong number of arguments for 'q.len' command",
                     "Q.LEN");
    runner_expect_of(runner, client, "!ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.",
                     "CLIENT NOSUCH");
    runner_expect_of(runner, client, "!ERR DEBUG command not allowed. *", "DEBUG SLEEP 0");
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH wrong");
    runner_expect_of(runner, client, "OK", "AUTH secret");
    runner_expect_of(runner, client, "PONG", "PING");
}

static void without_a_store_the_server_still_speaks(void **state)
{
    struct command_runner *runner = *state;
    struct dueq *store = runner->server.store;
    runner->server.store = NULL;
    snprintf(runner->server.failure, sizeof(runner->server.failure), "the disk is gone");
    runner_expect(runner, "!MISCONF *the disk is gone*", "Q.PUSH topic body");
    runner_expect(runner, "!MISCONF *", "Q.CLAIM topic BLOCK 0");
    runner_expect(runner, "!MISCONF *", "Q.STATS topic");
    runner_expect(runner, "!MISCONF *", "DBSIZE");
    runner_expect(runner, "!MISCONF *", "FLUSHALL");
    runner_expect(runner, "PONG", "PING");
    runner_expect(runner, "OK", "CLIENT SETNAME me");
    runner_expect(runner, "\"*store_status:the disk is gone*\"", "INFO");
    runner_expect(runner, "[*]", "COMMAND INFO ping");
    runner_expect(runner, "!ERR *Lua*", "EVAL x 0");
    runner->server.store = store;
    runner_expect(runner, "0", "Q.LEN topic");
}

static void a_full_store_takes_no_pushes_and_gives_what_it_has(void **state)
{
    struct command_runner *runner = *state;
    struct dueq_options full;
    runner_expect(runner, "\"a\"", "Q.PUSH topic body ID a");
    dueq_options_init(&full);
    full.disk_reserve_bytes = UINT64_MAX / 2;
    runner_reopen(runner, &full);
    runner_expect(runner, "!FULL *", "Q.PUSH topic body ID b");
    runner_expect(runner, "[[\"a\" 1 \"body\" 1]]", "Q.CLAIM topic");
    runner_expect(runner, "1", "Q.ACK topic a 1");
    runner_expect(runner, "0", "Q.LEN topic");
}

/* proto-max-bulk-len allows the argument; its bytes are never touched. */
static void what_is_too_large_to_keep_is_refused(void **state)
{
    struct command_runner *runner = *state;
    struct argument words[] = {
        {"SET", 3}, {"k", 1}, {"x", ((size_t)512 << 20) + 1}, {"EX", 2}, {"100", 3}};
    struct request request = {3, words, 4 + words[2].size};
    connection_run(runner->clients[0], &request, NULL, false);
    runner_expect_reply(runner->clients[0], "!TOOBIG *");
    words[0] = (struct argument){"Q.PUSH", 6};
    connection_run(runner->clients[0], &request, NULL, false);
    runner_expect_reply(runner->clients[0], "!TOOBIG *");
    runner_expect(runner, "0", "EXISTS k");
}

static void calls_and_refusals_and_failures_are_counted_apart(void **state)
{
    struct command_runner *runner = *state;
    command_stats_reset();
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect(runner, "!DUPLICATE *", "Q.PUSH topic body ID a");
    runner_expect(runner, "!ERR wrong*", "Q.PUSH topic");
    runner_expect(runner, "!ERR unknown*", "NOSUCH");
    assert_int_equal(stats_of("q.push")->calls, 2);
    assert_int_equal(stats_of("q.push")->rejected, 1);
    assert_int_equal(stats_of("q.push")->failed, 1);
    assert_int_equal(errors_of("ERR"), 2);
    assert_int_equal(errors_of("DUPLICATE"), 1);
    runner_expect(runner, "\"*cmdstat_q.push:calls=2,*rejected_calls=1,failed_calls=1\\r\\n*\"",
                  "INFO commandstats");
    runner_expect(runner, "\"*errorstat_DUPLICATE:count=1\\r\\n*\"", "INFO errorstats");
    runner_expect(runner, "OK", "CONFIG RESETSTAT");
    assert_int_equal(stats_of("q.push")->calls, 0);
    assert_int_equal(errors_of("ERR"), 0);
}

static void a_command_that_waited_is_one_call(void **state)
{
    struct command_runner *runner = *state;
    struct connection *waiting = runner_connect(runner);
    command_stats_reset();
    runner_expect_of(runner, waiting, "", "Q.CLAIM topic BLOCK 0");
    runner_expect(runner, "*", "Q.PUSH topic body ID a");
    runner_expect_reply(waiting, "[[\"a\" 1 \"body\" 1]]");
    assert_int_equal(stats_of("q.claim")->calls, 1);
}

static void error_codes_beyond_the_limit_are_not_counted(void **state)
{
    (void)state;
    char reply[32];
    size_t count;
    command_stats_reset();
    for (int i = 0; i < 200; i++) {
        int size = snprintf(reply, sizeof(reply), "-CODE%d text", i);
        error_stats_count(reply, (size_t)size);
    }
    error_stats_all(&count);
    assert_int_equal(count, ERROR_CODES_MAX);
    assert_int_equal(errors_of("CODE0"), 1);
    error_stats_count("-CODE", 5);
    assert_int_equal(errors_of("CODE0"), 1);
    command_stats_reset();
}

static void a_session_remembers_its_last_command(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "*", "CLIENT ID");
    assert_string_equal(command_full_name(runner->clients[0]->session.last_command),
                        "client|id");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(an_unknown_command_is_quoted_with_its_arguments),
        runner_test(an_unknown_command_is_quoted_up_to_128_bytes),
        runner_test(arguments_cannot_break_an_error_reply),
        runner_test(a_name_with_a_zero_byte_is_no_command),
        runner_test(names_know_no_case),
        runner_test(http_ends_the_connection),
        runner_test(arity_is_checked_for_commands_and_subcommands),
        runner_test(an_unknown_subcommand_names_the_help),
        runner_test(without_login_only_names_and_arity_are_told),
        runner_test(without_a_store_the_server_still_speaks),
        runner_test(a_full_store_takes_no_pushes_and_gives_what_it_has),
        runner_test(what_is_too_large_to_keep_is_refused),
        runner_test(calls_and_refusals_and_failures_are_counted_apart),
        runner_test(a_command_that_waited_is_one_call),
        runner_test(error_codes_beyond_the_limit_are_not_counted),
        runner_test(a_session_remembers_its_last_command),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
