/* TLS: certificates and who is let in, bytes of both directions, peers that break it. */
#include "tests/support/client/raw_client.h"
#include "tests/support/client/tls_client.h"

#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { OUTPUT = 16384, MIB = 1024 * 1024 };

#define TLS_FAILED(option)                                                                     \
    "!ERR CONFIG SET failed (possibly related to argument '" option                            \
    "') - Unable to update TLS configuration. Check server logs."

static char output[OUTPUT];

/* ---- a server with a port for TLS, whose certificates are in its directory */

static const char *in(const struct server_process *server, const char *name)
{
    static char *paths[8];
    static size_t next;
    char **path = &paths[next++ % 8];
    free(*path);
    *path = server_process_path(server, name);
    return *path;
}

/* Opens the port for TLS and returns it. */
static int serve(void **state, const char *clients)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int port = free_port();
    tls_make_certificates(server->directory);
    expect(client, "OK",
           "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file %s "
           "tls-auth-clients %s tls-port %d",
           in(server, "server.crt"), in(server, "server.key"), in(server, "ca.crt"), clients,
           port);
    return port;
}

static struct tls_identity plain_identity(void **state)
{
    return (struct tls_identity){.authority = in(served_server(state), "ca.crt")};
}

static struct tls_identity named(void **state, const char *name)
{
    struct tls_identity identity = plain_identity(state);
    char file[64];
    snprintf(file, sizeof(file), "%s.crt", name);
    identity.certificate = in(served_server(state), file);
    snprintf(file, sizeof(file), "%s.key", name);
    identity.key = in(served_server(state), file);
    return identity;
}

/* Is a client of that kind let in, and served? */
static bool is_served(int port, struct tls_identity identity)
{
    struct tls_client client;
    char reply[7] = "";
    bool good = tls_open(&client, port, &identity);
    if (!good)
        return false;
    tls_say(&client, "PING\r\n", 6);
    good = tls_get(&client, reply, 7) && memcmp(reply, "+PONG\r\n", 7) == 0;
    tls_close(&client);
    return good;
}

static void open_tls(void **state, struct tls_client *client, int port)
{
    struct tls_identity identity = plain_identity(state);
    assert_true(tls_open(client, port, &identity));
}

static void await_clients(redisContext *client, int64_t count)
{
    for (int i = 0; i < 3000 && ask_info(client, "clients", "connected_clients") != count; i++)
        sleep_ms(10);
    assert_int_equal(ask_info(client, "clients", "connected_clients"), count);
}

static void expect_logged(void **state, const char *words)
{
    char *log = server_process_log(served_server(state));
    if (strstr(log, words) == NULL)
        fail_at(__FILE__, __LINE__, "the log has no '%s'", words);
    free(log);
}

/* ---- who is let in */

static void dueq_backup_talks_by_tls(void **state)
{
    struct server_process *server = served_server(state);
    int port = serve(state, "yes");

    assert_int_equal(run_shell(output, OUTPUT,
                               "timeout 60 %s backup one --tls --host localhost --cacert %s "
                               "--cert %s --key %s --port %d 2>&1",
                               server_binary(), in(server, "ca.crt"), in(server, "client.crt"),
                               in(server, "client.key"), port),
                     1);
    assert_non_null(strstr(output, "backup-dir is not set")); /* the server says it */
    assert_int_equal(run_shell(output, OUTPUT,
                               "timeout 60 %s backup one --tls --host localhost --cacert %s "
                               "--port %d 2>&1",
                               server_binary(), in(server, "ca.crt"), port),
                     4);
    assert_null(strstr(output, "backup-dir is not set")); /* it has no certificate */
}

static void redis_cli_talks_by_tls(void **state)
{
    struct server_process *server = served_server(state);
    int port = serve(state, "yes");
    run_shell(output, OUTPUT,
              "timeout 60 redis-cli --tls --sni localhost --cacert %s --cert %s --key %s -p %d "
              "Q.PUSH mail body ID a 2>&1",
              in(server, "ca.crt"), in(server, "client.crt"), in(server, "client.key"), port);
    assert_string_equal(output, "a\n");
    expect(served_client(state), "1", "Q.LEN mail");
}

static void clients_need_a_certificate_of_the_authority(void **state)
{
    int port = serve(state, "yes");
    assert_true(is_served(port, named(state, "client")));
    assert_false(is_served(port, plain_identity(state)));
    assert_false(is_served(port, named(state, "stranger")));
    assert_false(is_served(port, named(state, "expired")));
    expect(served_client(state), "OK", "CONFIG SET tls-auth-clients optional");
    assert_true(is_served(port, named(state, "client")));
    assert_true(is_served(port, plain_identity(state)));
    assert_false(is_served(port, named(state, "stranger")));
    expect(served_client(state), "OK", "CONFIG SET tls-auth-clients no");
    assert_true(is_served(port, named(state, "stranger")));
    expect(served_client(state), "*one of the following: no, yes, optional",
           "CONFIG SET tls-auth-clients maybe");
}

static void the_server_shows_who_it_is(void **state)
{
    struct tls_identity other = {NULL};
    int port = serve(state, "no");
    other.authority = in(served_server(state), "other.crt");
    assert_false(is_served(port, other));
    assert_true(is_served(port, plain_identity(state)));
}

static void authorities_can_be_a_directory(void **state)
{
    struct server_process *server = served_server(state);
    int port = serve(state, "yes");
    assert_int_equal(run_shell(output, OUTPUT,
                               "cd %s && mkdir trusted && cp ca.crt trusted && "
                               "openssl rehash trusted",
                               server->directory),
                     0);
    expect(served_client(state), "OK", "CONFIG SET tls-ca-cert-file %s tls-ca-cert-dir %s", "",
           in(server, "trusted"));
    assert_true(is_served(port, named(state, "client")));
    assert_false(is_served(port, named(state, "stranger")));
}

static void versions_and_ciphers_are_as_configured(void **state)
{
    redisContext *client = served_client(state);
    int port = serve(state, "no");
    struct tls_identity old = plain_identity(state), new = plain_identity(state);
    old.version = TLS1_2_VERSION;
    new.version = TLS1_3_VERSION;
    assert_true(is_served(port, old));
    assert_true(is_served(port, new));
    expect(client, "OK", "CONFIG SET tls-protocols TLSv1.3");
    assert_false(is_served(port, old));
    assert_true(is_served(port, new));
    expect(client, "OK",
           "CONFIG SET tls-protocols %s tls-ciphers AES128-SHA tls-prefer-server-ciphers yes",
           "TLSv1.2 TLSv1.3");
    assert_false(is_served(port, old)); /* the key is none of RSA */
    expect(client, "OK", "CONFIG SET tls-ciphers %s tls-ciphersuites TLS_AES_128_GCM_SHA256",
           "");
    assert_true(is_served(port, old));
    assert_true(is_served(port, new));
    expect(client, TLS_FAILED("tls-protocols"), "CONFIG SET tls-protocols TLSv2");
    expect_logged(state, "Invalid tls-protocols specified.");
    expect(client, TLS_FAILED("tls-ciphers"), "CONFIG SET tls-ciphers nosuch");
    expect(client, TLS_FAILED("tls-ciphersuites"), "CONFIG SET tls-ciphersuites nosuch");
    expect(client, TLS_FAILED("tls-dh-params-file"), "CONFIG SET tls-dh-params-file /nosuch");
    assert_true(is_served(port, new));
}

static void a_key_may_have_a_password(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int port = serve(state, "no");
    assert_int_equal(
        run_shell(output, OUTPUT,
                  "cd %s && openssl ec -in server.key -aes128 -passout pass:secret "
                  "-out locked.key",
                  server->directory),
        0);
    expect(client, TLS_FAILED("tls-key-file"), "CONFIG SET tls-key-file %s",
           in(server, "locked.key"));
    expect(client, "OK", "CONFIG SET tls-key-file %s tls-key-file-pass secret",
           in(server, "locked.key"));
    assert_true(is_served(port, plain_identity(state)));
}

static bool resumes(int port, struct tls_identity identity)
{
    struct tls_client client;
    SSL_SESSION *session;
    bool resumed;
    identity.version = TLS1_2_VERSION;
    assert_true(tls_open(&client, port, &identity));
    session = SSL_get1_session(client.ssl);
    tls_end_output(&client); /* one that ends without is not resumed */
    tls_close(&client);
    identity.session = session;
    assert_true(tls_open(&client, port, &identity));
    resumed = SSL_session_reused(client.ssl) == 1;
    tls_close(&client);
    SSL_SESSION_free(session);
    return resumed;
}

static void sessions_are_resumed_if_wanted(void **state)
{
    int port = serve(state, "no");
    assert_true(resumes(port, plain_identity(state)));
    expect(served_client(state), "OK",
           "CONFIG SET tls-session-caching yes tls-session-cache-size 10 "
           "tls-session-cache-timeout 60");
    assert_true(resumes(port, plain_identity(state)));
    expect(served_client(state), "OK", "CONFIG SET tls-session-caching no");
    assert_false(resumes(port, plain_identity(state)));
}

static void a_client_cannot_negotiate_again(void **state)
{
    int port = serve(state, "no");
    struct tls_identity identity = plain_identity(state);
    struct tls_client client;
    char byte;
    identity.version = TLS1_2_VERSION;
    assert_true(tls_open(&client, port, &identity));
    tls_expect(&client, "+PONG\r\n", "PING\r\n");
    SSL_renegotiate(client.ssl);
    assert_int_not_equal(SSL_do_handshake(client.ssl) == 1 && tls_get(&client, &byte, 1), 1);
    tls_close(&client);
    assert_true(is_served(port, identity));
}

/* False: the server has closed the connection. */
static bool change_keys(struct tls_client *client, int times)
{
    for (int i = 0; i < times; i++)
        if (SSL_key_update(client->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1 ||
            SSL_do_handshake(client->ssl) != 1)
            return false;
    return true;
}

static void keys_change_between_requests(void **state)
{
    struct tls_client client;
    open_tls(state, &client, serve(state, "no"));
    for (int round = 0; round < 5; round++) {
        assert_true(change_keys(&client, 50));
        tls_expect(&client, "+PONG\r\n", "PING\r\n");
    }
    tls_close(&client);
}

/* They cost the server work, and a client needs no login for them. */
static void who_only_changes_keys_is_cut_off(void **state)
{
    struct tls_client client;
    size_t put;
    char byte;
    open_tls(state, &client, serve(state, "no"));
    expect(served_client(state), "OK", "CONFIG SET loglevel verbose");
    if (change_keys(&client, 300) && SSL_write_ex(client.ssl, "PING\r\n", 6, &put) == 1)
        assert_false(tls_get(&client, &byte, 1));
    tls_close(&client);
    await_clients(served_client(state), 1);
    expect_logged(state, "too many records without data");
}

/* ---- other certificates while it runs */

static void replace(void **state, const char *name, const char *by)
{
    const char *directory = served_server(state)->directory;
    assert_int_equal(run_shell(output, OUTPUT, "cd %s && cp %s.crt %s.crt && cp %s.key %s.key",
                               directory, by, name, by, name),
                     0);
}

static void expect_shown(void **state, int port, const char *name)
{
    struct tls_client client;
    open_tls(state, &client, port);
    assert_string_equal(tls_server_name(&client), name);
    tls_close(&client);
}

static void certificates_are_read_again(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    struct tls_client old;
    int port = serve(state, "no");
    open_tls(state, &old, port);
    replace(state, "server", "second");
    expect_shown(state, port, "server");
    expect(client, "OK", "CONFIG SET tls-cert-file %s", in(server, "server.crt"));
    expect_shown(state, port, "second");
    replace(state, "server", "client");
    assert_int_equal(kill(server->pid, SIGHUP), 0);
    for (int i = 0; i < 3000; i++) {
        char *log = server_process_log(server);
        bool found = strstr(log, "read again") != NULL;
        free(log);
        if (found)
            break;
        sleep_ms(10);
    }
    expect_shown(state, port, "client");
    tls_expect(&old, "+PONG\r\n", "PING\r\n");
    tls_close(&old);
}

static void a_bad_certificate_keeps_the_old_one(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    int port = serve(state, "no");
    expect(client, TLS_FAILED("tls-cert-file"), "CONFIG SET tls-cert-file %s",
           in(server, "second.crt")); /* not of this key */
    expect(client, TLS_FAILED("tls-cert-file"), "CONFIG SET tls-cert-file /nosuch");
    expect(client, TLS_FAILED("tls-auth-clients"),
           "CONFIG SET tls-auth-clients yes tls-ca-cert-file %s", "");
    expect_logged(state, "(the certificates of before stay in use)");
    assert_int_equal(run_shell(output, OUTPUT, "echo >%s", in(server, "server.crt")), 0);
    assert_int_equal(kill(server->pid, SIGHUP), 0);
    expect(client, "PONG", "PING");
    expect_shown(state, port, "server");
    expect(client, "*", "CONFIG GET tls-cert-file");
}

static void a_port_without_certificates_is_refused(void **state)
{
    redisContext *client = served_client(state);
    expect(client, TLS_FAILED("tls-port"), "CONFIG SET tls-port %d", free_port());
    expect_logged(state, "No tls-cert-file configured!");
    expect(client, "[\"tls-port\" \"0\"]", "CONFIG GET tls-port");
    expect(client, "PONG", "PING");
    assert_int_equal(run_shell(output, OUTPUT,
                               "timeout 60 %s server --port 0 --tls-port %d --dir %s-other",
                               server_binary(), free_port(), served_server(state)->data),
                     1);
    assert_non_null(strstr(output, "No tls-cert-file configured!"));
}

static void clients_stay_while_certificates_change_under_load(void **state)
{
    struct server_process *server = served_server(state);
    redisContext *client = served_client(state);
    struct tls_client clients[20];
    int port = serve(state, "no");
    for (int i = 0; i < 20; i++)
        open_tls(state, &clients[i], port);
    for (int round = 0; round < 50; round++) {
        say(client, "CONFIG SET tls-cert-file %s", in(server, "server.crt"));
        for (int i = 0; i < 20; i++)
            tls_say(&clients[i], "INCR n\r\nPING\r\n", 14);
        expect_reply(client, "OK");
        for (int i = 0; i < 20; i++) {
            char digit = ':';
            while (digit != '\n')
                assert_true(tls_get(&clients[i], &digit, 1));
            tls_expect(&clients[i], "+PONG\r\n", "");
        }
    }
    expect(client, "\"1000\"", "GET n");
    for (int i = 0; i < 20; i++)
        tls_close(&clients[i]);
}

/* ---- bytes */

/* Ten MiB each way, in one piece, and again while the client reads late: what did not find room
 * in the socket has moved when it is sent again. */
static void large_values_pass_both_ways(void **state)
{
    struct tls_client client;
    int port = serve(state, "no");
    size_t size = 10 * MIB;
    char *value = malloc(size), *got = malloc(size), head[64];
    assert_true(value != NULL && got != NULL);
    for (size_t i = 0; i < size; i++)
        value[i] = (char)(i * 31 >> 3);
    open_tls(state, &client, port);
    snprintf(head, sizeof(head), "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%zu\r\n", size);
    tls_say(&client, head, strlen(head));
    tls_say(&client, value, size);
    tls_expect(&client, "+OK\r\n", "\r\n");
    for (int i = 0; i < 3; i++)
        tls_say(&client, "GET k\r\n", 7);
    expect(served_client(state), "*", "STRLEN k"); /* the replies have begun */
    snprintf(head, sizeof(head), "$%zu\r\n", size);
    for (int i = 0; i < 3; i++) {
        tls_expect(&client, head, "");
        assert_true(tls_get(&client, got, size));
        assert_memory_equal(got, value, size);
        tls_expect(&client, "\r\n", "");
    }
    tls_close(&client);
    free(value);
    free(got);
}

/* A record of TLS holds many requests, or a part of one. */
static void requests_and_records_have_no_common_ends(void **state)
{
    struct tls_client client;
    int port = serve(state, "no");
    char requests[7000 * 6], replies[7000 * 7];
    open_tls(state, &client, port);
    for (int i = 0; i < 7000; i++)
        memcpy(requests + i * 6, "PING\r\n", 6);
    tls_say(&client, requests, sizeof(requests));
    assert_true(tls_get(&client, replies, sizeof(replies)));
    for (int i = 0; i < 7000; i++)
        assert_memory_equal(replies + i * 7, "+PONG\r\n", 7);
    for (int i = 0; i < 6; i++)
        tls_say(&client, &"PING\r\n"[i], 1);
    tls_expect(&client, "+PONG\r\n", "");
    tls_close(&client);
}

static void messages_and_claims_arrive(void **state)
{
    redisContext *plain = served_client(state);
    struct tls_client client;
    int port = serve(state, "no");
    open_tls(state, &client, port);
    tls_expect(&client, "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n", "SUBSCRIBE news\r\n");
    expect(plain, "1", "PUBLISH news hello");
    tls_expect(&client, "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n", "");
    tls_expect(&client, "*3\r\n$11\r\nunsubscribe\r\n$4\r\nnews\r\n:0\r\n", "UNSUBSCRIBE\r\n");
    tls_say(&client, "BLPOP list 0\r\n", 14);
    await_blocked(plain, 1);
    expect(plain, "1", "RPUSH list x");
    tls_expect(&client, "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n", "");
    tls_say(&client, "Q.CLAIM mail BLOCK 0\r\n", 22);
    await_blocked(plain, 1);
    expect(plain, "*", "Q.PUSH mail body ID a");
    tls_expect(&client, "*", "");
    tls_close(&client);
    open_tls(state, &client, port);
    tls_say(&client, "Q.CLAIM mail BLOCK 0\r\n", 22);
    await_blocked(plain, 1);
    tls_close(&client);
    await_blocked(plain, 0);
}

static void who_ends_its_side_gets_its_replies(void **state)
{
    struct tls_client client;
    char byte;
    int port = serve(state, "no");
    open_tls(state, &client, port);
    tls_say(&client, "SET k v\r\nGET k\r\n", 16);
    tls_end_output(&client);
    tls_expect(&client, "+OK\r\n$1\r\nv\r\n", "");
    assert_false(tls_get(&client, &byte, 1));
    tls_close(&client);
    await_clients(served_client(state), 1);
}

static void who_does_not_read_is_cut_off(void **state)
{
    redisContext *plain = served_client(state);
    struct tls_client client;
    int port = serve(state, "no");
    char *body = calloc(1, MIB + 1);
    assert_non_null(body);
    memset(body, 'x', MIB);
    expect(plain, "OK", "CONFIG SET client-output-buffer-limit %s", "pubsub 4mb 0 0");
    open_tls(state, &client, port);
    tls_expect(&client, "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n", "SUBSCRIBE news\r\n");
    for (int i = 0; i < 200 && ask_info(plain, "clients", "connected_clients") > 1; i++)
        expect(plain, "*", "PUBLISH news %s", body);
    await_clients(plain, 1);
    expect_logged(state, "client-output-buffer-limit");
    tls_close(&client);
    free(body);
}

/* ---- peers that break it */

/* A plain connection to the port for TLS, or part of a handshake. */
static void open_raw(struct raw_client *raw, int port)
{
    struct server_process there = {.port = port};
    raw_open(raw, &there);
}

static void plain_bytes_get_no_answer(void **state)
{
    struct raw_client raw;
    char byte;
    int port = serve(state, "no");
    open_raw(&raw, port);
    raw_say(&raw, "SET k v");
    while (recv(raw.fd, &byte, 1, 0) > 0) /* an alert of TLS */
        assert_int_not_equal(byte, '+');
    raw_close(&raw);
    expect(served_client(state), "nil", "GET k");
    assert_true(is_served(port, plain_identity(state)));
}

static void tls_on_the_plain_port_fails_alone(void **state)
{
    struct raw_client raw;
    raw_open(&raw, served_server(state));
    raw_send(&raw, "\x16\x03\x01\x02\x00\x01\n", 7);
    raw_expect_reply(&raw, "*");
    raw_close(&raw);
    expect(served_client(state), "PONG", "PING");
}

static void half_a_handshake_is_nothing(void **state)
{
    static const char beginning[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    redisContext *client = served_client(state);
    struct raw_client raw;
    int port = serve(state, "no");
    int64_t most =
        ask_info(client, "stats", "total_connections_received") + (int64_t)sizeof(beginning);
    for (size_t size = 0; size < sizeof(beginning); size++) {
        open_raw(&raw, port);
        raw_send(&raw, beginning, size);
        raw_close(&raw);
    }
    while (ask_info(client, "stats", "total_connections_received") < most)
        sleep_ms(1);
    await_clients(client, 1);
    assert_true(is_served(port, plain_identity(state)));
}

/* They may take a quarter of the connections, and the oldest gives way. */
static void silent_peers_keep_nobody_out(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client silent[300];
    char byte;
    int port = serve(state, "no");
    expect(client, "OK", "CONFIG SET maxclients 200");
    for (int i = 0; i < 300; i++)
        open_raw(&silent[i], port);
    await_clients(client, 1 + 50);
    assert_true(is_served(port, plain_identity(state)));
    assert_int_equal(recv(silent[0].fd, &byte, 1, 0), 0);
    for (int i = 0; i < 300; i++)
        raw_close(&silent[i]);
    await_clients(client, 1);
}

static void a_handshake_has_an_end(void **state)
{
    struct raw_client raw;
    int port = serve(state, "no");
    open_raw(&raw, port);
    raw_send(&raw, "\x16\x03\x01", 3);
    raw_expect_closed(&raw);
    await_clients(served_client(state), 1);
}

static int64_t largest_client(redisContext *client)
{
    char *list = ask_string(client, "CLIENT LIST");
    int64_t largest = 0;

    for (const char *at = list; (at = strstr(at, "tot-mem=")) != NULL; at++) {
        int64_t size = strtoll(at + 8, NULL, 10);

        largest = size > largest ? size : largest;
    }
    free(list);
    return largest;
}

/* OpenSSL takes the most in a handshake: it counts for maxmemory-clients. */
static void a_handshake_is_counted(void **state)
{
    redisContext *client = served_client(state);
    struct raw_client raw;
    int port = serve(state, "no");

    open_raw(&raw, port);
    raw_send(&raw, "\x16\x03\x01", 3);
    while (largest_client(client) < 40000)
        sleep_ms(1);
    raw_close(&raw);
    while (largest_client(client) >= 40000)
        sleep_ms(1);
}

/* A hello in pieces of one byte: ten seconds of work otherwise, without a login. */
static void a_handshake_has_few_records(void **state)
{
    static const char first[] = "\x16\x03\x01\x00\x04\x01\x00\x3f\x00",
                      piece[] = "\x16\x03\x01\x00\x01\x03";
    struct raw_client raw;
    char byte;
    int port = serve(state, "no");

    expect(served_client(state), "OK", "CONFIG SET loglevel verbose");
    open_raw(&raw, port);
    raw_send(&raw, first, sizeof(first) - 1);
    for (int i = 0; i < 200; i++)
        if (send(raw.fd, piece, sizeof(piece) - 1, MSG_NOSIGNAL) < 0)
            break;
    while (recv(raw.fd, &byte, 1, 0) > 0)
        continue;
    expect_logged(state, "too many records in the handshake");
    raw_close(&raw);
    assert_true(is_served(port, plain_identity(state)));
}

static void it_stops_with_clients_of_tls(void **state)
{
    struct tls_client client, waiting;
    struct raw_client raw;
    int port = serve(state, "no");
    open_tls(state, &client, port);
    open_tls(state, &waiting, port);
    open_raw(&raw, port);
    tls_say(&waiting, "BLPOP list 0\r\n", 14);
    await_blocked(served_client(state), 1);
    tls_expect(&client, "+OK\r\n", "SET k v\r\n");
    server_process_stop(served_server(state));
    tls_close(&client);
    tls_close(&waiting);
    raw_close(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        served_test(dueq_backup_talks_by_tls),
        served_test(redis_cli_talks_by_tls),
        served_test(clients_need_a_certificate_of_the_authority),
        served_test(the_server_shows_who_it_is),
        served_test(authorities_can_be_a_directory),
        served_test(versions_and_ciphers_are_as_configured),
        served_test(a_key_may_have_a_password),
        served_test(sessions_are_resumed_if_wanted),
        served_test(a_client_cannot_negotiate_again),
        served_test(keys_change_between_requests),
        served_test(who_only_changes_keys_is_cut_off),
        served_test(certificates_are_read_again),
        served_test(a_bad_certificate_keeps_the_old_one),
        served_test(a_port_without_certificates_is_refused),
        served_test(clients_stay_while_certificates_change_under_load),
        served_test(large_values_pass_both_ways),
        served_test(requests_and_records_have_no_common_ends),
        served_test(messages_and_claims_arrive),
        served_test(who_ends_its_side_gets_its_replies),
        served_test(who_does_not_read_is_cut_off),
        served_test(plain_bytes_get_no_answer),
        served_test(tls_on_the_plain_port_fails_alone),
        served_test(half_a_handshake_is_nothing),
        served_test(silent_peers_keep_nobody_out),
        served_test(a_handshake_has_an_end),
        served_test(a_handshake_has_few_records),
        served_test(a_handshake_is_counted),
        served_test(it_stops_with_clients_of_tls),
    };
    return cmocka_run_group_tests_name("tls", tests, NULL, NULL);
}
