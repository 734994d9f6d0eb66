/* TLS on the HTTP port: all of it is secure, with the certificates of the other port. */
#include "tests/support/client/http_client.h"
#include "tests/support/client/tls_client.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { OUTPUT = 16384, LARGE = 3 << 20, STRANGERS = 400, PIPELINED = 500 };

struct scene {
    struct server_process *server;
    redisContext *client;
    int port;
    char output[OUTPUT];
};

static const char *in(const struct scene *scene, const char *name)
{
    static char paths[8][512];
    static size_t next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof(paths[0]), "%s/%s", scene->server->directory, name);
    return path;
}

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    *state = scene;
    scene->server = server_process_new();
    tls_make_certificates(scene->server->directory);
    scene->port = server_process_port(scene->server, "http-port");
    server_process_option(scene->server, "http-tls", "yes");
    server_process_option(scene->server, "http-api", "yes");
    server_process_option(scene->server, "tls-cert-file", in(scene, "server.crt"));
    server_process_option(scene->server, "tls-key-file", in(scene, "server.key"));
    server_process_option(scene->server, "tls-ca-cert-file", in(scene, "ca.crt"));
    server_process_option(scene->server, "tls-auth-clients", "no");
    return 0;
}

static void start(struct scene *scene)
{
    server_process_run(scene->server);
    scene->client = client_open(scene->server);
}

static int tear_down(void **state)
{
    client_cleanup();
    server_process_cleanup();
    free(*state);
    return 0;
}

/* Runs curl with these arguments; its exit status. */
static int try_curl(struct scene *scene, const char *arguments)
{
    return run_shell(
        scene->output, OUTPUT,
        "cd %s && P=%d && timeout 60 curl -sS --max-time 50 --cacert ca.crt %s 2>&1",
        scene->server->directory, scene->port, arguments);
}

static void expect_words(const struct scene *scene, const char *words)
{
    if (strstr(scene->output, words) == NULL)
        fail_msg("%s was expected: %.600s", words, scene->output);
}

static void expect_asked(struct scene *scene, const char *arguments, const char *words)
{
    assert_int_equal(try_curl(scene, arguments), 0);
    expect_words(scene, words);
}

static void open_tls(struct scene *scene, struct tls_client *client)
{
    struct tls_identity identity = {.authority = in(scene, "ca.crt")};

    assert_true(tls_open(client, scene->port, &identity));
}

/* ---- who is let in */

static void all_of_the_port_is_secure(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect_asked(scene, "-o metrics https://localhost:$P/metrics && head -1 metrics", "# HELP");
    expect_asked(scene, "-w '%{http_code}' https://localhost:$P/healthz", "200");
    expect_asked(scene, "https://localhost:$P/readyz", "");
    expect_asked(scene,
                 "-H 'Content-Type: application/json' -d '{\"body\":\"x\",\"id\":\"a\"}' "
                 "https://127.0.0.1:$P/v1/topics/mail/jobs",
                 "{\"id\":\"a\",\"status\":\"created\"}");
    expect(scene->client, "[[\"a\" \"x\"]]", "Q.POP mail");
    assert_int_not_equal(try_curl(scene, "http://localhost:$P/healthz"), 0);
    assert_int_not_equal(try_curl(scene, "--cacert other.crt https://localhost:$P/healthz"), 0);
    expect_words(scene, "certificate");
}

static void clients_may_need_certificates(void **state)
{
    struct scene *scene = *state;

    server_process_option(scene->server, "tls-auth-clients", "yes");
    start(scene);
    assert_int_not_equal(try_curl(scene, "https://localhost:$P/healthz"), 0);
    assert_int_not_equal(
        try_curl(scene, "--cert stranger.crt --key stranger.key https://localhost:$P/healthz"),
        0);
    expect_asked(scene, "--cert client.crt --key client.key https://localhost:$P/healthz", "");
    expect(scene->client, "OK", "CONFIG SET tls-auth-clients no");
    expect_asked(scene, "https://localhost:$P/healthz", "");
}

static void its_clients_have_a_rule_of_their_own(void **state)
{
    struct scene *scene = *state;

    server_process_option(scene->server, "tls-auth-clients", "yes");
    server_process_option(scene->server, "http-tls-auth-clients", "no");
    start(scene);
    expect_asked(scene, "https://localhost:$P/healthz", "");
    expect(scene->client, "OK", "CONFIG SET http-tls-auth-clients optional");
    expect_asked(scene, "https://localhost:$P/healthz", "");
    assert_int_not_equal(
        try_curl(scene, "--cert stranger.crt --key stranger.key https://localhost:$P/healthz"),
        0);
    expect(scene->client, "OK", "CONFIG SET http-tls-auth-clients same");
    assert_int_not_equal(try_curl(scene, "https://localhost:$P/healthz"), 0);
    expect(scene->client, "OK", "CONFIG SET tls-auth-clients no http-tls-auth-clients yes");
    assert_int_not_equal(try_curl(scene, "https://localhost:$P/healthz"), 0);
    expect_asked(scene, "--cert client.crt --key client.key https://localhost:$P/healthz", "");
    expect(scene->client, "*one of the following: no, yes, optional, same",
           "CONFIG SET http-tls-auth-clients maybe");
    expect(scene->client, "*Unable to update TLS configuration*",
           "CONFIG SET tls-ca-cert-file %s", "");
}

/* Nobody needs an authority then. */
static void without_a_rule_an_authority_is_not_needed(void **state)
{
    struct scene *scene = *state;

    server_process_option(scene->server, "tls-auth-clients", "yes");
    server_process_option(scene->server, "http-tls-auth-clients", "no");
    server_process_option(scene->server, "tls-ca-cert-file", "");
    start(scene);
    expect_asked(scene, "https://localhost:$P/healthz", "");
}

/* A session of this port, where nobody is asked for a certificate, opens no other one. */
static void a_session_is_of_its_port(void **state)
{
    struct scene *scene = *state;
    int tls_port = server_process_port(scene->server, "tls-port");
    struct tls_identity identity = {.authority = in(scene, "ca.crt"),
                                    .version = TLS1_2_VERSION};
    struct tls_client client;

    server_process_option(scene->server, "tls-auth-clients", "yes");
    server_process_option(scene->server, "http-tls-auth-clients", "no");
    start(scene);
    assert_true(tls_open(&client, scene->port, &identity));
    identity.session = SSL_get1_session(client.ssl);
    tls_end_output(&client);
    tls_close(&client);
    assert_true(tls_open(&client, scene->port, &identity));
    assert_true(SSL_session_reused(client.ssl));
    tls_end_output(&client); /* one that ends without is not resumed */
    tls_close(&client);
    assert_false(tls_open(&client, tls_port, &identity));
    SSL_SESSION_free(identity.session);
    identity.session = NULL;
    identity.certificate = in(scene, "client.crt");
    identity.key = in(scene, "client.key");
    assert_true(tls_open(&client, tls_port, &identity));
    tls_close(&client);
}

static void new_certificates_are_for_new_connections(void **state)
{
    static const char text[] = "GET /v1/topics HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      reply[] = "HTTP/1.1 200 OK\r\n";
    struct scene *scene = *state;
    struct tls_client before, after;
    char bytes[sizeof(reply) - 1];

    start(scene);
    open_tls(scene, &before);
    assert_string_equal(tls_server_name(&before), "server");
    expect(scene->client, "OK", "CONFIG SET tls-cert-file %s tls-key-file %s",
           in(scene, "second.crt"), in(scene, "second.key"));
    open_tls(scene, &after);
    assert_string_equal(tls_server_name(&after), "second");
    tls_say(&before, text, sizeof(text) - 1);
    assert_true(tls_get(&before, bytes, sizeof(bytes)));
    assert_memory_equal(bytes, reply, sizeof(bytes));
    tls_close(&before);
    tls_close(&after);
}

static void without_certificates_it_does_not_start(void **state)
{
    struct scene *scene = *state;
    char *log;

    server_process_option(scene->server, "tls-cert-file", in(scene, "nosuch.crt"));
    server_process_launch(scene->server);
    assert_int_equal(server_process_wait(scene->server), 1);
    log = server_process_log(scene->server);
    assert_non_null(strstr(log, "Failed to configure TLS"));
    free(log);
}

/* ---- bytes */

static void large_bodies_come_and_go(void **state)
{
    struct scene *scene = *state;

    start(scene);
    assert_int_equal(run_shell(scene->output, OUTPUT, "head -c %d /dev/urandom >%s", (int)LARGE,
                               in(scene, "body")),
                     0);
    expect_asked(scene,
                 "-H 'Content-Type: application/octet-stream' --data-binary @body "
                 "https://localhost:$P/v1/topics/mail/jobs?id=a",
                 "created");
    expect_asked(scene, "-o reply https://localhost:$P/v1/topics/mail/jobs/a", "");
    assert_int_equal(run_shell(scene->output, OUTPUT,
                               "cd %s && sed 's/.*\"body\":{\"base64\":\"//; s/\".*//' reply | "
                               "base64 -d | cmp - body",
                               scene->server->directory),
                     0);
}

/* Heads in halves, and many requests at once. */
static void requests_come_in_any_pieces(void **state)
{
    static const char text[] = "GET /v1/topics/a/count HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      last[] = "GET /v1/topics/a/count HTTP/1.1\r\nHost: localhost\r\n"
                               "Connection: close\r\n\r\n";
    struct scene *scene = *state;
    struct tls_client client;
    char byte, *replies = calloc(1, PIPELINED * 1024);
    size_t size = 0, found = 0;

    assert_non_null(replies);
    start(scene);
    open_tls(scene, &client);
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        tls_say(&client, text + i, 1);
    for (int i = 1; i < PIPELINED; i++)
        tls_say(&client, text, sizeof(text) - 1);
    tls_say(&client, last, sizeof(last) - 1);
    while (tls_get(&client, &byte, 1) && size < PIPELINED * 1024 - 1)
        replies[size++] = byte;
    for (const char *at = replies; (at = strstr(at, "{\"count\":0}\n")) != NULL; at++)
        found++;
    assert_int_equal(found, PIPELINED + 1);
    tls_close(&client);
    free(replies);
}

/* ---- peers that leave, or never begin */

static void await_waiting(struct scene *scene, int64_t count)
{
    for (int i = 0; i < 3000 && ask_info(scene->client, "clients", "blocked_clients") != count;
         i++)
        sleep_ms(10);
    assert_int_equal(ask_info(scene->client, "clients", "blocked_clients"), count);
}

static void a_peer_that_has_left_gets_no_job(void **state)
{
    static const char text[] =
        "POST /v1/topics/mail/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: 13\r\n\r\n{\"wait\":\"5m\"}";
    struct scene *scene = *state;
    struct tls_client client;

    start(scene);
    open_tls(scene, &client);
    tls_say(&client, text, sizeof(text) - 1);
    await_waiting(scene, 1);
    tls_close(&client);
    expect(scene->client, "*", "Q.PUSH mail hello");
    expect(scene->client, "1", "Q.LEN mail ready");
    await_waiting(scene, 0);
}

/* Those that say nothing, and those that break off in the middle of a handshake. */
static void strangers_keep_nobody_out(void **state)
{
    static const char hello[] = "\x16\x03\x01\x02\x00\x01", other[] = "GET / HTTP/1.1\r\n\r\n";
    struct scene *scene = *state;
    int fds[STRANGERS];

    start(scene);
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = http_reach(scene->port);
        if (i % 3 == 1)
            (void)!send(fds[i], hello, sizeof(hello) - 1, MSG_NOSIGNAL);
        else if (i % 3 == 2)
            (void)!send(fds[i], other, sizeof(other) - 1, MSG_NOSIGNAL);
    }
    expect_asked(scene, "-w '%{http_code}' https://localhost:$P/healthz", "200");
    expect(scene->client, "PONG", "PING");
    for (int i = 0; i < STRANGERS; i++)
        close(fds[i]);
}

#define tls_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {tls_test(all_of_the_port_is_secure),
                                       tls_test(clients_may_need_certificates),
                                       tls_test(its_clients_have_a_rule_of_their_own),
                                       tls_test(without_a_rule_an_authority_is_not_needed),
                                       tls_test(a_session_is_of_its_port),
                                       tls_test(new_certificates_are_for_new_connections),
                                       tls_test(without_certificates_it_does_not_start),
                                       tls_test(large_bodies_come_and_go),
                                       tls_test(requests_come_in_any_pieces),
                                       tls_test(a_peer_that_has_left_gets_no_job),
                                       tls_test(strangers_keep_nobody_out)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
