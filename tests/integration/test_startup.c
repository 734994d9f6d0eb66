/* The command line, configuration files, messages at start, and redis-cli. */
#include "tests/support/client/client.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { OUTPUT = 65536 };

static char output[OUTPUT];

/* Writes a file into the server's directory. The caller frees the returned path. */
static char *write_beside(const struct server_process *server, const char *name,
                          const char *text)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", server->directory, name) < 0)
        abort();
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static int dueq(const char *arguments)
{
    return run_shell(output, OUTPUT, "timeout 60 %s %s", server_binary(), arguments);
}

#define output_says(words)                                                                     \
    (strstr(output, (words))                                                                   \
         ? (void)0                                                                             \
         : fail_at(__FILE__, __LINE__, "no '%s' in:\n%s", (words), output))

static void version_and_help_answer(void **state)
{
    (void)state;
    assert_int_equal(dueq("version"), 0);
    output_says("dueq");
    assert_int_equal(dueq("help"), 0);
    output_says("server");
    output_says("version");
    assert_int_not_equal(dueq("nosuch"), 0);
    output_says("nosuch");
}

static void says_usage(const char *before, const char *name, const char *after)
{
    char arguments[64], wanted[64];

    snprintf(arguments, sizeof(arguments), "%s %s %s", before, name, after);
    snprintf(wanted, sizeof(wanted), "Usage: dueq %s", name);
    assert_int_equal(dueq(arguments), 0);
    output_says(wanted);
}

static void each_subcommand_says_how_it_is_used(void **state)
{
    static const char *const names[] = {"server", "check-config", "bench",   "check",
                                        "dump",   "load",         "restore", "version"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        says_usage("help", names[i], "");
        says_usage("", names[i], "--help");
        says_usage("", names[i], "-h");
    }
    assert_int_equal(dueq("help nosuch"), 2);
    assert_int_equal(dueq("nosuch --help"), 2);
}

static int check(const char *dir)
{
    return run_shell(output, OUTPUT, "timeout 60 %s check %s", server_binary(), dir);
}

static void a_check_looks_and_makes_nothing(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    assert_int_equal(check(server->directory), 2); /* exists, and is no store */
    output_says("holds no store");
    assert_int_equal(run_shell(output, OUTPUT, "ls %s", server->directory), 0);
    assert_null(strstr(output, "FORMAT"));
    assert_int_equal(dueq("check /nonexistent"), 2);
    output_says("holds no store");

    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "\"1\"", "Q.PUSH mail body ID 1");
    assert_int_equal(check(server->data), 2); /* one process at a time */
    client_close(client);
    server_process_kill(server);
    assert_int_equal(check(server->data), 0);
    output_says("is sound");
    server_process_run(server);
    expect_field(client_open(server), "body", "\"body\"", "Q.GET mail 1");
    client_cleanup();
}

/* For a server whose password stands in a file: its NOAUTH does not say whether it loads. */
static void await_loaded(redisContext *client)
{
    for (int waited = 0; waited < 20000; waited++) {
        char *answer = ask_text(client, "PING");
        bool loads = strncmp(answer, "!LOADING", 8) == 0;
        free(answer);
        if (!loads)
            return;
        sleep_ms(1);
    }
    fail_msg("it loads for ever");
}

static void a_configuration_file_is_read(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *path = write_beside(server, "dueq.conf",
                              "# a comment\n\nmaxclients 77\nrequirepass \"se cret\"\n"
                              "queue-lease 90s\nMEMTABLE-SIZE 2mb\n");
    server_process_option(server, "config", path);
    server_process_option(server, "queue-retries", "3");
    server_process_run(server);
    redisContext *client = client_open(server);
    expect(client, "OK", "AUTH %s", "se cret");
    await_loaded(client);
    expect_field(client, "maxclients", "\"77\"", "CONFIG GET maxclients");
    expect(client, "*", "Q.PUSH mail body ID a");
    expect_field(client, "lease", "90000", "Q.GET mail a");
    expect_field(client, "retries", "3", "Q.GET mail a");
    free(path);
}

/* A start with that configuration fails; the message names file and line and contains the
 * words. */
static void refuse_file(const char *text, const char *place, const char *words)
{
    char arguments[4096];
    struct server_process *server = server_process_new();
    char *path = write_beside(server, "bad.conf", text);
    snprintf(arguments, sizeof(arguments), "server --config %s --dir %s --port %d", path,
             server->data, free_port());
    assert_int_equal(dueq(arguments), 1);
    output_says(place);
    output_says(words);
    free(path);
    server_process_cleanup();
}

static void bad_lines_are_refused_with_file_and_line(void **state)
{
    (void)state;
    refuse_file("maxclients 10\nnosuch 1\n", "bad.conf:2", "nosuch");
    refuse_file("\n\n# x\nmaxclients many\n", "bad.conf:4", "maxclients");
    refuse_file("maxclients\n", "bad.conf:1", "maxclients");
    refuse_file("maxclients 1 2\n", "bad.conf:1", "maxclients");
    refuse_file("durability sometimes\n", "bad.conf:1", "durability");
    refuse_file("requirepass \"open\n", "bad.conf:1", "");
    refuse_file("port 65536\n", "bad.conf:1", "port");
    refuse_file("memtable-size -5\n", "bad.conf:1", "memtable-size");
}

static void bad_options_are_refused_by_name(void **state)
{
    (void)state;
    assert_int_equal(dueq("server --nosuch 1"), 1);
    output_says("nosuch");
    assert_int_equal(dueq("server --port x"), 1);
    output_says("port");
    assert_int_equal(dueq("server --config /nonexistent/dueq.conf"), 1);
    output_says("/nonexistent/dueq.conf");
}

static void a_taken_port_is_named(void **state)
{
    char arguments[4096], port[16];
    struct server_process *server = served_server(state);
    snprintf(port, sizeof(port), "%d", server->port);
    snprintf(arguments, sizeof(arguments), "server --bind 127.0.0.1 --port %s --dir %s/other",
             port, server->directory);
    assert_int_equal(dueq(arguments), 1);
    output_says(port);
    output_says("taken");
    expect(served_client(state), "PONG", "PING");
}

/* The process id in the file at that path; -1: there is no file. */
static int read_pid(const char *path)
{
    FILE *file = fopen(path, "r");
    int pid = -1;
    if (file == NULL)
        return -1;
    if (fscanf(file, "%d", &pid) != 1)
        pid = 0;
    fclose(file);
    return pid;
}

/* An operator starts the server again with the same configuration but another port. */
static void a_second_start_takes_nothing_from_the_first(void **state)
{
    (void)state;
    char arguments[8192];
    struct server_process *server = server_process_new();
    char *pidfile = write_beside(server, "dueq.pid", "1234567\n");
    server_process_option(server, "pidfile", pidfile);
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    assert_int_equal(read_pid(pidfile), server->pid);
    for (int i = 0; i < 3; i++) {
        /* the same directory; another one, the same socket; another one, the same port */
        snprintf(arguments, sizeof(arguments),
                 "server --bind 127.0.0.1 --port %d --dir %s%s --pidfile %s --unixsocket %s%s",
                 i == 2 ? server->port : 0, server->data, i == 0 ? "" : "-other", pidfile,
                 server->unixsocket, i == 1 ? "" : "-other");
        assert_int_equal(dueq(arguments), 1);
        assert_int_equal(read_pid(pidfile), server->pid);
        expect(client_open_unix(server->unixsocket), "PONG", "PING");
    }
    server_process_kill(server);
    server_process_run(server); /* it replaces the old pid file */
    expect(client_open_unix(server->unixsocket), "PONG", "PING");
    server_process_stop(server);
    assert_int_equal(read_pid(pidfile), -1);
    assert_int_not_equal(access(server->unixsocket, F_OK), 0);
    free(pidfile);
}

static void a_file_is_not_replaced_by_a_socket(void **state)
{
    (void)state;
    char arguments[8192];
    struct server_process *server = server_process_new();
    char *path = write_beside(server, "precious", "42\n");
    snprintf(arguments, sizeof(arguments), "server --port 0 --dir %s --unixsocket %s",
             server->data, path);
    assert_int_equal(dueq(arguments), 1);
    output_says("precious");
    assert_int_equal(read_pid(path), 42);
    free(path);
}

/* An address of this machine other than the loopback; NULL: there is none. */
static const char *reachable_address(void)
{
    static char host[INET_ADDRSTRLEN];
    struct ifaddrs *all = NULL;
    const char *found = NULL;
    assert_int_equal(getifaddrs(&all), 0);
    for (struct ifaddrs *at = all; at != NULL && found == NULL; at = at->ifa_next) {
        const struct sockaddr_in *four = (const void *)at->ifa_addr;
        if (four == NULL || four->sin_family != AF_INET)
            continue;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        if (strncmp(host, "127.", 4) != 0)
            found = host;
    }
    freeifaddrs(all);
    return found;
}

/* The first reply that a client at that address gets. */
static void expect_there(const struct server_process *server, const char *host,
                         const char *words)
{
    run_shell(output, OUTPUT, "timeout 60 redis-cli -h %s -p %d PING 2>&1", host, server->port);
    output_says(words);
}

static void without_a_password_strangers_are_refused(void **state)
{
    (void)state;
    const char *host = reachable_address();
    struct server_process *server = server_process_start("bind 0.0.0.0");
    redisContext *client = client_open(server);
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "Listening on 0.0.0.0 without a password: protected-mode"));
    free(log);
    expect(client, "PONG", "PING");
    if (host == NULL)
        skip(); /* no other machine can connect here */
    expect_there(server, host, "DENIED ");
    expect(client, "OK", "CONFIG SET requirepass secret");
    expect_there(server, host, "NOAUTH ");
    expect(client, "OK", "CONFIG SET requirepass %s protected-mode no", "");
    expect_there(server, host, "PONG");
    expect(client, "OK", "CONFIG SET protected-mode yes");
    expect_there(server, host, "DENIED ");
    assert_int_equal(ask_info(client, "stats", "rejected_connections"), 2);
}

static void an_open_door_is_said_in_the_log(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("bind 0.0.0.0, protected-mode no");
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "WARNING: listening on 0.0.0.0 without a password"));
    free(log);
    server = server_process_start("bind 0.0.0.0, requirepass x");
    log = server_process_log(server);
    assert_null(strstr(log, "without a password"));
    free(log);
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    char arguments[128];
    snprintf(arguments, sizeof(arguments), "server --port %d --dir /proc/nosuch/data",
             free_port());
    assert_int_equal(dueq(arguments), 1);
    output_says("/proc/nosuch/data");
}

static void the_log_says_what_was_recovered(void **state)
{
    struct server_process *server = served_server(state);
    expect(served_client(state), "*", "Q.PUSH mail body");
    server_process_kill(server);
    server_process_run(server);
    char *log = server_process_log(server);
    assert_non_null(strstr(log, "Ready to accept connections"));
    assert_non_null(strstr(log, server->data));
    free(log);
}

/* ---- redis-cli */

static int redis_cli(void **state, const char *arguments)
{
    return run_shell(output, OUTPUT, "timeout 60 redis-cli -p %d %s",
                     served_server(state)->port, arguments);
}

static void redis_cli_takes_the_tour(void **state)
{
    redis_cli(state, "Q.PUSH mail '{\"to\":\"ann\"}' DELAY 20 ID order-17");
    assert_string_equal(output, "order-17\n");
    redis_cli(state, "Q.PUSH mail other ID order-17");
    output_says("DUPLICATE");
    redis_cli(state, "--no-raw Q.CLAIM mail BLOCK 10s");
    assert_string_equal(output, "1) 1) \"order-17\"\n   2) (integer) 1\n"
                                "   3) \"{\\\"to\\\":\\\"ann\\\"}\"\n   4) (integer) 1\n");
    redis_cli(state, "--no-raw Q.NACK mail order-17 1 DELAY 20 ERROR 'smtp: 451'");
    assert_string_equal(output, "\"delayed\"\n");
    redis_cli(state, "--no-raw Q.CLAIM mail BLOCK 10s LEASE 30s");
    output_says("(integer) 2");
    redis_cli(state, "Q.ACK mail order-17 1");
    output_says("STALE");
    redis_cli(state, "--no-raw Q.ACK mail order-17 2");
    assert_string_equal(output, "(integer) 1\n");
}

static void redis_cli_speaks_resp3(void **state)
{
    redis_cli(state, "-3 --no-raw Q.PUSH mail body ID a");
    assert_string_equal(output, "\"a\"\n");
    redis_cli(state, "-3 --no-raw Q.GET mail a");
    output_says("# \"id\" => \"a\"");
    output_says("# \"state\" => \"ready\"");
    redis_cli(state, "-3 --no-raw Q.CLAIM none BLOCK 10");
    assert_string_equal(output, "(nil)\n");
    redis_cli(state, "-3 INFO server");
    output_says("redis_version:7.0.15");
}

static void redis_cli_pipes_in_bulk(void **state)
{
    struct server_process *server = served_server(state);
    char *path = write_beside(server, "commands", "");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 5000; i++)
        fprintf(file, "Q.PUSH mail body-%d ID %d\r\n", i, i);
    fclose(file);
    run_shell(output, OUTPUT, "timeout 60 redis-cli -p %d --pipe <%s", server->port, path);
    output_says("errors: 0, replies: 5000");
    expect(served_client(state), "5000", "Q.LEN mail");
    free(path);
}

static void redis_cli_finds_its_way_about(void **state)
{
    redis_cli(state, "PING");
    assert_string_equal(output, "PONG\n");
    redis_cli(state, "-r 3 DBSIZE");
    assert_string_equal(output, "0\n0\n0\n");
    redis_cli(state, "COMMAND COUNT");
    assert_true(atoi(output) > 20);
    redis_cli(state, "NOSUCH a");
    output_says("ERR unknown command 'NOSUCH', with args beginning with: 'a' ");
    redis_cli(state, "COMMAND DOCS q.push");
    output_says("PRIORITY");
}

/* A service manager's socket. The next message that it gets, or a failure after a minute. */
static void hear(int manager, const char *expected)
{
    char message[64] = "";

    assert_true(recv(manager, message, sizeof(message) - 1, 0) > 0);
    assert_string_equal(message, expected);
}

static void a_service_manager_is_told_of_start_and_stop(void **state)
{
    struct server_process *server = server_process_new();
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {60, 0};
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/notify", server->directory);
    assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof(address)), 0);
    setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    server_process_environment(server, "NOTIFY_SOCKET", address.sun_path);
    server_process_run(server);
    hear(manager, "READY=1");
    server_process_stop(server);
    hear(manager, "STOPPING=1");
    close(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(version_and_help_answer),
        serving_test(each_subcommand_says_how_it_is_used),
        serving_test(a_check_looks_and_makes_nothing),
        serving_test(a_configuration_file_is_read),
        serving_test(bad_lines_are_refused_with_file_and_line),
        serving_test(bad_options_are_refused_by_name),
        served_test(a_taken_port_is_named),
        serving_test(a_second_start_takes_nothing_from_the_first),
        serving_test(a_file_is_not_replaced_by_a_socket),
        serving_test(without_a_password_strangers_are_refused),
        serving_test(an_open_door_is_said_in_the_log),
        serving_test(a_service_manager_is_told_of_start_and_stop),
        serving_test(a_directory_that_cannot_be_made_is_named),
        served_test(the_log_says_what_was_recovered),
        served_test(redis_cli_takes_the_tour),
        served_test(redis_cli_speaks_resp3),
        served_test(redis_cli_pipes_in_bulk),
        served_test(redis_cli_finds_its_way_about),
    };
    return cmocka_run_group_tests_name("startup", tests, NULL, NULL);
}
