/* Options: each is tested by its effect, not by what CONFIG GET shows. Options that other
 * programs test are listed in tests/unit/server/test_config.c. */
#include "tests/support/client/raw_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

/* ---- network */

static void a_unix_socket_has_the_mode(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    struct stat found;
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_option(server, "unixsocketperm", "740");
    server_process_run(server);
    assert_int_equal(stat(server->unixsocket, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0740);
}

/* Returns how many of 20 connections the kernel accepts while the server accepts none. */
static int connections_that_wait(const char *backlog, int enough)
{
    struct server_process *server = server_process_new();
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fds[20], connected = 0;
    server_process_option(server, "tcp-backlog", backlog);
    server_process_run(server);
    address.sin_port = htons((uint16_t)server->port);
    assert_int_equal(kill(server->pid, SIGSTOP), 0);
    for (int i = 0; i < 20; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(connect(fds[i], (struct sockaddr *)&address, sizeof(address)) == 0 ||
                    errno == EINPROGRESS);
    }
    for (int waited = 0; waited < 200 && connected < enough; waited++) {
        connected = 0;
        sleep_ms(5);
        for (int i = 0; i < 20; i++)
            connected += send(fds[i], "x", 0, MSG_NOSIGNAL) == 0;
    }
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    server_process_cleanup();
    return connected;
}

static void the_backlog_is_that_of_the_listener(void **state)
{
    (void)state;
    assert_in_range(connections_that_wait("3", 20), 1, 5);
    assert_int_equal(connections_that_wait("100", 20), 20);
}

/* The timer that the kernel runs for the server's end of a connection; 2: keep-alive. */
static int timer_of(const struct server_process *server)
{
    char line[512];
    int found = -1;
    FILE *file = fopen("/proc/net/tcp", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        unsigned port, status, timer;
        if (sscanf(line, " %*d: %*8x:%x %*8x:%*x %x %*x:%*x %x", &port, &status, &timer) == 3 &&
            (int)port == server->port && status == 1)
            found = (int)timer;
    }
    fclose(file);
    return found;
}

/* Waits, because a reply that is not acknowledged yet has a timer of its own. */
static void expect_timer(const struct server_process *server, int timer)
{
    for (int waited = 0; waited < 2000 && timer_of(server) != timer; waited++)
        sleep_ms(5);
    assert_int_equal(timer_of(server), timer);
}

static void keep_alive_is_what_was_configured(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("tcp-keepalive 100");
    expect(client_open(server), "PONG", "PING");
    expect_timer(server, 2);
    client_cleanup();
    server_process_cleanup();
    server = server_process_start("tcp-keepalive 0");
    expect(client_open(server), "PONG", "PING");
    expect_timer(server, 0);
}

/* The server's end of the client's connection, in this process; -1: the kernel does not let
 * one process have a descriptor of another. */
static int servers_end(const struct server_process *server, const redisContext *client)
{
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_size = sizeof(own);
    int process = (int)syscall(SYS_pidfd_open, server->pid, 0), found = -1;
    assert_int_equal(getsockname(client->fd, (struct sockaddr *)&own, &own_size), 0);
    for (int fd = 0; fd < 64 && found < 0; fd++) {
        socklen_t size = sizeof(peer);
        int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
        if (copy >= 0 && getpeername(copy, (struct sockaddr *)&peer, &size) == 0 &&
            peer.sin_family == AF_INET && peer.sin_port == own.sin_port)
            found = copy;
        else if (copy >= 0)
            close(copy);
    }
    close(process);
    return found;
}

static int socket_option(int fd, int level, int option)
{
    int number = -1;
    socklen_t size = sizeof(number);
    assert_int_equal(getsockopt(fd, level, option, &number, &size), 0);
    return number;
}

/* Redis' own numbers, and as long for what was sent and is not acknowledged. */
static void expect_probes(const struct server_process *server, int seconds, int third)
{
    redisContext *client = client_open(server);
    expect(client, "PONG", "PING");
    int fd = servers_end(server, client);
    if (fd < 0)
        skip();
    assert_int_equal(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    assert_int_equal(socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), seconds);
    assert_int_equal(socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), third);
    assert_int_equal(socket_option(fd, IPPROTO_TCP, TCP_KEEPCNT), 3);
    assert_int_equal(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 2000 * seconds);
    close(fd);
}

static void a_dead_host_is_looked_for_as_configured(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("");
    redisContext *client = client_open(server);
    expect_probes(server, 300, 100);
    expect(client, "OK", "CONFIG SET tcp-keepalive 90"); /* of clients that come now */
    expect_probes(server, 90, 30);
    expect(client, "OK", "CONFIG SET tcp-keepalive 1");
    expect_probes(server, 1, 1);
    expect(client, "OK", "CONFIG SET tcp-keepalive 0");
    client = client_open(server);
    expect(client, "PONG", "PING");
    int fd = servers_end(server, client);
    assert_int_equal(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 0);
    assert_int_equal(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    close(fd);
}

static void a_request_has_a_largest_size(void **state)
{
    static char part[64 * 1024];
    struct raw_client raw;
    struct server_process *server = server_process_start("client-query-buffer-limit 1mb");
    (void)state;
    memset(part, 'x', sizeof(part));
    raw_open(&raw, server);
    raw_send(&raw, "*2\r\n$4\r\nPING\r\n$3000000\r\n", 25);
    for (int i = 0; i < 40; i++)
        if (send(raw.fd, part, sizeof(part), MSG_NOSIGNAL) < 0)
            break;
    while (fgetc(raw.input) != EOF)
        continue;
    raw_close(&raw);
    redisContext *client = client_open(server);
    expect(client, "OK", "CONFIG SET client-query-buffer-limit 8mb");
    client = client_open(server);
    say(client, "PING %b", part, sizeof(part));
    expect_reply(client, "\"xxx*\"");
}

static void an_argument_has_a_largest_size(void **state)
{
    struct raw_client raw;
    struct server_process *server = server_process_start("proto-max-bulk-len 1mb");
    (void)state;
    raw_open(&raw, server);
    raw_say(&raw, "*2\r\n$4\r\nPING\r\n$1048577");
    raw_expect_reply(&raw, "!ERR Protocol error: invalid bulk length");
    raw_close(&raw);
    expect(client_open(server), "OK", "CONFIG SET proto-max-bulk-len 8gb");
}

/* Returns how many turns of the loop 500 requests in one write take. */
static int64_t turns_for_500(struct raw_client *raw, redisContext *client)
{
    char pings[500 * 6 + 1] = "";
    int64_t before = ask_info(client, "stats", "turns");
    for (int i = 0; i < 500; i++)
        strcat(pings, "PING\r\n");
    raw_send(raw, pings, strlen(pings));
    for (int i = 0; i < 500; i++)
        raw_expect_reply(raw, "PONG");
    return ask_info(client, "stats", "turns") - before;
}

static void a_pipeline_has_its_share_of_a_turn(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    expect(client, "OK", "CONFIG SET pipeline-limit 1");
    assert_true(turns_for_500(&raw, client) >= 500);
    expect(client, "OK", "CONFIG SET pipeline-limit 1000");
    assert_true(turns_for_500(&raw, client) < 400);
    raw_close(&raw);
}

/* ---- process */

static bool file_says(const char *path, const char *words)
{
    static char content[65536];
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    content[fread(content, 1, sizeof(content) - 1, file)] = '\0';
    fclose(file);
    return strstr(content, words) != NULL;
}

static void the_log_goes_to_the_file_from_the_level_on(void **state)
{
    (void)state;
    struct server_process *server = server_process_new();
    char *log = server_process_path(server, "dueq.log"),
         *moved = server_process_path(server, "dueq.log.1");
    server_process_option(server, "logfile", log);
    server_process_run(server);
    assert_true(file_says(log, "Ready to accept connections"));
    assert_int_equal(rename(log, moved), 0);
    assert_int_equal(kill(server->pid, SIGHUP), 0);
    for (int waited = 0; waited < 10000 && access(log, F_OK) != 0; waited++)
        sleep_ms(1);
    expect(client_open(server), "OK", "CONFIG SET loglevel warning");
    server_process_stop(server);
    assert_int_equal(access(log, F_OK), 0);
    assert_false(file_says(log, "bye bye"));
    assert_false(file_says(moved, "bye bye"));
    server_process_option(server, "loglevel", "verbose");
    server_process_run(server);
    server_process_stop(server);
    assert_true(file_says(log, "bye bye"));
    free(log);
    free(moved);
}

/* The daemon is not a child of the test, so the test must end it before it can fail. */
static void expect_in_log(const struct server_process *server, const char *words)
{
    for (int i = 0; i < 3000; i++) {
        char *log = server_process_log(server);
        bool found = strstr(log, words) != NULL;
        free(log);
        if (found)
            return;
        sleep_ms(10);
    }
    fail_at(__FILE__, __LINE__, "the log has no '%s'", words);
}

static void a_signal_brings_the_state_into_the_log(void **state)
{
    struct server_process *server = served_server(state);
    expect(served_client(state), "*", "Q.PUSH mail body");
    assert_int_equal(kill(server->pid, SIGUSR1), 0);
    expect_in_log(server, "State of Clients: connected_clients:1 ");
    expect_in_log(server, "State of Journal: ");
    expect_in_log(server, "State of Queue: ");
    expect(served_client(state), "PONG", "PING");
}

/* It is there before its line is. */
static bool names_a_process(const char *path)
{
    char line[16];
    FILE *file = fopen(path, "r");
    bool named = file != NULL && fgets(line, sizeof(line), file) != NULL && atoi(line) > 0;
    if (file != NULL)
        fclose(file);
    return named;
}

static void a_daemon_lives_on_its_own(void **state)
{
    (void)state;
    char output[4096];
    bool named = false;
    struct server_process *server = server_process_new();
    char *pidfile = server_process_path(server, "dueq.pid"),
         *log = server_process_path(server, "dueq.log");
    int port = free_port();
    int status =
        run_shell(output, sizeof(output),
                  "timeout 60 %s server --port %d --dir %s --daemonize yes --pidfile %s "
                  "--logfile %s",
                  server_binary(), port, server->data, pidfile, log);
    for (int waited = 0; waited < 20000 && !(named = names_a_process(pidfile)); waited++)
        sleep_ms(1);
    run_shell(output, sizeof(output),
              "timeout 20 sh -c 'until redis-cli -p %d PING | grep PONG; do sleep 0.05; done'; "
              "redis-cli -p %d SHUTDOWN NOSAVE",
              port, port); /* it may be loading when its pid file is there */
    assert_int_equal(status, 0);
    assert_true(named);
    assert_non_null(strstr(output, "PONG"));
    for (int waited = 0; waited < 20000 && access(pidfile, F_OK) == 0; waited++)
        sleep_ms(1);
    assert_int_not_equal(access(pidfile, F_OK), 0);
    for (int waited = 0; waited < 20000 && !file_says(log, "bye bye"); waited++)
        sleep_ms(1);
    assert_true(file_says(log, "bye bye"));
    free(pidfile);
    free(log);
}

/* ---- store */

static int64_t syncs_for_100(redisContext *client)
{
    int64_t before = ask_info(client, "journal", "journal_syncs");
    for (int i = 0; i < 100; i++)
        expect(client, "OK", "SET k %d", i);
    return ask_info(client, "journal", "journal_syncs") - before;
}

static void durability_is_how_often_is_synced(void **state)
{
    redisContext *client = served_client(state);
    assert_true(syncs_for_100(client) >= 100);
    expect(client, "OK", "CONFIG SET durability %s", "interval 1h");
    syncs_for_100(client); /* one sync may still be running */
    assert_true(syncs_for_100(client) <= 1);
    expect(client, "OK", "CONFIG SET appendfsync always");
    assert_true(syncs_for_100(client) >= 100);
    expect(client, "OK", "CONFIG SET durability none");
    syncs_for_100(client);
    assert_int_equal(syncs_for_100(client), 0);
}

static void segments_have_their_size(void **state)
{
    (void)state;
    char output[256];
    struct server_process *server = server_process_start("segment-size 3mb");
    expect(client_open(server), "OK", "SET k v");
    run_shell(output, sizeof(output), "find %s/journal -type f -size %lldc | wc -l",
              server->data, 3LL << 20);
    assert_true(atoi(output) > 0);
}

static int64_t checkpoints_after(const char *options)
{
    struct server_process *server = server_process_start(options);
    redisContext *client = client_open(server);
    char body[10001];
    memset(body, 'x', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    for (int i = 0; i < 1000; i++)
        expect(client, "OK", "SET k%d %s", i % 10, body);
    return ask_info(client, "journal", "checkpoint_lsn");
}

/* Writes 10 MB over the same 100 KB, which fit into a memtable. */
static void a_long_journal_brings_a_checkpoint(void **state)
{
    (void)state;
    assert_true(checkpoints_after("journal-size 4mb, memtable-size 256mb") > 0);
    assert_int_equal(checkpoints_after("journal-size 1gb, memtable-size 256mb"), 0);
}

static void a_full_memtable_brings_a_checkpoint(void **state)
{
    (void)state;
    assert_true(checkpoints_after("journal-size 1gb, memtable-size 64kb") > 0);
}

/* Returns how many bodies of 100 KB the server accepts before FULL. */
static int fits(const char *options)
{
    static char body[100001];
    struct server_process *server = server_process_start(options);
    redisContext *client = client_open(server);
    int count = 0;
    memset(body, 'x', sizeof(body) - 1);
    for (;; count++) {
        redisReply *reply = redisCommand(client, "Q.PUSH mail %s", body);
        assert_non_null(reply);
        bool full = reply->type == REDIS_REPLY_ERROR;
        if (full)
            assert_memory_equal(reply->str, "FULL ", 5);
        freeReplyObject(reply);
        if (full)
            break;
    }
    server_process_cleanup();
    return count;
}

static void the_map_is_filled_up_to_its_high_water(void **state)
{
    static const char common[] = "memtable-size 1mb, journal-size 4mb";
    char low[128], high[128], large[128];
    (void)state;
    snprintf(low, sizeof(low), "%s, map-size 32mb, high-water-percent 20", common);
    snprintf(high, sizeof(high), "%s, map-size 32mb, high-water-percent 90", common);
    snprintf(large, sizeof(large), "%s, map-size 64mb, high-water-percent 90", common);
    int some = fits(low), more = fits(high), most = fits(large);
    assert_true(some < more);
    assert_true(more < most);
}

/* Leaves one small key of 10 MB. */
static void make_sparse_file(redisContext *client)
{
    static char body[100001];
    memset(body, 'x', sizeof(body) - 1);
    for (int i = 0; i < 100; i++)
        expect(client, "OK", "SET k%d %s", i, body);
    for (int i = 0; i < 100; i++)
        expect(client, "1", "DEL k%d", i);
    expect(client, "OK", "SET kept value");
    expect(client, "OK", "SAVE");
}

/* Waits for the first one. */
static void await_count(redisContext *client, const char *name)
{
    for (int i = 0; i < 3000 && ask_info(client, "journal", name) == 0; i++)
        usleep(10000);
    assert_int_equal(ask_info(client, "journal", name), 1);
    expect(client, "\"value\"", "GET kept");
}

static int64_t lines_with(const struct server_process *server, const char *words)
{
    char output[256];
    run_shell(output, sizeof(output), "grep -c '%s' %s || true", words, server->log);
    return atoi(output);
}

static void await_line(const struct server_process *server, const char *words)
{
    for (int i = 0; i < 500 && lines_with(server, words) == 0; i++)
        usleep(20000);
    assert_int_equal(lines_with(server, words), 1);
}

static void a_sparse_file_is_compacted_by_itself(void **state)
{
    (void)state;
    struct server_process *server = server_process_start(
        "memtable-size 256kb, auto-compact-min-size 1gb, auto-compact-percentage 0");
    redisContext *client = client_open(server);
    make_sparse_file(client);
    expect(client, "OK", "CONFIG SET auto-compact-percentage 100");
    usleep(300000);
    expect(client, "OK", "CONFIG SET auto-compact-percentage 0 auto-compact-min-size 1mb");
    usleep(300000);
    assert_int_equal(ask_info(client, "journal", "compactions"), 0);
    expect(client, "OK", "CONFIG SET auto-compact-percentage 50");
    await_count(client, "compactions");
    await_line(server, "Compacted data.mdb: ");
}

static void memory_purge_compacts_the_file(void **state)
{
    (void)state;
    struct server_process *server = server_process_start("memtable-size 256kb");
    redisContext *client = client_open(server);
    make_sparse_file(client);
    int64_t before = ask_info(client, "journal", "data_file_bytes");
    expect(client, "OK", "MEMORY PURGE");
    await_count(client, "compactions");
    assert_true(ask_info(client, "journal", "data_file_bytes") < before / 2);
    assert_true(ask_info(client, "journal", "compaction_returned_bytes") > before / 2);
    expect(client, "OK", "MEMORY PURGE");
    expect(client, "OK", "SET later value");
    server_process_kill(server);
    server_process_run(server);
    client = client_open(server);
    expect(client, "\"value\"", "GET kept");
    expect(client, "\"value\"", "GET later");
}

/* It says so to one who asks, and in the log once. */
static void a_compaction_without_disk_space_is_refused(void **state)
{
    (void)state;
    struct server_process *server =
        server_process_start("memtable-size 256kb, auto-compact-min-size 1gb, disk-reserve 0");
    redisContext *client = client_open(server);
    make_sparse_file(client);
    server_process_stop(server);
    server_process_option(server, "disk-reserve", "1tb");
    server_process_option(server, "auto-compact-min-size", "1mb");
    server_process_run(server);
    client = client_open(server);
    expect(client, "!ERR the disk has no room for a compact copy of data.mdb", "MEMORY PURGE");
    await_count(client, "compaction_failures");
    await_line(server, "data.mdb is not compacted");
}

/* ---- jobs */

static void jobs_take_the_configured_backoff(void **state)
{
    redisContext *client = served_client(state);
    expect(client, "OK", "CONFIG SET queue-backoff 5s queue-backoff-max 2h");
    expect(client, "*", "Q.PUSH mail body ID a");
    expect_field(client, "backoff", "5000", "Q.GET mail a");
    expect_field(client, "backoff-max", "7200000", "Q.GET mail a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        serving_test(a_unix_socket_has_the_mode),
        serving_test(the_backlog_is_that_of_the_listener),
        serving_test(keep_alive_is_what_was_configured),
        serving_test(a_dead_host_is_looked_for_as_configured),
        serving_test(a_request_has_a_largest_size),
        serving_test(an_argument_has_a_largest_size),
        served_test(a_pipeline_has_its_share_of_a_turn),
        serving_test(the_log_goes_to_the_file_from_the_level_on),
        served_test(a_signal_brings_the_state_into_the_log),
        serving_test(a_daemon_lives_on_its_own),
        served_test(durability_is_how_often_is_synced),
        serving_test(segments_have_their_size),
        serving_test(a_long_journal_brings_a_checkpoint),
        serving_test(a_full_memtable_brings_a_checkpoint),
        serving_test(the_map_is_filled_up_to_its_high_water),
        serving_test(a_sparse_file_is_compacted_by_itself),
        serving_test(memory_purge_compacts_the_file),
        serving_test(a_compaction_without_disk_space_is_refused),
        served_test(jobs_take_the_configured_backoff),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
