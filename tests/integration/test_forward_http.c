/* `dueq forward` to a real HTTP server: headers and signatures, what each status means for a
 * job, and a server that hangs, cuts connections, or is away. */
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/forwarder.h"
#include "tests/support/client/tls_client.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka.h"

enum { PATIENCE = 6000 /* times 10 ms */, MANY = 2000 };

static struct foreign_server hook;
static char output[1 << 20];

static int tear_down(void **state)
{
    forwarder_cleanup();
    foreign_server_cleanup();
    return served_teardown(state);
}

#define forward_test(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, served_setup, tear_down)

static void start_hook(void **state)
{
    hook.port = 0;
    webhook_start(&hook, served_server(state)->directory, NULL, NULL);
}

static void write_text(void **state, const char *name, const char *text)
{
    char *path = server_process_path(served_server(state), name);

    write_file(path, text);
    free(path);
}

/* As printf; valid until the next call. */
static const char *words(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *words(const char *format, ...)
{
    static char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return text;
}

static const char *requests(void **state)
{
    run_shell(output, sizeof(output), "cat %s/requests 2>/dev/null",
              served_server(state)->directory);
    return output;
}

static int count_requests(void **state, const char *text)
{
    int count = 0;

    for (const char *at = strstr(requests(state), text); at != NULL; at = strstr(at + 1, text))
        count++;
    return count;
}

static void await_requests(void **state, const char *text, int times)
{
    for (int i = 0; i < PATIENCE && count_requests(state, text) < times; i++)
        sleep_ms(10);
    if (count_requests(state, text) < times)
        fail_msg("no %d requests with %s: %s", times, text, output);
}

static int forward_once(void **state, const char *more)
{
    return forwarder_run(served_server(state),
                         words("t TO http://127.0.0.1:%d/in --once %s", hook.port, more), NULL);
}

/* ---- a request */

static void a_job_is_a_post_with_its_id_and_a_signature(void **state)
{
    redisContext *client = served_client(state);

    start_hook(state);
    write_text(state, "secret",
               "a secret that is longer than the sixty-four bytes of a block, so "
               "it is hashed first\n");
    write_text(state, "more", "X-More: yes\r\n\nX-Other: no\n");
    expect(client, "*", "Q.PUSH t %b ID a", "body\0\n", (size_t)6);
    assert_int_equal(forward_once(state, "--secret-file secret --header-file more "
                                         "--content-type text/plain --prefix dev7-"),
                     0);
    expect(client, "nil", "Q.GET t a");
    assert_string_equal(requests(state),
                        "/in t dev7-a 1 signed text/plain same - yes \"body\\u0000\\n\"\n");
}

static void an_id_cannot_end_a_header(void **state)
{
    redisContext *client = served_client(state);

    start_hook(state);
    expect(client, "*", "Q.PUSH t %b ID %b", "", (size_t)0, "a\r\nX-More: x%\0\xff",
           (size_t)15);
    assert_int_equal(forward_once(state, ""), 0);
    assert_string_equal(requests(state),
                        "/in t a%0D%0AX-More:%20x%25%00%FF 1 unsigned application/octet-stream "
                        "same - - \"\"\n");
}

static void a_login_is_of_the_url_and_a_file(void **state)
{
    redisContext *client = served_client(state);

    start_hook(state);
    write_text(state, "password", "secret\n");
    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(
        forwarder_run(
            served_server(state),
            words("t TO http://ann@127.0.0.1:%d/ --once --target-password-file password",
                  hook.port),
            NULL),
        0);
    assert_non_null(strstr(requests(state), " Basic YW5uOnNlY3JldA== "));
}

/* ---- what a status means */

static void expect_job(redisContext *client, const char *id, const char *state,
                       const char *failures, const char *error)
{
    expect_field(client, "state", state, "Q.GET t %s", id);
    expect_field(client, "failures", failures, "Q.GET t %s", id);
    expect_field(client, "error", error, "Q.GET t %s", id);
}

static void a_status_decides_what_becomes_of_the_job(void **state)
{
    redisContext *client = served_client(state);
    const char *output_text;

    start_hook(state);
    expect(client, "*", "Q.PUSH t %s ID ok", "answer 201");
    expect(client, "*", "Q.PUSH t %s ID wrong BACKOFF 1h", "answer 404");
    expect(client, "*", "Q.PUSH t %s ID last RETRIES 0", "answer 422");
    expect(client, "*", "Q.PUSH t %s ID broken", "answer 500");
    expect(client, "*", "Q.PUSH t %s ID early", "answer 425 Retry-After:3600");
    expect(client, "*", "Q.PUSH t %s ID late", "answer 408");
    assert_int_equal(
        forwarder_run(served_server(state),
                      words("t TO http://127.0.0.1:%d/ --once --later-most 1h", hook.port),
                      &output_text),
        3);
    assert_non_null(strstr(output_text, "wrong, attempt 1: refused: HTTP 404: because"));
    assert_non_null(strstr(output_text, "1 forwarded, 3 put off, 2 refused"));
    expect(client, "nil", "Q.GET t ok");
    expect_job(client, "wrong", "\"delayed\"", "1", "\"HTTP 404: because\"");
    expect_job(client, "last", "\"dead\"", "1", "\"HTTP 422: because\"");
    expect_job(client, "broken", "*", "0", "\"HTTP 500: because\"");
    expect_job(client, "early", "\"delayed\"", "0", "\"HTTP 425: because\"");
    expect_job(client, "late", "*", "0", "\"HTTP 408: because\"");
    /* What the server has asked for, within --later-most. */
    assert_true(ask_field(client, "due", "Q.GET t early") > unix_ms() + 1800000);
}

static void a_server_that_is_too_busy_is_left_alone(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);
    static const char *const answers[] = {"503", "429 Retry-After:0", "502",
                                          "504", "302 Location:/x",   "cut"};

    start_hook(state);
    for (int i = 0; i < 50; i++)
        expect(client, "*", "Q.PUSH t x ID %d", i);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        write_text(state, "answer", answers[i]);
        assert_int_equal(forward_once(state, "--parallel 1"), 5);
        expect(client, "50", "Q.LEN t ready");
    }
    assert_int_equal(count_requests(state, "/in"), sizeof(answers) / sizeof(answers[0]));
    forwarder_begin(server, words("t TO http://127.0.0.1:%d/in --away-most 10ms", hook.port));
    forwarder_await(server, "the target is away", 1);
    write_text(state, "answer", "200");
    await_number(client, "total-acked", 50, "Q.STATS t");
    forwarder_await(server, "the target is back", 1);
    assert_int_equal(forwarder_said(server, "is away"), 1);
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void a_wait_that_is_asked_for_is_bounded(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    start_hook(state);
    write_text(state, "answer", "503 Retry-After:99999999999999");
    expect(client, "*", "Q.PUSH t x ID a");
    forwarder_begin(server, words("t TO http://127.0.0.1:%d/in --away-most 100ms", hook.port));
    await_requests(state, "/in", 2);
    write_text(state, "answer", "200");
    await_number(client, "total-acked", 1, "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
}

static void a_server_that_does_not_answer_is_given_up(void **state)
{
    redisContext *client = served_client(state);

    start_hook(state);
    expect(client, "*", "Q.PUSH t %s ID slow", "answer hang");
    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(forward_once(state, "--timeout 2s"), 3);
    expect(client, "nil", "Q.GET t a");
    expect_field(client, "failures", "0", "Q.GET t slow");
    expect_field(client, "error", "\"*timed out*\"", "Q.GET t slow");
}

/* ---- cut off and back */

static void all_jobs_arrive_whatever_is_killed(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);
    char line[600];

    start_hook(state);
    expect(client, "OK", "Q.CONFIG SET t crashes 1000000");
    for (int i = 0; i < MANY; i++)
        say(client, "Q.PUSH t body ID %d", i);
    for (int i = 0; i < MANY; i++)
        expect_reply(client, "*");
    for (int round = 0; ask_field(client, "total-acked", "Q.STATS t") < MANY; round++) {
        int64_t before = ask_field(client, "total-acked", "Q.STATS t");

        forwarder_begin(server,
                        words("t TO http://127.0.0.1:%d/in --away-most 10ms", hook.port));
        for (int i = 0; i < PATIENCE && before < MANY &&
                        ask_field(client, "total-acked", "Q.STATS t") < before + MANY / 10 &&
                        ask_field(client, "total-acked", "Q.STATS t") < MANY;
             i++)
            sleep_ms(5);
        if (round % 2 == 0) {
            foreign_server_kill(&hook);
            webhook_start(&hook, server->directory, NULL, NULL);
        }
        forwarder_end(SIGKILL);
    }
    snprintf(line, sizeof(line), "cut -d ' ' -f 3 %s/requests | sort -u | wc -l",
             server->directory);
    assert_int_equal(run_shell(output, sizeof(output), "%s", line), 0);
    assert_int_equal(atoi(output), MANY);
    expect(client, "0", "Q.LEN t");
}

static void several_go_at_a_time_but_one_of_a_group(void **state)
{
    redisContext *client = served_client(state);
    struct server_process *server = served_server(state);

    start_hook(state);
    write_text(state, "answer", "hang");
    expect(client, "OK", "Q.CONFIG SET t group-mode serial");
    for (int i = 0; i < 12; i++)
        expect(client, "*", "Q.PUSH t x ID g%d-%d GROUP g%d", i % 4, i / 4, i % 4);
    forwarder_begin(server, words("t TO http://127.0.0.1:%d/in --grace 0", hook.port));
    await_requests(state, "/in", 4);
    assert_int_equal(count_requests(state, "-0 1 "), 4);
    expect_field(client, "claimed", "4", "Q.STATS t");
    assert_int_equal(forwarder_end(SIGTERM), 0);
    expect_field(client, "claimed", "0", "Q.STATS t");
    expect_field(client, "failures", "0", "Q.GET t g0-0");
    assert_int_equal(count_requests(state, "/in"), 4);
}

/* ---- TLS */

static void a_certificate_is_checked(void **state)
{
    redisContext *client = served_client(state);
    const char *directory = served_server(state)->directory;
    char certificate[600], key[600];

    tls_make_certificates(directory);
    snprintf(certificate, sizeof(certificate), "%s/server.crt", directory);
    snprintf(key, sizeof(key), "%s/server.key", directory);
    hook.port = 0;
    webhook_start(&hook, directory, certificate, key);
    expect(client, "*", "Q.PUSH t x ID a");
    assert_int_equal(forwarder_run(served_server(state),
                                   words("t TO https://127.0.0.1:%d/ --once", hook.port), NULL),
                     5);
    assert_int_equal(
        forwarder_run(
            served_server(state),
            words("t TO https://127.0.0.1:%d/ --once --target-cacert other.crt", hook.port),
            NULL),
        5);
    expect(client, "1", "Q.LEN t ready");
    assert_int_equal(
        forwarder_run(
            served_server(state),
            words("t TO https://127.0.0.1:%d/ --once --target-cacert ca.crt", hook.port), NULL),
        0);
    expect(client, "*", "Q.PUSH t x ID b");
    assert_int_equal(
        forwarder_run(served_server(state),
                      words("t TO https://127.0.0.1:%d/ --once --target-insecure", hook.port),
                      NULL),
        0);
    assert_int_equal(count_requests(state, " unsigned "), 2);
}

static void what_is_wrong_is_said_before_anything_is_done(void **state)
{
    static const char *const wrong[] = {
        "t TO 'http://h h/'",
        "t TO http://h --parallel 0",
        "t TO http://h --parallel 101",
        "t TO http://h --secret-file none",
        "t TO http://h --secret-file /dev/null",
        "t TO http://h --secret-file /dev/zero",
        "t TO http://h --target-password-file none",
        "t TO http://h --header-file bad",
    };

    write_text(state, "bad", "no header\n");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (forwarder_run(served_server(state), words("%s --once", wrong[i]), NULL) != 2)
            fail_msg("%s: no error", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        forward_test(a_job_is_a_post_with_its_id_and_a_signature),
        forward_test(an_id_cannot_end_a_header),
        forward_test(a_login_is_of_the_url_and_a_file),
        forward_test(a_status_decides_what_becomes_of_the_job),
        forward_test(a_server_that_is_too_busy_is_left_alone),
        forward_test(a_wait_that_is_asked_for_is_bounded),
        forward_test(a_server_that_does_not_answer_is_given_up),
        forward_test(all_jobs_arrive_whatever_is_killed),
        forward_test(several_go_at_a_time_but_one_of_a_group),
        forward_test(a_certificate_is_checked),
        forward_test(what_is_wrong_is_said_before_anything_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
