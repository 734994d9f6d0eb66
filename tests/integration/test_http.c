/* The HTTP port: /metrics, /healthz, /readyz, and what strangers may send to it. */
#include "tests/support/client/client.h"
#include "tests/support/client/http_client.h"
#include "tests/support/dice.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum {
    STRANGERS = 100,
    ASKERS = 300,
    ODD_ROUNDS = 300,
    CONNECTIONS_MAX = 16,
    ROUNDS_MOST = 600,
    STANDARD_DESCRIPTORS = 3
};

struct scene {
    struct server_process *server;
    redisContext *client;
    int port;
};

static void start(struct scene *scene, const char *name, const char *value)
{
    scene->server = server_process_new();
    scene->port = server_process_port(scene->server, "http-port");
    if (name != NULL)
        server_process_option(scene->server, name, value);
    server_process_run(scene->server);
    scene->client = client_open(scene->server);
    expect(scene->client, "PONG", "PING"); /* it is accepted: tests count descriptors */
}

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    if (scene->client != NULL)
        client_close(scene->client);
    server_process_cleanup();
    free(scene);
    return 0;
}

/* ---- metrics */

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

static void metrics_follow_what_happens(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, NULL, NULL);
    expect(scene->client, "*", "Q.PUSH mail hello ID a");
    expect(scene->client, "*", "Q.PUSH mail hello ID b DELAY 1h");
    expect(scene->client, "*", "Q.CLAIM mail");
    expect(scene->client, "!*", "NOSUCH");
    reply = http_get(scene->port, "/metrics");
    http_expect_status(reply, "200");
    assert_non_null(
        strstr(reply, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    http_expect_line(reply, "dueq_jobs{state=\"delayed\"} 1");
    http_expect_line(reply, "dueq_jobs{state=\"claimed\"} 1");
    http_expect_line(reply, "dueq_jobs_pushed_total 2");
    http_expect_line(reply, "dueq_jobs_claimed_total 1");
    http_expect_line(reply, "dueq_job_wait_seconds_count 1");
    http_expect_line(reply, "dueq_job_run_seconds_count 0");
    http_expect_line(reply, "dueq_topic_jobs{topic=\"mail\",state=\"delayed\"} 1");
    http_expect_line(reply, "dueq_errors_total{prefix=\"ERR\"} 1");
    http_expect_line(reply, "dueq_command_calls_total{command=\"q.push\"} 2");
    http_expect_line(reply, "dueq_connections 1");
    http_expect_line(reply, "dueq_ready 1");
    expect(scene->client, "*", "Q.ACK mail a 1");
    http_expect_line(http_get(scene->port, "/metrics"), "dueq_job_run_seconds_count 1");
}

static double figure(const char *reply, const char *name)
{
    const char *line = strstr(reply, name);

    assert_non_null(line);
    return strtod(line + strlen(name), NULL);
}

/* Each sync, checkpoint and turn is in its histogram, and takes no time that it has not. */
static void syncs_checkpoints_and_turns_have_histograms(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, NULL, NULL);
    for (int i = 0; i < 20; i++)
        expect(scene->client, "*", "Q.PUSH mail hello");
    expect(scene->client, "OK", "SAVE");
    expect(scene->client, "OK", "CONFIG RESETSTAT");
    reply = http_get(scene->port, "/metrics");
    assert_true(figure(reply, "\ndueq_journal_sync_seconds_count ") >= 20);
    assert_true(figure(reply, "\ndueq_journal_sync_seconds_sum ") > 0);
    assert_true(figure(reply, "\ndueq_journal_sync_seconds_sum ") <=
                figure(reply, "\ndueq_journal_longest_sync_seconds ") *
                    figure(reply, "\ndueq_journal_sync_seconds_count ") * 1.001);
    assert_true(figure(reply, "\ndueq_checkpoint_seconds_count ") >= 1);
    assert_true(figure(reply, "\ndueq_turn_seconds_count ") >= 20);
    assert_true(figure(reply, "\ndueq_turn_seconds_sum ") > 0);
    http_expect_line(reply, "# TYPE dueq_turn_seconds histogram");
    assert_non_null(strstr(reply, "\ndueq_turn_seconds_bucket{le=\"0.001024\"} "));
    assert_non_null(strstr(reply, "\ndueq_checkpoint_seconds_bucket{le=\"1.024\"} "));
}

static void open_metrics_have_an_end(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, NULL, NULL);
    reply = http_request(scene->port, "GET", "/metrics",
                         "Accept: application/openmetrics-text;version=1.0.0\r\n");
    http_expect_status(reply, "200");
    assert_non_null(strstr(reply, "Content-Type: application/openmetrics-text; version=1.0.0; "
                                  "charset=utf-8\r\n"));
    http_expect_line(reply, "# TYPE dueq_commands counter");
    assert_string_equal(reply + strlen(reply) - 6, "# EOF\n");
    assert_int_equal(count_of(reply, "# EOF"), 1);
    assert_null(strstr(http_get(scene->port, "/metrics"), "# EOF"));
}

/* A reply of several writes. */
static void a_peer_that_has_closed_its_side_gets_the_whole_reply(void **state)
{
    static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    struct scene *scene = *state;
    const char *reply, *size;

    start(scene, NULL, NULL);
    reply = http_send(scene->port, request, sizeof(request) - 1);
    http_expect_status(reply, "200");
    size = strstr(reply, "Content-Length: ");
    assert_non_null(size);
    assert_int_equal(strlen(http_body(reply)), strtoul(size + 16, NULL, 10));
}

static void few_topics_have_series(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, "http-metrics-topics", "5");
    for (int i = 0; i < 40; i++)
        expect(scene->client, "*", "Q.PUSH topic-%d hello", i);
    reply = http_get(scene->port, "/metrics");
    assert_int_equal(count_of(reply, "dueq_topic_pushed_total{"), 5);
    http_expect_line(reply, "dueq_topic_pushed_total{topic=\"topic-39\"} 1");
    http_expect_line(reply, "dueq_topic_jobs{topic=\"\\\\other\",state=\"ready\"} 35");
    expect(scene->client, "OK", "CONFIG SET http-metrics-topics 1000");
    reply = http_get(scene->port, "/metrics");
    assert_int_equal(count_of(reply, "dueq_topic_pushed_total{"), 40);
    assert_null(strstr(reply, "\\\\other"));
    expect(scene->client, "OK", "CONFIG SET http-metrics-topics 0");
    http_expect_line(http_get(scene->port, "/metrics"),
                     "dueq_topic_jobs{topic=\"\\\\other\",state=\"ready\"} 40");
}

/* ---- health */

static void a_server_without_room_is_not_ready(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, "disk-reserve", "1tb");
    reply = http_get(scene->port, "/readyz");
    http_expect_status(reply, "503");
    assert_non_null(strstr(http_body(reply), "full"));
    http_expect_status(http_get(scene->port, "/healthz"), "200");
    http_expect_line(http_get(scene->port, "/metrics"), "dueq_ready 0");
}

static void a_sound_server_is_ready(void **state)
{
    struct scene *scene = *state;

    start(scene, NULL, NULL);
    assert_string_equal(http_body(http_get(scene->port, "/readyz")), "ready\n");
    http_expect_status(http_get(scene->port, "/healthz"), "200");
}

static void it_listens_where_it_is_told(void **state)
{
    struct scene *scene = *state;
    char *log;

    start(scene, "http-bind", "::1 -192.0.2.1");
    assert_int_equal(http_try_to_reach(scene->port), -1);
    log = server_process_log(scene->server);
    assert_non_null(strstr(log, "Metrics on http port"));
    free(log);
}

/* ---- strangers */

static void paths_and_methods_are_few(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, NULL, NULL);
    http_expect_status(http_get(scene->port, "/"), "404");
    http_expect_status(http_get(scene->port, "/metrics/../etc/passwd"), "404");
    http_expect_status(http_get(scene->port, "/metrics%00"), "404");
    http_expect_status(http_get(scene->port, "/metrics?a=b"), "200");
    reply = http_request(scene->port, "DELETE", "/metrics", "");
    http_expect_status(reply, "405");
    assert_non_null(strstr(reply, "Allow: GET, HEAD\r\n"));
    http_expect_status(http_request(scene->port, "POST", "/metrics", "Content-Length: 0\r\n"),
                       "405");
    http_expect_status(
        http_request(scene->port, "POST", "/metrics", "Content-Length: 99999999\r\n"), "413");
}

static void a_head_has_no_body(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene, NULL, NULL);
    reply = http_request(scene->port, "HEAD", "/healthz", "");
    http_expect_status(reply, "200");
    assert_non_null(strstr(reply, "Content-Length: 6\r\n"));
    assert_string_equal(http_body(reply), "");
}

static size_t count_descriptors(const struct server_process *server)
{
    char path[64];
    size_t count = 0;
    DIR *directory;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)server->pid);
    directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* Allows so many descriptors from now on; 0: as many as before. */
static void limit_descriptors(const struct server_process *server, rlim_t most)
{
    struct rlimit limit;

    assert_int_equal(prlimit(server->pid, RLIMIT_NOFILE, NULL, &limit), 0);
    limit.rlim_cur = most == 0 ? limit.rlim_max : most;
    assert_int_equal(prlimit(server->pid, RLIMIT_NOFILE, &limit, NULL), 0);
}

static void wait_for_log(const struct server_process *server, const char *text)
{
    for (int waited = 0; waited < 10000; waited++) {
        char *log = server_process_log(server);
        bool found = strstr(log, text) != NULL;

        free(log);
        if (found)
            return;
        sleep_ms(1);
    }
    fail_msg("the log does not say: %s", text);
}

static void await_health(int port)
{
    for (int round = 0; round < ROUNDS_MOST; round++) {
        if (strstr(http_get(port, "/healthz"), " 200 ") != NULL)
            return;
        sleep_ms(50);
    }
    http_expect_status(http_get(port, "/healthz"), "200");
}

static void a_failed_accept_is_survived(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene, NULL, NULL);
    limit_descriptors(scene->server, STANDARD_DESCRIPTORS); /* those are never free */
    fd = http_reach(scene->port);
    wait_for_log(scene->server, "http: accept: ");
    expect(scene->client, "PONG", "PING");
    limit_descriptors(scene->server, 0);
    await_health(scene->port); /* a store without a descriptor may be opened anew */
    close(fd);
}

/* They send nothing, or half a request. */
static void silent_strangers_shut_nobody_out(void **state)
{
    struct scene *scene = *state;
    int strangers[STRANGERS];
    size_t before;

    start(scene, NULL, NULL);
    before = count_descriptors(scene->server);
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = http_reach(scene->port);
        if (i % 2 == 0)
            assert_int_equal(write(strangers[i], "GET /metr", 9), 9);
    }
    http_expect_status(http_get(scene->port, "/metrics"), "200");
    assert_true(count_descriptors(scene->server) <= before + CONNECTIONS_MAX + 2);
    http_expect_line(http_get(scene->port, "/metrics"), "dueq_connections 1");
    for (int i = 0; i < STRANGERS; i++)
        close(strangers[i]);
}

/* Newcomers do not keep the time of those that are there from passing: what a peer still sends
 * after a refusal is read for two seconds. */
static void newcomers_prolong_nobodys_time(void **state)
{
    static const char refused[] = "POST /metrics HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n";
    struct scene *scene = *state;
    char reply[1024];
    int fd, round;

    start(scene, NULL, NULL);
    fd = http_reach(scene->port);
    assert_int_equal(write(fd, refused, sizeof(refused) - 1), sizeof(refused) - 1);
    while (read(fd, reply, sizeof(reply)) > 0)
        continue;
    for (round = 0; round < ROUNDS_MOST && send(fd, "x", 1, MSG_NOSIGNAL) == 1; round++) {
        http_expect_status(http_get(scene->port, "/healthz"), "200");
        sleep_ms(50);
    }
    assert_int_not_equal(round, ROUNDS_MOST);
    close(fd);
}

/* They ask and read no reply. */
static void askers_that_stay_are_few(void **state)
{
    struct scene *scene = *state;
    int askers[ASKERS];
    size_t before, most = 0;

    start(scene, NULL, NULL);
    before = count_descriptors(scene->server);
    for (int i = 0; i < ASKERS; i++) {
        size_t now;

        askers[i] = http_reach(scene->port);
        assert_int_equal(write(askers[i], "GET /metrics HTTP/1.1\r\n\r\n", 25), 25);
        now = count_descriptors(scene->server);
        most = now > most ? now : most;
    }
    assert_in_range(most, before, before + CONNECTIONS_MAX + 2); /* a scrape opens a file */
    http_expect_status(http_get(scene->port, "/healthz"), "200");
    http_expect_status(http_get(scene->port, "/metrics"), "200");
    for (int i = 0; i < ASKERS; i++)
        close(askers[i]);
}

static void a_client_that_goes_harms_nothing(void **state)
{
    struct scene *scene = *state;

    start(scene, NULL, NULL);
    for (int i = 0; i < STRANGERS; i++) {
        int fd = http_reach(scene->port);

        assert_int_equal(write(fd, "GET /metrics HTTP/1.1\r\n\r\n", 25), 25);
        close(fd);
    }
    http_expect_status(http_get(scene->port, "/metrics"), "200");
    expect(scene->client, "PONG", "PING");
}

static void odd_requests_are_refused(void **state)
{
    static const char *const odd[] = {
        "",
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET /metrics\r\n\r\n",
        "GET /metrics HTTP/9.9\r\n\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "\x16\x03\x01\x02\x00\x01",
        "GET metrics HTTP/1.1\r\n\r\n",
        "GET http://evil/metrics HTTP/1.1\r\nHost: other\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nno colon\r\n\r\n",
        "GET /metrics HTTP/1.1\r\n: x\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "CONNECT x:1 HTTP/1.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n"};
    struct scene *scene = *state;

    start(scene, NULL, NULL);
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        (void)http_send(scene->port, odd[i], strlen(odd[i]));
    http_expect_status(http_get(scene->port, "/metrics"), "200");
}

/* A good request with a few bytes changed, cut or doubled. */
static void random_requests_are_survived(void **state)
{
    static const char good[] = "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: text/plain;q=0.5, "
                               "application/openmetrics-text;q=1\r\nContent-Length: 0\r\n\r\n";
    struct scene *scene = *state;
    struct dice dice;
    char request[2 * sizeof(good)];

    start(scene, NULL, NULL);
    dice_begin(&dice);
    for (int round = 0; round < ODD_ROUNDS; round++) {
        size_t size = sizeof(good) - 1;

        memcpy(request, good, size);
        memcpy(request + size, good, size);
        if (dice_once_in(&dice, 3))
            size += dice_roll(&dice, size);
        for (size_t changes = dice_roll(&dice, 6); changes > 0; changes--)
            request[dice_roll(&dice, size)] = (char)dice_roll(&dice, 256);
        if (dice_once_in(&dice, 3))
            size = dice_roll(&dice, size);
        (void)http_send(scene->port, request, size);
    }
    http_expect_status(http_get(scene->port, "/metrics"), "200");
    expect(scene->client, "PONG", "PING");
    server_process_stop(scene->server);
}

static void a_huge_header_is_refused(void **state)
{
    struct scene *scene = *state;
    size_t size = 1 << 20;
    char *request = malloc(size);

    assert_non_null(request);
    start(scene, NULL, NULL);
    memset(request, 'x', size);
    memcpy(request, "GET /metrics HTTP/1.1\r\nA: ", 26);
    assert_null(strstr(http_send(scene->port, request, size), "200 OK"));
    http_expect_status(http_get(scene->port, "/metrics"), "200");
    free(request);
}

#define http_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        http_test(metrics_follow_what_happens),
        http_test(syncs_checkpoints_and_turns_have_histograms),
        http_test(open_metrics_have_an_end),
        http_test(a_peer_that_has_closed_its_side_gets_the_whole_reply),
        http_test(few_topics_have_series),
        http_test(a_server_without_room_is_not_ready),
        http_test(a_sound_server_is_ready),
        http_test(it_listens_where_it_is_told),
        http_test(paths_and_methods_are_few),
        http_test(a_head_has_no_body),
        http_test(silent_strangers_shut_nobody_out),
        http_test(newcomers_prolong_nobodys_time),
        http_test(askers_that_stay_are_few),
        http_test(a_failed_accept_is_survived),
        http_test(a_client_that_goes_harms_nothing),
        http_test(odd_requests_are_refused),
        http_test(random_requests_are_survived),
        http_test(a_huge_header_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
