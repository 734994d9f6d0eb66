/* A start that takes long: clients are answered meanwhile, and a server that is stopped or
 * killed then has lost nothing. */
#include "tests/support/client/client.h"
#include "tests/support/client/http_client.h"
#include "tests/support/faults/faulty_disk.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

enum { JOBS = 5000, BODY = 1000, SEGMENTS = 5 };

#define LOADING "!LOADING Redis is loading the dataset in memory"

/* ---- a server with a long journal */

static void fill(struct server_process *server)
{
    redisContext *client = client_open(server);
    char body[BODY + 1];
    memset(body, 'b', BODY);
    body[BODY] = '\0';
    for (int i = 0; i < JOBS; i++)
        say(client, "Q.PUSH mail %s ID %d", body, i);
    for (int i = 0; i < JOBS; i++)
        expect_reply(client, "*");
    expect(client, "OK", "SET key value");
    client_close(client);
}

/* Killed, with a journal of several segments; the next start is held after so many of them. */
static struct server_process *killed_server(int segments)
{
    struct server_process *server = server_process_new();
    faulty_disk_prepare(server, segments);
    server_process_run(server);
    fill(server);
    server_process_kill(server);
    return server;
}

/* In the run of this process. */
static bool log_says(const struct server_process *server, const char *text)
{
    char *log = server_process_log(server), start[32];
    snprintf(start, sizeof(start), "starting, pid %d\n", (int)server->pid);
    const char *run = strstr(log, start);
    bool found = run != NULL && strstr(run, text) != NULL;
    free(log);
    return found;
}

static void await_log(const struct server_process *server, const char *text)
{
    for (int waited = 0; waited < 60000; waited++) {
        if (log_says(server, text))
            return;
        sleep_ms(1);
    }
    fail_at(__FILE__, __LINE__, "the log does not say: %s", text);
}

/* Starts it, and returns when its loop runs, while it is held in its loading. */
static void launch_held(struct server_process *server)
{
    faulty_disk_break(server, "replay HOLD");
    server_process_launch(server);
    await_log(server, "Loading: ");
}

static void check_all(const struct server_process *server)
{
    redisContext *client = client_open(server);
    char jobs[16];
    snprintf(jobs, sizeof(jobs), "%d", JOBS);
    expect(client, jobs, "Q.LEN mail");
    for (int i = 0; i < JOBS; i += 97)
        expect(client, "[\"id\" *]", "Q.GET mail %d", i);
    expect(client, "\"value\"", "GET key");
    client_close(client);
}

static void await_value(redisContext *client)
{
    for (int waited = 0; waited < 60000; waited++) {
        char *reply = ask_text(client, "GET key");
        bool loaded = strncmp(reply, "!LOADING ", 9) != 0;
        if (loaded)
            assert_string_equal(reply, "\"value\"");
        free(reply);
        if (loaded)
            return;
        sleep_ms(1);
    }
    fail_at(__FILE__, __LINE__, "the loading does not end");
}

/* ---- while it loads */

static void clients_are_answered_while_the_store_opens(void **state)
{
    (void)state;
    struct server_process *server = killed_server(2);
    launch_held(server);
    redisContext *client = client_open(server);
    expect(client, LOADING, "GET key");
    expect(client, LOADING, "PING");
    expect(client, LOADING, "Q.CLAIM mail BLOCK 0");
    assert_int_equal(ask_info(client, "persistence", "loading"), 1);
    while (ask_info(client, "persistence", "loading_loaded_bytes") < BODY)
        sleep_ms(1);
    int64_t total = ask_info(client, "persistence", "loading_total_bytes"),
            loaded = ask_info(client, "persistence", "loading_loaded_bytes");
    assert_true(total >= JOBS * BODY);
    assert_in_range(loaded, BODY, total - 1);
    assert_true(ask_info(client, "persistence", "loading_loaded_perc") < 100);
    assert_true(ask_info(client, "persistence", "loading_start_time") > 1700000000);
    assert_true(ask_info(client, "persistence", "loading_eta_seconds") >= 0);
    assert_false(log_says(server, "Ready to accept"));
    faulty_disk_repair(server);
    await_value(client);
    await_log(server, "Ready to accept");
    assert_int_equal(ask_info(client, "persistence", "loading"), 0);
    check_all(server);
    server_process_stop(server);
}

static void what_clients_have_begun_goes_on_after_the_loading(void **state)
{
    (void)state;
    struct server_process *server = killed_server(1);
    launch_held(server);
    redisContext *client = client_open(server), *listener = client_open(server),
                 *paused = client_open(server);
    expect(listener, "[\"subscribe\" \"news\" 1]", "SUBSCRIBE news");
    expect(client, "OK", "CLIENT SETNAME me");
    expect(client, "OK", "CONFIG SET queue-lease 5000 durability none");
    expect(client, "OK", "CLIENT PAUSE 3600000 WRITE");
    expect(paused, LOADING, "SET key other");
    say(paused, "PUBLISH news early");
    faulty_disk_repair(server);
    await_value(client);
    expect(client, "\"me\"", "CLIENT GETNAME");
    say(paused, "SET key other");
    expect_silence(paused, 20);
    expect(client, "OK", "CLIENT UNPAUSE");
    expect_reply(paused, "1");
    expect_reply(paused, "OK");
    expect_reply(listener, "[\"message\" \"news\" \"early\"]");
    expect(client, "\"other\"", "GET key");
    expect(client, "[\"durability\" \"none\" \"queue-lease\" \"5000\"]",
           "CONFIG GET queue-lease durability");
    int64_t lease = unix_ms();
    claim(client, "mail", "0");
    lease = ask_field(client, "due", "Q.GET mail 0") - lease;
    assert_in_range(lease, 1, 30000); /* the store got the setting: 60000 is the default */
    server_process_stop(server);
}

/* ---- stopping */

static void a_stop_while_it_loads_is_clean(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, 0};
    (void)state;
    struct server_process *server = killed_server(1);
    for (int i = 0; i < 3; i++) {
        launch_held(server);
        redisContext *client = client_open(server);
        expect(client, LOADING, "GET key");
        if (signals[i] != 0)
            kill(server->pid, signals[i]);
        else
            say(client, "SHUTDOWN");
        expect_closed(client); /* the loop has ended; the opening has not */
        assert_false(log_says(server, "Ready to accept"));
        faulty_disk_repair(server);
        assert_int_equal(server_process_wait(server), 0);
        client_cleanup();
    }
    server_process_run(server);
    check_all(server);
    server_process_stop(server);
}

/* Small memtables: the replay merges again and again. */
static void a_kill_while_it_loads_loses_nothing(void **state)
{
    (void)state;
    struct server_process *server = killed_server(0);
    server_process_option(server, "memtable-size", "64kb");
    for (int segments = 0; segments < SEGMENTS; segments++) {
        faulty_disk_prepare(server, segments % 3);
        launch_held(server);
        server_process_kill(server);
        faulty_disk_repair(server);
    }
    for (int ms = 1; ms < 40; ms += 3) { /* in the middle of it */
        server_process_launch(server);
        sleep_ms(ms);
        server_process_kill(server);
    }
    server_process_run(server);
    check_all(server);
    server_process_stop(server);
    server_process_run(server);
    check_all(server);
    server_process_stop(server);
}

/* ---- failing */

static void a_loading_that_fails_ends_the_server(void **state)
{
    (void)state;
    struct server_process *server = killed_server(1);
    launch_held(server);
    redisContext *client = client_open(server);
    expect(client, LOADING, "GET key");
    faulty_disk_break(server, "replay EIO");
    expect_closed(client);
    await_log(server, "Cannot open the store: cannot read ");
    assert_int_equal(server_process_wait(server), 1);
    faulty_disk_repair(server);
    server_process_run(server);
    check_all(server);
    server_process_stop(server);
}

/* The second one does not take the pid file of the first. */
static void a_pid_file_is_there_while_it_loads(void **state)
{
    (void)state;
    struct server_process *server = killed_server(1);
    char *pidfile = server_process_path(server, "pid"), output[64], wanted[64];
    server_process_option(server, "pidfile", pidfile);
    launch_held(server);
    snprintf(wanted, sizeof(wanted), "%d\n", (int)server->pid);
    run_shell(output, sizeof(output), "cat %s", pidfile);
    assert_string_equal(output, wanted);
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s server --port %d --dir %s --pidfile %s >/dev/null",
                               server_binary(), free_port(), server->data, pidfile),
                     1);
    run_shell(output, sizeof(output), "cat %s", pidfile);
    assert_string_equal(output, wanted);
    faulty_disk_repair(server);
    redisContext *client = client_open(server);
    await_value(client);
    client_cleanup();
    server_process_stop(server);
    free(pidfile);
}

static void metrics_are_served_while_it_loads(void **state)
{
    (void)state;
    struct server_process *server = killed_server(2);
    int port = free_port();
    char text[16];
    snprintf(text, sizeof(text), "%d", port);
    server_process_option(server, "http-port", text);
    launch_held(server);
    http_expect_line(http_get(port, "/metrics"), "dueq_loading 1");
    http_expect_status(http_get(port, "/healthz"), "200");
    http_expect_status(http_get(port, "/readyz"), "503");
    assert_non_null(strstr(http_body(http_get(port, "/readyz")), "loading: "));
    faulty_disk_repair(server);
    redisContext *client = client_open(server);
    await_value(client);
    http_expect_status(http_get(port, "/readyz"), "200");
    http_expect_line(http_get(port, "/metrics"), "dueq_loading 0");
    client_cleanup();
    server_process_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(clients_are_answered_while_the_store_opens),
        serving_test(what_clients_have_begun_goes_on_after_the_loading),
        serving_test(a_stop_while_it_loads_is_clean),
        serving_test(a_kill_while_it_loads_loses_nothing),
        serving_test(a_loading_that_fails_ends_the_server),
        serving_test(metrics_are_served_while_it_loads),
        serving_test(a_pid_file_is_there_while_it_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
