/* `dueq bench` against real servers: several targets, the histogram, progress on a terminal. */
#include "tests/support/client/client.h"
#include "tests/support/client/terminal_process.h"
#include "tests/support/client/tls_client.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { UNREACHABLE = 4 };

static char output[20000];

static int tear_down(void **state)
{
    terminal_cleanup();
    return served_teardown(state);
}

#define bench_test(function) cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

static void several_targets_are_compared(void **state)
{
    int port = served_server(state)->port, other = server_process_start("")->port;
    const char *found;

    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 2000 --target dueq:%d,dueq:%d 2>&1",
                               server_binary(), port, other),
                     0);
    found = strstr(output, "work=push target=dueq ");
    assert_non_null(found);
    assert_non_null(strstr(found, " jobs=2000 "));
    assert_non_null(strstr(found + 1, "work=push target=dueq "));
    snprintf(output + 10000, 100, "\nratio=dueq:%d of=dueq:%d rate=", other, port);
    assert_non_null(strstr(output, output + 10000));
    assert_null(strchr(output, '\r')); /* no terminal, no progress */
    expect(served_client(state), "2000", "Q.LEN bench");
}

static void the_histogram_has_every_request(void **state)
{
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 1000 --port %d --histogram yes | "
                               "awk '/ us /{sum += $5} END {print sum}'",
                               server_binary(), served_server(state)->port),
                     0);
    assert_string_equal(output, "1000\n");
}

static void lines_may_be_json(void **state)
{
    int port = served_server(state)->port;

    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 1000 --json --target dueq:%d,dueq:%d "
                               "--ids none --every 1 | python3 -c 'import json, sys\n"
                               "lines = [json.loads(line) for line in sys.stdin]\n"
                               "print([line[\"jobs\"] for line in lines if \"work\" in line], "
                               "[line[\"of\"] for line in lines if \"ratio\" in line])'",
                               server_binary(), port, port),
                     0);
    snprintf(output + 10000, 100, "[1000, 1000] ['dueq:%d']\n", port);
    assert_string_equal(output, output + 10000);
}

static void a_login_and_a_unix_socket_are_taken(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    char *path = server_process_path(server, "socket");

    expect(client, "OK", "CONFIG SET requirepass secret");
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 100 --port %d 2>&1", server_binary(),
                               server->port),
                     1);
    assert_non_null(strstr(output, "NOAUTH"));
    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_PASSWORD=wrong %s bench push --jobs 100 --port %d 2>&1",
                               server_binary(), server->port),
                     1);
    assert_non_null(strstr(output, "no connection: WRONGPASS"));
    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_PASSWORD=secret %s bench push --jobs 100 --port %d "
                               "--user default 2>&1",
                               server_binary(), server->port),
                     0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 100 --unix %s 2>&1", server_binary(),
                               path),
                     UNREACHABLE);
    assert_non_null(strstr(output, "socket: No such file"));
    free(path);
}

static void a_second_run_has_ids_of_its_own(void **state)
{
    for (int i = 0; i < 2; i++)
        assert_int_equal(run_shell(output, sizeof(output), "%s bench push --jobs 100 --port %d",
                                   server_binary(), served_server(state)->port),
                         0);
    expect(served_client(state), "200", "Q.LEN bench");
    for (int i = 0; i < 2; i++)
        assert_int_equal(run_shell(output, sizeof(output),
                                   "%s bench push --jobs 100 --seed 7 --port %d 2>&1",
                                   server_binary(), served_server(state)->port),
                         i);
    assert_non_null(strstr(output, "DUPLICATE"));
}

static char *make_tls_server(struct server_process *server, int port)
{
    static const struct {
        const char *option, *file;
    } files[] = {{"tls-cert-file", "server.crt"},
                 {"tls-key-file", "server.key"},
                 {"tls-ca-cert-file", "ca.crt"}};
    char *directory = temp_dir_new(), text[600];

    tls_make_certificates(directory);
    snprintf(text, sizeof(text), "%d", port);
    server_process_option(server, "tls-port", text);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(text, sizeof(text), "%s/%s", directory, files[i].file);
        server_process_option(server, files[i].option, text);
    }
    server_process_run(server);
    return directory;
}

/* Large bodies: TLS has bytes left when the socket has none, and takes a part of a request. */
static void tls_carries_every_kind_of_work(void **state)
{
    static const char *const works[] = {
        "push --jobs 3000 --pipeline 16 --body 3000", "push --jobs 40 --body 2000000",
        "push --jobs 2000 --batch 100 --body 1000 --delay 1ms",
        "claim --jobs 2000 --count 100 --connections 3", "work --jobs 3040 --count 500"};
    struct server_process *server = server_process_new();
    int port = free_port();
    char *directory = make_tls_server(server, port), *where = output + 10000;
    redisContext *client = client_open(server);

    (void)state;
    snprintf(where, 5000,
             "--connections 20 --tls --port %d --cacert %s/ca.crt --cert %s/client.crt --key "
             "%s/client.key",
             port, directory, directory, directory);
    for (size_t i = 0; i < sizeof(works) / sizeof(works[0]); i++)
        assert_int_equal(
            run_shell(output, 5000, "%s bench %s %s 2>&1", server_binary(), works[i], where),
            0);
    expect(client, "0", "Q.LEN bench");
    temp_dir_remove(directory);
}

static void a_certificate_that_does_not_fit_is_refused(void **state)
{
    struct server_process *server = server_process_new();
    int port = free_port();
    char *directory = make_tls_server(server, port);
    const char *said = "2>&1 >/dev/null";

    (void)state;
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 10 --tls --port %d --cacert %s/other.crt "
                               "%s",
                               server_binary(), port, directory, said),
                     UNREACHABLE);
    assert_non_null(strstr(output, "certificate verify failed"));
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 10 --tls --port %d --insecure %s",
                               server_binary(), port, said),
                     UNREACHABLE); /* the server wants a certificate */
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --jobs 10 --tls --port %d --insecure %s",
                               server_binary(), server->port, said),
                     UNREACHABLE); /* it speaks no TLS there */
    assert_non_null(strstr(output, "TLS: the handshake"));
    temp_dir_remove(directory);
}

static void the_environment_says_where_a_dueq_is(void **state)
{
    struct server_process *server = served_server(state);

    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_HOST=localhost DUEQ_PORT=%d %s bench push --jobs 10",
                               server->port, server_binary()),
                     0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_UNIX=/nonexistent %s bench push --jobs 10 --port %d",
                               server_binary(), server->port),
                     0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_UNIX=/nonexistent %s bench push --jobs 10 --target "
                               "dueq:%d",
                               server_binary(), server->port),
                     0);
    assert_int_equal(run_shell(output, sizeof(output),
                               "DUEQ_PORT=%d %s bench push --jobs 10 --port 1 2>&1",
                               server->port, server_binary()),
                     UNREACHABLE);
    assert_non_null(strstr(output, "Connection refused"));
    expect(served_client(state), "OK", "CONFIG SET requirepass secret");
    assert_int_equal(run_shell(output, sizeof(output),
                               "echo secret | %s bench push --jobs 10 --connections 1 --port "
                               "%d --password-file /dev/stdin",
                               server_binary(), server->port),
                     0);
}

static void a_wrong_target_is_refused(void **state)
{
    static const char *const wrong[] = {"x",
                                        "dueq,",
                                        ",dueq",
                                        "dueq:0",
                                        "dueq:x",
                                        "dueq:1x",
                                        "dueq:",
                                        "dueq:65536",
                                        "",
                                        "duequ",
                                        "dueq,dueq,dueq,dueq,dueq,dueq,dueq,dueq,dueq"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(run_shell(output, sizeof(output), "%s bench push --target '%s'",
                                   server_binary(), wrong[i]),
                         2);
    assert_int_equal(run_shell(output, sizeof(output),
                               "%s bench push --target dueq,redis --port 1 2>&1 | head -1",
                               server_binary()),
                     0);
    assert_non_null(strstr(output, "have their own ports"));
}

static void a_terminal_shows_how_far_it_is(void **state)
{
    terminal_begin(24, 120, "exec %s bench push --port %d --jobs 100000000", server_binary(),
                   served_server(state)->port);
    terminal_await(" of 100000000 jobs, ");
    terminal_await(" s left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        bench_test(several_targets_are_compared),
        bench_test(the_histogram_has_every_request),
        bench_test(lines_may_be_json),
        bench_test(a_login_and_a_unix_socket_are_taken),
        bench_test(a_second_run_has_ids_of_its_own),
        bench_test(the_environment_says_where_a_dueq_is),
        serving_test(tls_carries_every_kind_of_work),
        serving_test(a_certificate_that_does_not_fit_is_refused),
        cmocka_unit_test(a_wrong_target_is_refused),
        bench_test(a_terminal_shows_how_far_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
