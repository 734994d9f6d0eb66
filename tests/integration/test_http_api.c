/* The HTTP/JSON API: what its routes do, who may, what strangers send, and what a stop, a crash
 * and a peer that leaves do to requests under way. */
#include "tests/support/client/client.h"
#include "tests/support/client/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum {
    PIPELINED = 10000,
    AT_ONCE = 100,
    LEAVERS = 30,
    KILLED_AT = 200,
    WAITERS = 20,
    LARGE = 2 << 20,
    BEHIND = 60000,      /* bytes behind a request that waits */
    NARROW = 200 * 1000, /* bytes of a body: a string in JSON, and more than a small window */
    LONG_TEXT = 256 * 1024,
    PATIENCE = 60 /* times 10 ms in which a server may stop too early */
};

struct scene {
    struct server_process *server;
    redisContext *client;
    int port;
    char *text; /* room for a large request */
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));

    if (scene == NULL)
        return -1;
    *state = scene;
    scene->server = server_process_new();
    scene->port = server_process_port(scene->server, "http-port");
    server_process_option(scene->server, "http-api", "yes");
    return 0;
}

static void start(struct scene *scene)
{
    server_process_run(scene->server);
    scene->client = client_open(scene->server);
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    client_cleanup();
    server_process_cleanup();
    free(scene->text);
    free(scene);
    return 0;
}

/* ---- asking */

static char request_text[16384];

static const char *form(const char *method, const char *path, const char *fields,
                        const char *body)
{
    int size =
        snprintf(request_text, sizeof(request_text),
                 "%s /v1%s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s",
                 method, path, fields, strlen(body), body);

    assert_true(size < (int)sizeof(request_text));
    return request_text;
}

static void send_whole(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t put = send(fd, bytes, size, MSG_NOSIGNAL);

        assert_true(put > 0);
        bytes += put;
        size -= (size_t)put;
    }
}

static const char *call_with(struct scene *scene, const char *method, const char *path,
                             const char *fields, const char *body)
{
    const char *text = form(method, path, fields, body);

    return http_send(scene->port, text, strlen(text));
}

static const char *call(struct scene *scene, const char *method, const char *path,
                        const char *body)
{
    return call_with(scene, method, path, "Content-Type: application/json\r\n", body);
}

/* The reply must have the status and the text in it. */
static void expect_json(const char *reply, const char *status, const char *text)
{
    http_expect_status(reply, status);
    if (strstr(http_body(reply), text) == NULL)
        fail_msg("%s was expected: %.600s", text, reply);
}

static const char *read_text(int fd)
{
    static char reply[65536];
    size_t size = 0;
    ssize_t got;

    while ((got = read(fd, reply + size, sizeof(reply) - 1 - size)) > 0)
        size += (size_t)got;
    reply[size] = '\0';
    return reply;
}

static char long_text[LONG_TEXT];

static const char *read_text_of(int fd, size_t most)
{
    size_t size = 0;
    ssize_t got;

    assert_true(most < LONG_TEXT);
    while (size < most && (got = read(fd, long_text + size, most - size)) > 0)
        size += (size_t)got;
    long_text[size] = '\0';
    return long_text;
}

/* A claim that waits. */
static int wait_for_job(struct scene *scene, const char *topic)
{
    char path[64];
    int fd = http_reach(scene->port);
    const char *text;

    snprintf(path, sizeof(path), "/topics/%s/claim", topic);
    text = form("POST", path, "Content-Type: application/json\r\nConnection: close\r\n",
                "{\"wait\":\"5m\"}");
    send_whole(fd, text, strlen(text));
    return fd;
}

static void await_waiting(struct scene *scene, int count)
{
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "blocked_clients:%d\r\n", count);
    for (;;) {
        redisReply *reply = redisCommand(scene->client, "INFO clients");
        bool found;

        assert_non_null(reply);
        found = strstr(reply->str, wanted) != NULL;
        freeReplyObject(reply);
        if (found)
            return;
        sleep_ms(1);
    }
}

/* ---- jobs */

static void jobs_live_and_die(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect_json(
        call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"h\\u00e4\",\"id\":\"a\"}"), "200",
        "{\"id\":\"a\",\"status\":\"created\"}");
    expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\",\"id\":\"a\"}"),
                "409", "{\"error\":\"DUPLICATE ");
    expect_json(call(scene, "POST", "/topics/mail/claim", "{\"count\":9}"), "200",
                "{\"jobs\":[{\"id\":\"a\",\"token\":1,\"body\":\"h\xc3\xa4\",\"attempt\":1}]}");
    expect_json(call(scene, "POST", "/topics/mail/claim", ""), "200", "{\"jobs\":[]}");
    expect_json(call(scene, "POST", "/topics/mail/jobs/a/ack", "{\"token\":9}"), "412",
                "{\"error\":\"STALE ");
    expect_json(
        call(scene, "POST", "/topics/mail/jobs/a/extend", "{\"token\":1,\"lease\":\"1h\"}"),
        "200", "{\"lease-end\":");
    expect_json(call(scene, "GET", "/topics/mail/jobs/a", ""), "200", "\"state\":\"claimed\"");
    expect_json(call(scene, "POST", "/topics/mail/jobs/a/nack",
                     "{\"token\":1,\"outcome\":\"FATAL\",\"error\":\"no\"}"),
                "200", "{\"state\":\"dead\"}");
    expect_json(call(scene, "GET", "/topics/mail/dead", ""), "200", "\"error\":\"no\"");
    expect_json(call(scene, "POST", "/topics/mail/dead/redrive", ""), "200",
                "{\"redriven\":1,\"left\":0}");
    expect_json(call(scene, "POST", "/topics/mail/claim", ""), "200", "\"token\":2");
    expect_json(
        call(scene, "POST", "/topics/mail/jobs/a/ack", "{\"token\":2,\"result\":\"r\"}"), "200",
        "{\"acked\":1}");
    expect_json(call(scene, "GET", "/topics/mail/wait?id=a", ""), "200",
                "{\"jobs\":[{\"id\":\"a\",\"state\":\"done\",\"text\":\"r\"}]}");
    expect_json(call(scene, "DELETE", "/topics/mail/jobs/a", ""), "200", "{\"deleted\":1}");
    expect_json(call(scene, "DELETE", "/topics/mail/jobs/a", ""), "404", "{\"error\":\"NOJOB ");
    expect_json(call(scene, "GET", "/topics/mail/jobs/a", ""), "404", "{\"error\":\"NOJOB ");
}

static void many_jobs_and_their_changes(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect_json(call(scene, "POST", "/topics/mail/push-many",
                     "{\"jobs\":[{\"id\":\"a\",\"body\":\"1\"},{\"id\":\"b\",\"body\":\"2\","
                     "\"delay\":\"1h\"}],\"retries\":3}"),
                "200", "{\"ids\":[\"a\",\"b\"]}");
    expect_json(call(scene, "GET", "/topics/mail/jobs?state=delayed&withbody=1", ""), "200",
                "\"jobs\":[{\"id\":\"b\",");
    expect_json(call(scene, "POST", "/topics/mail/jobs/b/run", ""), "200", "{\"run\":1}");
    expect_json(call(scene, "POST", "/topics/mail/jobs/b/reschedule", "{\"at\":4102444800000}"),
                "200", "{\"due\":4102444800000}");
    expect_json(call(scene, "PATCH", "/topics/mail/jobs/b", "{\"body\":\"3\"}"), "200",
                "{\"updated\":1}");
    expect_json(call(scene, "POST", "/topics/mail/jobs/b/move", "{\"to\":\"other\"}"), "200",
                "{\"moved\":1}");
    expect_json(call(scene, "POST", "/topics/other/jobs/b/cancel", ""), "200",
                "{\"state\":\"cancelled\"}");
    expect_json(call(scene, "PATCH", "/topics/mail/settings", "{\"lease\":\"5m\"}"), "200",
                "OK");
    expect_json(call(scene, "GET", "/topics/mail/settings?name=lease", ""), "200",
                "{\"lease\":{\"value\":\"300000\",\"from\":\"topic\"}}");
    expect_json(call(scene, "POST", "/topics/mail/pause", "{\"what\":\"out\"}"), "200", "OK");
    expect_json(call(scene, "POST", "/claim", "{\"topics\":[\"mail\"]}"), "200",
                "{\"jobs\":[]}");
    expect_json(call(scene, "POST", "/topics/mail/resume", ""), "200", "OK");
    expect_json(call(scene, "POST", "/claim", "{\"topics\":[\"mail\"]}"), "200",
                "{\"jobs\":[{\"topic\":\"mail\",\"id\":\"a\",");
    expect_json(
        call(scene, "POST", "/topics/mail/ack", "{\"jobs\":[{\"id\":\"a\",\"token\":1}]}"),
        "200", "{\"acked\":1}");
    expect_json(call(scene, "POST", "/topics/mail/purge", ""), "200", "{\"purged\":0}");
    expect_json(call(scene, "GET", "/topics/mail", ""), "200", "\"total-pushed\":2");
    expect_json(call(scene, "GET", "/topics", ""), "200", "\"mail\"");
}

static void jobs_follow_and_are_counted(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect_json(call(scene, "PATCH", "/topics/mail/settings", "{\"events\":2}"), "200", "OK");
    expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\",\"id\":\"a\"}"),
                "200", "created");
    expect_json(call(scene, "POST", "/topics/mail/claim", "{\"worker\":\"host7\"}"), "200",
                "\"token\":1");
    expect_json(call(scene, "GET", "/workers", ""), "200", "\"name\":\"host7\"");
    expect_json(call(scene, "GET", "/topics/mail/count?state=claimed", ""), "200",
                "{\"count\":1}");
    expect_json(call(scene, "POST", "/workers/host7/release", "{\"topic\":\"mail\"}"), "200",
                "{\"released\":1}");
    expect_json(call(scene, "POST", "/topics/mail/claim", ""), "200", "\"token\":2");
    expect_json(call(scene, "POST", "/topics/mail/jobs/a/ack-push",
                     "{\"token\":1,\"jobs\":[{\"topic\":\"sent\",\"body\":\"y\"}]}"),
                "412", "STALE");
    expect_json(call(scene, "POST", "/topics/mail/jobs/a/ack-push",
                     "{\"token\":2,\"jobs\":[{\"topic\":\"sent\",\"body\":\"y\",\"id\":\"b\"},"
                     "{\"topic\":\"sent\",\"body\":\"z\",\"id\":\"c\",\"delay\":\"1h\"}]}"),
                "200", "{\"ids\":[\"b\",\"c\"]}");
    expect_json(call(scene, "GET", "/topics/mail/count", ""), "200", "{\"count\":0}");
    expect_json(call(scene, "POST", "/topics/sent/pop", "{\"count\":9}"), "200",
                "{\"jobs\":[{\"id\":\"b\",\"body\":\"y\"}]}");
    expect_json(call(scene, "POST", "/topics/sent/pop", ""), "200", "{\"jobs\":[]}");
    expect_json(call(scene, "GET", "/topics/mail/events", ""), "200",
                "{\"events\":[{\"number\":3,\"event\":\"dropped\",\"count\":3},{\"number\":4,"
                "\"event\":\"claimed\",\"time\":");
    expect_json(call(scene, "GET", "/topics/mail/events?from=5", ""), "200", "{\"events\":[]}");
    expect_json(call(scene, "GET", "/topics/sent/events", ""), "400", "keeps no events");
}

static void jobs_wait_for_others(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\",\"id\":\"a\"}"),
                "200", "created");
    expect_json(
        call(scene, "POST", "/topics/sent/jobs",
             "{\"body\":\"y\",\"id\":\"b\",\"after\":[\"mail:a\"],\"on-dead\":\"RUN\"}"),
        "200", "{\"id\":\"b\",\"status\":\"created\"}");
    expect_json(call(scene, "POST", "/topics/sent/push-many",
                     "{\"jobs\":[{\"body\":\"1\"},{\"body\":\"2\"}],\"after\":[\"b\"]}"),
                "200", "{\"ids\":[");
    expect_json(call(scene, "GET", "/topics/sent/count?state=waiting", ""), "200",
                "{\"count\":3}");
    expect_json(call(scene, "GET", "/topics/sent/jobs/b", ""), "200",
                "\"awaits\":1,\"on-dead\":\"run\",\"after\":[[\"mail\",\"a\",\"ready\"]]");
    expect_json(call(scene, "POST", "/topics/mail/claim", ""), "200", "\"token\":1");
    expect_json(call(scene, "POST", "/topics/mail/jobs/a/ack-push",
                     "{\"token\":1,\"jobs\":[{\"topic\":\"sent\",\"body\":\"z\",\"id\":\"c\","
                     "\"after\":[\"b\",\"mail:a\"]},{\"topic\":\"mail\",\"body\":\"w\","
                     "\"after\":[\"sent:c\"]}]}"),
                "200", "{\"ids\":[\"c\",");
    expect_json(call(scene, "GET", "/topics/sent/jobs/c", ""), "200", "\"awaits\":1,");
    expect_json(call(scene, "GET", "/topics/sent/count?state=ready", ""), "200",
                "{\"count\":1}");
    expect_json(call(scene, "POST", "/topics/sent/jobs",
                     "{\"body\":\"y\",\"id\":\"me\",\"after\":[\"me\"]}"),
                "400", "ERR a job cannot wait for itself");
}

static void recurring_jobs_are_kept(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect_json(call(scene, "PUT", "/cron/a%2Fb",
                     "{\"topic\":\"mail\",\"body\":\"x\",\"every\":\"1h\",\"priority\":9}"),
                "200", "{\"next\":");
    expect_json(call(scene, "PUT", "/cron/bad", "{\"topic\":\"mail\",\"body\":\"x\"}"), "400",
                "ERR");
    expect_json(call(scene, "GET", "/cron", ""), "200", "{\"entries\":[{\"name\":\"a/b\",");
    expect_json(call(scene, "GET", "/cron/a%2Fb", ""), "200", "\"every\":3600000");
    expect_json(call(scene, "GET", "/cron/a%2Fb/next?count=2", ""), "200", "{\"times\":[");
    expect_json(call(scene, "POST", "/cron/a%2Fb/pause", ""), "200", "{\"paused\":1}");
    expect_json(call(scene, "POST", "/cron/a%2Fb/run", ""), "200", "{\"id\":\"");
    expect_json(call(scene, "GET", "/topics/mail/count", ""), "200", "{\"count\":1}");
    expect_json(call(scene, "POST", "/cron/a%2Fb/resume", ""), "200", "{\"resumed\":1}");
    expect_json(call(scene, "DELETE", "/cron/a%2Fb", ""), "200", "{\"deleted\":1}");
    expect_json(call(scene, "DELETE", "/cron/a%2Fb", ""), "404", "{\"error\":\"NOENTRY ");
    expect_json(call(scene, "GET", "/cron/a%2Fb", ""), "404", "{\"error\":\"NOENTRY ");
    expect_json(call(scene, "GET", "/cron/a%2Fb/next", ""), "404", "{\"error\":\"NOENTRY ");
    expect_json(call(scene, "POST", "/cron/a%2Fb/pause", ""), "404", "{\"error\":\"NOENTRY ");
    expect_json(call(scene, "POST", "/cron/a%2Fb/run", ""), "404", "{\"error\":\"NOENTRY ");
}

/* The reader gets the event as it happens. */
static void a_reader_of_events_waits(void **state)
{
    struct scene *scene = *state;
    const char *text;
    int fd;

    start(scene);
    expect(scene->client, "OK", "Q.CONFIG SET mail events 10");
    fd = http_reach(scene->port);
    text = form("GET", "/topics/mail/events?from=$&wait=5m", "Connection: close\r\n", "");
    send_whole(fd, text, strlen(text));
    await_waiting(scene, 1);
    expect(scene->client, "\"a\"", "Q.PUSH mail hello ID a");
    expect_json(read_text(fd), "200", "{\"events\":[{\"number\":1,\"event\":\"pushed\",");
    close(fd);
}

/* A raw body passes through in parts, and comes back as base64, in parts, too. */
static void any_bytes_are_a_body(void **state)
{
    struct scene *scene = *state;
    int size;

    start(scene);
    scene->text = malloc(LARGE + 512);
    assert_non_null(scene->text);
    size = snprintf(scene->text, 512,
                    "POST /v1/topics/mail/jobs?id=a&priority=7 HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n",
                    (int)LARGE);
    memset(scene->text + size, 0xff, LARGE);
    expect_json(http_send(scene->port, scene->text, (size_t)size + LARGE), "200", "created");
    expect_json(call(scene, "GET", "/topics/mail", ""), "200", "\"bytes\":2097152");
    expect_json(call(scene, "GET", "/topics/mail/peek", ""), "200", "\"priority\":7");
    /* 4/3 of it, behind chunks' sizes */
    assert_true(strlen(call(scene, "GET", "/topics/mail/jobs/a", "")) > LARGE / 3 * 4);
    expect_json(call(scene, "POST", "/topics/mail/jobs",
                     "{\"body\":{\"base64\":\"/wA=\"},\"id\":\"b\",\"priority\":0}"),
                "200", "created");
    expect(scene->client, "[[\"b\" \"\\xff\\x00\"]]", "Q.POP mail");
}

/* ---- rights */

static void logins_are_those_of_the_server(void **state)
{
    static const char *const wrong = "Authorization: Basic ZGVmYXVsdDpubw==\r\n"; /* :no */
    struct scene *scene = *state;
    const char *reply;

    start(scene);
    expect(scene->client, "OK",
           "ACL SETUSER worker on >secret +@queue -q.drop %%RW~mail %%R~seen");
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    reply = call(scene, "GET", "/topics/mail", "");
    expect_json(reply, "401", "{\"error\":\"NOAUTH ");
    assert_non_null(strstr(reply, "WWW-Authenticate: Basic realm="));
    expect_json(call_with(scene, "GET", "/topics/mail", wrong, ""), "401", "WRONGPASS");
    expect_json(call_with(scene, "GET", "/topics/mail", "Authorization: Bearer x\r\n", ""),
                "401", "NOAUTH");
    expect_json(call_with(scene, "GET", "/topics/mail", "Authorization: Basic !\r\n", ""),
                "401", "NOAUTH");
    expect_json(call_with(scene, "GET", "/topics/mail",
                          "Authorization: Basic ZGVmYXVsdDpwYXNz\r\n", ""),
                "200", "\"ready\":0");
    expect_json(
        call_with(scene, "GET", "/topics/mail", "Authorization: Basic OnBhc3M=\r\n", ""), "200",
        "\"ready\":0");
#define WORKER "Authorization: Basic d29ya2VyOnNlY3JldA==\r\nContent-Type: application/json\r\n"
    expect_json(call_with(scene, "POST", "/topics/mail/jobs", WORKER, "{\"body\":\"x\"}"),
                "200", "created");
    expect_json(call_with(scene, "POST", "/topics/seen/jobs", WORKER, "{\"body\":\"x\"}"),
                "403", "{\"error\":\"NOPERM ");
    expect_json(call_with(scene, "GET", "/topics/seen", WORKER, ""), "200", "\"ready\":0");
    expect_json(call_with(scene, "GET", "/topics/other", WORKER, ""), "403", "NOPERM");
    expect_json(call_with(scene, "DELETE", "/topics/mail", WORKER, ""), "403", "NOPERM");
    expect_json(call_with(scene, "PUT", "/cron/x", WORKER,
                          "{\"topic\":\"seen\",\"body\":\"x\",\"every\":\"1h\"}"),
                "403", "NOPERM");
    expect_json(call_with(scene, "PUT", "/cron/x", WORKER,
                          "{\"topic\":\"mail\",\"body\":\"x\",\"every\":\"1h\"}"),
                "200", "next");
    expect_json(call_with(scene, "POST", "/workers/w/release", WORKER, ""), "403", "NOPERM");
    expect(scene->client, "*acl_access_denied_auth:1*", "INFO stats");
}

/* Two logins on one connection are two sessions; the rights are those of each request. */
static void a_connection_may_change_its_login(void **state)
{
    static const char text[] =
        "GET /v1/topics/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic "
        "d29ya2VyOnNlY3JldA==\r\n\r\n"
        "GET /v1/topics/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
        "GET /v1/topics/a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic "
        "d29ya2VyOnNlY3JldA==\r\n\r\n";
    struct scene *scene = *state;
    const char *reply;

    start(scene);
    expect(scene->client, "OK", "ACL SETUSER worker on >secret +q.stats ~a");
    expect(scene->client, "OK", "CONFIG SET requirepass pass");
    reply = http_send(scene->port, text, sizeof(text) - 1);
    http_expect_status(reply, "200");
    reply = strstr(reply + 1, "HTTP/1.1 ");
    assert_non_null(reply);
    http_expect_status(reply, "401");
    reply = strstr(reply + 1, "HTTP/1.1 ");
    assert_non_null(reply);
    http_expect_status(reply, "200");
}

static void a_reader_changes_nothing(void **state)
{
    struct scene *scene = *state;

    server_process_option(scene->server, "http-api", "read");
    start(scene);
    expect_json(call(scene, "GET", "/topics", ""), "200", "{\"topics\":[]}");
    expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\"}"), "403",
                "read-only");
    expect_json(call(scene, "DELETE", "/topics/mail", ""), "403", "read-only");
    expect_json(call(scene, "PUT", "/cron/x", "{}"), "403", "read-only");
    expect(scene->client, "OK", "CONFIG SET http-api no");
    expect_json(call(scene, "GET", "/topics", ""), "403", "the API is off");
    expect(scene->client, "OK", "CONFIG SET http-api yes");
    expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\"}"), "200", "created");
}

static void pages_of_others_are_refused(void **state)
{
    struct scene *scene = *state;
    const char *reply;

    server_process_option(scene->server, "http-hosts", "queue.example");
    start(scene);
    reply =
        call_with(scene, "POST", "/topics/mail/purge", "Content-Type: text/plain\r\n", "{}");
    expect_json(reply, "415", "application/json");
    assert_null(strstr(reply, "Access-Control"));
    expect_json(call_with(scene, "POST", "/topics/mail/purge", "", ""), "415", "error");
    expect_json(call_with(scene, "GET", "/topics", "Origin: http://evil\r\n", ""), "403",
                "origin");
    expect_json(call_with(scene, "OPTIONS", "/topics/mail/jobs", "", ""), "405", "error");
    http_expect_status(http_request(scene->port, "GET", "/v1/topics", "Connection: close\r\n"),
                       "403");
#define OF_HOST(host) "GET /v1/topics HTTP/1.1\r\nHost: " host "\r\n\r\n"
    http_expect_status(http_send(scene->port, OF_HOST("queue.example:1"),
                                 sizeof(OF_HOST("queue.example:1")) - 1),
                       "200");
    http_expect_status(
        http_send(scene->port, OF_HOST("evil.example"), sizeof(OF_HOST("evil.example")) - 1),
        "403");
    http_expect_status(http_send(scene->port, "GET /v1/topics HTTP/1.1\r\n\r\n", 28), "400");
}

/* What the description names is there, and its methods are those that there are. */
static void the_description_is_true(void **state)
{
    static const char *const of_dashboard[] = {"session", "server",  "overview",
                                               "live",    "history", "topics/{topic}/history",
                                               "clients", "slowlog"};
    struct scene *scene = *state;
    char *text, *path, paths[64][128];
    size_t count = 0;

    start(scene);
    assert_null(strstr(http_body(call(scene, "GET", "/openapi.json", "")), "/v1/overview"));
    expect(scene->client, "OK", "CONFIG SET dashboard yes");
    text = strdup(http_body(call(scene, "GET", "/openapi.json", "")));
    assert_non_null(text);
    for (path = text; (path = strstr(path, "\"/v1/")) != NULL && count < 64; path++) {
        size_t size = 0;

        for (const char *at = path + 4; *at != '"' && size < 100; at++)
            if (*at == '{')
                at += strcspn(at, "}");
            else
                paths[count][size++] = *at;
        paths[count++][size] = '\0';
    }
    for (size_t i = 0; i < sizeof(of_dashboard) / sizeof(of_dashboard[0]); i++) {
        char wanted[64];

        snprintf(wanted, sizeof(wanted), "\"/v1/%s\":{", of_dashboard[i]);
        assert_non_null(strstr(text, wanted));
    }
    free(text);
    assert_in_range(count, 20, 63);
    for (size_t i = 0; i < count; i++) {
        char whole[256] = "", *slash, *rest = paths[i];

        /* a name for each part that is one */
        while ((slash = strstr(rest, "//")) != NULL || rest[strlen(rest) - 1] == '/') {
            size_t size = slash == NULL ? strlen(rest) : (size_t)(slash - rest) + 1;

            strncat(whole, rest, size);
            strcat(whole, "x");
            rest += size;
            if (*rest == '\0')
                break;
        }
        strcat(whole, rest);
        http_expect_status(call(scene, "OPTIONS", whole, ""), "405");
    }
}

static void topics_come_in_pages(void **state)
{
    struct scene *scene = *state;

    start(scene);
    for (int i = 0; i < 5; i++)
        free(ask_string(scene->client, "Q.PUSH t%d x", i));
    expect_json(call(scene, "GET", "/topics?count=2", ""), "200",
                "{\"topics\":[\"t0\",\"t1\"]}");
    expect_json(call(scene, "GET", "/topics?count=2&after=t1", ""), "200",
                "{\"topics\":[\"t2\",\"t3\"]}");
    expect_json(call(scene, "GET", "/topics?after=t3", ""), "200", "{\"topics\":[\"t4\"]}");
    expect_json(call(scene, "GET", "/topics?after=t4&count=9", ""), "200", "{\"topics\":[]}");
    expect_json(call(scene, "GET", "/topics?count=0", ""), "400", "ERR");
}

/* ---- waiting */

static void a_claim_waits_for_its_job(void **state)
{
    struct scene *scene = *state;
    int fds[WAITERS];

    start(scene);
    for (int i = 0; i < WAITERS; i++)
        fds[i] = wait_for_job(scene, "mail");
    await_waiting(scene, WAITERS);
    for (int i = 0; i < WAITERS; i++)
        expect(scene->client, "*", "Q.PUSH mail hello");
    for (int i = 0; i < WAITERS; i++) {
        expect_json(read_text(fds[i]), "200", "\"body\":\"hello\",\"attempt\":1}]}");
        close(fds[i]);
    }
    expect(scene->client, "20", "Q.LEN mail claimed");
}

/* Its end and the push come in one turn of the loop: the job is not given to nobody. */
static void a_peer_that_has_left_gets_no_job(void **state)
{
    struct scene *scene = *state;

    start(scene);
    for (int i = 0; i < LEAVERS; i++) {
        int fd = wait_for_job(scene, "mail");

        await_waiting(scene, 1);
        close(fd);
        expect(scene->client, "*", "Q.PUSH mail hello");
        expect(scene->client, "1", "Q.LEN mail ready");
        await_waiting(scene, 0);
        expect(scene->client, "1", "Q.PURGE mail");
    }
}

/* Whether a command ran whose session is gone, nobody knows: no reply says that it did not. */
static void a_session_that_is_killed_ends_its_connection(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    fd = wait_for_job(scene, "mail");
    await_waiting(scene, 1);
    expect(scene->client, "1", "CLIENT KILL TYPE normal");
    assert_string_equal(read_text(fd), "");
    close(fd);
    expect_json(call(scene, "GET", "/topics", ""), "200", "topics");
}

/* ---- strangers */

static void broken_requests_are_told_so(void **state)
{
    static const struct {
        const char *body, *status;
    } broken[] = {{"{", "400"},
                  {"[]", "400"},
                  {"{\"body\":\"\\ud800\"}", "400"},
                  {"{\"body\":\"\xff\"}", "400"},
                  {"{\"body\":\"a\",\"body\":\"b\"}", "400"},
                  {"{\"body\":7}", "400"},
                  {"{\"body\":\"a\",\"priority\":1e9}", "400"},
                  {"{\"body\":\"a\",\"priority\":1000}", "400"},
                  {"{\"body\":\"a\",\"delay\":\"soon\"}", "400"}};
    struct scene *scene = *state;
    char deep[8001];

    start(scene);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        expect_json(call(scene, "POST", "/topics/mail/jobs", broken[i].body), broken[i].status,
                    "{\"error\":\"ERR ");
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    expect_json(call(scene, "POST", "/topics/mail/jobs", deep), "400",
                "ERR the body is no JSON");
    expect_json(call_with(scene, "POST", "/topics/mail/jobs",
                          "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n",
                          ""),
                "400", "error");
    expect_json(call(scene, "GET", "/nothing", ""), "404", "error");
    expect_json(call(scene, "GET", "/topics/%zz", ""), "400", "error");
    expect_json(call(scene, "PUT", "/topics/mail/jobs", ""), "405", "error");
    expect(scene->client, "0", "Q.LEN mail");
}

/* The refusal comes before the body, which nobody keeps. */
static void a_huge_body_is_refused(void **state)
{
    static const char text[] =
        "POST /v1/topics/mail/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: 99999999\r\n\r\n{",
                      raw[] = "POST /v1/topics/mail/jobs HTTP/1.1\r\nHost: localhost\r\n"
                              "Content-Type: application/octet-stream\r\nContent-Length: "
                              "999999999999\r\n\r\nx";
    struct scene *scene = *state;

    start(scene);
    expect_json(http_send(scene->port, text, sizeof(text) - 1), "413", "TOOBIG");
    expect_json(http_send(scene->port, raw, sizeof(raw) - 1), "413", "TOOBIG");
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

/* On one connection, a hundred at once. */
static void a_connection_gets_all_replies(void **state)
{
    static const char one[] = "GET /v1/topics/mail/jobs/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      end[] = "{\"error\":\"NOJOB no such job in the topic\"}\n";
    struct scene *scene = *state;
    char requests[AT_ONCE * sizeof(one)] = "", reply[8192];
    int fd;

    start(scene);
    for (int i = 0; i < AT_ONCE; i++)
        memcpy(requests + (size_t)i * (sizeof(one) - 1), one, sizeof(one));
    fd = http_reach(scene->port);
    for (int round = 0; round < PIPELINED / AT_ONCE; round++) {
        size_t size = 0, got = 0;

        send_whole(fd, requests, strlen(requests));
        while (got < AT_ONCE) {
            ssize_t more = read(fd, reply + size, sizeof(reply) - 1 - size);
            const char *at = reply, *next;

            assert_true(more > 0);
            size += (size_t)more;
            reply[size] = '\0';
            for (; (next = strstr(at, end)) != NULL; at = next + sizeof(end) - 1)
                got++;
            size -= (size_t)(at - reply);
            memmove(reply, at, size);
        }
        assert_int_equal(size, 0);
    }
    expect(scene->client, "*connected_clients:2*", "INFO clients");
    close(fd);
}

static void a_client_may_expect_to_go_on(void **state)
{
    static const char head[] =
        "POST /v1/topics/mail/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nExpect: 100-continue\r\nConnection: close\r\n"
        "Content-Length: 12\r\n\r\n";
    struct scene *scene = *state;
    char reply[64] = "";
    int fd;

    start(scene);
    fd = http_reach(scene->port);
    send_whole(fd, head, sizeof(head) - 1);
    assert_int_equal(read(fd, reply, 25), 25);
    assert_string_equal(reply, "HTTP/1.1 100 Continue\r\n\r\n");
    send_whole(fd, "{\"body\":\"x\"}", 12);
    expect_json(read_text(fd), "200", "created");
    close(fd);
}

static void a_full_disk_is_507(void **state)
{
    struct scene *scene = *state;

    server_process_option(scene->server, "disk-reserve", "1tb");
    start(scene);
    expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\"}"), "507",
                "{\"error\":\"FULL ");
}

/* The number after the word in CLIENT LIST, of the largest client. */
static long long largest(struct scene *scene, const char *word)
{
    char *list = ask_string(scene->client, "CLIENT LIST");
    long long most = 0;

    for (const char *at = list; (at = strstr(at, word)) != NULL; at++) {
        long long number = strtoll(at + strlen(word), NULL, 10);

        most = number > most ? number : most;
    }
    free(list);
    return most;
}

static int wait_with_more_behind(struct scene *scene)
{
    int fd = wait_for_job(scene, "mail");
    char *more = malloc(BEHIND);

    assert_non_null(more);
    memset(more, 'x', BEHIND);
    send_whole(fd, more, BEHIND);
    free(more);
    return fd;
}

/* What its client has sent is held before it, and not in it. */
static void a_session_counts_what_is_in_front_of_it(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    fd = wait_with_more_behind(scene);
    while (largest(scene, " tot-mem=") < BEHIND)
        sleep_ms(1);
    close(fd);
    while (largest(scene, " tot-mem=") >= BEHIND)
        sleep_ms(1);
}

static void sessions_together_hold_no_more_than_clients_may(void **state)
{
    struct scene *scene = *state;
    int fds[WAITERS];

    server_process_option(scene->server, "maxmemory-clients", "1mb");
    start(scene);
    for (int i = 0; i < WAITERS; i++)
        fds[i] = wait_with_more_behind(scene);
    while (ask_info(scene->client, "stats", "evicted_clients") == 0)
        sleep_ms(1);
    for (int i = 0; i < WAITERS; i++)
        close(fds[i]);
    expect_json(call(scene, "GET", "/topics", ""), "200", "topics");
}

/* ---- ends */

static void what_was_replied_outlives_a_kill(void **state)
{
    struct scene *scene = *state;
    char count[16];

    start(scene);
    for (int i = 0; i < KILLED_AT; i++)
        expect_json(call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\"}"), "200",
                    "created");
    server_process_kill(scene->server);
    start(scene);
    snprintf(count, sizeof(count), "%d", (int)KILLED_AT);
    expect(scene->client, count, "Q.LEN mail");
}

static void a_stop_ends_waits_with_a_reply(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    fd = wait_for_job(scene, "mail");
    await_waiting(scene, 1);
    server_process_stop(scene->server);
    expect_json(read_text(fd), "200", "{\"jobs\":[]}");
    close(fd);
}

/* A connection to whose peer little of a reply gets at once. */
static int reach_narrow(const struct scene *scene)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)scene->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 4096;

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void await_bytes(int fd)
{
    int bytes = 0;

    while (bytes == 0) {
        assert_int_equal(ioctl(fd, FIONREAD, &bytes), 0);
        sleep_ms(1);
    }
}

/* The server has given all of a reply to its kernel, and the peer sends its next request: that
 * would reset a connection that is closed, and what is left of the reply would be lost. */
static void a_stop_takes_no_reply_back(void **state)
{
    static const char next[] = "GET /v1/topics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct scene *scene = *state;
    const char *text = form("GET", "/topics/mail/jobs/a", "", "");
    char *body = malloc(NARROW + 1);
    int fd;

    assert_non_null(body);
    memset(body, 'x', NARROW);
    body[NARROW] = '\0';
    start(scene);
    expect(scene->client, "\"a\"", "Q.PUSH mail %s ID a", body);
    fd = reach_narrow(scene);
    send_whole(fd, text, strlen(text));
    await_bytes(fd);
    expect_json(call(scene, "GET", "/topics", ""), "200", "mail");
    assert_int_equal(kill(scene->server->pid, SIGTERM), 0);
    for (int i = 0; i < PATIENCE && server_process_alive(scene->server); i++)
        sleep_ms(10);
    (void)!send(fd, next, sizeof(next) - 1, MSG_NOSIGNAL);
    if (strstr(read_text_of(fd, NARROW + 4096), body) == NULL)
        fail_msg("a part of the reply is lost");
    close(fd);
    free(body);
}

/* One reply is all written, the other one is yet to be made: the stop waits for neither. */
static void a_stop_does_not_wait_for_who_reads_nothing(void **state)
{
    struct scene *scene = *state;
    const char *one = form("GET", "/topics/mail/jobs/a", "", "");
    char *body = malloc(NARROW + 1);
    int settled, under_way;

    assert_non_null(body);
    memset(body, 'x', NARROW);
    body[NARROW] = '\0';
    server_process_option(scene->server, "shutdown-timeout", "3600");
    start(scene);
    expect(scene->client, "\"a\"", "Q.PUSH mail %s ID a", body);
    settled = reach_narrow(scene);
    send_whole(settled, one, strlen(one));
    under_way = reach_narrow(scene);
    for (int i = 0; i < 16; i++)
        send_whole(under_way, one, strlen(one));
    await_bytes(settled);
    await_bytes(under_way);
    client_cleanup();
    server_process_stop(scene->server);
    close(settled);
    close(under_way);
    free(body);
}

static size_t count_in_log(const struct server_process *server, const char *words)
{
    char *log = server_process_log(server);
    size_t count = count_of(log, words);

    free(log);
    return count;
}

/* On a slow machine the next program serves before its store is open. */
static const char *push_when_loaded(struct scene *scene)
{
    const char *reply;

    while (strstr(reply = call(scene, "POST", "/topics/mail/jobs", "{\"body\":\"x\"}"),
                  "LOADING ") != NULL)
        sleep_ms(1);
    return reply;
}

/* Nobody is refused a connection, and who waits gets a reply, and asks again. */
static void an_upgrade_loses_no_request(void **state)
{
    static const char ready[] = "Ready to accept connections on port";
    struct scene *scene = *state;
    size_t before;
    int fd;

    if (!server_starts_programs())
        skip();
    start(scene);
    before = count_in_log(scene->server, ready);
    fd = wait_for_job(scene, "mail");
    await_waiting(scene, 1);
    assert_int_equal(kill(scene->server->pid, SIGUSR2), 0);
    expect_json(read_text(fd), "200", "{\"jobs\":[]}");
    close(fd);
    expect_json(push_when_loaded(scene), "200", "created");
    for (int tries = 0; count_in_log(scene->server, ready) == before; tries++) {
        assert_true(tries < 30000);
        sleep_ms(1);
    }
    expect_json(call(scene, "POST", "/topics/mail/claim", ""), "200", "\"body\":\"x\"");
}

#define api_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        api_test(jobs_live_and_die),
        api_test(many_jobs_and_their_changes),
        api_test(jobs_follow_and_are_counted),
        api_test(jobs_wait_for_others),
        api_test(recurring_jobs_are_kept),
        api_test(a_reader_of_events_waits),
        api_test(any_bytes_are_a_body),
        api_test(logins_are_those_of_the_server),
        api_test(a_connection_may_change_its_login),
        api_test(a_reader_changes_nothing),
        api_test(pages_of_others_are_refused),
        api_test(topics_come_in_pages),
        api_test(the_description_is_true),
        api_test(a_claim_waits_for_its_job),
        api_test(a_peer_that_has_left_gets_no_job),
        api_test(a_session_that_is_killed_ends_its_connection),
        api_test(broken_requests_are_told_so),
        api_test(a_huge_body_is_refused),
        api_test(a_connection_gets_all_replies),
        api_test(a_client_may_expect_to_go_on),
        api_test(a_full_disk_is_507),
        api_test(a_session_counts_what_is_in_front_of_it),
        api_test(sessions_together_hold_no_more_than_clients_may),
        api_test(what_was_replied_outlives_a_kill),
        api_test(a_stop_ends_waits_with_a_reply),
        api_test(a_stop_takes_no_reply_back),
        api_test(a_stop_does_not_wait_for_who_reads_nothing),
        api_test(an_upgrade_loses_no_request)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
