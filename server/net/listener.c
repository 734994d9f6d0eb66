#include "server/net/listener.h"

#include "server/net/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ACCEPT_AT_ONCE = 1000, PAUSE_MS = 100 };

struct listener {
    struct listener *next;
    struct server *server;
    struct event *event;
    struct event *again; /* a timer, while no client is accepted */
    int fd;
    char *path;   /* of a unix socket; NULL: TCP */
    dev_t device; /* of the socket file that was made at `path` */
    ino_t inode;
};

/* ---- accepting */

static void format_address(const struct sockaddr_storage *address, const char *path, char *text,
                           size_t room)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in6 *six = (const void *)address;
    const struct sockaddr_in *four = (const void *)address;

    if (address->ss_family == AF_INET) {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        snprintf(text, room, "%s:%d", host, ntohs(four->sin_port));
    } else if (address->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        snprintf(text, room, "[%s]:%d", host, ntohs(six->sin6_port));
    } else {
        snprintf(text, room, "%s:0", path == NULL ? "?" : path);
    }
}

/* Without descriptors or memory a client stays in the backlog, and the loop would report it
 * again and again: no client is accepted for
 * PAUSE_MS. */
static void pause_accepting(struct listener *listener)
{
    struct timeval pause = {0, PAUSE_MS * 1000};

    if (event_add(listener->again, &pause) == 0)
        event_del(listener->event);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
    struct listener *listener = arg;

    (void)fd;
    (void)what;
    if (event_add(listener->event, NULL) != 0)
        pause_accepting(listener);
}

static void note_failure(struct listener *listener, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK || error == ECONNABORTED || error == EINTR)
        return;
    log_write_limited(LOG_WARNING, "accept: %s", strerror(error));
    pause_accepting(listener);
}

static void on_acceptable(evutil_socket_t fd, short what, void *arg)
{
    struct listener *listener = arg;

    (void)what;
    server_begin_turn(listener->server);
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        struct sockaddr_storage peer = {0}, own = {0};
        socklen_t peer_size = sizeof(peer), own_size = sizeof(own);
        char address[64], local_address[64];
        int client =
            accept4(fd, (struct sockaddr *)&peer, &peer_size, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (client < 0) {
            note_failure(listener, errno);
            return;
        }
        getsockname(client, (struct sockaddr *)&own, &own_size);
        format_address(&peer, listener->path, address, sizeof(address));
        format_address(&own, listener->path, local_address, sizeof(local_address));
        connection_accept(listener->server, client, address, local_address);
    }
}

/* ---- addresses */

bool listener_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0 ||
           strcmp(address, "::1") == 0 || strcmp(address, "localhost") == 0;
}

/* The first address of `bind` that other machines can reach. False: there is none. */
static bool find_reachable(const struct config *config, char *ret_host, size_t room)
{
    char *hosts = strdup(config->bind), *rest = NULL;
    bool found = false;

    for (char *host = hosts == NULL ? NULL : strtok_r(hosts, " ", &rest);
         host != NULL && !found; host = strtok_r(NULL, " ", &rest)) {
        host += host[0] == '-';
        found = !listener_is_loopback(host);
        if (found)
            snprintf(ret_host, room, "%s", host);
    }
    free(hosts);
    return found;
}

void listeners_warn(const struct config *config)
{
    char host[128];

    if (config->port == 0 || config_wants_login(config) ||
        !find_reachable(config, host, sizeof(host)))
        return;
    if (config->protected_mode)
        log_write(LOG_WARNING,
                  "Listening on %s without a password: protected-mode refuses clients that are "
                  "not on this machine. Set requirepass to let them in",
                  host);
    else
        log_write(LOG_WARNING,
                  "WARNING: listening on %s without a password and with protected-mode off: "
                  "whoever reaches this port can read and change everything",
                  host);
}

/* ---- opening */

static bool add_listener(struct server *server, int fd, const char *path)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL)
        return false;
    listener->server = server;
    listener->fd = fd;
    listener->path = path == NULL ? NULL : strdup(path);
    listener->event =
        event_new(server->base, fd, EV_READ | EV_PERSIST, on_acceptable, listener);
    listener->again = evtimer_new(server->base, on_pause_over, listener);
    listener->next = server->listeners;
    server->listeners = listener;
    return listener->event != NULL && listener->again != NULL &&
           event_add(listener->event, NULL) == 0;
}

static int listen_at(const struct addrinfo *where, int backlog)
{
    int one = 1, error;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (where->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, backlog) == 0)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void explain(const char *host, int port, int error)
{
    if (error == EADDRINUSE)
        log_write(LOG_WARNING,
                  "Port %d on %s is taken by another program. Choose another: --port N "
                  "(make run PORT=N)",
                  port, host);
    else
        log_write(LOG_WARNING, "Cannot listen on %s port %d: %s", host, port, strerror(error));
}

/* After a '-' the address may be missing on this machine, as in redis.conf. */
static bool open_tcp(struct server *server, const char *host)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    bool optional = host[0] == '-';
    struct addrinfo *found;
    char service[16];
    int fd, error;

    host += optional;
    snprintf(service, sizeof(service), "%d", (int)server->config.port);
    if (getaddrinfo(strcmp(host, "*") == 0 ? "0.0.0.0" : host, service, &hints, &found) != 0) {
        log_write(LOG_WARNING, "bind: '%s' is not an address", host);
        return optional;
    }
    fd = listen_at(found, (int)server->config.tcp_backlog);
    error = errno;
    freeaddrinfo(found);
    if (fd >= 0)
        return add_listener(server, fd, NULL);
    if (optional && (error == EADDRNOTAVAIL || error == EAFNOSUPPORT))
        return true;
    explain(host, (int)server->config.port, error);
    return false;
}

/* Does a server answer there? The socket file of a killed server stays. */
static bool is_served(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool served =
        fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
                    errno == EAGAIN); /* its backlog is full */

    if (fd >= 0)
        close(fd);
    return served;
}

/* Another server may have replaced the file with its own since. */
static void remove_socket(const struct listener *listener)
{
    struct stat found;

    if (stat(listener->path, &found) == 0 && found.st_dev == listener->device &&
        found.st_ino == listener->inode)
        unlink(listener->path);
}

static bool add_unix_listener(struct server *server, int fd, const char *path)
{
    struct stat made;

    if (!add_listener(server, fd, path))
        return false;
    if (stat(path, &made) == 0) {
        server->listeners->device = made.st_dev;
        server->listeners->inode = made.st_ino;
    }
    return true;
}

static bool open_unix(struct server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct stat found;

    if (strlen(path) >= sizeof(address.sun_path) || fd < 0) {
        log_write(LOG_WARNING, "Cannot open the unix socket %s", path);
        if (fd >= 0)
            close(fd);
        return false;
    }
    strcpy(address.sun_path, path);
    if (is_served(&address)) {
        log_write(LOG_WARNING, "The unix socket %s is taken by another program", path);
        close(fd);
        return false;
    }
    if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode))
        unlink(path); /* a killed server left it */
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, (int)server->config.tcp_backlog) != 0) {
        log_write(LOG_WARNING, "Cannot listen on %s: %s", path, strerror(errno));
        close(fd);
        return false;
    }
    if (server->config.unixsocketperm != 0)
        chmod(path, (mode_t)server->config.unixsocketperm);
    return add_unix_listener(server, fd, path);
}

bool listeners_open(struct server *server)
{
    char *hosts = strdup(server->config.bind), *rest = NULL;
    bool good = hosts != NULL;

    for (char *host = good && server->config.port > 0 ? strtok_r(hosts, " ", &rest) : NULL;
         host != NULL && good; host = strtok_r(NULL, " ", &rest))
        good = open_tcp(server, host);
    free(hosts);
    if (good && server->config.unixsocket[0] != '\0')
        good = open_unix(server, server->config.unixsocket);
    return good;
}

void listeners_close(struct server *server)
{
    while (server->listeners != NULL) {
        struct listener *listener = server->listeners;

        server->listeners = listener->next;
        if (listener->event != NULL)
            event_free(listener->event);
        if (listener->again != NULL)
            event_free(listener->again);
        close(listener->fd);
        if (listener->path != NULL)
            remove_socket(listener);
        free(listener->path);
        free(listener);
    }
}
