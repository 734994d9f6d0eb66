/* The commands of connections: PING to RESET, AUTH and HELLO, CLIENT. */
#include "tests/support/client/raw_client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void ping_and_echo_answer(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "PONG", "PING");
    expect(client, "\"hi there\"", "PING %s", "hi there");
    expect(client, "\"hi\"", "ECHO hi");
    expect(client, "!ERR wrong number of arguments for 'ping' command", "PING a b");
    expect(client, "!ERR wrong number of arguments for 'echo' command", "ECHO");
}

static void hello_2_is_a_flat_array(void **state)
{
    redisContext *client = served_client(state);
    expect(client,
           "[\"server\" \"redis\" \"version\" \"7.0.15\" \"proto\" 2 \"id\" * \"mode\" "
           "\"standalone\" \"role\" \"master\" \"modules\" []]",
           "HELLO 2");
    expect(client, "[\"server\" *]", "HELLO");
}

static void hello_refuses_what_it_does_not_know(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!NOPROTO unsupported protocol version", "HELLO 9");
    expect(client, "!NOPROTO unsupported protocol version", "HELLO 1");
    expect(client, "!ERR Protocol version is not an integer or out of range", "HELLO x");
    expect(client, "!ERR Syntax error in HELLO option 'FOO'", "HELLO 3 FOO");
    expect(client, "PONG", "PING");
}

static void hello_names_the_client(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "[*]", "HELLO 2 SETNAME worker-1");
    expect(client, "\"worker-1\"", "CLIENT GETNAME");
}

static void select_takes_0_to_15(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "SELECT 15");
    expect(client, "OK", "SELECT 0");
    expect(client, "!ERR DB index is out of range", "SELECT 16");
    expect(client, "!ERR DB index is out of range", "SELECT -1");
    expect(client, "!ERR value is not an integer or out of range", "SELECT x");
}

static void quit_says_ok_and_closes(void **state)
{
    redisContext *client = served_client(state);
    say(client, "PING");
    say(client, "QUIT");
    say(client, "PING");
    expect_reply(client, "PONG");
    expect_reply(client, "OK");
    expect_closed(client);
}

static void reset_forgets_name_protocol_and_database(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_expect(&raw, "{*}", "HELLO 3 SETNAME me");
    raw_expect(&raw, "OK", "SELECT 3");
    raw_expect(&raw, "RESET", "RESET");
    raw_expect(&raw, "nil", "CLIENT GETNAME");
    raw_expect(&raw, "\"*db=0*\"", "CLIENT INFO");
    raw_close(&raw);
}

static struct server_process *locked_server(void)
{
    return server_process_start("requirepass secret");
}

static void without_login_nothing_is_served(void **state)
{
    static const char *const commands[] = {"PING",           "Q.PUSH mail body", "Q.CLAIM mail",
                                           "INFO",           "CONFIG GET *",     "COMMAND",
                                           "CLIENT GETNAME", "SHUTDOWN",         "FLUSHALL"};
    (void)state;
    redisContext *client = client_open(locked_server());
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        expect(client, "!NOAUTH Authentication required.", commands[i]);
    expect(client, "!NOAUTH HELLO must be called with the client already authenticated*",
           "HELLO 2");
    expect(client, "!WRONGPASS *", "AUTH wrong");
    expect(client, "!WRONGPASS *", "AUTH default wrong");
    expect(client, "!WRONGPASS *", "AUTH nobody secret");
    expect(client, "!WRONGPASS *", "HELLO 2 AUTH default wrong");
    expect(client, "!NOAUTH *", "PING");
    expect(client, "OK", "QUIT");
}

static void every_way_to_log_in_works(void **state)
{
    (void)state;
    struct server_process *server = locked_server();
    redisContext *one = client_open(server), *two = client_open(server);
    redisContext *hello = client_open(server);
    expect(one, "OK", "AUTH secret");
    expect(one, "PONG", "PING");
    expect(two, "OK", "AUTH default secret");
    expect(two, "PONG", "PING");
    expect(hello, "[*]", "HELLO 2 AUTH default secret SETNAME x");
    expect(hello, "\"x\"", "CLIENT GETNAME");
    expect(hello, "RESET", "RESET");
    expect(hello, "!NOAUTH *", "PING");
}

static void auth_on_an_open_server_is_redis_error(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR AUTH <password> called without any password configured for the*",
           "AUTH x");
    expect(client, "OK", "AUTH default x");
    expect(client, "!ERR wrong number of arguments for 'auth' command", "AUTH");
}

static void a_password_can_be_set_while_running(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CONFIG SET requirepass new");
    redisContext *other = client_open(served_server(state));
    expect(other, "!NOAUTH *", "PING");
    expect(other, "OK", "AUTH new");
    expect(other, "OK", "CONFIG SET requirepass %s", "");
    expect(client_open(served_server(state)), "PONG", "PING");
}

static void before_login_requests_must_be_small(void **state)
{
    (void)state;
    struct server_process *server = locked_server();
    struct raw_client many, large;
    raw_open(&many, server);
    raw_say(&many, "*11");
    raw_expect_reply(&many, "!ERR Protocol error: unauthenticated multibulk length");
    raw_expect_closed(&many);
    raw_close(&many);
    raw_open(&large, server);
    raw_say(&large, "*2\r\n$4\r\nAUTH\r\n$16385");
    raw_expect_reply(&large, "!ERR Protocol error: unauthenticated bulk length");
    raw_expect_closed(&large);
    raw_close(&large);
}

static void a_client_has_an_id_and_a_name(void **state)
{
    redisContext *client = served_client(state);
    redisContext *other = client_open(served_server(state));
    int64_t id = ask_integer(client, "CLIENT ID");
    assert_true(ask_integer(other, "CLIENT ID") > id);
    expect(client, "nil", "CLIENT GETNAME");
    expect(client, "OK", "CLIENT SETNAME worker-7");
    expect(client, "\"worker-7\"", "CLIENT GETNAME");
    expect(client, "!ERR Client names cannot contain spaces, newlines or special characters.",
           "CLIENT SETNAME %s", "a b");
    expect(client, "\"worker-7\"", "CLIENT GETNAME");
    expect(client, "OK", "CLIENT SETNAME %s", "");
    expect(client, "nil", "CLIENT GETNAME");
}

static void setinfo_is_taken(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CLIENT SETINFO LIB-NAME redis-py");
    expect(client, "OK", "CLIENT SETINFO lib-ver 5.0.1");
    expect(client, "!ERR *", "CLIENT SETINFO FOO bar");
    expect(client, "\"*lib-name=redis-py*lib-ver=5.0.1*\"", "CLIENT INFO");
}

static void client_list_names_every_connection(void **state)
{
    redisContext *client = served_client(state);
    redisContext *other = client_open(served_server(state));
    expect(client, "OK", "CLIENT SETNAME one");
    expect(other, "OK", "CLIENT SETNAME two");
    expect(client, "\"id=* addr=127.0.0.1:* laddr=* name=one*id=*name=two*\\n\"",
           "CLIENT LIST");
    expect(client, "\"id=*name=one*cmd=client|info*\"", "CLIENT INFO");
    int64_t id = ask_integer(other, "CLIENT ID");
    char *list = ask_text(client, "CLIENT LIST ID %lld", (long long)id);
    assert_non_null(strstr(list, "name=two"));
    assert_null(strstr(list, "name=one"));
    free(list);
    expect(client, "\"id=*\"", "CLIENT LIST TYPE normal");
    expect(client, "!ERR *", "CLIENT LIST TYPE foo");
    expect(client, "!ERR syntax error", "CLIENT LIST FOO");
}

static void clients_are_killed_by_id_or_address(void **state)
{
    redisContext *client = served_client(state);
    redisContext *first = client_open(served_server(state));
    redisContext *second = client_open(served_server(state));
    int64_t id = ask_integer(first, "CLIENT ID");
    expect(client, "1", "CLIENT KILL ID %lld", (long long)id);
    expect_closed(first);
    char *info = ask_string(second, "CLIENT INFO");
    char *address = strstr(info, "addr=") + strlen("addr=");
    address[strcspn(address, " ")] = '\0';
    expect(client, "OK", "CLIENT KILL %s", address);
    expect_closed(second);
    expect(client, "!ERR No such client", "CLIENT KILL %s", address);
    expect(client, "0", "CLIENT KILL ID 99999999");
    expect(client, "0", "CLIENT KILL TYPE normal SKIPME yes ADDR 1.2.3.4:5");
    expect(client, "!ERR No such client", "CLIENT KILL ID"); /* the old form: an address */
    expect(client, "!ERR syntax error", "CLIENT KILL ID 1 FOO");
    free(info);
}

static void a_client_that_kills_itself_hears_of_it(void **state)
{
    redisContext *client = served_client(state);
    int64_t id = ask_integer(client, "CLIENT ID");
    expect(client, "1", "CLIENT KILL ID %lld SKIPME no", (long long)id);
    expect_closed(client);
}

static void an_unknown_subcommand_names_the_help(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.", "CLIENT NOSUCH");
    expect(client, "!ERR wrong number of arguments for 'client' command", "CLIENT");
    expect(client, "!ERR wrong number of arguments for 'client|setname' command",
           "CLIENT SETNAME");
}

static void a_unix_socket_serves_as_well(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    redisContext *client = client_open_unix(server->unixsocket);
    expect(client, "\"a\"", "Q.PUSH mail body ID a");
    expect(client_open(server), "[[\"a\" *]]", "Q.CLAIM mail");
}

/* Another client sends commands more often than once a second. */
static void idle_clients_are_closed_on_a_busy_server(void **state)
{
    redisContext *client = served_client(state);
    redisContext *idle = client_open(served_server(state));
    int64_t id = ask_integer(idle, "CLIENT ID");
    int waited = 0;
    expect(client, "OK", "CONFIG SET timeout 1");
    for (bool there = true; there; waited++) {
        char *line = ask_string(client, "CLIENT LIST ID %lld", (long long)id);
        there = line[0] != '\0';
        free(line);
        assert_true(waited < 60000);
        sleep_ms(1);
    }
    expect_closed(idle);
}

static void a_monitor_may_be_idle(void **state)
{
    redisContext *client = served_client(state);
    redisContext *monitor = client_open(served_server(state));
    redisContext *idle = client_open(served_server(state));
    say(monitor, "MONITOR");
    expect_reply(monitor, "OK");
    expect(client, "OK", "CONFIG SET timeout 1");
    int64_t id = ask_integer(idle, "CLIENT ID");
    expect_reply(monitor, "*CLIENT*ID*");
    for (int waited = 0;; waited++) {
        char *line = ask_string(client, "CLIENT LIST ID %lld", (long long)id);
        bool there = line[0] != '\0';
        free(line);
        if (!there)
            break;
        assert_true(waited < 60000);
        sleep_ms(1);
    }
    expect(client, "\"x\"", "ECHO x");
    redisReply *reply = NULL;
    for (bool heard = false; !heard; freeReplyObject(reply)) {
        assert_int_equal(redisGetReply(monitor, (void **)&reply), REDIS_OK);
        heard = strstr(reply->str, "ECHO") != NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(ping_and_echo_answer),
        served_test(idle_clients_are_closed_on_a_busy_server),
        served_test(hello_2_is_a_flat_array),
        served_test(hello_refuses_what_it_does_not_know),
        served_test(hello_names_the_client),
        served_test(select_takes_0_to_15),
        served_test(quit_says_ok_and_closes),
        served_test(reset_forgets_name_protocol_and_database),
        serving_test(without_login_nothing_is_served),
        serving_test(every_way_to_log_in_works),
        served_test(auth_on_an_open_server_is_redis_error),
        served_test(a_password_can_be_set_while_running),
        serving_test(before_login_requests_must_be_small),
        served_test(a_client_has_an_id_and_a_name),
        served_test(setinfo_is_taken),
        served_test(client_list_names_every_connection),
        served_test(clients_are_killed_by_id_or_address),
        served_test(a_client_that_kills_itself_hears_of_it),
        served_test(an_unknown_subcommand_names_the_help),
        served_test(a_unix_socket_serves_as_well),
        served_test(a_monitor_may_be_idle),
    };
    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
