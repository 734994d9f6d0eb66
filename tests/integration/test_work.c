/* `dueq work` against the real server: commands that fail, hang, leave early, write much; a
 * worker that is killed, a server that goes away, jobs that somebody else has meanwhile. */
#include "tests/support/client/client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { PATIENCE = 6000 /* times 10 ms */, GUESSERS = 40 };

static char output[100000];
static pid_t worker;

static int tear_down(void **state)
{
    if (worker > 0) {
        kill(worker, SIGKILL);
        waitpid(worker, NULL, 0);
        worker = 0;
    }
    return served_teardown(state);
}

#define work_test(function) cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

/* Runs a line of the shell; $D is the program, the folder the server's. */
static int run_line(const struct server_process *server, const char *line)
{
    char *binary = realpath(server_binary(), NULL);
    int status = run_shell(output, sizeof(output), "export DUEQ_PORT=%d D=%s; cd %s; %s",
                           server->port, binary, server->directory, line);

    free(binary);
    return status;
}

/* Begins `dueq work` with these options and this script for the shell; its output goes to files
 * `out` and `err`. */
static void begin_worker(const struct server_process *server, const char *options,
                         const char *script)
{
    char line[4096], *binary = realpath(server_binary(), NULL);

    snprintf(line, sizeof(line),
             "cd %s; export DUEQ_PORT=%d; exec %s work %s -- sh -c '%s' >>out 2>>err",
             server->directory, server->port, binary, options, script);
    free(binary);
    worker = fork();
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    assert_true(worker > 0);
}

static int end_worker(int signal_number)
{
    int status;

    kill(worker, signal_number);
    assert_int_equal(waitpid(worker, &status, 0), worker);
    worker = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool has_text(const struct server_process *server, const char *file, const char *text)
{
    char *path = server_process_path(server, file);
    FILE *opened = fopen(path, "re");
    size_t size = opened == NULL ? 0 : fread(output, 1, sizeof(output) - 1, opened);

    if (opened != NULL)
        fclose(opened);
    output[size] = '\0';
    free(path);
    return strstr(output, text) != NULL;
}

static void await_text(const struct server_process *server, const char *file, const char *text)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (has_text(server, file, text))
            return;
        sleep_ms(10);
    }
    fail_msg("no \"%s\" in %s: %s", text, file, output);
}

static void await_field(redisContext *client, const char *name, int64_t wanted)
{
    for (int i = 0; i < PATIENCE && ask_field(client, name, "Q.STATS t") != wanted; i++)
        sleep_ms(10);
    assert_int_equal(ask_field(client, name, "Q.STATS t"), wanted);
}

static void the_exit_status_says_what_happens_to_the_job(void **state)
{
    redisContext *client = served_client(state);

    for (int i = 0; i < 5; i++)
        expect(client, "*", "Q.PUSH t body-%d ID j%d", i, i);
    assert_int_equal(
        run_line(served_server(state),
                 "$D work t --drain --later 1h --worker w1 -- sh -c 'echo \"$DUEQ_ID "
                 "$DUEQ_TOPIC $DUEQ_ATTEMPT $DUEQ_WORKER $(cat)\"; case $DUEQ_ID in j1) echo "
                 "bad luck >&2; exit 3;; j2) exit 75;; j3) echo never >&2; exit 100;; j4) kill "
                 "-SEGV $$;; esac' 2>/dev/null | sort"),
        0);
    assert_string_equal(output, "j0 t 1 w1 body-0\nj1 t 1 w1 body-1\nj2 t 1 w1 body-2\n"
                                "j3 t 1 w1 body-3\nj4 t 1 w1 body-4\n");
    expect(client, "nil", "Q.GET t j0");
    expect_field(client, "error", "\"exit 3: bad luck\"", "Q.GET t j1");
    expect_field(client, "failures", "1", "Q.GET t j1");
    expect_field(client, "state", "\"delayed\"", "Q.GET t j2");
    expect_field(client, "failures", "0", "Q.GET t j2");
    expect_field(client, "state", "\"dead\"", "Q.GET t j3");
    expect_field(client, "error", "\"exit 100: never\"", "Q.GET t j3");
    expect_field(client, "failures", "1", "Q.GET t j4");
    expect_field(client, "leases-expired", "0", "Q.GET t j4");
}

static void the_end_of_standard_error_is_kept(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID a RETRIES 0");
    assert_int_equal(run_line(served_server(state),
                              "$D work t --drain -- sh -c 'seq 100000 >&2; echo the end >&2; "
                              "exit 1' 2>err"),
                     0);
    assert_int_equal(run_line(served_server(state), "$D get t a --json; grep -c . err"), 0);
    assert_non_null(strstr(output, "\\n99999\\n100000\\nthe end\""));
    assert_non_null(strstr(output, "\"error\":\"exit 1: "));
}

static void a_command_that_takes_too_long_is_killed_with_its_group(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(
        run_line(served_server(state),
                 "$D work t --drain --time-limit 100ms --grace 50ms -- sh -c 'trap \"\" TERM; "
                 "sleep 600 & echo $! > inner; echo $$ > outer; wait; sleep 600' 2>/dev/null; "
                 "for p in inner outer; do while kill -0 $(cat $p) 2>/dev/null; do sleep 0.01; "
                 "done; done"),
        0);
    expect_field(client, "error", "\"killed after 100 ms\"", "Q.GET t a");
    expect_field(client, "failures", "1", "Q.GET t a");
}

static void a_large_body_goes_through(void **state)
{
    assert_int_equal(run_line(served_server(state),
                              "head -c 10000000 /dev/urandom > big; $D push t --file big && $D "
                              "work t --drain -- sh -c 'cat > copy' && cmp big copy"),
                     0);
}

static void a_command_may_close_its_input_and_write_what_nobody_reads(void **state)
{
    redisContext *client = served_client(state);

    assert_int_equal(run_line(served_server(state),
                              "head -c 10000000 /dev/zero > big; $D push t --file big --id a; "
                              "$D work t --drain -- sh -c 'exec <&-; exit 0'"),
                     0);
    expect(client, "nil", "Q.GET t a");
    /* Standard error of the worker is a pipe that is full; the command fills it more. */
    expect(client, "*", "Q.PUSH t x ID b");
    assert_int_equal(
        run_line(served_server(state),
                 "mkfifo full; exec 3<>full; $D work t --drain -- sh -c 'head -c 1000000 "
                 "/dev/zero | tr \"\\000\" x >&2; exit 100' 2>full"),
        0);
    expect_field(client, "state", "\"dead\"", "Q.GET t b");
}

static void output_that_nobody_reads_ends_with_the_limit(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID a RETRIES 0");
    assert_int_equal(run_line(served_server(state),
                              "mkfifo full; exec 3<>full; $D work t --drain "
                              "--time-limit 200ms -- head -c 1000000 /dev/zero >full "
                              "2>/dev/null"),
                     0);
    expect_field(client, "error", "\"killed after 200 ms\"", "Q.GET t a");
}

static void a_worker_that_is_killed_gives_its_job_back(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID a");
    begin_worker(server, "t", "echo $$ > pid; echo began; exec sleep 600");
    await_text(server, "out", "began");
    end_worker(SIGKILL);
    await_field(client, "ready", 1);
    expect_field(client, "leases-expired", "1", "Q.GET t a");
    /* The command has ended with its worker. */
    assert_int_equal(
        run_line(server, "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done"), 0);
}

static void a_first_signal_lets_it_finish_and_a_second_one_gives_back(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID a");
    begin_worker(server, "t", "echo began; until [ -e go ]; do sleep 0.01; done");
    await_text(server, "out", "began");
    kill(worker, SIGTERM);
    await_text(server, "err", "finishing what runs");
    expect(client, "*", "Q.PUSH t x ID b"); /* nobody claims it */
    assert_int_equal(run_line(server, "touch go"), 0);
    assert_int_equal(end_worker(0), 0);
    expect(client, "nil", "Q.GET t a");
    expect_field(client, "attempt", "0", "Q.GET t b");

    begin_worker(server, "t", "echo second; exec sleep 600");
    await_text(server, "out", "second");
    kill(worker, SIGTERM);
    for (int i = 0; i < PATIENCE && !has_text(server, "err", "gives it back"); i++)
        sleep_ms(10);
    kill(worker, SIGINT);
    assert_int_equal(end_worker(0), 0);
    expect_field(client, "state", "\"ready\"", "Q.GET t b");
    expect_field(client, "failures", "0", "Q.GET t b");
    expect_field(client, "leases-expired", "0", "Q.GET t b");
}

static void a_restart_of_the_server_in_the_middle_loses_nothing(void **state)
{
    struct server_process *server = server_process_new();
    redisContext *client;
    char options[600];

    (void)state;
    server_process_option(server, "unixsocket", server->unixsocket);
    server_process_run(server); /* its port is another one each time */
    client = client_open(server);
    expect(client, "*", "Q.PUSH t x ID a");
    snprintf(options, sizeof(options), "t --lease 1s --verbose --unix %s", server->unixsocket);
    begin_worker(server, options, "echo began $DUEQ_ID; until [ -e go ]; do sleep 0.01; done");
    await_text(server, "out", "began a");
    client_close(client);
    server_process_kill(server);
    await_text(server, "err", "trying again");
    server_process_run(server);
    await_text(server, "err", "connected again");
    client = client_open(server);
    await_field(client, "claimed", 1); /* a lease that has ended meanwhile is extended, too */
    client_close(client);
    server_process_stop(server);
    assert_int_equal(run_line(server, "touch go"), 0); /* it ends while nobody can be told */
    server_process_run(server);
    await_text(server, "err", "a, attempt 1: done");
    client = client_open(server);
    await_field(client, "total-acked", 1);
    expect(client, "*", "Q.PUSH t x ID b");
    await_text(server, "err", "b, attempt 1: done");
    assert_int_equal(end_worker(SIGTERM), 0);
    client_close(client);
}

static void a_job_that_somebody_else_has_is_left_alone(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID a");
    expect(client, "*", "Q.PUSH t x ID b DELAY 1h");
    begin_worker(server, "t --lease 1s --worker w1",
                 "echo $DUEQ_ID began; until [ -e $DUEQ_ID.go ]; do sleep 0.01; done");
    await_text(server, "out", "a began");
    expect(client, "*", "Q.DEL t a"); /* its token is void from now on */
    await_text(server, "err", "a: somebody else has it now");
    expect(client, "1", "Q.RUN t b");
    await_text(server, "out", "b began");
    expect(client, "\"claimed\"", "Q.CANCEL t b");
    for (int i = 0; i < PATIENCE && ask_field(client, "claimed", "Q.STATS t") > 0; i++)
        sleep_ms(10);
    expect(client, "nil", "Q.GET t b");
    assert_int_equal(end_worker(SIGTERM), 0);
}

/* Descriptors of the worker, and its children. */
static int count_held(const struct server_process *server)
{
    char line[200];

    snprintf(line, sizeof(line), "{ ls /proc/%d/fd; cat /proc/%d/task/*/children; } | wc -w",
             (int)worker, (int)worker);
    assert_int_equal(run_line(server, line), 0);
    return atoi(output);
}

/* The state of the worker's main thread, when only so many of its threads are left. 0: there
 * are more. */
static char main_state(int threads)
{
    char path[64], text[512] = "";
    int count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)worker);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    /* The 20th field; the second one, in parentheses, may have blanks. */
    assert_int_equal(sscanf(strrchr(text, ')') + 2,
                            "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                            "%*s %d",
                            &count),
                     1);
    return count == threads ? strrchr(text, ')')[2] : '\0';
}

static void the_main_thread_sleeps_while_some_slots_have_ended(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int threads = server_is_emulated() ? 3 : 2; /* an emulator has one of its own */
    char found = '\0';

    expect(client, "*", "Q.PUSH t x ID a");
    begin_worker(server, "t -n 2 --drain", "echo began; until [ -e go ]; do sleep 0.01; done");
    await_text(server, "out", "began");
    for (int i = 0; i < PATIENCE && found != 'S'; i++) {
        found = main_state(threads);
        sleep_ms(10);
    }
    assert_int_equal(found, 'S');
    assert_int_equal(run_line(server, "touch go"), 0);
    assert_int_equal(end_worker(0), 0);
    expect(client, "nil", "Q.GET t a");
}

static void a_thousand_jobs_run_once_each_and_nothing_is_left_behind(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int before;

    begin_worker(server, "t -n 8", "echo $DUEQ_ID >> ids");
    await_blocked(client, 8);
    before = count_held(server);
    for (int i = 0; i < 1000; i++)
        say(client, "Q.PUSH t body ID %d", i);
    for (int i = 0; i < 1000; i++)
        expect_reply(client, "*");
    await_field(client, "total-acked", 1000);
    await_blocked(client, 8);
    assert_int_equal(run_line(server, "sort -u ids | wc -l; wc -l < ids"), 0);
    assert_string_equal(output, "1000\n1000\n");
    assert_int_equal(count_held(server), before);
    assert_int_equal(end_worker(SIGTERM), 0);
}

/* Others at its address have failed so often that passwords are not looked at for a time. */
static void a_login_that_has_to_wait_is_tried_again(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state), *guessers[GUESSERS];
    bool refused = false;

    expect(client, "OK", "ACL SETUSER worker on >secret +@queue ~*");
    expect(client, "OK", "CONFIG SET auth-delay 60000");
    for (int i = 0; i < GUESSERS; i++) {
        guessers[i] = client_open(server);
        say(guessers[i], "AUTH worker wrong");
    }
    while (!refused)
        for (int i = 0; i < GUESSERS; i++) {
            struct pollfd event = {.fd = guessers[i]->fd, .events = POLLIN};

            refused = refused || poll(&event, 1, 1) == 1; /* the others are answered late */
        }
    assert_int_equal(run_line(server, "echo secret > password"), 0);
    begin_worker(server, "t --user worker --password-file password", "true");
    await_text(server, "err", "trying again");
    expect(client, "OK", "CONFIG SET auth-delay 0");
    expect(client, "*", "Q.PUSH t x ID a");
    await_field(client, "total-acked", 1);
    assert_int_equal(end_worker(SIGTERM), 0);
    for (int i = 0; i < GUESSERS; i++)
        client_close(guessers[i]);
}

static void an_id_cannot_disturb_a_terminal(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t x ID %s RETRIES 0", "a\302\2332J\033[2Jé");
    assert_int_equal(run_line(served_server(state), "$D work t --drain -- sh -c 'exit 1'"), 0);
    assert_non_null(strstr(output, "a??2J?[2Jé, attempt 1: exit 1"));
}

static void what_is_wrong_is_said_before_any_job_is_claimed(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);

    assert_int_equal(run_line(server, "$D work t"), 2);
    assert_int_equal(run_line(server, "$D work t -- /nonexistent"), 2);
    assert_int_equal(run_line(server, "$D work t -n 0 -- true"), 2);
    assert_int_equal(run_line(server, "$D work t --lease 1ms -- true"), 2);
    assert_int_equal(run_line(server, "$D work t --time-limit soon -- true"), 2);
    expect(client, "OK", "ACL SETUSER worker on >secret +@queue ~other");
    assert_int_equal(
        run_line(server, "DUEQ_USER=worker DUEQ_PASSWORD=secret $D work t -- true"), 1);
    assert_non_null(strstr(output, "NOPERM"));
    assert_int_equal(
        run_line(server, "DUEQ_USER=worker DUEQ_PASSWORD=wrong $D work t -n 4 -- true"), 1);
    assert_non_null(strstr(output, "WRONGPASS"));
}

static void the_command_inherits_no_password(void **state)
{
    redisContext *client = served_client(state);

    expect(client, "*", "Q.PUSH t body");
    expect(client, "OK", "CONFIG SET requirepass secret");
    assert_int_equal(
        run_line(served_server(state),
                 "REDISCLI_AUTH=one DUEQ_OTHER_PASSWORD=two DUEQ_PASSWORD=secret KEPT=yes $D "
                 "work t --drain -- sh -c 'echo \"$KEPT${DUEQ_PASSWORD-}${REDISCLI_AUTH-}"
                 "${DUEQ_OTHER_PASSWORD-}\"' 2>/dev/null"),
        0);
    assert_string_equal(output, "yes\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        work_test(the_exit_status_says_what_happens_to_the_job),
        work_test(the_end_of_standard_error_is_kept),
        work_test(a_command_that_takes_too_long_is_killed_with_its_group),
        work_test(a_large_body_goes_through),
        work_test(a_command_may_close_its_input_and_write_what_nobody_reads),
        work_test(output_that_nobody_reads_ends_with_the_limit),
        work_test(a_worker_that_is_killed_gives_its_job_back),
        work_test(a_first_signal_lets_it_finish_and_a_second_one_gives_back),
        cmocka_unit_test_teardown(a_restart_of_the_server_in_the_middle_loses_nothing,
                                  tear_down),
        work_test(a_job_that_somebody_else_has_is_left_alone),
        work_test(the_main_thread_sleeps_while_some_slots_have_ended),
        work_test(a_thousand_jobs_run_once_each_and_nothing_is_left_behind),
        work_test(a_login_that_has_to_wait_is_tried_again),
        work_test(an_id_cannot_disturb_a_terminal),
        work_test(the_command_inherits_no_password),
        work_test(what_is_wrong_is_said_before_any_job_is_claimed),
    };

    signal(SIGINT, SIG_DFL); /* a shell ignores it for what runs in the background */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
