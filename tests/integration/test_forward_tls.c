/* `dueq forward` over TLS to each kind of target: a real server whose certificate it must not
 * trust unless the right authority has signed it for that host. */
#include "tests/support/client/foreign_server.h"
#include "tests/support/client/forwarder.h"
#include "tests/support/client/tls_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka.h"

enum { DONE = 0, AWAY = 5 };

static struct foreign_server target;
static char certificate[700], key[700];

/* For a host that is not ours. */
static const char make_elsewhere[] =
    "cd %s && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "
    "/CN=elsewhere -addext subjectAltName=DNS:elsewhere.example -keyout elsewhere.key -out "
    "elsewhere.csr && openssl x509 -req -in elsewhere.csr -CA ca.crt -CAkey ca.key "
    "-CAcreateserial -copy_extensions copy -days 30 -out elsewhere.crt";

static int set_up(void **state)
{
    static char output[8192];

    served_setup(state);
    tls_make_certificates(served_server(state)->directory);
    if (run_shell(output, sizeof(output), make_elsewhere, served_server(state)->directory) != 0)
        fail_msg("openssl: %s", output);
    return 0;
}

static int tear_down(void **state)
{
    forwarder_cleanup();
    foreign_server_cleanup();
    return served_teardown(state);
}

#define tls_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* Starts a target with the certificate of that name, at a new port. */
typedef void (*start_fn)(void **state, const char *name);

static void choose_certificate(void **state, const char *name)
{
    const char *directory = served_server(state)->directory;

    snprintf(certificate, sizeof(certificate), "%s/%s.crt", directory, name);
    snprintf(key, sizeof(key), "%s/%s.key", directory, name);
    foreign_server_kill(&target);
    target = (struct foreign_server){0, 0};
}

static void start_redis(void **state, const char *name)
{
    const char *words[] = {
        "redis-server", "--port", "0",         "--tls-port",         NULL, "--tls-cert-file",
        certificate,    "--save", "",          "--tls-key-file",     key,  "--tls-ca-cert-file",
        certificate,    "--bind", "127.0.0.1", "--tls-auth-clients", "no", NULL};

    choose_certificate(state, name);
    foreign_server_start(&target, words, &words[4]);
}

static void start_dueq(void **state, const char *name)
{
    char *directory = server_process_path(served_server(state), "target");
    const char *words[] = {server_binary(),
                           "server",
                           "--port",
                           "0",
                           "--tls-port",
                           NULL,
                           "--tls-cert-file",
                           certificate,
                           "--tls-key-file",
                           key,
                           "--tls-auth-clients",
                           "no",
                           "--dir",
                           directory,
                           NULL};
    char output[100];

    choose_certificate(state, name);
    run_shell(output, sizeof(output), "mkdir -p %s", directory);
    foreign_server_start(&target, words, &words[5]);
    /* It listens before it has loaded. */
    assert_int_equal(run_shell(output, sizeof(output),
                               "for i in $(seq 600); do %s cli --tls --insecure --port %d PING "
                               ">/dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1",
                               server_binary(), target.port),
                     0);
    free(directory);
}

static void start_broker(void **state, const char *name)
{
    char *path = server_process_path(served_server(state), "broker"), text[1600];

    choose_certificate(state, name);
    snprintf(text, sizeof(text), "user root\nallow_anonymous true\ncertfile %s\nkeyfile %s\n",
             certificate, key);
    write_file(path, text);
    mosquitto_start(&target, path);
    free(path);
}

static void start_hook(void **state, const char *name)
{
    choose_certificate(state, name);
    webhook_start(&target, served_server(state)->directory, certificate, key);
}

/* Pushes a job and forwards it. */
static int forward(void **state, const char *scheme, const char *path, const char *options)
{
    char words[600];

    expect(served_client(state), "*", "Q.PUSH t x");
    snprintf(words, sizeof(words), "t TO '%s://127.0.0.1:%d%s' --once --prefix p- %s", scheme,
             target.port, path, options);
    return forwarder_run(served_server(state), words, NULL);
}

static void check_certificates(void **state, start_fn start, const char *scheme,
                               const char *path)
{
    redisContext *client = served_client(state);

    start(state, "server");
    assert_int_equal(forward(state, scheme, path, ""), AWAY);
    assert_int_equal(forward(state, scheme, path, "--target-cacert other.crt"), AWAY);
    expect(client, "2", "Q.LEN t ready");
    assert_int_equal(forward(state, scheme, path, "--target-cacert ca.crt"), DONE);
    expect(client, "0", "Q.LEN t");
    start(state, "expired");
    assert_int_equal(forward(state, scheme, path, "--target-cacert ca.crt"), AWAY);
    start(state, "elsewhere");
    assert_int_equal(forward(state, scheme, path, "--target-cacert ca.crt"), AWAY);
    expect(client, "2", "Q.LEN t ready");
    assert_int_equal(forward(state, scheme, path, "--target-cacert ca.crt --target-insecure"),
                     DONE);
    expect(client, "0", "Q.LEN t");
}

static void a_redis_is_who_its_certificate_says(void **state)
{
    check_certificates(state, start_redis, "rediss", "?list=l");
}

static void a_dueq_is_who_its_certificate_says(void **state)
{
    check_certificates(state, start_dueq, "dueqs", "/there");
}

static void a_broker_is_who_its_certificate_says(void **state)
{
    check_certificates(state, start_broker, "mqtts", "/up");
}

static void a_web_server_is_who_its_certificate_says(void **state)
{
    check_certificates(state, start_hook, "https", "/");
}

static void what_speaks_no_tls_is_away(void **state)
{
    redis_server_start(&target, NULL);
    assert_int_equal(forward(state, "rediss", "?list=l", "--target-insecure"), AWAY);
    assert_int_equal(forward(state, "dueqs", "/l", "--target-insecure"), AWAY);
    assert_int_equal(forward(state, "mqtts", "/l", "--target-insecure --timeout 2s"), AWAY);
    assert_int_equal(forward(state, "https", "/l", "--target-insecure"), AWAY);
    expect(served_client(state), "4", "Q.LEN t ready");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tls_test(a_redis_is_who_its_certificate_says),
        tls_test(a_dueq_is_who_its_certificate_says),
        tls_test(a_broker_is_who_its_certificate_says),
        tls_test(a_web_server_is_who_its_certificate_says),
        tls_test(what_speaks_no_tls_is_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
