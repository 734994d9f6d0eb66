/* `dueq cli` against the real server: commands in arguments, in lines, and typed. */
#include "tests/support/client/client.h"
#include "tests/support/client/terminal_process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

static char output[200000];

static int tear_down(void **state)
{
    terminal_cleanup();
    return served_teardown(state);
}

#define cli_test(function) cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

/* Runs a line of the shell; $D is `dueq cli`. */
static int run_line(void **state, const char *line)
{
    struct server_process *server = served_server(state);
    char *binary = realpath(server_binary(), NULL);
    int status =
        run_shell(output, sizeof(output), "export DUEQ_PORT=%d HOME=%s D='%s cli'; cd %s; %s",
                  server->port, server->directory, binary, server->directory, line);

    free(binary);
    return status;
}

static void type_to_cli(void **state, const char *options)
{
    struct server_process *server = served_server(state);

    unsetenv("XDG_STATE_HOME");
    terminal_begin(24, 100, "export DUEQ_PORT=%d HOME=%s; exec %s cli %s", server->port,
                   server->directory, server_binary(), options);
    terminal_await("> ");
}

/* What the prompt looks like, so far. */
static void await_prompt(void **state, const char *mark)
{
    char prompt[64];

    snprintf(prompt, sizeof(prompt), ":%d%s> ", served_server(state)->port, mark);
    terminal_await(prompt);
}

static void letters_of_redis_cli_say_where_the_server_is(void **state)
{
    assert_int_equal(
        run_line(state, "P=$DUEQ_PORT; unset DUEQ_PORT; $D -h 127.0.0.1 -p $P SET a -p"), 0);
    assert_int_equal(run_line(state, "P=$DUEQ_PORT; DUEQ_PORT=1 $D -p $P GET a"), 0);
    assert_string_equal(output, "-p\n");
    assert_int_equal(run_line(state, "$D -s ./none PING 2>&1"), 4);
    assert_int_equal(run_line(state, "$D -z PING 2>&1"), 2);
    assert_non_null(strstr(output, "there is no option -z"));
    assert_int_equal(run_line(state, "$D -p 2>&1"), 2);
    assert_non_null(strstr(output, "--port needs a value"));
}

static void a_command_in_arguments_has_its_status(void **state)
{
    assert_int_equal(run_line(state, "$D PING"), 0);
    assert_string_equal(output, "PONG\n");
    assert_int_equal(run_line(state, "$D SET a --x"), 0);
    assert_int_equal(run_line(state, "$D --no-raw GET a"), 0);
    assert_string_equal(output, "\"--x\"\n");
    assert_int_equal(run_line(state, "$D NONSENSE"), 1);
    assert_non_null(strstr(output, "ERR unknown command 'NONSENSE'"));
    assert_int_equal(run_line(state, "$D --nonsense"), 2);
    assert_int_equal(run_line(state, "$D -r 0 PING"), 2);
    assert_int_equal(run_line(state, "$D -i x PING"), 2);
    assert_int_equal(run_line(state, "DUEQ_PORT=1 $D PING"), 4);
    assert_int_equal(run_line(state, "$D -r 3 INCR n"), 0);
    assert_string_equal(output, "1\n2\n3\n");
    assert_int_equal(run_line(state, "$D PING >/dev/full"), 1);
}

static void any_byte_goes_there_and_comes_back(void **state)
{
    assert_int_equal(run_line(state,
                              "printf 'a\\0\\033[31m\\377' | $D -x SET k && "
                              "$D GET k | od -An -tx1; $D --no-raw GET k; $D --json GET k"),
                     0);
    assert_string_equal(output, "OK\n 61 00 1b 5b 33 31 6d ff 0a\n\"a\\x00\\x1b[31m\\xff\"\n"
                                "{\"hex\":\"61001b5b33316dff\"}\n");
    assert_int_equal(
        run_line(state, "head -c 3000000 /dev/zero | $D -x SET big && $D GET big | wc -c"), 0);
    assert_string_equal(output, "OK\n3000001\n");
}

static void lines_go_on_after_a_failure_and_tell_of_it(void **state)
{
    assert_int_equal(run_line(state, "printf 'SET \"a\\\\x00b\" 1\\nBAD\\n# no\\n\\nGET "
                                     "\"a\\\\x00b\"\\n' | $D"),
                     1);
    assert_string_equal(output,
                        "OK\nERR unknown command 'BAD', with args beginning with: \n1\n");
    assert_int_equal(run_line(state, "printf 'GET \"a\\nPING\\n' | $D"), 2);
    assert_non_null(strstr(output, "PONG\n"));
    assert_int_equal(
        run_line(state, "printf 'MULTI\\nINCR n\\nINCR n\\nEXEC\\n' | $D --no-raw"), 0);
    assert_string_equal(output, "OK\nQUEUED\nQUEUED\n1) (integer) 1\n2) (integer) 2\n");
}

/* Whatever redis-cli makes of a reply. */
static void replies_look_as_those_of_redis_cli(void **state)
{
    static const char *const commands[] = {"HGETALL h",
                                           "SMEMBERS set",
                                           "SMEMBERS none",
                                           "HGETALL none",
                                           "GET none",
                                           "LRANGE none 0 -1",
                                           "LRANGE l 0 -1",
                                           "GET s",
                                           "GET l",
                                           "COMMAND",
                                           "COMMAND DOCS",
                                           "ZRANGE z 0 -1 WITHSCORES",
                                           "ZSCORE z a",
                                           "CONFIG GET *",
                                           "Q.WORKERS",
                                           "ACL GETUSER default",
                                           "COMMAND INFO q.push nope",
                                           "EXISTS s"};
    redisContext *client = served_client(state);
    char line[512];

    if (system("command -v redis-cli >/dev/null") != 0)
        skip();
    expect(client, "OK", "SET s %s", "a\"b\001");
    expect(client, "11", "RPUSH l 1 2 3 4 5 6 7 8 9 10 11");
    expect(client, "2", "HSET h f v g w");
    expect(client, "1", "SADD set one");
    expect(client, "2", "ZADD z 1.5 a 2 b");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        for (int form = 0; form < 4; form++) {
            const char *raw = form % 2 == 0 ? "--no-raw" : "--raw",
                       *three = form > 1 ? "-3" : "";

            snprintf(line, sizeof(line),
                     "redis-cli -p $DUEQ_PORT %s %s %s | sed '$!b;/^$/d' >a; $D %s %s %s | sed "
                     "'$!b;/^$/d' >b; "
                     "diff a b",
                     raw, three, commands[i], raw, three, commands[i]);
            if (run_line(state, line) != 0)
                fail_msg("%s %s %s: %s", raw, three, commands[i], output);
        }
}

static void json_is_one_value_a_line(void **state)
{
    assert_int_equal(run_line(state, "printf 'HSET h a 1 b \"\\\\xff\"\\nHGETALL h\\nBAD\\n"
                                     "LRANGE x 0 -1\\nGET x\\n' | $D --json"),
                     1);
    assert_string_equal(output,
                        "2\n{\"a\":\"1\",\"b\":{\"hex\":\"ff\"}}\n{\"error\":\"ERR unknown "
                        "command 'BAD', with args beginning with: \"}\n[]\nnull\n");
}

static void messages_come_until_the_end(void **state)
{
    char line[600];

    snprintf(line, sizeof(line),
             "mkfifo out; $D SUBSCRIBE ch >out & exec 3<out; read -r a <&3; read -r b <&3; "
             "read -r c <&3; $D PUBLISH ch hello; read -r d <&3; read -r e <&3; read -r f <&3; "
             "echo $a $b $c $d $e $f; kill $!");
    assert_int_equal(run_line(state, line), 0);
    assert_string_equal(output, "1\nsubscribe ch 1 message ch hello\n");
}

static void a_typed_command_is_answered(void **state)
{
    type_to_cli(state, "");
    terminal_type("Q.PUSH mail \"hello ann\" ID a\r");
    terminal_await("\"a\"\r\n");
    await_prompt(state, "");
    terminal_type("SELECT 1\r");
    await_prompt(state, "[1]");
    terminal_type("MULTI\r");
    await_prompt(state, "[1](TX)");
    terminal_type("GET x\r");
    terminal_await("QUEUED");
    terminal_type("EXEC\r");
    terminal_await("1) (nil)");
    await_prompt(state, "[1]");
    terminal_type("GET \"x\r");
    terminal_await("A quote has no end");
    terminal_type("2 PING\r");
    terminal_await("PONG\r\nPONG");
    terminal_type("help q.ack\r");
    terminal_await("topic id token [id token ...]");
    terminal_type("help @nonsense\r");
    terminal_await("knows no such command");
    terminal_type("quit\r");
    assert_int_equal(terminal_end(), 0);
    assert_true(terminal_is_restored());
}

static void tab_completes_and_hints_follow(void **state)
{
    type_to_cli(state, "");
    terminal_type("q.pus\t");
    terminal_await("topic body");
    terminal_type("t b DEL\t5m \r");
    terminal_await("\"");
    terminal_type("q.len t\r");
    terminal_await("(integer) 1");
    terminal_type("config \t");
    terminal_await("RESETSTAT");
    await_prompt(state, "");
    terminal_type("\3");
    await_prompt(state, "");
    terminal_type("quit\r");
    assert_int_equal(terminal_end(), 0);
}

static void ctrl_c_ends_a_wait_and_not_the_program(void **state)
{
    redisContext *client = served_client(state);

    type_to_cli(state, "");
    terminal_type("BLPOP nothing 0\r");
    await_blocked(client, 1);
    terminal_type("\3");
    terminal_await("Interrupted");
    await_prompt(state, "");
    await_blocked(client, 0);
    terminal_type("SUBSCRIBE ch\r");
    terminal_await("until Ctrl-C");
    expect(client, "1", "PUBLISH ch %s", "hi\033[31mred");
    terminal_await("\"hi\\x1b[31mred\"");
    terminal_type("\3");
    await_prompt(state, "");
    terminal_type("PING\r");
    terminal_await("PONG");
    terminal_signal(SIGTERM);
    assert_int_equal(terminal_end(), 128 + SIGTERM);
    assert_true(terminal_is_restored());
}

static void no_byte_of_a_reply_reaches_the_terminal_raw(void **state)
{
    redisContext *client = served_client(state);
    size_t size;

    expect(client, "OK", "SET k %s", "x\033]0;title\007\302\233y");
    for (int i = 0; i < 2; i++) {
        type_to_cli(state, i == 0 ? "--raw" : "-3");
        terminal_type("GET k\r");
        terminal_await("title");
        terminal_type("GET\033[D\rquit\r");
        terminal_end();
        assert_null(strstr(terminal_output(&size), "\033]0;"));
        assert_null(strstr(terminal_output(&size), "\302\233"));
    }
}

static void a_restarted_server_is_connected_anew(void **state)
{
    struct server_process *server = served_server(state);

    server_process_option(server, "unixsocket",
                          server->unixsocket); /* the port will be another */
    server_process_stop(server);
    server_process_run(server);
    terminal_begin(24, 100, "export HOME=%s; exec %s cli --unix %s", server->directory,
                   server_binary(), server->unixsocket);
    terminal_await("> ");
    terminal_type("SELECT 2\r");
    terminal_await("[2]> ");
    server_process_kill(server);
    terminal_type("PING\r");
    terminal_await("cannot connect");
    terminal_await("not connected> ");
    server_process_run(server);
    terminal_type("PING\r");
    terminal_await("PONG");
    terminal_await("[2]> ");
    terminal_type("quit\r");
    assert_int_equal(terminal_end(), 0);
}

static void passwords_are_in_no_history(void **state)
{
    static const char *const secrets[] = {"AUTH hush", "auth bob hush", "HELLO 3 AUTH bob hush",
                                          "ACL SETUSER bob >hush",
                                          "config set requirepass \"\""};

    type_to_cli(state, "");
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        terminal_type(secrets[i]);
        terminal_type("\r");
        await_prompt(state, "");
    }
    terminal_type("PING\r");
    terminal_await("PONG");
    terminal_type("quit\r");
    assert_int_equal(terminal_end(), 0);
    assert_int_equal(run_line(state, "cat .dueq_history; stat -c %a .dueq_history"), 0);
    assert_string_equal(output, "PING\nquit\n600\n");
    type_to_cli(state, "");
    terminal_type("\020\020"); /* back to the line of the run before */
    terminal_await("PING");
    terminal_type("\r");
    terminal_await("PONG");
}

static void a_home_without_room_for_a_history_is_fine(void **state)
{
    struct server_process *server = served_server(state);

    terminal_begin(5, 20, "export XDG_STATE_HOME=/proc/none DUEQ_PORT=%d; exec %s cli",
                   server->port, server_binary());
    terminal_await("> ");
    terminal_type("ECHO \303\244\r");
    terminal_await("\"\\xc3\\xa4\"");
    terminal_resize(50, 300);
    terminal_type("PING\r");
    terminal_await("PONG");
    terminal_type("quit\r");
    assert_int_equal(terminal_end(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cli_test(letters_of_redis_cli_say_where_the_server_is),
        cli_test(a_command_in_arguments_has_its_status),
        cli_test(any_byte_goes_there_and_comes_back),
        cli_test(lines_go_on_after_a_failure_and_tell_of_it),
        cli_test(replies_look_as_those_of_redis_cli),
        cli_test(json_is_one_value_a_line),
        cli_test(messages_come_until_the_end),
        cli_test(a_typed_command_is_answered),
        cli_test(tab_completes_and_hints_follow),
        cli_test(ctrl_c_ends_a_wait_and_not_the_program),
        cli_test(no_byte_of_a_reply_reaches_the_terminal_raw),
        cli_test(a_restarted_server_is_connected_anew),
        cli_test(passwords_are_in_no_history),
        cli_test(a_home_without_room_for_a_history_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
