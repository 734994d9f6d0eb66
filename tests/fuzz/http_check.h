/* What is true for any bytes as an HTTP request: they get a whole reply whose head fits its
 * body, or the connection is closed, and the next request is served. The fuzzer and the test
 * that replays the corpus share this. */
#ifndef DUEQ_HTTP_CHECK_H
#define DUEQ_HTTP_CHECK_H

#include "server/http/http.h"
#include "tests/fuzz/command_check.h"
#include "tests/support/client/server_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HTTP_ROUNDS = 1000 /* of the loop or of reading; a reply takes some 20 */ };

/* Made once. */
struct http_check {
    struct command_runner *runner;
    int port;
};

static inline const struct http_check *http_check(void)
{
    static struct http_check check;
    struct dueq_options options = command_options();
    uint8_t boot[DUEQ_BOOT_SIZE];
    struct server *server;

    if (check.runner != NULL)
        return &check;
    check.runner = runner_new(NULL, &options);
    if (check.runner == NULL)
        abort();
    server = &check.runner->server;
    runner_run(check.runner, check.runner->clients[0], "Q.PUSH \"a\\\"\\\\\\n\" body");
    runner_run(check.runner, check.runner->clients[0], "Q.PUSH t2 body DELAY 5s");
    runner_run(check.runner, check.runner->clients[0], "NOSUCH");
    clock_read_boot(boot);
    clock_init(&server->clock, clock_read(), boot, NULL, 0); /* the machine's, as in the loop */
    server_update_clock(server);
    server->base = event_base_new();
    check.port = free_port();
    server->config.http_port = check.port;
    free(server->config.http_bind);
    server->config.http_bind = strdup("127.0.0.1");
    if (server->base == NULL || server->config.http_bind == NULL || !http_open(server))
        abort();
    return &check;
}

static inline void http_end(void)
{
    struct command_runner *runner = http_check()->runner;
    void *state = runner;

    http_close(&runner->server);
    event_base_free(runner->server.base);
    runner->server.base = NULL;
    runner_teardown(&state);
}

/* The timer of libFuzzer may interrupt it: the connection is made nevertheless. */
static inline bool http_reaches(int fd, const struct sockaddr_in *address)
{
    struct pollfd made = {fd, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof(error);

    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
        return true;
    if (errno != EINTR)
        return false;
    while (poll(&made, 1, -1) < 0 && errno == EINTR)
        ;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

static inline int http_connect(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_check()->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger none = {1, 0}; /* no port stays taken */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || !http_reaches(fd, &address) ||
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        perror("a client that connects");
        abort();
    }
    return fd;
}

/* Runs the server until it closes the connection, which it must: at the latest its own limit
 * ends it. */
static inline bool http_read(int fd, struct buffer *reply)
{
    static char bytes[65536];

    for (int i = 0; i < HTTP_ROUNDS; i++) {
        ssize_t got = recv(fd, bytes, sizeof(bytes), 0);

        if (got == 0 || (got < 0 && errno != EAGAIN))
            return true;
        if (got > 0)
            buffer_append(reply, bytes, (size_t)got);
        else
            event_base_loop(http_check()->runner->server.base, EVLOOP_ONCE);
    }
    fprintf(stderr, "the connection stays open\n");
    return false;
}

/* Sends the first part, and later the rest. */
static inline bool http_exchange(const uint8_t *data, size_t size, size_t first,
                                 struct buffer *reply)
{
    int fd = http_connect();
    bool closed;

    (void)!send(fd, data, first, MSG_NOSIGNAL);
    for (int i = 0; i < 3; i++)
        event_base_loop(http_check()->runner->server.base, EVLOOP_NONBLOCK);
    if (size > first)
        (void)!send(fd, data + first, size - first, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    closed = http_read(fd, reply);
    close(fd);
    return closed;
}

/* Where the reply ends; NULL: it is not whole. HTTP/0.9 has no head. */
static inline const char *http_reply_end(const char *text, const char *end)
{
    const char *body = strstr(text, "\r\n\r\n"), *length;
    unsigned long size;

    if (strncmp(text, "HTTP/", 5) != 0 || body == NULL)
        return NULL;
    body += 4;
    length = strcasestr(text, "\r\nContent-Length: ");
    if (length == NULL || length > body)
        return strstr(text, " 400 ") != NULL || strstr(text, " 501 ") != NULL ||
                       strstr(text, " 413 ") != NULL || strstr(text, " 417 ") != NULL
                   ? end
                   : NULL;
    size = strtoul(length + 18, NULL, 10);
    return size <= (size_t)(end - body) ? body + size : NULL;
}

/* HEAD may come after empty lines, or as the second request. */
static inline bool http_has_head(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 5 <= size; i++)
        if (strncasecmp((const char *)data + i, "HEAD ", 5) == 0)
            return true;
    return false;
}

/* "": nothing was said. Several requests have several replies. HEAD has no body: of these
 * replies only the first head is looked at. */
static inline bool http_is_whole(struct buffer *reply, bool has_head)
{
    size_t size = buffer_size(reply);
    const char *text, *end;

    buffer_append(reply, "", 1);
    text = buffer_content(reply);
    end = text + size;
    if (has_head && size > 0)
        return strncmp(text, "HTTP/", 5) == 0 && strstr(text, "\r\n\r\n") != NULL;
    while (text != NULL && text < end)
        text = http_reply_end(text, end);
    return text != NULL;
}

static inline bool http_serves(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    struct buffer reply;
    bool good;

    buffer_init(&reply, SIZE_MAX / 2);
    good = http_exchange((const uint8_t *)request, sizeof(request) - 1, sizeof(request) - 1,
                         &reply) &&
           buffer_size(&reply) > 12 && memcmp(buffer_content(&reply), "HTTP/1.1 200", 12) == 0;
    buffer_release(&reply);
    return good;
}

static inline bool http_holds_up(const uint8_t *data, size_t size)
{
    struct buffer reply;
    bool good;

    if (size == 0)
        return true;
    buffer_init(&reply, SIZE_MAX / 2);
    good = http_exchange(data, size, data[size - 1] % size, &reply);
    if (good && !http_is_whole(&reply, http_has_head(data, size))) {
        fprintf(stderr, "%zu bytes: %s\n", buffer_size(&reply), buffer_content(&reply));
        good = false;
    }
    good = good && http_serves();
    buffer_release(&reply);
    return good;
}

#endif
