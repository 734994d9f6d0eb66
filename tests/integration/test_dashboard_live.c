/* What the dashboard shows: figures of the server, all topics, clients, the slow log; and what
 * changes, as a stream of events. */
#include "tests/support/client/client.h"
#include "tests/support/client/http_client.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { TOPICS = 100000, TOPICS_AT_ONCE = 500, PATIENCE_MS = 30000, STREAM_MAX = 4 << 20 };
enum { ASKERS = 6, ASKED_OFTEN = 100 };

struct scene {
    struct server_process *server;
    redisContext *client;
    int port;
    char cookie[128]; /* "name=value" */
    char csrf[80];
};

static char stream_text[STREAM_MAX];

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

static int tear_down(void **state)
{
    client_cleanup();
    server_process_cleanup();
    free(*state);
    return 0;
}

/* ---- asking */

static size_t form(const struct scene *scene, const char *request, const char *fields,
                   const char *body, char *text, size_t room)
{
    int size = snprintf(text, room,
                        "%s HTTP/1.1\r\nHost: localhost\r\nCookie: %s\r\n%s"
                        "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                        request, scene->cookie, fields, strlen(body), body);

    assert_true(size > 0 && (size_t)size < room);
    return (size_t)size;
}

static const char *get(const struct scene *scene, const char *path)
{
    char text[2048], request[1024];

    snprintf(request, sizeof(request), "GET /v1/%s", path);
    form(scene, request, "", "", text, sizeof(text));
    return http_send(scene->port, text, strlen(text));
}

static void expect_none(const char *reply, const char *text)
{
    if (strstr(http_body(reply), text) != NULL)
        fail_msg("%s was not expected: %.1000s", text, reply);
}

static void take_session(struct scene *scene, const char *reply)
{
    http_expect_status(reply, "200");
    http_copy_after(reply, "Set-Cookie: ", ";", scene->cookie, sizeof(scene->cookie));
    http_copy_after(reply, "\"csrf\":\"", "\"", scene->csrf, sizeof(scene->csrf));
}

static void log_in(struct scene *scene, const char *user, const char *password)
{
    char body[128], text[1024];

    snprintf(body, sizeof(body), "{\"user\":\"%s\",\"password\":\"%s\"}", user, password);
    strcpy(scene->cookie, "a=b");
    form(scene, "POST /v1/session", "Content-Type: application/json\r\n", body, text,
         sizeof(text));
    take_session(scene, http_send(scene->port, text, strlen(text)));
}

static void start(struct scene *scene)
{
    server_process_run(scene->server);
    scene->client = client_open(scene->server);
    strcpy(scene->cookie, "a=b");
    take_session(scene, get(scene, "session"));
}

/* ---- streams */

static int open_stream(const struct scene *scene, const char *query)
{
    char text[2048], request[1024];
    int fd = http_reach(scene->port);

    snprintf(request, sizeof(request), "GET /v1/live%s", query);
    form(scene, request, "", "", text, sizeof(text));
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    return fd;
}

/* Reads on until the text has come, or, with NULL, until the end. */
static const char *await_text(int fd, const char *wanted)
{
    size_t size = 0;
    ssize_t got;

    stream_text[0] = '\0';
    for (;;) {
        struct pollfd one = {.fd = fd, .events = POLLIN};

        if (wanted != NULL && strstr(stream_text, wanted) != NULL)
            return stream_text;
        if (poll(&one, 1, PATIENCE_MS) != 1)
            fail_msg("%s has not come: %.2000s", wanted == NULL ? "the end" : wanted,
                     stream_text);
        got = read(fd, stream_text + size, STREAM_MAX - 1 - size);
        if (got <= 0 && wanted == NULL)
            return stream_text;
        if (got <= 0)
            fail_msg("it has ended before %s: %.2000s", wanted, stream_text);
        size += (size_t)got;
        stream_text[size] = '\0';
    }
}

static void await_streams(struct scene *scene, int count)
{
    char wanted[32];

    snprintf(wanted, sizeof(wanted), "\"streams\":%d}", count);
    while (strstr(get(scene, "server"), wanted) == NULL)
        sleep_ms(10);
}

/* ---- figures */

static void the_server_is_shown_in_figures(void **state)
{
    static const char *const texts[] = {"\"version\":\"",
                                        "\"health\":\"ready\"",
                                        "\"memory\":{\"own_bytes\":",
                                        "\"journal\":{\"bytes\":",
                                        "\"checkpoint\":{\"running\":false",
                                        "\"free_bytes\":",
                                        "\"connections\":{\"now\":1",
                                        "\"longest_usec\":",
                                        "\"ready\":1",
                                        "\"totals\":{\"pushed\":1"};
    struct scene *scene = *state;
    const char *reply;

    start(scene);
    free(ask_string(scene->client, "Q.PUSH mail x"));
    reply = get(scene, "server");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        http_expect_text(reply, "200", texts[i]);
    http_expect_text(get(scene, "clients"), "200", "\"cmd\":\"q.push\"");
    http_expect_text(get(scene, "clients?limit=1&after=999"), "200",
                     "{\"clients\":[],\"next\":null,\"total\":1}");
    http_expect_text(get(scene, "clients?limit=0"), "400", "'limit'");
    http_expect_text(get(scene, "clients?x=1"), "400", "'x'");
    expect(scene->client, "OK", "CONFIG SET slowlog-log-slower-than 0");
    expect(scene->client, "0", "Q.LEN \xff");
    reply = get(scene, "slowlog?count=1");
    http_expect_text(reply, "200", "\"command\":[\"Q.LEN\",{\"base64\":\"/w==\"}]");
    strcpy(scene->cookie, "a=b");
    http_expect_text(get(scene, "server"), "401", "NOAUTH");
}

static void a_view_needs_the_right_to_its_command(void **state)
{
    struct scene *scene = *state;

    start(scene);
    expect(scene->client, "OK", "ACL SETUSER u on >p +q.stats ~a* +client|list");
    free(ask_string(scene->client, "Q.PUSH a1 x"));
    free(ask_string(scene->client, "Q.PUSH b1 x"));
    log_in(scene, "u", "p");
    http_expect_text(get(scene, "server"), "403", "NOPERM");
    http_expect_text(get(scene, "slowlog"), "403", "NOPERM");
    http_expect_text(get(scene, "clients"), "200", "\"user\":\"default\"");
    http_expect_text(get(scene, "overview"), "200", "\"total\":1");
    expect_none(get(scene, "overview"), "b1");
    http_expect_text(get(scene, "live?topic=b1"), "403", "NOPERM");
    expect(scene->client, "OK", "ACL SETUSER u -q.stats");
    http_expect_text(get(scene, "overview"), "403", "NOPERM");
}

/* ---- all topics */

static void topics_are_sorted_and_filtered(void **state)
{
    struct scene *scene = *state;

    start(scene);
    free(ask_string(scene->client, "Q.PUSH a x"));
    free(ask_string(scene->client, "Q.PUSH b x"));
    free(ask_string(scene->client, "Q.PUSH b x"));
    free(ask_string(scene->client, "Q.PUSH c x DELAY 1h"));
    expect(scene->client, "OK", "Q.PAUSE c");
    expect(scene->client, "OK", "Q.CONFIG SET a concurrency 3");
    http_expect_text(get(scene, "overview?limit=1"), "200", "{\"topics\":[{\"name\":\"a\",");
    http_expect_text(get(scene, "overview?limit=1"), "200", "\"limited\":true");
    http_expect_text(get(scene, "overview?limit=1"), "200", "\"total\":3");
    http_expect_text(get(scene, "overview?order=desc"), "200", "{\"topics\":[{\"name\":\"c\",");
    http_expect_text(get(scene, "overview?sort=ready&order=desc&limit=1"), "200",
                     "{\"topics\":[{\"name\":\"b\",\"delayed\":0,\"ready\":2,");
    http_expect_text(get(scene, "overview?sort=ready&limit=1"), "200",
                     "{\"topics\":[{\"name\":\"c\",");
    http_expect_text(get(scene, "overview?sort=ready&offset=1&limit=1"), "200",
                     "{\"topics\":[{\"name\":\"a\",");
    http_expect_text(get(scene, "overview?match=c*"), "200", "\"paused\":\"all\"");
    http_expect_text(get(scene, "overview?match=c*"), "200", "\"total\":1");
    http_expect_text(get(scene, "overview?offset=9"), "200", "{\"topics\":[],\"total\":3,");
    http_expect_text(get(scene, "overview?sort=size"), "400", "'sort'");
    http_expect_text(get(scene, "overview?limit=1001"), "400", "'limit'");
    http_expect_text(get(scene, "overview?offset=-1"), "400", "'offset'");
}

/* What is never due is last, in both directions. */
static void topics_are_sorted_by_what_comes(void **state)
{
    struct scene *scene = *state;

    start(scene);
    free(ask_string(scene->client, "Q.PUSH a x DELAY 2h"));
    free(ask_string(scene->client, "Q.PUSH b x ID w"));
    free(ask_string(scene->client, "Q.PUSH c x AFTER b:w"));
    free(ask_string(scene->client, "Q.PUSH c x DELAY 1h"));
    expect(scene->client, "OK", "Q.PAUSE c");
    expect(scene->client, "OK", "Q.CONFIG SET a concurrency 3");
    http_expect_text(get(scene, "overview?sort=due&limit=1"), "200",
                     "{\"topics\":[{\"name\":\"c\",");
    http_expect_text(get(scene, "overview?sort=due&order=desc&limit=1"), "200",
                     "{\"topics\":[{\"name\":\"a\",");
    for (const char *order = "asc"; order != NULL;
         order = strcmp(order, "asc") == 0 ? "desc" : NULL) {
        char path[64];

        snprintf(path, sizeof(path), "overview?sort=due&offset=2&order=%s", order);
        http_expect_text(get(scene, path), "200", "{\"topics\":[{\"name\":\"b\",");
    }
    http_expect_text(get(scene, "overview?sort=waiting&order=desc&limit=1"), "200",
                     "{\"topics\":[{\"name\":\"c\",");
    http_expect_text(get(scene, "overview?only=waiting"), "200", "\"total\":1,");
    http_expect_text(get(scene, "overview?only=paused"), "200",
                     "{\"topics\":[{\"name\":\"c\",");
    http_expect_text(get(scene, "overview?only=paused"), "200", "\"total\":1,");
    http_expect_text(get(scene, "overview?only=limited"), "200",
                     "{\"topics\":[{\"name\":\"a\",");
    http_expect_text(get(scene, "overview?only=delayed"), "200", "\"total\":2,");
    http_expect_text(get(scene, "overview?only=dead"), "200", "\"total\":0,");
    http_expect_text(get(scene, "overview?only=x"), "400", "'only'");
}

static void start_with_topics(struct scene *scene)
{
    server_process_option(scene->server, "durability", "none");
    start(scene);
    for (int i = 0; i < TOPICS; i += TOPICS_AT_ONCE) {
        for (int j = i; j < i + TOPICS_AT_ONCE; j++)
            say(scene->client, "Q.PUSH topic:%06d x", j);
        for (int j = 0; j < TOPICS_AT_ONCE; j++)
            expect_reply(scene->client, "*");
    }
}

static void a_hundred_thousand_topics_hold_nobody_up(void **state)
{
    struct scene *scene = *state;
    const char *reply;
    int fd;

    start_with_topics(scene);
    expect(scene->client, "OK", "CONFIG RESETSTAT");
    fd = open_stream(scene, "?topics=1");
    reply = get(scene, "overview?sort=oldest&order=desc&offset=50000&limit=1000");
    http_expect_status(reply, "200");
    assert_non_null(strstr(reply, "\"total\":100000"));
    http_expect_text(get(scene, "overview?sort=due&only=ready&limit=1000"), "200",
                     "\"total\":100000");
    http_expect_text(get(scene, "overview?match=*77777"), "200", "topic:077777");
    await_text(fd, "event: overview");
    close(fd);
    /* of the processor's time, which does not depend on the machine's other work so much */
    print_message("busiest turn: %lld us\n",
                  (long long)ask_info(scene->client, "stats", "busiest_turn_cpu_usec"));
}

/* Sends requests that are served one after the other, each with no wait for the reply before.
 */
static int ask_for_overviews(const struct scene *scene, const char *query, int count)
{
    int fd = http_reach(scene->port);
    char text[1024];
    int size = snprintf(text, sizeof(text),
                        "GET /v1/overview%s HTTP/1.1\r\nHost: localhost\r\n"
                        "Cookie: %s\r\n\r\n",
                        query, scene->cookie);

    for (int i = 0; i < count; i++)
        assert_int_equal(send(fd, text, (size_t)size, MSG_NOSIGNAL), size);
    return fd;
}

/* Of so many askers one is always waiting. The first of them asks for half as long. */
static void those_who_always_ask_keep_no_old_overview(void **state)
{
    struct scene *scene = *state;
    int fds[ASKERS];

    start_with_topics(scene);
    for (int i = 0; i < ASKERS; i++)
        fds[i] = ask_for_overviews(scene, "?sort=oldest&order=desc&offset=90000&limit=1",
                                   i == 0 ? ASKED_OFTEN / 2 : ASKED_OFTEN);
    await_text(fds[0], "\"total\":100000,");
    free(ask_string(scene->client, "Q.PUSH zzz x"));
    await_text(fds[0], "\"total\":100001,");
    for (int i = 0; i < ASKERS; i++)
        close(fds[i]);
}

/* ---- streams */

static void a_stream_tells_what_changes(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    free(ask_string(scene->client, "Q.PUSH mail x ID first"));
    fd = open_stream(scene, "?topic=mail&topics=1&events=1");
    await_text(fd, "event: server\ndata: {\"version\":");
    assert_non_null(strstr(stream_text, "Content-Type: text/event-stream\r\n"));
    await_text(fd, "event: topic\ndata: {\"name\":\"mail\",\"delayed\":0,\"ready\":1,");
    free(ask_string(scene->client, "Q.PUSH mail x ID second"));
    free(ask_string(scene->client, "Q.PUSH other x ID third"));
    await_text(fd, "{\"event\":\"pushed\",\"id\":\"second\",");
    assert_null(strstr(stream_text, "third"));
    await_text(fd, "event: overview\ndata: {\"topics\":[");
    await_text(fd, "event: topic\ndata: {\"name\":\"mail\",\"delayed\":0,\"ready\":2,");
    expect(scene->client, "1", "Q.DROP mail");
    await_text(fd, "event: topic\ndata: {\"name\":\"mail\",\"gone\":true}");
    await_streams(scene, 1);
    close(fd);
    await_streams(scene, 0);
}

static void await_patterns(const struct scene *scene, long long count)
{
    while (ask_integer(scene->client, "PUBSUB NUMPAT") != count)
        sleep_ms(1);
}

static void a_stream_tells_of_all_topics(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    expect(scene->client, "OK",
           "ACL SETUSER u on >p +q.stats +info +psubscribe ~a* &__queue__:*");
    fd = open_stream(scene, "?events=1");
    await_patterns(scene, 1);
    free(ask_string(scene->client, "Q.PUSH a:b x ID first"));
    await_text(fd, "{\"topic\":\"a:b\",\"event\":\"pushed\",\"id\":\"first\",");
    close(fd);
    await_patterns(scene, 0);
    log_in(scene, "u", "p"); /* who may hear all channels is told of the topics he may read */
    fd = open_stream(scene, "?events=1");
    await_patterns(scene, 1);
    free(ask_string(scene->client, "Q.PUSH b x ID hidden"));
    free(ask_string(scene->client, "Q.PUSH a x ID second"));
    await_text(fd, "{\"topic\":\"a\",\"event\":\"pushed\",\"id\":\"second\",");
    assert_null(strstr(stream_text, "hidden"));
    close(fd);
}

/* What has come, and what comes at once. */
static void read_what_is_there(int fd)
{
    size_t size = strlen(stream_text);
    struct pollfd one = {.fd = fd, .events = POLLIN};

    while (poll(&one, 1, 5) == 1) {
        ssize_t got = read(fd, stream_text + size, STREAM_MAX - 1 - size);

        if (got <= 0)
            return;
        size += (size_t)got;
        stream_text[size] = '\0';
    }
}

static void expect_rows_of_one_job(void)
{
    static const char name[] = "{\"name\":\"few", wanted[] = "\",\"delayed\":0,\"ready\":1,";

    for (const char *row = stream_text; (row = strstr(row, name)) != NULL; row++) {
        const char *end = row + sizeof(name) - 1 + 3;

        if (strncmp(end, wanted, sizeof(wanted) - 1) != 0)
            fail_msg("a row that nobody has filled: %.300s", row);
    }
}

/* Pushes whose replies nobody reads yet: the server is busy for some turns. */
static void keep_busy(redisContext *client, int count)
{
    int done = 0;

    for (int i = 0; i < count; i++)
        say(client, "Q.PUSH busy x");
    while (!done)
        assert_int_equal(redisBufferWrite(client, &done), REDIS_OK);
}

/* All topics are looked at in several turns. A stream that comes in between is told of those
 * that were looked at, or of all a moment later, and never of memory that nobody has written.
 */
static void a_stream_that_comes_in_between_is_told_what_is_true(void **state)
{
    enum { FEW = 190, TRIES = 2, STREAMS = 50, BUSY = 5000 };
    struct scene *scene = *state;
    redisContext *busy;

    setenv("MALLOC_PERTURB_", "165", 1);
    start(scene);
    unsetenv("MALLOC_PERTURB_");
    busy = client_open(scene->server);
    for (int i = 0; i < FEW; i++)
        free(ask_string(scene->client, "Q.PUSH few%03d x", i));
    for (int i = 0; i < TRIES; i++) {
        int first = open_stream(scene, "?topics=1");

        await_text(first, "event: server");
        for (int k = 0; k < STREAMS; k++) {
            int fd;

            keep_busy(busy, BUSY);
            fd = open_stream(scene, "?topics=1");
            await_text(fd, "event: server");
            read_what_is_there(fd);
            expect_rows_of_one_job();
            close(fd);
            for (int reply = 0; reply < BUSY; reply++)
                expect_reply(busy, "*");
        }
        close(first);
        await_streams(scene, 0);
    }
}

/* The figures are taken once a second, but those of streams that have ended are given back. */
static void a_stream_after_the_last_one_has_figures(void **state)
{
    struct scene *scene = *state;

    start(scene);
    for (int i = 0; i < 50; i++) {
        int fd = open_stream(scene, "");

        await_text(fd, "event: server\ndata: ");
        assert_null(strstr(stream_text, "event: server\ndata: \n"));
        close(fd);
        await_streams(scene, 0);
    }
}

static void a_stream_with_nothing_to_tell_is_no_silence(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    expect(scene->client, "OK", "ACL SETUSER u on >p +q.stats ~*");
    log_in(scene, "u", "p");
    fd = open_stream(scene, "?topics=1");
    await_text(fd, "\r\n3\r\n:\n\n\r\n");
    close(fd);
}

static void a_stream_ends_with_its_login(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    expect(scene->client, "OK", "ACL SETUSER u on >p +@all ~* &*");
    log_in(scene, "u", "p");
    fd = open_stream(scene, "?topic=mail&events=1");
    await_text(fd, "event: server");
    /* rights are looked at anew */
    expect(scene->client, "OK", "ACL SETUSER u resetchannels");
    await_text(fd, "event: refused\ndata: {\"what\":\"events\"");
    expect(scene->client, "1", "ACL DELUSER u");
    await_text(fd, NULL);
    assert_non_null(strstr(stream_text, "event: end\ndata: {\"reason\":\"session\"}\n\n"));
    assert_non_null(strstr(stream_text, "\r\n0\r\n\r\n"));
    close(fd);
}

static void who_may_not_hear_is_told_so(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    expect(scene->client, "OK", "ACL SETUSER u on >p +@all ~* resetchannels");
    log_in(scene, "u", "p");
    fd = open_stream(scene, "?topic=mail&events=1");
    await_text(fd, "event: refused\ndata: {\"what\":\"events\",\"error\":\"NOPERM");
    close(fd);
    fd = open_stream(scene, "?events=1");
    await_text(fd, "event: refused\ndata: {\"what\":\"events\",\"error\":\"NOPERM");
    close(fd);
    http_expect_text(get(scene, "live?topic="), "400", "topic");
}

static void streams_end_when_the_dashboard_is_off(void **state)
{
    struct scene *scene = *state;
    int fd;

    start(scene);
    fd = open_stream(scene, "?topics=1&topic=a&events=1");
    await_text(fd, "event: server");
    expect(scene->client, "OK", "CONFIG SET dashboard no");
    await_text(fd, NULL);
    assert_non_null(strstr(stream_text, "event: end\ndata: {\"reason\":\"off\"}\n\n"));
    close(fd);
    expect(scene->client, "PONG", "PING");
}

/* A stream has no end that a stop could wait for. */
static void a_stop_waits_for_no_stream(void **state)
{
    struct scene *scene = *state;
    int fd;

    server_process_option(scene->server, "shutdown-timeout", "100000");
    start(scene);
    fd = open_stream(scene, "?topics=1&topic=a&events=1");
    await_text(fd, "event: server");
    client_cleanup();
    server_process_stop(scene->server);
    await_text(fd, NULL);
    close(fd);
}

static void streams_are_few(void **state)
{
    struct scene *scene = *state;
    int sockets[9], more;

    start(scene);
    for (int i = 0; i < 8; i++) {
        sockets[i] = open_stream(scene, "");
        await_text(sockets[i], "event: server");
    }
    more = open_stream(scene, "");
    await_text(more, "HTTP/1.1 503");
    close(more);
    for (int i = 0; i < 8; i++)
        close(sockets[i]);
    await_streams(scene, 0);
    more = open_stream(scene, "");
    await_text(more, "event: server");
    close(more);
}

/* Events of a topic come faster than anybody reads. */
static void who_does_not_read_is_cut_off(void **state)
{
    struct scene *scene = *state;
    int fd, small = 4096;

    start(scene);
    fd = open_stream(scene, "?topic=mail&events=1&topics=1");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    await_streams(scene, 1);
    for (int round = 0; strstr(get(scene, "server"), "\"streams\":1}") != NULL; round++) {
        char name[256];

        for (int i = 0; i < 200; i++) {
            snprintf(name, sizeof(name), "%0200d", 200 * round + i);
            say(scene->client, "Q.PUSH mail x ID %s", name);
            say(scene->client, "Q.PUSH %s x", name);
        }
        for (int i = 0; i < 400; i++)
            expect_reply(scene->client, "*");
    }
    close(fd);
}

/* ---- history */

static void await_history(struct scene *scene, const char *path, const char *text)
{
    for (int i = 0; i < PATIENCE_MS / 50; i++) {
        if (strstr(get(scene, path), text) != NULL)
            return;
        sleep_ms(50);
    }
    fail_msg("there is no %s: %.3000s", text, get(scene, path));
}

/* One look is made after ten seconds; pushed, claimed, acked, failed, ready, delayed. */
static void history_survives_a_restart(void **state)
{
    struct scene *scene = *state;

    start(scene);
    free(ask_string(scene->client, "Q.PUSH mail x"));
    free(ask_string(scene->client, "Q.PUSH mail x DELAY 1h"));
    await_history(scene, "history?range=day", ",0,0,0,0,1,1,null,");
    await_history(scene, "topics/mail/history", ",0,0,0,0,1,1,null,");
    http_expect_text(get(scene, "history?range=year"), "400", "'range'");
    client_cleanup();
    server_process_stop(scene->server);
    start(scene);
    http_expect_text(get(scene, "history?range=hours"), "200", ",0,0,0,0,1,1,null,");
    http_expect_text(get(scene, "topics/mail/history?range=day"), "200", ",0,0,0,0,1,1,null,");
    expect(scene->client, "OK", "CONFIG SET dashboard-history no");
    http_expect_text(get(scene, "history"), "404", "dashboard-history");
    expect(scene->client, "OK", "CONFIG SET dashboard-history yes");
    http_expect_text(get(scene, "history"), "200", "{\"step_ms\":10000,\"columns\":[\"time\",");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_server_is_shown_in_figures),
        TEST(a_view_needs_the_right_to_its_command),
        TEST(topics_are_sorted_and_filtered),
        TEST(topics_are_sorted_by_what_comes),
        TEST(a_hundred_thousand_topics_hold_nobody_up),
        TEST(those_who_always_ask_keep_no_old_overview),
        TEST(a_stream_tells_what_changes),
        TEST(a_stream_tells_of_all_topics),
        TEST(a_stream_that_comes_in_between_is_told_what_is_true),
        TEST(a_stream_after_the_last_one_has_figures),
        TEST(a_stream_with_nothing_to_tell_is_no_silence),
        TEST(a_stream_ends_with_its_login),
        TEST(who_may_not_hear_is_told_so),
        TEST(streams_end_when_the_dashboard_is_off),
        TEST(a_stop_waits_for_no_stream),
        TEST(streams_are_few),
        TEST(who_does_not_read_is_cut_off),
        TEST(history_survives_a_restart)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
