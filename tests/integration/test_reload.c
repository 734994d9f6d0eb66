/* SIGHUP: options and users whose files have changed are read again, whole or not at all. */
#include "tests/support/client/client.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static size_t count_in_log(const struct server_process *server, const char *words)
{
    char *log = server_process_log(server);
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, words)) != NULL; at += strlen(words))
        count++;
    free(log);
    return count;
}

/* Returns when all is done. */
static void hang_up(struct server_process *server)
{
    size_t before = count_in_log(server, "SIGHUP: all is read again");
    assert_int_equal(kill(server->pid, SIGHUP), 0);
    while (count_in_log(server, "SIGHUP: all is read again") == before)
        sleep_ms(1);
}

static void write_its_file(const struct server_process *server, const char *name,
                           const char *text)
{
    char *path = server_process_path(server, name);
    write_file(path, text);
    free(path);
}

/* A server that reads server.conf, which has these lines. */
static struct server_process *start_with(const char *text)
{
    struct server_process *server = server_process_new();
    char *path = server_process_path(server, "server.conf");
    write_its_file(server, "server.conf", text);
    server_process_option(server, "config", path);
    server_process_run(server);
    free(path);
    return server;
}

static void changed_options_are_taken_over(void **state)
{
    (void)state;
    struct server_process *server = start_with("maxclients 100\nslowlog-max-len 7\n");
    redisContext *client = client_open(server);
    write_its_file(server, "server.conf",
                   "maxclients 50\nslowlog-max-len 7\ntimeout 1000\ndurability interval 20\n"
                   "client-output-buffer-limit pubsub 64mb 16mb 90\nrequirepass secret\n");
    hang_up(server);
    expect(client, "OK", "AUTH secret");
    expect_option(client, "maxclients", "50");
    expect_option(client, "slowlog-max-len", "7");
    expect_option(client, "timeout", "1000");
    expect_option(client, "durability", "interval 20");
    expect(client, "[* \"*pubsub 67108864 16777216 90\"]",
           "CONFIG GET client-output-buffer-limit");
    assert_int_equal(count_in_log(server, "maxclients '100' -> '50'"), 1);
    assert_int_equal(count_in_log(server, "Changed by the configuration: requirepass"), 1);
    assert_int_equal(count_in_log(server, "secret"), 0);
    assert_int_equal(count_in_log(server, "slowlog-max-len"), 0);
    write_its_file(server, "server.conf",
                   "slowlog-max-len 7\n"); /* the rest as it is by default */
    hang_up(server);
    expect_option(client, "maxclients", "10000");
    expect_option(client, "timeout", "0");
    expect(client_open(server), "PONG", "PING");
}

static void config_set_outlives_the_signal(void **state)
{
    (void)state;
    struct server_process *server = start_with("maxclients 100\n");
    redisContext *client = client_open(server);
    expect(client, "OK", "CONFIG SET maxclients 200 timeout 30");
    hang_up(server);
    expect_option(client, "maxclients", "200");
    expect_option(client, "timeout", "30");
    write_its_file(server, "server.conf", "maxclients 300\n");
    hang_up(server);
    expect_option(client, "maxclients", "300");
    expect_option(client, "timeout", "30");
    expect(client, "OK", "CONFIG REWRITE");
    hang_up(server);
    expect_option(client, "maxclients", "300");
    expect_option(client, "timeout", "30");
}

static void what_needs_a_restart_is_named(void **state)
{
    (void)state;
    struct server_process *server = start_with("memtable-size 1mb\n");
    redisContext *client = client_open(server);
    write_its_file(
        server, "server.conf",
        "memtable-size 2mb\ntcp-backlog 99\nmaxclients 70\nuser bob on nopass +@all\n");
    hang_up(server);
    expect_option(client, "memtable-size", "1048576");
    expect_option(client, "maxclients", "70");
    assert_int_equal(
        count_in_log(server, "to be read at a start only: tcp-backlog, memtable-size, user"),
        1);
    hang_up(server); /* it is said once */
    assert_int_equal(count_in_log(server, "to be read at a start only"), 1);
}

static void a_broken_file_changes_nothing(void **state)
{
    static const char *const broken[] = {
        "maxclients 50\nmaxclients none\n", "maxclients 50\nfoo 1\n",
        "maxclients 50\ninclude nowhere.conf\n", "maxclients 50\nbind 1.2.3.4\n"};
    (void)state;
    struct server_process *server = start_with("maxclients 100\n");
    redisContext *client = client_open(server);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        write_its_file(server, "server.conf", broken[i]);
        hang_up(server);
        expect_option(client, "maxclients", "100");
        assert_int_equal(count_in_log(server, "The configuration is not read again: ***") +
                             count_in_log(server, "Nothing of the configuration is taken over"),
                         i + 1);
    }
    char *path = server_process_path(server, "server.conf");
    assert_int_equal(remove(path), 0);
    hang_up(server);
    expect_option(client, "maxclients", "100");
    assert_int_equal(count_in_log(server, "The configuration is not read again: cannot open"),
                     1);
    free(path);
}

/* A port that cannot be opened: no other option is taken over either, until it can. */
static void options_are_taken_over_together(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *path = server_process_path(server, "server.conf");
    char text[256];
    int port = free_port();
    redisContext *client;
    write_its_file(server, "server.conf", "tls-port 0\n");
    server_process_option(server, "config", path);
    server_process_run(server);
    client = client_open(server);
    snprintf(text, sizeof(text), "maxclients 50\nhttp-metrics-topics 5\ntls-port %d\n", port);
    write_its_file(server, "server.conf", text); /* it has no certificate */
    hang_up(server);
    expect_option(client, "maxclients", "10000");
    expect_option(client, "tls-port", "0");
    assert_int_equal(count_in_log(server, "Nothing of the configuration is taken over: tls"),
                     1);
    hang_up(server); /* it is tried again */
    assert_int_equal(count_in_log(server, "Nothing of the configuration is taken over: tls"),
                     2);
    free(path);
}

static void included_files_are_read_again(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *path = server_process_path(server, "server.conf"),
         *part = server_process_path(server, "part.conf");
    char text[512];
    redisContext *client;
    snprintf(text, sizeof(text), "include %s\n", part);
    write_its_file(server, "server.conf", text);
    write_its_file(server, "part.conf", "timeout 11\n");
    server_process_option(server, "config", path);
    server_process_run(server);
    client = client_open(server);
    expect_option(client, "timeout", "11");
    write_its_file(server, "part.conf", "timeout 12\n");
    hang_up(server);
    expect_option(client, "timeout", "12");
    free(path);
    free(part);
}

static void what_came_from_standard_input_stays(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    redisContext *client;
    char *path = server_process_path(server, "server.conf");
    write_its_file(server, "server.conf", "include -\n");
    server_process_option(server, "config", path);
    server_process_run(server);
    client = client_open(server);
    expect(client, "OK", "CONFIG SET timeout 44");
    hang_up(server);
    expect_option(client, "timeout", "44");
    assert_int_equal(count_in_log(server, "not read again: it came from standard input"), 1);
    free(path);
}

/* ---- users */

static struct server_process *start_with_users(const char *text)
{
    struct server_process *server = server_process_new();
    char *path = server_process_path(server, "users.acl");
    write_its_file(server, "users.acl", text);
    server_process_option(server, "aclfile", path);
    server_process_run(server);
    free(path);
    return server;
}

static void changed_users_are_taken_over(void **state)
{
    (void)state;
    struct server_process *server =
        start_with_users("user default on nopass ~* &* +@all\nuser bob on >one ~* +@all\n");
    redisContext *client = client_open(server), *bob = client_open(server);
    expect(bob, "OK", "AUTH bob one");
    write_its_file(server, "users.acl",
                   "user default on nopass ~* &* +@all\nuser bob on >two ~* +@all\n");
    hang_up(server);
    expect_closed(bob); /* as ACL LOAD does it */
    expect(client, "!WRONGPASS*", "AUTH bob one");
    expect(client, "OK", "AUTH bob two");
    assert_int_equal(count_in_log(server, "The users were read again"), 1);
}

static void users_stay_while_their_file_does(void **state)
{
    (void)state;
    struct server_process *server =
        start_with_users("user default on nopass ~* &* +@all\nuser bob on >one ~* +@all\n");
    redisContext *client = client_open(server), *bob = client_open(server);
    expect(bob, "OK", "AUTH bob one");
    expect(client, "OK", "ACL SETUSER eve on >three");
    hang_up(server);
    expect(bob, "PONG", "PING");
    expect(client, "[\"bob\" \"default\" \"eve\"]", "ACL USERS");
    expect(client, "OK", "ACL SAVE");
    hang_up(server);
    expect(bob, "PONG", "PING");
    write_its_file(server, "users.acl",
                   "user default on nopass ~* &* +@all\nuser bob on >>\nfoo\n");
    hang_up(server);
    expect(bob, "PONG", "PING");
    expect(client, "[\"bob\" \"default\" \"eve\"]", "ACL USERS");
    assert_int_equal(count_in_log(server, "The users are not read again: "), 1);
    assert_int_equal(count_in_log(server, "The users were read again"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(changed_options_are_taken_over),
        serving_test(config_set_outlives_the_signal),
        serving_test(what_needs_a_restart_is_named),
        serving_test(a_broken_file_changes_nothing),
        serving_test(options_are_taken_over_together),
        serving_test(included_files_are_read_again),
        serving_test(what_came_from_standard_input_stays),
        serving_test(changed_users_are_taken_over),
        serving_test(users_stay_while_their_file_does),
    };
    return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
