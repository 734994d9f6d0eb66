/* COMMAND, INFO, CONFIG, TIME, SHUTDOWN, and the replies to unknown commands. */
#include "tests/support/client/raw_client.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <cmocka.h>

static void an_unknown_command_is_quoted_with_its_arguments(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' ",
           "NOSUCH a b");
    expect(client, "!ERR unknown command 'q.nosuch', with args beginning with: ", "q.nosuch");
    char long_argument[400];
    memset(long_argument, 'x', sizeof(long_argument) - 1);
    long_argument[sizeof(long_argument) - 1] = '\0';
    char *text = ask_text(client, "NOSUCH %s %s %s", long_argument, long_argument, "unseen");
    assert_true(strlen(text) < 300);
    assert_null(strstr(text, "unseen"));
    free(text);
    expect(client, "PONG", "PING");
}

static void an_unknown_command_cannot_break_the_reply(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR unknown command 'a  b', with args beginning with: 'c  +OK  ' ",
           "%s %s", "a\r\nb", "c\r\n+OK\r\n");
    expect(client, "PONG", "PING");
}

static void lua_is_refused_by_name(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR *Lua*Q.PUSH*", "EVAL %s 0", "return 1");
    expect(client, "!NOSCRIPT *", "EVALSHA 0000000000000000000000000000000000000000 0");
    expect(client, "!ERR *Lua*", "SCRIPT LOAD %s", "return 1");
    expect(client, "[0 0]", "SCRIPT EXISTS a b");
    expect(client, "!ERR *Lua*", "FCALL f 0");
    expect(client, "!ERR *Lua*", "FUNCTION LIST");
}

static void command_lists_itself(void **state)
{
    static const char *const names[] = {
        "q.push", "q.claim", "q.mclaim", "q.ack",    "q.nack", "q.extend", "q.get",
        "q.del",  "q.len",   "q.stats",  "q.topics", "ping",   "echo",     "hello",
        "auth",   "select",  "quit",     "reset",    "client", "command",  "info",
        "config", "dbsize",  "flushall", "shutdown", "time"};
    redisContext *client = served_client(state);
    struct raw_client raw; /* the installed hiredis refuses replies as deep as these */
    int64_t count = ask_integer(client, "COMMAND COUNT");
    redisReply *all = ask(client, "COMMAND"), *list = ask(client, "COMMAND LIST");
    assert_int_equal(all->elements, count);
    assert_true(list->elements >= (size_t)count); /* subcommands too */
    freeReplyObject(all);
    freeReplyObject(list);
    raw_open(&raw, served_server(state));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char pattern[64], request[64];
        snprintf(pattern, sizeof(pattern), "[[\"%s\" *]]", names[i]);
        expect(client, pattern, "COMMAND INFO %s", names[i]);
        snprintf(pattern, sizeof(pattern), "[\"%s\" [*\"summary\"*]]", names[i]);
        snprintf(request, sizeof(request), "COMMAND DOCS %s", names[i]);
        raw_expect(&raw, pattern, request);
    }
    raw_close(&raw);
}

static void command_info_has_ten_fields(void **state)
{
    redisContext *client = served_client(state);
    redisReply *info = ask(client, "COMMAND INFO q.push nosuch");
    assert_int_equal(info->elements, 2);
    assert_int_equal(info->element[0]->elements, 10);
    assert_int_equal(info->element[0]->element[1]->integer, -3);
    assert_int_equal(info->element[1]->type, REDIS_REPLY_NIL);
    freeReplyObject(info);
    redisReply *docs = ask(client, "COMMAND DOCS nosuch");
    assert_int_equal(docs->elements, 0);
    freeReplyObject(docs);
}

static void command_getkeys_finds_topics(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "[\"mail\"]", "COMMAND GETKEYS Q.PUSH mail body ID a");
    expect(client, "[\"one\" \"two\"]", "COMMAND GETKEYS Q.MCLAIM 2 one two COUNT 3");
    expect(client, "!ERR *", "COMMAND GETKEYS PING");
    expect(client, "!ERR *", "COMMAND GETKEYS nosuch a");
    expect(client, "!ERR *", "COMMAND GETKEYS Q.PUSH mail");
    expect(client, "!ERR unknown subcommand 'FOO'. Try COMMAND HELP.", "COMMAND FOO");
}

static void info_has_the_fields_that_clients_read(void **state)
{
    static const char *const fields[] = {"redis_version:7.0.15",
                                         "dueq_version:",
                                         "redis_mode:standalone",
                                         "os:",
                                         "tcp_port:",
                                         "process_id:",
                                         "uptime_in_seconds:",
                                         "uptime_in_days:",
                                         "connected_clients:1",
                                         "blocked_clients:0",
                                         "used_memory:",
                                         "used_memory_human:",
                                         "used_memory_peak_human:",
                                         "maxmemory_policy:noeviction",
                                         "loading:0",
                                         "total_connections_received:",
                                         "total_commands_processed:",
                                         "rejected_connections:",
                                         "role:master",
                                         "connected_slaves:0",
                                         "used_cpu_sys:",
                                         "maxclients:10000"};
    redisContext *client = served_client(state);
    char *info = ask_string(client, "INFO");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "\n%s", fields[i]);
        if (!strstr(info, line))
            fail_at(__FILE__, __LINE__, "INFO lacks '%s'", fields[i]);
    }
    free(info);
}

static void info_takes_sections(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "\"# Server\\r\\n*\"", "INFO server");
    expect(client, "\"# Replication\\r\\nrole:master\\r\\n*\"", "INFO REPLICATION");
    expect(client, "\"# Server*# Clients*\"", "INFO server clients");
    expect(client, "\"\"", "INFO nosuch");
    expect(client, "\"*# Journal*\"", "INFO journal");
    expect(client, "\"*# Queue*\"", "INFO queue");
    expect(client, "\"*# Server*# Commandstats*\"", "INFO all");
    expect(client, "\"*# Keyspace*\"", "INFO");
}

static void info_counts_commands(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "*", "Q.PUSH mail body");
    expect(client, "!ERR *", "Q.PUSH mail body FOO");
    expect(client, "\"*cmdstat_q.push:calls=2,*\"", "INFO commandstats");
    expect(client, "OK", "CONFIG RESETSTAT");
    char *stats = ask_text(client, "INFO commandstats");
    assert_null(strstr(stats, "q.push"));
    free(stats);
}

static void info_sums_over_topics(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 300; i++)
        expect(client, "*", "Q.PUSH topic-%d body DELAY %s", i % 30, i % 2 ? "0" : "1h");
    expect(client, "[[*]]", "Q.CLAIM topic-1");
    char *info = ask_text(client, "INFO queue");
    static const char *const lines[] = {"topics:30", "jobs_delayed:150", "jobs_ready:149",
                                        "jobs_claimed:1", "total_pushed:300"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (!strstr(info, lines[i]))
            fail_at(__FILE__, __LINE__, "no '%s' in %s", lines[i], info);
    }
    free(info);
}

static void config_get_takes_names_and_globs(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "[\"maxclients\" \"10000\"]", "CONFIG GET maxclients");
    expect(client, "[\"*\" \"10000\"]", "CONFIG GET MaxClients");
    expect(client, "[]", "CONFIG GET nosuch");
    expect_field(client, "durability", "\"always\"", "CONFIG GET dur*");
    expect_field(client, "databases", "\"16\"", "CONFIG GET maxclients databases");
    expect_field(client, "save", "\"\"", "CONFIG GET save");
    expect_field(client, "appendonly", "\"yes\"", "CONFIG GET appendonly");
    expect_field(client, "appendfsync", "\"always\"", "CONFIG GET appendfsync");
    expect_field(client, "maxmemory-policy", "\"noeviction\"", "CONFIG GET *");
    expect(client, "!ERR wrong number of arguments for 'config|get' command", "CONFIG GET");
}

static void config_set_is_all_or_nothing(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CONFIG SET maxclients 5000 timeout 60");
    expect_field(client, "maxclients", "\"5000\"", "CONFIG GET maxclients");
    expect(client, "!ERR CONFIG SET failed*timeout*", "CONFIG SET maxclients 6000 timeout x");
    expect_field(client, "maxclients", "\"5000\"", "CONFIG GET maxclients");
    expect(client, "!ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'",
           "CONFIG SET nosuch 1");
    expect(client, "!ERR CONFIG SET failed*databases*immutable*", "CONFIG SET databases 2");
    expect(client, "!ERR CONFIG SET failed*segment-size*immutable*",
           "CONFIG SET segment-size 2mb");
    expect(client, "!ERR wrong number of arguments for 'config|set' command",
           "CONFIG SET maxclients");
    expect(client, "OK", "CONFIG SET durability none");
    expect_field(client, "appendfsync", "\"no\"", "CONFIG GET appendfsync");
    expect(client, "OK", "CONFIG SET durability always");
    expect(client, "*", "Q.PUSH mail body");
}

static void time_is_seconds_and_microseconds(void **state)
{
    redisContext *client = served_client(state);
    redisReply *reply = ask(client, "TIME");
    assert_int_equal(reply->elements, 2);
    int64_t seconds = atoll(reply->element[0]->str), now = unix_ms() / 1000;
    assert_true(seconds >= now - 600 && seconds <= now + 600);
    assert_in_range(atol(reply->element[1]->str), 0, 999999);
    freeReplyObject(reply);
}

static void shutdown_ends_the_server_cleanly(void **state)
{
    static const char *const forms[] = {"SHUTDOWN", "SHUTDOWN NOSAVE", "SHUTDOWN SAVE NOW"};
    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct server_process *server = server_process_start("");
        redisContext *client = client_open(server);
        expect(client, "\"a\"", "Q.PUSH mail body ID a");
        say(client, forms[i]);
        expect_closed(client);
        assert_int_equal(server_process_wait(server), 0);
        server_process_run(server);
        expect(client_open(server), "1", "Q.LEN mail");
    }
}

static void shutdown_wants_good_options(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "!ERR syntax error", "SHUTDOWN FOO");
    expect(client, "!ERR syntax error", "SHUTDOWN SAVE NOSAVE");
    expect(client, "!ERR No shutdown in progress.", "SHUTDOWN ABORT");
    expect(client, "PONG", "PING");
}

static size_t count_in_log(const struct server_process *server, const char *words)
{
    char *log = server_process_log(server);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    free(log);
    return count;
}

/* Sends the signal, and returns when the log contains the words. */
static void await_log(struct server_process *server, const char *words, int signal)
{
    assert_int_equal(kill(server->pid, signal), 0);
    while (count_in_log(server, words) == 0)
        sleep_ms(5);
}

/* Does the server answer within two seconds? */
static bool answers(redisContext *client)
{
    struct pollfd readable = {client->fd, POLLIN, 0};
    int unsent = 0;
    redisAppendCommand(client, "PING");
    while (!unsent)
        assert_int_equal(redisBufferWrite(client, &unsent), REDIS_OK);
    if (poll(&readable, 1, 2000) == 0)
        return false;
    expect_reply(client, "PONG");
    return true;
}

static void replies_before_a_sigterm_are_delivered(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 1000; i++)
        redisAppendCommand(client, "Q.PUSH mail body ID %d", i);
    for (int i = 0; i < 1000; i++)
        expect_reply(client, "*");
    say(client, "Q.CLAIM none BLOCK 0");
    server_process_stop(served_server(state));
}

/* A client that has requested more than sockets buffer and has read nothing. */
enum { OWED = 32 * 1024 * 1024 };

static redisContext *ask_for_much(struct server_process *server)
{
    redisContext *client = client_open(server);
    char size[16];
    snprintf(size, sizeof(size), "%d", OWED - 1);
    expect(client, "*", "SETRANGE big %s x", size);
    say(client, "GET big");
    await_log(server, "Received SIGTERM", SIGTERM);
    return client;
}

static void what_is_owed_at_a_sigterm_is_delivered(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("shutdown-timeout 3600");
    redisContext *client = ask_for_much(server);
    redisReply *reply;
    assert_true(server_process_alive(server));
    assert_int_equal(redisGetReply(client, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->len, OWED);
    freeReplyObject(reply);
    assert_int_equal(server_process_wait(server), 0);
}

static void who_does_not_read_is_waited_for_so_long(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("shutdown-timeout 1");
    ask_for_much(server);
    assert_int_equal(server_process_wait(server), 0);
    assert_int_equal(count_in_log(server, "1 clients did not take their replies within"), 1);
}

static void a_sigint_after_a_sigterm_ends_the_wait(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("shutdown-timeout 3600");
    ask_for_much(server);
    assert_int_equal(kill(server->pid, SIGTERM), 0); /* as in Redis it changes nothing */
    sleep_ms(50); /* else the kernel may deliver two signals as one */
    assert_true(server_process_alive(server));
    assert_int_equal(kill(server->pid, SIGINT), 0);
    assert_int_equal(server_process_wait(server), 1);
    server_process_run(server);
    expect(client_open(server), "1", "EXISTS big");
}

/* The loop does not turn, so the signal handler must end the process. */
static void a_sigint_after_a_sigterm_ends_a_server_that_is_stuck(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("enable-debug-command yes");
    redisContext *client = client_open(server), *sleeper = client_open(server);
    expect(client, "*", "Q.PUSH mail body ID a");
    say(sleeper, "DEBUG SLEEP 3000");
    while (answers(client))
        continue;
    assert_int_equal(kill(server->pid, SIGTERM), 0);
    sleep_ms(50); /* else the kernel may deliver two signals as one */
    assert_int_equal(kill(server->pid, SIGINT), 0);
    assert_int_equal(server_process_wait(server), 1);
    server_process_run(server);
    expect(client_open(server), "1", "Q.LEN mail");
}

static void above_maxclients_a_connection_is_refused(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("maxclients 3");
    redisContext *clients[3];
    struct raw_client extra;
    for (int i = 0; i < 3; i++) {
        clients[i] = client_open(server);
        expect(clients[i], "PONG", "PING");
    }
    raw_open(&extra, server);
    raw_expect_reply(&extra, "!ERR max number of clients reached");
    raw_expect_closed(&extra);
    raw_close(&extra);
    expect(clients[0], "\"*rejected_connections:1\\r\\n*\"", "INFO stats");
    client_close(clients[1]);
    for (int i = 0; i < 60000; i++) { /* until the server has noticed that the client is gone */
        if (ask_info(clients[0], "clients", "connected_clients") < 3)
            break;
        sleep_ms(1);
    }
    expect(client_open(server), "PONG", "PING");
}

/* A web page that knows the port could send commands in the body of its request. */
static void a_web_page_commands_nothing(void **state)
{
    static const char *const requests[] = {
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\nSET page on\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\n\r\nSET page on\r\n",
        "HEAD /\r\nhost:x\r\nHost: x\r\nSET page on\r\n", "*1\r\n$4\r\nPOST\r\nSET page on\r\n",
        "PING\r\nMULTI\r\nhOsT: x\r\nEXEC\r\nSET page on\r\n"};
    const struct timeval patience = {30, 0};
    struct server_process *server = served_server(state);
    for (int i = 0; i < 100; i++) {
        const char *request = requests[(size_t)i % (sizeof(requests) / sizeof(requests[0]))];
        struct raw_client page;
        char rest[4096];
        raw_open(&page, server);
        assert_int_equal(
            setsockopt(page.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
        raw_send(&page, request, strlen(request));
        while (fgets(rest, sizeof(rest), page.input) != NULL)
            continue;
        assert_true(feof(page.input)); /* closed */
        raw_close(&page);
    }
    expect(served_client(state), "nil", "GET page");
    server_process_stop(server);
    assert_in_range(count_in_log(server, "Possible SECURITY ATTACK detected."), 2, 60);
    assert_in_range(count_in_log(server, "more lines like this were left out"), 1, 5);
}

static void a_web_page_is_cut_off_before_login_too(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("requirepass secret");
    struct raw_client page;
    raw_open(&page, server);
    raw_say(&page, "POST / HTTP/1.1\r\nAUTH secret");
    raw_expect_closed(&page);
    raw_close(&page);
}

/* A small store is written to data.mdb only on request. */
static void a_bgsave_saves_what_came_before_it_in_the_pipeline(void **state)
{
    redisContext *client = served_client(state);
    for (int i = 0; i < 20; i++) {
        say(client, "SET k %d", i);
        say(client, "BGSAVE");
        expect_reply(client, "OK");
        expect_reply(client, "Background saving *");
    }
    int64_t lsn = ask_info(client, "journal", "journal_lsn");
    while (ask_info(client, "journal", "checkpoint_lsn") < lsn)
        sleep_ms(5);
}

static void idle_clients_are_closed_after_timeout(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("timeout 1");
    redisContext *idle = client_open(server), *waiting = client_open(server);
    expect(idle, "PONG", "PING");
    say(waiting, "Q.CLAIM mail BLOCK 0"); /* a blocked client is not idle */
    expect_closed(idle);
    expect(client_open(server), "*", "Q.PUSH mail body ID a");
    expect_reply(waiting, "[[\"a\" *]]");
}

/* The turn of the sleep ends before INFO runs, in a later one. */
static void info_tells_of_the_longest_turn(void **state)
{
    (void)state;
    redisContext *client = client_open(server_process_start("enable-debug-command yes"));
    expect(client, "OK", "DEBUG SLEEP 0.3");
    assert_true(ask_info(client, "stats", "longest_turn_usec") >= 300000);
    assert_true(ask_info(client, "stats", "longest_turn_command_usec") >= 300000);
    assert_true(ask_info(client, "stats", "longest_turn_part_usec") >= 300000);
    assert_true(ask_info(client, "stats", "long_turns") >= 1);
    expect(client, "\"*longest_turn_part:events\\r*longest_turn_command:debug\\r*\"",
           "INFO stats");
    expect(client, "OK", "CONFIG RESETSTAT");
    char *text = ask_string(client, "INFO stats");
    assert_non_null(strstr(text, "longest_turn_command:"));
    assert_null(strstr(text, "longest_turn_command:debug"));
    free(text);
}

/* A turn ends after some milliseconds, also within a pipeline. */
static void a_long_pipeline_of_slow_commands_lets_others_in(void **state)
{
    enum { SLOW = 64 };
    (void)state;
    struct server_process *server = server_process_start("enable-debug-command yes");
    redisContext *slow = client_open(server), *client = client_open(server);
    for (int i = 0; i < SLOW; i++)
        redisAppendCommand(slow, "DEBUG SLEEP 0.05");
    say(slow, "DEBUG SLEEP 0.05");
    expect_reply(slow, "OK"); /* they run now */
    expect(client, "PONG", "PING");
    assert_in_range(ask_info(client, "stats", "total_commands_processed"), 2, SLOW - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(an_unknown_command_is_quoted_with_its_arguments),
        served_test(an_unknown_command_cannot_break_the_reply),
        served_test(lua_is_refused_by_name),
        served_test(command_lists_itself),
        served_test(command_info_has_ten_fields),
        served_test(command_getkeys_finds_topics),
        served_test(info_has_the_fields_that_clients_read),
        served_test(info_takes_sections),
        served_test(info_counts_commands),
        served_test(info_sums_over_topics),
        serving_test(info_tells_of_the_longest_turn),
        serving_test(a_long_pipeline_of_slow_commands_lets_others_in),
        served_test(config_get_takes_names_and_globs),
        served_test(config_set_is_all_or_nothing),
        served_test(time_is_seconds_and_microseconds),
        serving_test(shutdown_ends_the_server_cleanly),
        served_test(shutdown_wants_good_options),
        served_test(replies_before_a_sigterm_are_delivered),
        serving_test(what_is_owed_at_a_sigterm_is_delivered),
        serving_test(who_does_not_read_is_waited_for_so_long),
        serving_test(a_sigint_after_a_sigterm_ends_the_wait),
        serving_test(a_sigint_after_a_sigterm_ends_a_server_that_is_stuck),
        serving_test(above_maxclients_a_connection_is_refused),
        served_test(a_web_page_commands_nothing),
        serving_test(a_web_page_is_cut_off_before_login_too),
        served_test(a_bgsave_saves_what_came_before_it_in_the_pipeline),
        serving_test(idle_clients_are_closed_after_timeout),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
