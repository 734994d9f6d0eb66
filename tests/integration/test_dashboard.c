/* The dashboard: its files, who is logged in, what a login may do and when it ends, and what
 * strangers and pages of others send. */
#include "tests/support/client/client.h"
#include "tests/support/client/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { LOGINS = 100, STRANGERS = 300 };

struct scene {
    struct server_process *server;
    redisContext *client;
    int port;
    char cookie[128]; /* "name=value"; "": none */
    char csrf[80];
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    *state = scene;
    scene->server = server_process_new();
    scene->port = server_process_port(scene->server, "http-port");
    server_process_option(scene->server, "dashboard", "yes");
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

/* ---- asking */

static const char *call_as(const struct scene *scene, const char *cookie, const char *csrf,
                           const char *request, const char *fields, const char *body)
{
    char text[4096];
    int size =
        snprintf(text, sizeof(text),
                 "%s HTTP/1.1\r\nHost: localhost\r\n%s%s%s%s%s%s%sContent-Length: "
                 "%zu\r\nConnection: close\r\n\r\n%s",
                 request, cookie[0] == '\0' ? "" : "Cookie: ", cookie,
                 cookie[0] == '\0' ? "" : "\r\n", csrf[0] == '\0' ? "" : "X-CSRF-Token: ", csrf,
                 csrf[0] == '\0' ? "" : "\r\n", fields, strlen(body), body);

    assert_true(size < (int)sizeof(text));
    return http_send(scene->port, text, (size_t)size);
}

#define JSON "Content-Type: application/json\r\n"

static const char *call(const struct scene *scene, const char *request, const char *body)
{
    return call_as(scene, scene->cookie, scene->csrf, request, JSON, body);
}

static void take_session(struct scene *scene, const char *reply)
{
    http_expect_status(reply, "200");
    http_copy_after(reply, "Set-Cookie: ", ";", scene->cookie, sizeof(scene->cookie));
    http_copy_after(reply, "\"csrf\":\"", "\"", scene->csrf, sizeof(scene->csrf));
    assert_non_null(strstr(reply, "; HttpOnly; SameSite=Strict; Path=/\r\n"));
}

static const char *try_to_log_in(const struct scene *scene, const char *user,
                                 const char *password)
{
    char body[256];

    snprintf(body, sizeof(body), "{\"user\":\"%s\",\"password\":\"%s\"}", user, password);
    return call_as(scene, "", "", "POST /v1/session", JSON, body);
}

static void log_in(struct scene *scene, const char *user, const char *password)
{
    take_session(scene, try_to_log_in(scene, user, password));
}

/* ---- the page */

static void it_is_off_until_it_is_wanted(void **state)
{
    struct scene *scene = *state;

    server_process_option(scene->server, "dashboard", "no");
    start(scene);
    http_expect_status(call(scene, "GET /", ""), "404");
    http_expect_status(call(scene, "GET /ui/", ""), "404");
    http_expect_text(call(scene, "GET /v1/session", ""), "403", "http-api");
    expect(scene->client, "OK", "CONFIG SET dashboard yes");
    http_expect_status(call(scene, "GET /ui/", ""), "200");
    take_session(scene, call(scene, "GET /v1/session", ""));
    http_expect_text(call(scene, "GET /v1/topics", ""), "200", "{\"topics\":[]}");
    expect(scene->client, "OK", "CONFIG SET dashboard no");
    http_expect_status(call(scene, "GET /ui/", ""), "404");
    http_expect_text(call(scene, "GET /v1/topics", ""), "403", "the API is off");
    expect(scene->client, "OK", "CONFIG SET dashboard yes");
    http_expect_text(call(scene, "GET /v1/topics", ""), "401", "NOAUTH");
}

static bool is_kept_alone(const struct scene *scene, const char *fields)
{
    const char *reply = call_as(scene, "", "", "GET /ui/", fields, "");

    http_expect_status(reply, "200");
    return strstr(reply, "Cross-Origin-Opener-Policy: same-origin\r\n") != NULL;
}

static void others_that_open_it_do_not_hold_its_window(void **state)
{
    struct scene *scene = *state;

    start(scene);
    assert_true(is_kept_alone(scene, ""));
    assert_true(is_kept_alone(scene, "Sec-Fetch-Site: cross-site\r\n"));
    assert_true(is_kept_alone(scene, "Sec-Fetch-Site: same-site\r\n"));
    assert_false(is_kept_alone(scene, "Sec-Fetch-Site: same-origin\r\n"));
    assert_false(is_kept_alone(scene, "Sec-Fetch-Site: none\r\n"));
}

static void its_files_are_guarded(void **state)
{
    static const char *const fields[] = {
        "Content-Type: text/html; charset=utf-8\r\n", "Content-Encoding: gzip\r\n",
        "Cache-Control: no-cache\r\n", "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n", "Vary: Sec-Fetch-Site\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n",
        /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): it is one field */
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'\r\n"};
    struct scene *scene = *state;
    char tag[64], again[128];
    const char *reply;

    start(scene);
    reply = call(scene, "GET /", "");
    http_expect_status(reply, "303");
    assert_non_null(strstr(reply, "Location: /ui/\r\n"));
    reply = call(scene, "GET /ui/", "");
    http_expect_status(reply, "200");
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (strstr(reply, fields[i]) == NULL)
            fail_msg("there is no %s: %.2000s", fields[i], reply);
    assert_memory_equal(http_body(reply), "\x1f\x8b", 2);
    http_copy_after(reply, "ETag: ", "\r", tag, sizeof(tag));
    snprintf(again, sizeof(again), "If-None-Match: W/\"x\", %s\r\n", tag);
    reply = call_as(scene, "", "", "GET /ui/", again, "");
    http_expect_status(reply, "304");
    assert_string_equal(http_body(reply), "");
    reply = call(scene, "HEAD /ui/", "");
    http_expect_status(reply, "200");
    assert_string_equal(http_body(reply), "");
    http_expect_status(call_as(scene, "", "", "GET /ui/", "Accept-Encoding: br\r\n", ""),
                       "406");
    http_expect_status(call_as(scene, "", "", "GET /ui/", "Accept-Encoding: br, gzip\r\n", ""),
                       "200");
    http_expect_status(call(scene, "GET /ui/../VERSION", ""), "404");
    http_expect_status(call(scene, "GET /ui/%2e%2e/%2e%2e/etc/passwd", ""), "404");
    http_expect_status(call(scene, "POST /ui/", ""), "405");
    http_expect_status(http_request(scene->port, "GET", "/ui/", "Connection: close\r\n"),
                       "403");
}

/* ---- logins */

static void a_session_has_the_rights_of_its_user(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    start(scene);
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    expect(scene->client, "OK", "ACL SETUSER reader on >secret +@queue %%R~mail");
    expect(scene->client, "OK", "ACL SETUSER worker on >secret +@queue -q.drop ~mail");
    reply = call(scene, "GET /v1/session", "");
    http_expect_text(reply, "401", "NOAUTH");
    reply = try_to_log_in(scene, "reader", "wrong");
    http_expect_text(reply, "401", "WRONGPASS");
    assert_null(strstr(reply, "Set-Cookie"));
    http_expect_text(call(scene, "POST /v1/session", "{\"user\":\"x\"}"), "400", "a login is");
    http_expect_text(call(scene, "POST /v1/session", "[]"), "400", "a login is");
    http_expect_text(call(scene, "POST /v1/session", ""), "400", "a login is");
    http_expect_text(call_as(scene, "", "", "POST /v1/session", "", "{}"), "415", "error");
    reply = try_to_log_in(scene, "reader", "secret");
    http_expect_text(reply, "200", "\"user\":\"reader\"");
    http_expect_text(reply, "200", "\"passwordless\":false");
    http_expect_text(reply, "200", "\"q.push\"");
    http_expect_text(reply, "200", "\"client|list\"");
    http_expect_text(reply, "200", "\"write\":false");
    assert_null(strstr(reply, "\"q.stats\""));
    take_session(scene, reply);
    http_expect_text(call(scene, "GET /v1/topics/mail", ""), "200", "\"ready\":0");
    http_expect_text(call(scene, "GET /v1/topics/other", ""), "403", "NOPERM");
    http_expect_text(call(scene, "POST /v1/topics/mail/jobs", "{\"body\":\"x\"}"), "403",
                     "NOPERM");
    log_in(scene, "worker", "secret");
    reply = call(scene, "GET /v1/session", "");
    http_expect_text(reply, "200", "\"q.drop\"");
    http_expect_text(reply, "200", "\"write\":true");
    assert_null(strstr(reply, "Set-Cookie"));
    http_expect_text(call(scene, "POST /v1/topics/mail/jobs", "{\"body\":\"x\"}"), "200",
                     "created");
    http_expect_text(call(scene, "DELETE /v1/session", ""), "200", "{\"ended\":true}");
    http_expect_text(call(scene, "GET /v1/topics/mail", ""), "401", "NOAUTH");
    expect(scene->client, "*acl_access_denied_auth:1*", "INFO stats");
}

static void a_change_needs_the_second_secret(void **state)
{
    struct scene *scene = *state;
    struct scene other = *scene;

    start(scene);
    take_session(scene, call(scene, "GET /v1/session", ""));
    other.port = scene->port;
    take_session(&other, call(&other, "GET /v1/session", ""));
    http_expect_text(
        call_as(scene, scene->cookie, "", "POST /v1/topics/a/jobs", JSON, "{\"body\":\"x\"}"),
        "403", "NOCSRF");
    http_expect_text(call_as(scene, scene->cookie, other.csrf, "POST /v1/topics/a/jobs", JSON,
                             "{\"body\":\"x\"}"),
                     "403", "NOCSRF");
    http_expect_text(call_as(scene, scene->cookie, "x", "DELETE /v1/session", "", ""), "403",
                     "NOCSRF");
    http_expect_text(call_as(scene, scene->cookie, scene->csrf, "POST /v1/topics/a/jobs",
                             JSON "Origin: http://evil\r\n", "{\"body\":\"x\"}"),
                     "403", "origin");
    expect(scene->client, "0", "Q.LEN a");
    http_expect_text(call(scene, "POST /v1/topics/a/jobs", "{\"body\":\"x\"}"), "200",
                     "created");
    http_expect_text(call_as(&other, "", "", "POST /v1/session", JSON "Origin: http://evil\r\n",
                             "{\"user\":\"default\",\"password\":\"\"}"),
                     "403", "origin");
}

/* The cookie is always the server's own, and a new one for each login. */
static void nobody_chooses_a_cookie(void **state)
{
    struct scene *scene = *state;
    char fixed[128], name[64], first[128];

    start(scene);
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    snprintf(name, sizeof(name), "dueq-session-%d=", scene->port);
    snprintf(fixed, sizeof(fixed), "%s%064d", name, 7);
    take_session(scene, call_as(scene, fixed, "", "POST /v1/session", JSON,
                                "{\"user\":\"default\",\"password\":\"pass\"}"));
    assert_memory_equal(scene->cookie, name, strlen(name));
    assert_string_not_equal(scene->cookie, fixed);
    http_expect_text(call_as(scene, fixed, "", "GET /v1/topics", "", ""), "401", "NOAUTH");
    strcpy(first, scene->cookie);
    take_session(scene, call_as(scene, first, "", "POST /v1/session", JSON,
                                "{\"user\":\"\",\"password\":\"pass\"}"));
    assert_string_not_equal(scene->cookie, first);
    http_expect_text(call_as(scene, first, "", "GET /v1/topics", "", ""), "401", "NOAUTH");
    http_expect_text(call(scene, "GET /v1/topics", ""), "200", "topics");
    /* a page is not asked by the browser */
    assert_null(strstr(call_as(scene, first, "", "GET /v1/topics", "", ""), "WWW-Auth"));
}

static void a_session_ends_with_its_user(void **state)
{
    static const char *const changes[] = {"ACL SETUSER u >other",  "ACL SETUSER u off",
                                          "ACL SETUSER u nopass",  "ACL DELUSER u",
                                          "ACL SETUSER u <secret", "CONFIG SET dashboard no"};
    struct scene *scene = *state;

    start(scene);
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        expect(scene->client, "OK", "ACL SETUSER u reset on >secret +@all ~*");
        log_in(scene, "u", "secret");
        expect(scene->client, "OK", "ACL SETUSER u -q.topics");
        http_expect_text(call(scene, "GET /v1/topics", ""), "403", "NOPERM");
        expect(scene->client, "OK", "ACL SETUSER u +@all");
        http_expect_text(call(scene, "GET /v1/topics", ""), "200", "topics");
        freeReplyObject(ask(scene->client, changes[i]));
        expect(scene->client, "OK", "CONFIG SET dashboard yes");
        http_expect_text(call(scene, "GET /v1/topics", ""), "401", "NOAUTH");
        /* nor does another user of that name have it */
        expect(scene->client, "OK", "ACL SETUSER u reset on >secret +@all ~*");
        http_expect_text(call(scene, "GET /v1/topics", ""), "401", "NOAUTH");
    }
    log_in(scene, "default", "pass");
    expect(scene->client, "OK", "CONFIG SET requirepass other");
    http_expect_text(call(scene, "GET /v1/topics", ""), "401", "NOAUTH");
}

/* On one connection each request is of the login that it names. */
static void a_connection_may_serve_several(void **state)
{
    struct scene *scene = *state;
    char text[2048], second[128];
    const char *reply;

    start(scene);
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    expect(scene->client, "OK", "ACL SETUSER u on >secret +q.stats ~a");
    log_in(scene, "u", "secret");
    strcpy(second, scene->cookie);
    log_in(scene, "default", "pass");
#define GET_A "GET /v1/topics/a HTTP/1.1\r\nHost: localhost\r\n"
#define GET_B "GET /v1/topics/b HTTP/1.1\r\nHost: localhost\r\n"
    snprintf(text, sizeof(text),
             GET_B "Cookie: a=b; %s\r\n\r\n" GET_B "Cookie: %s\r\n\r\n" GET_A
                   "Cookie: %s\r\n\r\n" GET_A "\r\n" GET_B "Cookie: %s\r\n\r\n",
             scene->cookie, second, second, scene->cookie);
    reply = http_send(scene->port, text, strlen(text));
    http_expect_status(reply, "200");
    reply = strstr(reply + 1, "HTTP/1.1 ");
    http_expect_status(reply, "403");
    reply = strstr(reply + 1, "HTTP/1.1 ");
    http_expect_status(reply, "200");
    reply = strstr(reply + 1, "HTTP/1.1 ");
    http_expect_status(reply, "403"); /* the API is off */
    reply = strstr(reply + 1, "HTTP/1.1 ");
    http_expect_status(reply, "200");
}

static void a_reader_changes_nothing(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    server_process_option(scene->server, "http-api", "read");
    start(scene);
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    reply = try_to_log_in(scene, "default", "pass");
    http_expect_text(reply, "200", "\"write\":false");
    take_session(scene, reply);
    http_expect_text(call(scene, "GET /v1/topics", ""), "200", "topics");
    http_expect_text(call(scene, "POST /v1/topics/a/jobs", "{\"body\":\"x\"}"), "403",
                     "read-only");
    http_expect_text(call(scene, "DELETE /v1/session", ""), "200", "ended");
}

/* ---- attacks */

/* Whoever guesses waits, and nobody else does; the sessions stay few. */
static void many_logins_take_no_memory(void **state)
{
    struct scene *scene = *state;
    struct scene other = *scene;

    start(scene);
    take_session(scene, call(scene, "GET /v1/session", ""));
    for (int i = 0; i < LOGINS; i++)
        take_session(&other, call_as(&other, "", "", "GET /v1/session", "", ""));
    /* it was pushed out */
    http_expect_text(call(scene, "GET /v1/topics", ""), "401", "NOAUTH");
    http_expect_text(call(&other, "GET /v1/topics", ""), "200", "topics");
}

static void many_guesses_hold_nobody_up(void **state)
{
    struct scene *scene = *state;
    int sockets[STRANGERS];
    const char text[] = "POST /v1/session HTTP/1.1\r\nHost: localhost\r\n" JSON
                        "Content-Length: 35\r\n\r\n{\"user\":\"default\",\"password\":\"no\"}"
                        " ";

    start(scene);
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    for (int i = 0; i < STRANGERS; i++) {
        sockets[i] = http_reach(scene->port);
        send(sockets[i], text, strlen(text), MSG_NOSIGNAL);
    }
    expect(scene->client, "PONG", "PING");
    for (int i = 0; i < STRANGERS; i++)
        close(sockets[i]);
    for (;;) {
        const char *reply = try_to_log_in(scene, "default", "pass");

        if (strncmp(reply, "HTTP/1.1 200", 12) == 0) {
            take_session(scene, reply);
            break;
        }
        sleep_ms(20);
    }
    http_expect_text(call(scene, "GET /v1/topics", ""), "200", "topics");
}

static void it_survives_no_restart(void **state)
{
    struct scene *scene = *state;

    start(scene);
    take_session(scene, call(scene, "GET /v1/session", ""));
    client_cleanup();
    server_process_stop(scene->server);
    start(scene);
    http_expect_text(call(scene, "GET /v1/topics", ""), "401", "NOAUTH");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(it_is_off_until_it_is_wanted),
                                       TEST(its_files_are_guarded),
                                       TEST(others_that_open_it_do_not_hold_its_window),
                                       TEST(a_session_has_the_rights_of_its_user),
                                       TEST(a_change_needs_the_second_secret),
                                       TEST(nobody_chooses_a_cookie),
                                       TEST(a_session_ends_with_its_user),
                                       TEST(a_connection_may_serve_several),
                                       TEST(a_reader_changes_nothing),
                                       TEST(many_logins_take_no_memory),
                                       TEST(many_guesses_hold_nobody_up),
                                       TEST(it_survives_no_restart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
