#include "tools/bench/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WORDS = 2048 }; /* of a login */

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_host(const char *host, int port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    char service[16];
    int fd, one = 1;

    snprintf(service, sizeof(service), "%d", port);
    if (getaddrinfo(host, service, &hints, &found) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

/* False: *why, what the server says. */
static bool log_in(int fd, const struct dial *place, char *why, size_t size)
{
    const char *user = place->user == NULL ? "default" : place->user;
    char words[WORDS];
    int used =
        snprintf(words, sizeof(words), "*3\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                 strlen(user), user, strlen(place->password), place->password);
    ssize_t got;

    snprintf(why, size, "the user or the password is too long");
    if (used >= WORDS)
        return false;
    snprintf(why, size, "the connection was closed at the login");
    if (send(fd, words, (size_t)used, MSG_NOSIGNAL) != used)
        return false;
    for (size_t at = 0; at + 1 < size; at += (size_t)got) {
        got = read(fd, why + at, size - 1 - at);
        if (got <= 0)
            return false;
        why[at + (size_t)got] = '\0';
        if (strchr(why, '\n') != NULL)
            break;
    }
    why[strcspn(why, "\r\n")] = '\0';
    return strcmp(why, "+OK") == 0;
}

int dial(const struct dial *place, char *why, size_t size)
{
    int fd = place->unix_path != NULL ? connect_unix(place->unix_path)
                                      : connect_host(place->host, place->port);

    if (fd < 0) {
        snprintf(why, size, "connect: %s", strerror(errno));
        return -1;
    }
    if (place->password != NULL && !log_in(fd, place, why, size)) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}
