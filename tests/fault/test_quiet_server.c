/* A server for which nothing is due does not wake up: no thread of it runs. Counted by the
 * kernel, as context switches. */
#include "tests/support/client/client.h"
#include "tests/support/client/raw_client.h"
#include "tests/support/client/tls_client.h"
#include "tests/support/faults/machine.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <setjmp.h>
#include <cmocka.h>

enum { WATCHED_S = 4, ROUNDS_MOST = 20, LONG_S = 1000 };

/* Of one thread; 0 for the one that is the test's own. */
static long long switches_of(const char *task)
{
    char path[512], line[256], name[64] = "";
    long long count = 0, one;
    snprintf(path, sizeof(path), "%s/status", task);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "Name: %63s", name);
        if (sscanf(line, "voluntary_ctxt_switches: %lld", &one) == 1)
            count += one;
    }
    fclose(file);
    return strcmp(name, "test-clock") == 0 ? 0 : count;
}

static long long switches(const struct machine *machine)
{
    char path[64], task[400];
    long long count = 0;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)machine->server->pid);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.') {
            snprintf(task, sizeof(task), "%s/%s", path, entry->d_name);
            count += switches_of(task);
        }
    closedir(directory);
    return count;
}

static void pause_seconds(unsigned seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds};
    nanosleep(&pause, NULL);
}

/* Waits for a span without a switch: what was under way may go on for some time. */
static void expect_quiet(const struct machine *machine)
{
    for (int round = 0; round < ROUNDS_MOST; round++) {
        long long before = switches(machine);
        pause_seconds(WATCHED_S);
        if (switches(machine) == before)
            return;
    }
    fail_msg("the server wakes up again and again");
}

static struct machine device_boot(void)
{
    struct machine machine = {.server = server_process_new()};
    server_process_option(machine.server, "profile", "edge");
    machine.clock = stepped_clock_prepare(machine.server);
    server_process_run(machine.server);
    machine.client = client_open(machine.server);
    return machine;
}

static void let_rest(struct machine machine)
{
    expect(machine.client, "\"a\"", "Q.PUSH mail body ID a DELAY 2h");
    expect(machine.client, "OK", "SET key value EX 7200");
    client_close(machine.client);
    expect_quiet(&machine);
    machine.client = client_open(machine.server);
    expect(machine.client, "1", "EXISTS key");
    client_close(machine.client);
    server_process_cleanup();
}

static void nothing_wakes_an_idle_server(void **state)
{
    (void)state;
    let_rest(machine_boot());
}

static void nothing_wakes_an_idle_device(void **state)
{
    (void)state;
    let_rest(device_boot());
}

static void nothing_wakes_a_server_whose_worker_waits(void **state)
{
    struct machine machine = machine_boot();
    (void)state;
    say(machine.client, "Q.CLAIM mail LEASE 1h BLOCK 0");
    expect_quiet(&machine);
    redisContext *other = client_open(machine.server);
    expect(other, "\"a\"", "Q.PUSH mail body ID a");
    expect_reply(machine.client, "[[\"a\" 1 *]]");
    client_close(other);
    client_close(machine.client);
    server_process_cleanup();
}

/* ---- after much work */

enum { CROWD = 60 }; /* fewer than a device has places for */

/* Clients that wait in all ways, for a time and for ever, and that are told of everything. */
static void crowd(struct machine *machine)
{
    static const char *const lines[] = {"BLPOP list 0",
                                        "BLPOP list 0.5",
                                        "Q.CLAIM topic BLOCK 0",
                                        "Q.WAIT topic a BLOCK 1s",
                                        "SUBSCRIBE news",
                                        "PSUBSCRIBE __*__:*",
                                        "WATCH key",
                                        "MULTI",
                                        "CLIENT NO-EVICT ON",
                                        "PING"};
    enum { LINES = sizeof(lines) / sizeof(lines[0]) };
    static struct raw_client clients[CROWD];
    for (int i = 0; i < CROWD; i++) {
        raw_open(&clients[i], machine->server);
        raw_say(&clients[i], i % 25 == 0 ? "MONITOR" : lines[i % LINES]);
    }
    sleep_ms(1500);
    expect(machine->client, "PONG", "PING");
    for (int i = 0; i < CROWD; i++)
        raw_close(&clients[i]);
}

static void work_long(redisContext *client)
{
    enum { STEP = 1000, STEPS = 60 };
    static char texts[STEP][16];
    const char *words[STEP + 2] = {"SADD", NULL};
    for (int step = 0; step < STEPS; step++) {
        words[1] = step % 2 == 0 ? "even" : "odd";
        for (int i = 0; i < STEP; i++) {
            snprintf(texts[i], sizeof(texts[i]), "%d", step * STEP + i);
            words[i + 2] = texts[i];
        }
        redisAppendCommandArgv(client, STEP + 2, words, NULL);
        expect_reply(client, "1000");
    }
    expect(client, "60000", "SUNIONSTORE all even odd");
    expect(client, "1", "COPY all copy");
    expect(client, "4", "DEL even odd all copy");
    expect(client, "OK", "SET short v PX 100");
    expect(client, "OK", "CLIENT PAUSE 100 WRITE");
    for (int i = 0; i < 1000; i++)
        expect(client, "*", "Q.PUSH topic-%d body DELAY %d", i % 50, i % 3);
    for (int i = 0; i < 50; i++)
        expect(client, "*", "Q.DROP topic-%d", i);
}

/* The dashboard's charts begin with its page; the metrics. */
static void ask_over_http(int port)
{
    static const char *const paths[] = {"/metrics", "/healthz", "/ui/"};
    char text[4096];
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_int_equal(run_shell(text, sizeof(text),
                                   "curl -fsS -m 20 -o /dev/null 'http://127.0.0.1:%d%s'", port,
                                   paths[i]),
                         0);
}

static void work_and_rest(const char *profile)
{
    struct machine machine = {.server = server_process_new()};
    int port = server_process_port(machine.server, "http-port");
    server_process_option(machine.server, "profile", profile);
    server_process_option(machine.server, "dashboard", "yes");
    server_process_run(machine.server);
    machine.client = client_open(machine.server);
    expect(machine.client, "*", "Q.PUSH kept body DELAY 2h");
    crowd(&machine);
    work_long(machine.client);
    ask_over_http(port);
    client_close(machine.client);
    expect_quiet(&machine);
    server_process_cleanup();
}

static void a_server_is_quiet_again_after_much_work(void **state)
{
    (void)state;
    work_and_rest("default");
}

static void a_device_is_quiet_again_after_much_work(void **state)
{
    (void)state;
    work_and_rest("edge");
}

/* The timer of a delay is there though all others are not. */
static void a_quiet_server_wakes_when_something_is_due(void **state)
{
    struct machine machine = machine_boot();
    (void)state;
    expect(machine.client, "\"a\"", "Q.PUSH mail body ID a DELAY 30s");
    say(machine.client, "Q.CLAIM mail LEASE 1h BLOCK 0");
    expect_quiet(&machine);
    expect_reply(machine.client, "[[\"a\" 1 *]]");
    client_close(machine.client);
    server_process_cleanup();
}

/* A device starts in 1970; then NTP sets the clock. */
static void a_wall_clock_that_is_set_wakes_a_quiet_server(void **state)
{
    struct machine machine = machine_boot();
    (void)state;
    machine.clock->wall_ahead = -unix_ms() / 1000 + 10;
    expect(machine.client, "\"at\"", "Q.PUSH mail body ID at AT %lld",
           (long long)unix_ms() - 1000);
    expect(machine.client, "\"later\"", "Q.PUSH mail body ID later DELAY 2h");
    say(machine.client, "Q.CLAIM mail LEASE 1h BLOCK 0");
    expect_quiet(&machine);
    machine.clock->wall_ahead = 0;
    expect_reply(machine.client, "[[\"at\" 1 *]]");
    expect(machine.client, "[]", "Q.CLAIM mail");
    expect_field(machine.client, "state", "\"delayed\"", "Q.GET mail later");
    client_close(machine.client);
    server_process_cleanup();
}

/* No client is there, and then much time has gone. */
static void let_time_pass(struct machine *machine)
{
    client_close(machine->client);
    expect_quiet(machine);
    machine->clock->boot_ahead += LONG_S;
}

static void the_first_client_is_as_young_as_it_is(void **state)
{
    struct machine machine = machine_boot();
    char *list;
    (void)state;
    expect(machine.client, "OK", "CONFIG SET timeout %d", LONG_S / 4);
    let_time_pass(&machine);
    machine.client = client_open(machine.server);
    sleep_ms(500); /* turns in which it would be closed */
    list = ask_text(machine.client, "CLIENT LIST");
    assert_non_null(strstr(list, " age="));
    assert_true(atoi(strstr(list, " age=") + 5) < LONG_S / 2);
    free(list);
    client_close(machine.client);
    server_process_cleanup();
}

static void the_first_handshake_has_its_time(void **state)
{
    struct machine machine = machine_boot();
    struct tls_client secure;
    int port = free_port();
    char *directory = machine.server->directory;
    (void)state;
    tls_make_certificates(directory);
    expect(machine.client, "OK",
           "CONFIG SET tls-cert-file %s/server.crt tls-key-file %s/server.key "
           "tls-auth-clients no tls-port %d",
           directory, directory, port);
    let_time_pass(&machine);
    assert_true(tls_open(&secure, port, &(struct tls_identity){0}));
    tls_expect(&secure, "+PONG\r\n", "PING\r\n");
    tls_close(&secure);
    server_process_cleanup();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_wakes_an_idle_server),
        cmocka_unit_test(nothing_wakes_an_idle_device),
        cmocka_unit_test(nothing_wakes_a_server_whose_worker_waits),
        cmocka_unit_test(a_server_is_quiet_again_after_much_work),
        cmocka_unit_test(a_device_is_quiet_again_after_much_work),
        cmocka_unit_test(a_quiet_server_wakes_when_something_is_due),
        cmocka_unit_test(a_wall_clock_that_is_set_wakes_a_quiet_server),
        cmocka_unit_test(the_first_client_is_as_young_as_it_is),
        cmocka_unit_test(the_first_handshake_has_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
