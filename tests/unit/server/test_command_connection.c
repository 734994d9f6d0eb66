/* Login, HELLO, CLIENT and the like. The texts are those of redis-server 7.0.15. */
#include "server/session/waiters.h"
#include "tests/support/client/command_runner.h"

#include "server/dispatch/long_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void ping_and_echo_answer(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "PONG", "PING");
    runner_expect(runner, "\"a b\"", "PING \"a b\"");
    runner_expect(runner, "\"\"", "PING \"\"");
    runner_expect(runner, "!ERR wrong number of arguments for 'ping' command", "PING a b");
    runner_expect(runner, "\"\\x00\"", "ECHO \"\\x00\"");
}

static void quit_closes_after_its_reply(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "QUIT");
    assert_true(runner->clients[0]->session.life == SESSION_CLOSING);
}

static void select_takes_16_databases(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "SELECT 0");
    runner_expect(runner, "OK", "SELECT 15");
    assert_int_equal(runner->clients[0]->session.database, 15);
    runner_expect(runner, "!ERR DB index is out of range", "SELECT 16");
    runner_expect(runner, "!ERR DB index is out of range", "SELECT -1");
    runner_expect(runner, "!ERR value is not an integer or out of range", "SELECT x");
    runner_expect(runner,
                  "!ERR value is out of range, value must between -2147483648 and 2147483647",
                  "SELECT 4294967296");
    assert_int_equal(runner->clients[0]->session.database, 15);
}

/* ---- login */

static void auth_without_a_password_set(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "!ERR AUTH <password> called without any password configured for the default "
                  "user. Are you sure your configuration is correct?",
                  "AUTH x");
    runner_expect(runner, "OK", "AUTH default anything");
    runner_expect(runner, "!WRONGPASS invalid username-password pair or user is disabled.",
                  "AUTH nobody anything");
    runner_expect(runner, "!ERR syntax error", "AUTH a b c");
}

static void auth_compares_the_whole_password(void **state)
{
    static const char *const wrong[] = {"AUTH secre",        "AUTH secrets",
                                        "AUTH \"\"",         "AUTH Secret",
                                        "AUTH secretsecret", "AUTH \"secret\\x00\"",
                                        "AUTH other secret", "AUTH Default secret"};
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET auth-delay 0");
    runner_expect(runner, "OK", "CONFIG SET requirepass secret");
    struct connection *client = runner_connect(runner);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        runner_expect_of(runner, client, "!WRONGPASS *", wrong[i]);
        assert_false(client->session.authenticated);
    }
    runner_expect_of(runner, client, "OK", "AUTH default secret");
    assert_true(client->session.authenticated);
}

static void a_password_of_any_bytes_is_compared(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET auth-delay 0");
    runner_expect(runner, "OK", "CONFIG SET requirepass \"a\\x00b\"");
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH a");
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH \"a\\x00\"");
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH \"a\\x00c\"");
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH \"a\\x00ba\"");
    runner_expect_of(runner, client, "!WRONGPASS *", "AUTH \"\"");
    runner_expect_of(runner, client, "!NOAUTH *", "PING");
    runner_expect_of(runner, client, "OK", "AUTH \"a\\x00b\"");
    runner_expect_of(runner, client, "RESET", "RESET");
    runner_expect_of(runner, client, "!NOAUTH *", "PING");
    runner_expect_of(runner, client, "[*\"proto\" 2 *]", "HELLO 2 AUTH default \"a\\x00b\"");
}

static void hello_describes_the_server(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner,
                  "[\"server\" \"redis\" \"version\" \"7.0.15\" \"proto\" 2 \"id\" 1 \"mode\" "
                  "\"standalone\" \"role\" \"master\" \"modules\" []]",
                  "HELLO");
    runner_expect(runner, "{*\"proto\": 3 *}", "HELLO 3");
    runner_expect(runner, "{*\"proto\": 3 *}", "HELLO");
    runner_expect(runner, "[*\"proto\" 2 *]", "HELLO 2");
}

static void hello_refuses_what_it_does_not_know(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!NOPROTO unsupported protocol version", "HELLO 1");
    runner_expect(runner, "!NOPROTO unsupported protocol version", "HELLO 4");
    runner_expect(runner, "!ERR Protocol version is not an integer or out of range", "HELLO x");
    runner_expect(runner, "!ERR Syntax error in HELLO option 'FOO'", "HELLO 3 FOO");
    runner_expect(runner, "!ERR Syntax error in HELLO option 'AUTH'", "HELLO 3 AUTH default");
    runner_expect(runner, "!ERR Syntax error in HELLO option 'setname'", "HELLO 3 setname");
    assert_int_equal(runner->clients[0]->session.protocol, 2);
}

static void hello_logs_in_and_names(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CONFIG SET requirepass secret");
    struct connection *client = runner_connect(runner);
    runner_expect_of(runner, client, "!NOAUTH HELLO must be called with the client already *",
                     "HELLO 3");
    runner_expect_of(runner, client, "!WRONGPASS *", "HELLO 3 AUTH default wrong SETNAME me");
    runner_expect_of(runner, client, "!ERR Client names cannot contain *",
                     "HELLO 3 AUTH default secret SETNAME \"a b\"");
    assert_false(client->session.authenticated);
    assert_int_equal(client->session.protocol, 2);
    runner_expect_of(runner, client, "{*}", "HELLO 3 setname me auth default secret");
    runner_expect_of(runner, client, "\"me\"", "CLIENT GETNAME");
}

static void reset_is_a_new_beginning(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "{*}", "HELLO 3 SETNAME me");
    runner_expect(runner, "OK", "SELECT 3");
    runner_expect(runner, "OK", "CONFIG SET requirepass secret");
    runner_expect(runner, "RESET", "RESET");
    runner_expect(runner, "!NOAUTH *", "CLIENT GETNAME");
    runner_expect(runner, "OK", "AUTH secret");
    runner_expect(runner, "nil", "CLIENT GETNAME");
    assert_int_equal(runner->clients[0]->session.database, 0);
}

/* ---- CLIENT */

static void a_client_has_a_name(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "nil", "CLIENT GETNAME");
    runner_expect(runner, "OK", "CLIENT SETNAME me");
    runner_expect(runner, "\"me\"", "CLIENT GETNAME");
    runner_expect(runner,
                  "!ERR Client names cannot contain spaces, newlines or special characters.",
                  "CLIENT SETNAME \"a b\"");
    runner_expect(runner, "!ERR Client names *", "CLIENT SETNAME \"\\xff\"");
    runner_expect(runner, "OK", "CLIENT SETNAME \"\"");
    runner_expect(runner, "nil", "CLIENT GETNAME");
}

static void a_client_says_what_library_it_is(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CLIENT SETINFO lib-name redis-py");
    runner_expect(runner, "OK", "CLIENT SETINFO LIB-VER 5.0");
    runner_expect(runner, "\"*lib-name=redis-py lib-ver=5.0\\n\"", "CLIENT INFO");
    runner_expect(runner, "!ERR Unrecognized option 'FOO'", "CLIENT SETINFO FOO x");
    runner_expect(runner, "!ERR lib-name cannot contain *", "CLIENT SETINFO LIB-NAME \"a b\"");
}

static void client_list_has_a_line_for_each(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    runner_expect_of(runner, other, "", "Q.CLAIM topic BLOCK 0");
    runner_expect(runner,
                  "\"id=1 addr=127.0.0.1:1001 laddr=127.0.0.1:6379 fd=-1 name= age=0 idle=0 "
                  "flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 *events=* cmd=client|list "
                  "user=default redir=-1 resp=2 *\\nid=2 *flags=b *cmd=q.claim *\\n\"",
                  "CLIENT LIST");
    runner_expect(runner, "\"id=2 *\\n\"", "CLIENT LIST ID 2 99");
    runner_expect(runner, "\"id=1 *\\nid=2 *\\n\"", "CLIENT LIST TYPE normal");
    runner_expect(runner, "\"\"", "CLIENT LIST TYPE pubsub");
    runner_expect(runner, "!ERR Unknown client type 'foo'", "CLIENT LIST TYPE foo");
    runner_expect(runner, "!ERR Invalid client ID", "CLIENT LIST ID 2 x");
    runner_expect(runner, "!ERR syntax error", "CLIENT LIST FOO");
    runner_expect(runner, "{*}", "HELLO 3");
    runner_expect(runner, "txt:\"id=*resp=3*\\n\"", "CLIENT LIST");
}

static void a_name_cannot_forge_a_line_of_the_list(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "!ERR *", "CLIENT SETNAME \"x\\nid=9\"");
    runner_expect(runner, "!ERR *", "CLIENT SETINFO LIB-VER \"x\\nid=9\"");
    runner_expect(runner, "!ERR *", "HELLO 2 SETNAME \"x\\nid=9\"");
}

static void clients_are_killed_by_what_they_are(void **state)
{
    struct command_runner *runner = *state;
    struct connection *second = runner_connect(runner), *third = runner_connect(runner);
    runner_expect(runner, "0", "CLIENT KILL ID 99");
    runner_expect(runner, "0", "CLIENT KILL ID 2 ADDR 1.2.3.4:5");
    runner_expect(runner, "0", "CLIENT KILL TYPE replica");
    assert_true(second->session.life == SESSION_OPEN);
    assert_true(third->session.life == SESSION_OPEN);
    runner_expect(runner, "1", "CLIENT KILL ID 2");
    assert_true(second->session.life == SESSION_GONE);
    runner_expect(runner, "1", "CLIENT KILL USER default ADDR 127.0.0.1:1003");
    assert_true(third->session.life == SESSION_GONE);
    runner_expect(runner, "!ERR No such client", "CLIENT KILL 127.0.0.1:1003"); /* any more */
    runner_expect(runner, "!ERR No such client", "CLIENT KILL 1.2.3.4:5");
}

static void a_client_kills_itself_only_when_it_says_so(void **state)
{
    struct command_runner *runner = *state;
    struct session *session = &runner->clients[0]->session;
    runner_expect(runner, "0", "CLIENT KILL TYPE normal");
    assert_true(session->life == SESSION_OPEN);
    runner_expect(runner, "1", "CLIENT KILL ID 1 SKIPME no");
    assert_true(session->life == SESSION_CLOSING);
}

static void bad_kills_kill_nobody(void **state)
{
    static const char *const lines[][2] = {
        {"ERR client-id should be greater than 0", "CLIENT KILL ID 2 ID 0"},
        {"ERR client-id should be greater than 0", "CLIENT KILL ID x"},
        {"ERR Unknown client type 'foo'", "CLIENT KILL TYPE foo"},
        {"ERR No such user 'foo'", "CLIENT KILL ID 2 USER foo"},
        {"ERR syntax error", "CLIENT KILL ID 2 SKIPME maybe"},
        {"ERR syntax error", "CLIENT KILL ID 2 FOO bar"},
        {"ERR syntax error", "CLIENT KILL ID 2 TYPE"},
    };
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char pattern[128];
        snprintf(pattern, sizeof(pattern), "!%s", lines[i][0]);
        runner_expect(runner, pattern, lines[i][1]);
    }
    assert_true(other->session.life == SESSION_OPEN);
}

/* ---- many clients */

enum { CLIENTS = 450, LINES = 200 };

static void connect_many(struct command_runner *runner)
{
    for (int i = 1; i < CLIENTS; i++)
        runner_connect(runner);
    runner->by_slices = true;
}

static int open_clients(const struct command_runner *runner)
{
    int open = 0;

    for (size_t i = 0; i < runner->client_count; i++)
        open += runner->clients[i]->session.life == SESSION_OPEN;
    return open;
}

static int lines_of(char *reply)
{
    int lines = 0;

    for (const char *at = reply; (at = strstr(at, "id=")) != NULL; at++)
        lines += at[-1] == '\n';
    free(reply);
    return lines;
}

static char *bytes_of(struct connection *client)
{
    return strndup(buffer_content(&client->output), buffer_size(&client->output));
}

/* One that leaves meanwhile is passed over, one that comes is not in the list. */
static void a_long_list_is_made_in_slices(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "", "CLIENT LIST");
    runner->clients[CLIENTS - 1]->session.life = SESSION_GONE;
    runner_connect(runner);
    assert_int_equal(runner_finish(runner, 0), CLIENTS / LINES);
    assert_int_equal(lines_of(bytes_of(runner->clients[0])), CLIENTS - 1);
    runner->clients[CLIENTS - 1]->session.life = SESSION_OPEN;
}

/* It may be asked for while the store is opened, whose clock is the server's from then on. */
static void a_clock_may_start_while_a_list_is_made(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "", "CLIENT LIST");
    waiters_start_clock(runner->server.waiters, runner->server.now.now + 1000);
    assert_int_equal(runner_finish(runner, 0), CLIENTS / LINES);
}

static void who_leaves_while_its_list_is_made_leaves_nothing(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "", "CLIENT LIST");
    assert_true(runner_slice(runner));
    session_leave(&runner->server, &runner->clients[0]->session);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
    assert_false(runner_slice(runner));
}

static void many_clients_are_killed_in_slices(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "", "CLIENT KILL TYPE normal");
    assert_int_equal(open_clients(runner), CLIENTS);
    assert_int_equal(runner_finish(runner, 0), CLIENTS / RUNNER_KILLS + 1);
    runner_expect_reply(runner->clients[0], "449");
    assert_int_equal(open_clients(runner), 1);
}

static void a_kill_goes_on_without_its_client(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "", "CLIENT KILL TYPE normal");
    assert_true(runner_slice(runner));
    session_leave(&runner->server, &runner->clients[0]->session);
    runner_finish(runner, 0);
    assert_int_equal(open_clients(runner), 1);
}

/* Two at once, each about all others and the second about the first: who is killed gets no
 * reply, and its work ends. */
static void killers_kill_each_other(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect_of(runner, runner->clients[440], "", "CLIENT KILL TYPE normal");
    runner_expect_of(runner, runner->clients[449], "", "CLIENT KILL TYPE normal");
    runner_finish(runner, 0);
    assert_int_equal(open_clients(runner), 1);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
}

static void in_an_exec_they_are_slices_of_it(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "CLIENT LIST");
    runner_expect(runner, "QUEUED", "CLIENT LIST ID 7");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(runner_finish(runner, 0), 1, 5);
    assert_int_equal(lines_of(runner_bytes(runner, "")), CLIENTS + 1);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "CLIENT KILL TYPE normal");
    runner_expect(runner, "QUEUED", "SET k v");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(open_clients(runner), 2, CLIENTS - 1);
    assert_in_range(runner_finish(runner, UINT64_MAX), 1, 5);
    runner_expect_reply(runner->clients[0], "[449 OK]");
    assert_int_equal(open_clients(runner), 1);
}

static void a_kill_in_an_exec_goes_on_without_its_client(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "OK", "MULTI");
    runner_expect(runner, "QUEUED", "CLIENT KILL TYPE normal");
    runner_run(runner, runner->clients[0], "EXEC");
    assert_in_range(open_clients(runner), 2, CLIENTS - 1);
    session_leave(&runner->server, &runner->clients[0]->session);
    assert_int_equal(open_clients(runner), 1);
    assert_int_equal(long_works_count(runner->server.long_works), 0);
}

static void who_kills_itself_with_many_gets_the_reply(void **state)
{
    struct command_runner *runner = *state;

    connect_many(runner);
    runner_expect(runner, "", "CLIENT KILL TYPE normal SKIPME no");
    assert_int_equal(open_clients(runner), CLIENTS);
    assert_int_equal(runner_finish(runner, 0), CLIENTS / RUNNER_KILLS + 1);
    runner_expect_reply(runner->clients[0], "450");
    assert_int_equal(open_clients(runner), 0);
}

static void replies_can_be_switched_off(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "", "CLIENT REPLY OFF");
    runner_expect(runner, "", "PING");
    runner_expect(runner, "", "CLIENT REPLY SKIP");
    runner_expect(runner, "OK", "CLIENT REPLY ON");
    runner_expect(runner, "", "CLIENT REPLY SKIP");
    runner_expect(runner, "", "NOSUCH");
    runner_expect(runner, "PONG", "PING");
    runner_expect(runner, "!ERR syntax error", "CLIENT REPLY FOO");
}

static void a_waiting_client_is_unblocked(void **state)
{
    struct command_runner *runner = *state;
    struct connection *other = runner_connect(runner);
    runner_expect(runner, "0", "CLIENT UNBLOCK 2");
    runner_expect_of(runner, other, "", "Q.CLAIM topic BLOCK 0");
    runner_expect(runner, "1", "CLIENT UNBLOCK 2");
    runner_expect_reply(other, "nil");
    runner_expect_of(runner, other, "", "Q.CLAIM topic BLOCK 0");
    runner_expect(runner, "1", "CLIENT UNBLOCK 2 error");
    runner_expect_reply(other, "!UNBLOCKED client unblocked via CLIENT UNBLOCK");
    runner_expect(runner, "0", "CLIENT UNBLOCK 2 TIMEOUT");
    runner_expect(runner, "!ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
                  "CLIENT UNBLOCK 2 FOO");
    runner_expect(runner,
                  "!ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try "
                  "CLIENT HELP.",
                  "CLIENT UNBLOCK 2 ERROR x");
}

static void no_evict_and_no_touch_are_switches(void **state)
{
    struct command_runner *runner = *state;
    runner_expect(runner, "OK", "CLIENT NO-EVICT on");
    assert_true(runner->clients[0]->session.no_evict);
    runner_expect(runner, "OK", "CLIENT NO-EVICT OFF");
    runner_expect(runner, "OK", "CLIENT NO-TOUCH ON");
    runner_expect(runner, "!ERR syntax error", "CLIENT NO-EVICT x");
    assert_false(runner->clients[0]->session.no_evict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        runner_test(ping_and_echo_answer),
        runner_test(quit_closes_after_its_reply),
        runner_test(select_takes_16_databases),
        runner_test(auth_without_a_password_set),
        runner_test(auth_compares_the_whole_password),
        runner_test(a_password_of_any_bytes_is_compared),
        runner_test(hello_describes_the_server),
        runner_test(hello_refuses_what_it_does_not_know),
        runner_test(hello_logs_in_and_names),
        runner_test(reset_is_a_new_beginning),
        runner_test(a_client_has_a_name),
        runner_test(a_client_says_what_library_it_is),
        runner_test(client_list_has_a_line_for_each),
        runner_test(a_name_cannot_forge_a_line_of_the_list),
        runner_test(clients_are_killed_by_what_they_are),
        runner_test(a_client_kills_itself_only_when_it_says_so),
        runner_test(bad_kills_kill_nobody),
        runner_test(a_long_list_is_made_in_slices),
        runner_test(a_clock_may_start_while_a_list_is_made),
        runner_test(who_leaves_while_its_list_is_made_leaves_nothing),
        runner_test(many_clients_are_killed_in_slices),
        runner_test(a_kill_goes_on_without_its_client),
        runner_test(killers_kill_each_other),
        runner_test(in_an_exec_they_are_slices_of_it),
        runner_test(a_kill_in_an_exec_goes_on_without_its_client),
        runner_test(who_kills_itself_with_many_gets_the_reply),
        runner_test(replies_can_be_switched_off),
        runner_test(a_waiting_client_is_unblocked),
        runner_test(no_evict_and_no_touch_are_switches),
    };
    return cmocka_run_group_tests_name("connection commands", tests, NULL, NULL);
}
