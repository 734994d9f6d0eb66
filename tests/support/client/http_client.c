#include "tests/support/client/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/cmocka.h"

enum { REPLY_MAX = 4 << 20, PATIENCE_S = 120 /* silence that is so long is a hang */ };

static char reply[REPLY_MAX];

int http_try_to_reach(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

int http_reach(int port)
{
    int fd = http_try_to_reach(port);

    assert_true(fd >= 0);
    return fd;
}

/* Reads until the server closes the connection. */
static const char *read_all(int fd)
{
    size_t size = 0;
    ssize_t got;

    while ((got = read(fd, reply + size, REPLY_MAX - 1 - size)) > 0)
        size += (size_t)got;
    reply[size] = '\0';
    close(fd);
    return reply;
}

const char *http_send(int port, const char *bytes, size_t size)
{
    int fd = http_reach(port);

    (void)!send(fd, bytes, size, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    return read_all(fd);
}

const char *http_request(int port, const char *method, const char *path, const char *headers)
{
    char request[1024];
    int fd = http_reach(port);
    int size = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n", method,
                        path, headers);

    assert_true(size < (int)sizeof(request));
    assert_int_equal(write(fd, request, (size_t)size), size);
    return read_all(fd);
}

const char *http_get(int port, const char *path)
{
    return http_request(port, "GET", path, "");
}

const char *http_body(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");

    assert_non_null(body);
    return body + 4;
}

void http_expect_status(const char *text, const char *status)
{
    if (strncmp(text, "HTTP/1.1 ", 9) != 0 || strncmp(text + 9, status, 3) != 0)
        fail_msg("%s was expected: %.600s", status, text);
}

void http_expect_line(const char *text, const char *line)
{
    const char *found = text;

    while ((found = strstr(found, line)) != NULL) {
        if (found > text && found[-1] == '\n' && found[strlen(line)] == '\n')
            return;
        found++;
    }
    fail_msg("there is no line %s", line);
}

void http_expect_text(const char *whole, const char *status, const char *text)
{
    http_expect_status(whole, status);
    if (strstr(http_body(whole), text) == NULL)
        fail_msg("%s was expected: %.1000s", text, whole);
}

void http_copy_after(const char *text, const char *before, const char *ends, char *to,
                     size_t room)
{
    const char *at = strstr(text, before);
    size_t size;

    if (at == NULL) {
        fail_msg("there is no %s: %.600s", before, text);
        return;
    }
    at += strlen(before);
    size = strcspn(at, ends);
    assert_true(size < room);
    memcpy(to, at, size);
    to[size] = '\0';
}
