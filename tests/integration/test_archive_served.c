/* archive-dir and `dueq restore`, with the real server: a moment in time comes back, and a kill
 * or a missing archive loses nothing. tests/unit/storage/test_archive.c has the store's side.
 */
#include "tests/support/client/client.h"
#include "tests/support/client/http_client.h"
#include "tests/support/temp_dir.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { REFUSED = 1, UNREACHABLE = 4 }; /* exit statuses of `dueq backup` */

static char output[20000];
static char *place;

static int tear_down(void **state)
{
    (void)state;
    client_cleanup();
    server_process_cleanup();
    temp_dir_remove(place);
    place = NULL;
    return 0;
}

static const char *path_of(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, PATH_MAX, "%s/%.100s", place, name);
    return path;
}

static struct server_process *new_server(const char *interval)
{
    struct server_process *server = server_process_new();

    place = temp_dir_new();
    assert_int_equal(mkdir(path_of("archive"), 0700), 0);
    server_process_option(server, "backup-dir", place);
    server_process_option(server, "archive-dir", path_of("archive"));
    server_process_option(server, "archive-interval", interval);
    server_process_option(server, "segment-size", "1mb");
    server_process_option(server, "memtable-size", "1mb");
    server_process_option(server, "disk-reserve", "0");
    return server;
}

static void push_jobs(redisContext *client, int from, int to)
{
    for (int i = from; i < to; i++)
        say(client, "Q.PUSH mail body-%d-%0200d ID %d", i, i, i);
    for (int i = from; i < to; i++)
        expect_reply(client, "*");
}

static void back_up(redisContext *client, const char *name)
{
    expect(client, "Background backup started", "BACKUP %s", name);
    for (int i = 0; i < 6000 && ask_info(client, "journal", "backup_in_progress") != 0; i++)
        sleep_ms(10);
    expect(client, "\"*backup_last_status:ok*\"", "INFO journal");
}

static void await_archived(redisContext *client)
{
    for (int i = 0; i < 6000 && ask_info(client, "journal", "archive_last_lsn") <
                                    ask_info(client, "journal", "journal_lsn");
         i++)
        sleep_ms(10);
    assert_int_equal(ask_info(client, "journal", "archive_last_lsn"),
                     ask_info(client, "journal", "journal_lsn"));
}

static void expect_log(const struct server_process *server, const char *wanted)
{
    bool found = false;

    for (int i = 0; i < 1000 && !found; i++) {
        char *log = server_process_log(server);

        found = strstr(log, wanted) != NULL;
        free(log);
        sleep_ms(10);
    }
    assert_true(found);
}

static const char *now_text(void)
{
    static char text[128];
    char date_text[64];
    struct timespec now;
    struct tm date;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &date);
    strftime(date_text, sizeof(date_text), "%Y-%m-%dT%H:%M:%S", &date);
    snprintf(text, sizeof(text), "%s.%03dZ", date_text, (int)(now.tv_nsec / 1000000));
    return text;
}

static int restore(const char *base, const char *to, const char *options)
{
    return run_shell(output, sizeof(output), "%s restore %s %s --archive %s %s 2>&1",
                     server_binary(), path_of(base), path_of(to), path_of("archive"), options);
}

static int count_jobs(const char *dir)
{
    assert_int_equal(
        run_shell(output, sizeof(output), "%s check %s", server_binary(), path_of(dir)), 0);
    assert_int_equal(run_shell(output, sizeof(output), "%s dump %s | grep -c '\"job\":'",
                               server_binary(), path_of(dir)),
                     0);
    return atoi(output);
}

static void a_store_comes_back_at_any_moment(void **state)
{
    struct server_process *server = new_server("1"), *restored;
    char moment[128], to[160];
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, 0, 100);
    back_up(client, "base");
    push_jobs(client, 100, 300);
    claim(client, "mail", "0");
    sleep_ms(20);
    snprintf(moment, sizeof(moment), "%s", now_text());
    sleep_ms(20);
    expect(client, "OK", "FLUSHALL");
    push_jobs(client, 1000, 1010);
    await_archived(client);
    assert_int_equal(ask_info(client, "journal", "archive_gaps"), 0);
    server_process_stop(server);
    assert_int_equal(restore("base", "all", ""), 0);
    assert_int_equal(count_jobs("all"), 10);
    snprintf(to, sizeof(to), "--to %s", moment);
    assert_int_equal(restore("base", "then", to), 0);
    assert_int_equal(count_jobs("then"), 300);
    assert_int_equal(restore("base", "then", to), 2); /* it is there */
    assert_int_equal(restore("base", "never", "--to 2020-01-01T00:00:00Z"), 2);
    assert_int_equal(restore("base", "never", "--to 2026-01-01T00:00:00"), 2); /* no zone */
    assert_int_equal(access(path_of("never"), F_OK), -1);

    /* The token that was given then is good, and the next ones are greater than any. */
    restored = server_process_new();
    server_process_option(restored, "dir", path_of("then"));
    server_process_run(restored);
    client = client_open(restored);
    assert_int_equal(ask_integer(client, "Q.ACK mail 0 1"), 1);
    expect(client, "*1099511627777*", "Q.CLAIM mail");
    server_process_stop(restored);
}

/* What was replied is in the archive and the journal that is left. */
static void a_killed_server_comes_back_whole(void **state)
{
    struct server_process *server = new_server("0");
    char journal[PATH_MAX + 32];
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    back_up(client, "base");
    push_jobs(client, 0, 9000);
    server_process_kill(server);
    snprintf(journal, sizeof(journal), "--archive %s/journal", server->data);
    assert_int_equal(restore("base", "all", journal), 0);
    assert_int_equal(count_jobs("all"), 9000);
}

/* `dueq backup` waits for the end, and the increments of it are what a restore needs. */
static void a_client_makes_backups_and_increments(void **state)
{
    struct server_process *server = new_server("0");
    char command[PATH_MAX + 100];
    redisContext *client;

    (void)state;
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    client = client_open(server);
    snprintf(command, sizeof(command), "%s backup", server_binary());
    push_jobs(client, 0, 100);
    assert_int_equal(
        run_shell(output, sizeof(output), "%s base --port %d 2>&1", command, server->port), 0);
    assert_non_null(strstr(output, "is complete and checked"));
    push_jobs(client, 100, 200);
    assert_int_equal(run_shell(output, sizeof(output), "%s %s --from base --port %d 2>&1",
                               command, path_of("one"), server->port),
                     0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s json --json --port %d | python3 -c 'import json, sys\n"
                               "said = json.load(sys.stdin)\n"
                               "print(sorted(said), said[\"name\"], said[\"complete\"], "
                               "said[\"bytes\"] > 0 and said[\"lsn\"] > 0)'",
                               command, server->port),
                     0);
    assert_string_equal(output, "['bytes', 'complete', 'lsn', 'ms', 'name'] json True True\n");
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s json --json --port %d 2>&1 >/dev/null", command,
                               server->port),
                     REFUSED);
    assert_non_null(strstr(output, "something of that name"));
    push_jobs(client, 200, 250);
    assert_int_equal(run_shell(output, sizeof(output), "%s two --from one --port %d 2>&1",
                               command, server->port),
                     0);
    push_jobs(client, 250, 300);
    assert_int_equal(
        run_shell(output, sizeof(output), "%s one --port %d 2>&1", command, server->port),
        REFUSED);
    assert_non_null(strstr(output, "something of that name"));
    assert_int_equal(
        run_shell(output, sizeof(output), "%s /tmp/one --port %d 2>&1", command, server->port),
        REFUSED);
    assert_int_equal(run_shell(output, sizeof(output), "%s three --from none --port %d 2>&1",
                               command, server->port),
                     REFUSED);
    assert_int_equal(run_shell(output, sizeof(output), "%s four --port 1 2>&1", command),
                     UNREACHABLE);
    assert_int_equal(run_shell(output, sizeof(output), "%s four --unix %s 2>&1", command,
                               server->unixsocket),
                     0);
    expect(client, "OK", "CONFIG SET requirepass secret");
    assert_int_equal(
        run_shell(output, sizeof(output), "%s five --port %d 2>&1", command, server->port),
        REFUSED);
    assert_int_equal(run_shell(output, sizeof(output),
                               "REDISCLI_AUTH=secret %s five --port %d 2>&1", command,
                               server->port),
                     0);
    server_process_stop(server);
    assert_int_equal(run_shell(output, sizeof(output), "%s restore %s %s 2>&1", server_binary(),
                               path_of("two"), path_of("made")),
                     0);
    assert_int_equal(count_jobs("made"), 250);
}

/* It would be archived again after a kill, and is found then. */
static void a_damaged_file_in_the_archive_stops_nothing(void **state)
{
    struct server_process *server = new_server("1");
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, 0, 10);
    back_up(client, "base");
    push_jobs(client, 10, 100);
    await_archived(client);
    server_process_kill(server);
    assert_int_equal(run_shell(output, sizeof(output),
                               "cd %s && printf rot | dd of=$(ls *.seg | tail -1) bs=1 "
                               "seek=300 conv=notrunc 2>&1",
                               path_of("archive")),
                     0);
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, 100, 200);
    await_archived(client);
    assert_int_equal(ask_info(client, "journal", "archive_damaged"), 1);
    assert_int_equal(ask_info(client, "journal", "archive_failures"), 0);
    expect_log(server, "1 damaged segment(s) set aside as *.damaged");
    server_process_stop(server);
    assert_int_equal(
        run_shell(output, sizeof(output), "ls %s/*.damaged | grep -c .", path_of("archive")),
        0);
    assert_string_equal(output, "1\n");
    assert_int_equal(restore("base", "all", ""), 0);
    assert_int_equal(count_jobs("all"), 200);
}

/* A figure of /metrics. */
static double ask_metric(int port, const char *name)
{
    const char *line = strstr(http_get(port, "/metrics"), name);

    assert_non_null(line);
    return strtod(line + strlen(name), NULL);
}

static void a_missing_archive_stalls_nobody(void **state)
{
    struct server_process *server = new_server("1");
    int port = server_process_port(server, "http-port");
    redisContext *client;

    (void)state;
    server_process_run(server);
    client = client_open(server);
    push_jobs(client, 0, 10);
    assert_true(ask_metric(port, "\ndueq_archive_failing ") == 0);
    back_up(client, "base");
    assert_int_equal(rename(path_of("archive"), path_of("away")), 0);
    push_jobs(client, 10, 9000);
    for (int i = 0; i < 6000 && ask_info(client, "journal", "archive_failures") == 0; i++)
        sleep_ms(10);
    expect(client, "\"*archive_last_status:the disk failed*\"", "INFO journal");
    expect_log(server, "a segment is not archived: No such file");
    assert_true(ask_metric(port, "\ndueq_archive_failing ") == 1);
    assert_true(ask_metric(port, "\ndueq_archive_failures_total ") > 0);
    assert_true(ask_metric(port, "\ndueq_archive_waiting_bytes ") > 0);
    assert_true(ask_metric(port, "\ndueq_archive_gaps_total ") == 0);
    server_process_kill(server);
    server_process_run(server);
    client = client_open(server);
    assert_int_equal(ask_integer(client, "Q.LEN mail"), 9000);
    assert_int_equal(rename(path_of("away"), path_of("archive")), 0);
    await_archived(client);
    assert_int_equal(ask_info(client, "journal", "archive_gaps"), 0);
    server_process_stop(server);
    assert_int_equal(restore("base", "all", ""), 0);
    assert_int_equal(count_jobs("all"), 9000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_store_comes_back_at_any_moment, tear_down),
        cmocka_unit_test_teardown(a_killed_server_comes_back_whole, tear_down),
        cmocka_unit_test_teardown(a_client_makes_backups_and_increments, tear_down),
        cmocka_unit_test_teardown(a_damaged_file_in_the_archive_stops_nothing, tear_down),
        cmocka_unit_test_teardown(a_missing_archive_stalls_nobody, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
