/* The subcommands that are clients, against the real server: what they print and end with.
 * docs/commandline.md has examples that run, too. */
#include "tests/support/client/client.h"
#include "tests/support/client/tls_client.h"
#include "tests/support/temp_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

static char output[200000];

/* Runs a line of the shell in which $D is the program, for the server of the test. */
#define run(state, ...) run_line(served_server(state), __VA_ARGS__)
static int run_line(const struct server_process *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int run_line(const struct server_process *server, const char *format, ...)
{
    char line[4096], *program = realpath(server_binary(), NULL);
    va_list arguments;
    int status;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    status = run_shell(output, sizeof(output), "export DUEQ_PORT=%d TZ=UTC D=%s; cd %s; %s",
                       server->port, program, server->directory, line);
    free(program);
    return status;
}

static void expect_text(const char *wanted)
{
    if (strstr(output, wanted) == NULL)
        fail_msg("no \"%s\" in: %s", wanted, output);
}

static void expect_all(const char *wanted)
{
    assert_string_equal(output, wanted);
}

static void a_job_goes_through_its_life(void **state)
{
    assert_int_equal(run(state, "$D push mail 'hello ann' --id a --priority=3"), 0);
    expect_all("a\n");
    assert_int_equal(run(state, "$D claim mail --json --lease 5m --worker w1"), 0);
    expect_all("{\"id\":\"a\",\"token\":1,\"body\":\"hello ann\",\"attempt\":1}\n");
    assert_int_equal(run(state, "$D extend mail a 1 1h --progress half --json"), 0);
    expect_text("{\"until\":");
    assert_int_equal(run(state, "$D get mail a"), 0);
    expect_text("state               claimed\n");
    expect_text("progress            half\n");
    expect_text("worker              w1\n");
    assert_int_equal(run(state, "$D workers"), 0);
    expect_text("w1");
    assert_int_equal(run(state, "$D nack mail a 1 --delay 0 --error 'no luck' --silent"), 0);
    expect_all("ready\n");
    assert_int_equal(run(state, "$D claim mail | grep token"), 0);
    expect_all("token    2\n");
    assert_int_equal(run(state, "$D ack mail a 1"), 1);
    expect_text("STALE");
    assert_int_equal(run(state, "$D ack mail a 2 --result 42 --keep 1h"), 0);
    expect_all("acked\n");
    assert_int_equal(run(state, "$D get mail a --json"), 0);
    expect_text("\"result\":\"42\"");
}

static void a_body_is_any_bytes_from_anywhere(void **state)
{
    const char *bytes = "printf 'a\\000\\377\\n'";

    assert_int_equal(run(state, "%s > body; $D push t --file body --id f", bytes), 0);
    assert_int_equal(run(state, "%s | $D push t - --id i", bytes), 0);
    assert_int_equal(
        run(state, "for id in f i; do $D get t $id --raw | cmp - body || exit; done"), 0);
    assert_int_equal(run(state, "$D get t f --json"), 0);
    expect_text("\"body\":{\"hex\":\"6100ff0a\"}");
    assert_int_equal(run(state, "$D peek t --body"), 0);
    expect_text("a\\x00\\xff\\n");
    assert_int_equal(run(state, "head -c 10000000 /dev/urandom > big; $D push t - --id big "
                                "< big && $D get t big --raw | cmp - big"),
                     0);
    assert_int_equal(run(state, "$D push u -- --id && $D peek u --body"), 0);
    expect_text("--id");
    assert_int_equal(run(state, "$D push t '' --id empty && $D get t empty --raw | wc -c"), 0);
    expect_text("\n0\n");
}

static void a_body_cannot_disturb_a_terminal(void **state)
{
    assert_int_equal(run(state, "$D push t \"$(printf '\\033[2J\\302\\233')é\" --id "
                                "\"$(printf 'x\\033')\" >/dev/null; $D peek t --body; $D get t "
                                "\"$(printf 'x\\033')\"; $D claim t"),
                     0);
    assert_null(strchr(output, '\033'));
    assert_null(strstr(output, "\302\233"));
    expect_text("\\x1b[2J\\xc2\\x9bé");
    expect_text("id       x\\x1b\n");
}

static void a_command_line_that_is_wrong_says_what_to_do(void **state)
{
    static const struct {
        const char *line, *text;
    } wrong[] = {{"push", "too few arguments"},
                 {"push t", "say the body"},
                 {"push t b --file f", "one too many"},
                 {"push t b c", "one argument is too many: c"},
                 {"push t b -p 7000", "there is no option -p"},
                 {"ls -p 7000", "there is no option -p"},
                 {"push t b --nope", "there is no option --nope"},
                 {"push t b --id", "--id needs a value: ID"},
                 {"push t b --ignore-dead=1", "takes no value"},
                 {"push t b --at tomorrow", "is no time"},
                 {"push t b --at '2026-02-30 10:00'", "is no time"},
                 {"scan t --limit 0", "--limit is a number"},
                 {"config t retries=1 lease", "either NAME=VALUE"},
                 {"config --reset", "of which topic"}};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(run(state, "$D %s", wrong[i].line), 2);
        expect_text(wrong[i].text);
        expect_text("dueq help ");
    }
    assert_int_equal(run(state, "$D push t b --priority 300"), 1);
    expect_text("dueq push: ERR value is out of range");
    assert_int_equal(run(state, "$D push t --file /nonexistent"), 1);
    expect_text("/nonexistent: No such file");
}

static void what_is_not_there_has_a_status_of_its_own(void **state)
{
    static const char *const lines[] = {"get t a",    "ack t a 1", "cancel t a",
                                        "move t a u", "del t a",   "run t a",
                                        "drop t",     "claim t",   "claim t --block 10ms"};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(run(state, "$D %s", lines[i]), 3);
    assert_int_equal(run(state, "$D purge t"), 0);
    expect_all("0 jobs removed\n");
    assert_int_equal(run(state, "$D dead t; $D peek t; $D scan t; $D ls; $D workers"), 0);
    expect_all("");
}

static void a_server_that_is_not_there_is_told_apart(void **state)
{
    struct server_process *server = served_server(state);

    server_process_kill(server);
    assert_int_equal(run(state, "$D ls"), 4);
    expect_text("cannot connect to 127.0.0.1");
    expect_text("DUEQ_PORT");
    assert_int_equal(run(state, "$D ls --unix /nonexistent/socket"), 4);
    expect_text("/nonexistent/socket");
    assert_int_equal(run(state, "$D ls --port nonsense"), 4);
}

static void a_push_waits_for_others(void **state)
{
    redisContext *client = served_client(state);

    assert_int_equal(run(state, "$D push mail x --id a; $D push mail x --id -b"), 0);
    assert_int_equal(run(state, "$D push sums y --after=mail:-b --id s --on-dead wait "
                                "--after 'mail:a' --after 'a b' --retries 2"),
                     0);
    expect_all("s\n");
    expect(client, "[*\"retries\" 2 *\"awaits\" 2 \"on-dead\" \"wait\" *]", "Q.GET sums s");
    assert_int_equal(run(state, "$D get sums s --json"), 0);
    expect_text("\"state\":\"waiting\"");
    expect_text("\"after\":[[\"mail\",\"a\",\"ready\"],[\"mail\",\"-b\",\"ready\"]]");
    assert_int_equal(run(state, "$D ls sums"), 0);
    expect_text("TOPIC  READY  DELAYED  WAITING  CLAIMED");
    expect_text("sums       0        0        1        0");
    assert_int_equal(run(state, "$D stats sums | grep waiting | tr -s ' '"), 0);
    expect_all("waiting 1\n");
    assert_int_equal(run(state, "$D scan sums --state waiting --json | wc -l"), 0);
    expect_all("1\n");
    assert_int_equal(run(state, "$D push sums y --id me --after me"), 1);
    expect_text("a job cannot wait for itself");
    assert_int_equal(run(state, "$D push sums y --after"), 2);
    expect_text("--after needs a value: ID|TOPIC:ID");
    assert_int_equal(run(state, "$D push sums y --on-dead never --after a"), 1);
    assert_int_equal(run(state, "$D purge sums --state waiting"), 0);
    expect(client, "0", "Q.LEN sums");
}

static void a_scan_shows_each_job_once(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < 2500; i++)
        say(client, "Q.PUSH many b ID id-%d DELAY 1h", i);
    for (int i = 0; i < 2500; i++)
        expect_reply(client, "*");
    assert_int_equal(run(state, "$D scan many --json | sort -u | wc -l"), 0);
    expect_all("2500\n");
    assert_int_equal(run(state, "$D scan many --match 'id-1?' | tail -n +2 | wc -l"), 0);
    expect_all("10\n");
    assert_int_equal(run(state, "$D scan many --limit 7 --json --body | wc -l"), 0);
    expect_all("7\n");
    assert_int_equal(run(state, "$D scan many --to '2020-01-01 00:00' --state delayed"), 0);
    expect_all("");
    assert_int_equal(run(state, "$D scan many | head -n 1"), 0); /* the reader leaves */
}

static void topics_are_listed_with_their_counts(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < 250; i++)
        say(client, "Q.PUSH topic-%03d b", i);
    for (int i = 0; i < 250; i++)
        expect_reply(client, "*");
    assert_int_equal(run(state, "$D pause topic-007 --in; $D ls | wc -l"), 0);
    expect_text("251\n");
    assert_int_equal(run(state, "$D ls 'topic-00*' --names | tail -n 1"), 0);
    expect_all("topic-009\n");
    assert_int_equal(run(state, "$D ls topic-007 | grep -c ' in$'"), 0);
    assert_int_equal(run(state, "$D ls --json | grep -c '\"ready\":1,'"), 0);
    expect_all("250\n");
    assert_int_equal(run(state, "$D stats topic-007 --json"), 0);
    expect_text("\"wait\":{\"minute\":{\"count\":0,\"p50\":0");
}

static void settings_are_shown_set_and_forgotten(void **state)
{
    assert_int_equal(run(state, "$D config 'mail*' retries=3 'backoff=STEPS 2m 10m'"), 0);
    assert_int_equal(run(state, "$D config --json"), 0);
    expect_all("{\"topic\":\"mail*\"}\n");
    assert_int_equal(run(state, "$D config mail-1 retries --json"), 0);
    expect_all("{\"name\":\"retries\",\"value\":\"3\",\"from\":\"mail*\"}\n");
    assert_int_equal(run(state, "$D config 'mail*' retries --reset; $D config mail-1 retries"),
                     0);
    expect_text("20");
    assert_int_equal(run(state, "$D config mail retries=many"), 1);
}

static void a_login_takes_the_password_from_environment_or_file(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "OK", "ACL SETUSER worker on >secret +@queue ~mail*");
    expect(client, "OK", "CONFIG SET requirepass default-secret");
    assert_int_equal(run(state, "$D ls"), 1);
    expect_text("set DUEQ_PASSWORD");
    assert_int_equal(run(state, "DUEQ_PASSWORD=default-secret $D push mail x --id a"), 0);
    assert_int_equal(run(state, "REDISCLI_AUTH=default-secret $D ls --names"), 0);
    expect_all("mail\n");
    assert_int_equal(run(state, "DUEQ_PASSWORD=wrong $D ls"), 1);
    expect_text("WRONGPASS");
    assert_int_equal(run(state, "echo secret > p; $D get mail a --user worker "
                                "--password-file p --raw"),
                     0);
    expect_all("x");
    assert_int_equal(run(state, "$D get other a --user worker --password-file p"), 1);
    expect_text("NOPERM");
    assert_int_equal(run(state, "DUEQ_USER=worker $D get mail a"), 1);
    expect_text("no password for worker");
    assert_int_equal(run(state, "$D get mail a --password-file /nonexistent"), 2);
}

static void a_unix_socket_and_tls_lead_to_the_server(void **state)
{
    struct server_process *server = server_process_new();
    char *directory = temp_dir_new(), path[600];
    int tls_port = free_port();

    (void)state;
    tls_make_certificates(directory);
    snprintf(path, sizeof(path), "%d", tls_port);
    server_process_option(server, "tls-port", path);
    snprintf(path, sizeof(path), "%s/server.crt", directory);
    server_process_option(server, "tls-cert-file", path);
    snprintf(path, sizeof(path), "%s/server.key", directory);
    server_process_option(server, "tls-key-file", path);
    server_process_option(server, "tls-auth-clients", "no");
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server);
    assert_int_equal(
        run_line(server, "$D push mail x --id a --unix %s --port 1", server->unixsocket), 0);
    assert_int_equal(run_line(server, "DUEQ_UNIX=%s $D get mail a --raw", server->unixsocket),
                     0);
    assert_int_equal(
        run_line(server, "DUEQ_UNIX=/nonexistent $D get mail a --raw --port %d", server->port),
        0); /* what the command line says comes before the environment */
    assert_int_equal(
        run_line(server, "$D get mail a --raw --tls --port %d --insecure", tls_port), 0);
    expect_all("x");
    assert_int_equal(run_line(server, "$D ls --names --tls --port %d --cacert %s/ca.crt",
                              tls_port, directory),
                     0);
    expect_all("mail\n");
    assert_int_equal(
        run_line(server, "$D ls --tls --port %d --cacert %s/other.crt", tls_port, directory),
        4);
    expect_text("TLS");
    assert_int_equal(run_line(server, "$D ls --port %d", tls_port), 4);
    temp_dir_remove(directory);
}

static void output_that_cannot_be_written_is_a_failure(void **state)
{
    assert_int_equal(run(state, "$D push mail x > /dev/full"), 1);
    expect_text("cannot write");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(a_job_goes_through_its_life),
        served_test(a_body_is_any_bytes_from_anywhere),
        served_test(a_body_cannot_disturb_a_terminal),
        served_test(a_command_line_that_is_wrong_says_what_to_do),
        served_test(what_is_not_there_has_a_status_of_its_own),
        served_test(a_server_that_is_not_there_is_told_apart),
        served_test(a_push_waits_for_others),
        served_test(a_scan_shows_each_job_once),
        served_test(topics_are_listed_with_their_counts),
        served_test(settings_are_shown_set_and_forgotten),
        served_test(a_login_takes_the_password_from_environment_or_file),
        serving_test(a_unix_socket_and_tls_lead_to_the_server),
        served_test(output_that_cannot_be_written_is_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
