#include "server/net/listener.h"

#include "protocol/number.h"
#include "server/net/connection.h"
#include "server/process/handover.h"
#include "server/process/supervisor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <grp.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* To accept a client takes 20 us: a millisecond and a half, then others come in between. */
enum { ACCEPT_AT_ONCE = 64, PAUSE_MS = 100 };

/* What the configuration asks for: one of its addresses, with a port. */
struct place {
    const char *host; /* without the '-' */
    bool optional;    /* there was one: this machine may lack the address */
    int port;
    bool secure; /* by TLS */
};

struct listener {
    struct listener *next;
    struct server *server;
    struct event *event;
    struct event *again; /* a timer, while no client is accepted */
    int fd;
    char *host; /* as configured; NULL: a unix socket */
    int port;
    bool secure;  /* its clients speak TLS */
    char *path;   /* of a unix socket; NULL: TCP */
    dev_t device; /* of the socket file that was made at `path` */
    ino_t inode;
    bool kept;     /* the new configuration names it, too */
    bool is_given; /* by the service manager */
};

/* ---- accepting */

void listener_format_address(const struct sockaddr_storage *address, const char *path,
                             char *text, size_t room)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in6 *six = (const void *)address;
    const struct sockaddr_in *four = (const void *)address;

    if (address->ss_family == AF_INET) {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        snprintf(text, room, "%s:%d", host, ntohs(four->sin_port));
    } else if (address->ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        snprintf(text, room, IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? "%s:%d" : "[%s]:%d",
                 IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) ? strrchr(host, ':') + 1 : host,
                 ntohs(six->sin6_port));
    } else {
        snprintf(text, room, "%s:0", path == NULL ? "?" : path);
    }
}

/* Without descriptors or memory a client stays in the backlog, and the loop would report it
 * again and again: no client is accepted for PAUSE_MS. */
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
        struct accepted client = {.secure = listener->secure};

        client.fd =
            accept4(fd, (struct sockaddr *)&peer, &peer_size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client.fd < 0) {
            note_failure(listener, errno);
            return;
        }
        getsockname(client.fd, (struct sockaddr *)&own, &own_size);
        client.is_unix = peer.ss_family == AF_UNIX;
        listener_format_address(&peer, listener->path, client.address, sizeof(client.address));
        listener_format_address(&own, listener->path, client.local_address,
                                sizeof(client.local_address));
        connection_accept(listener->server, &client);
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

void listeners_warn(const struct config *config, bool wants_login)
{
    char host[128];

    if ((config->port == 0 && config->tls_port == 0) || wants_login ||
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

static void free_listener(struct listener *listener)
{
    if (listener->event != NULL)
        event_free(listener->event);
    if (listener->again != NULL)
        event_free(listener->again);
    close(listener->fd);
    free(listener->host);
    free(listener->path);
    free(listener);
}

static char *copy_of(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

/* Takes `fd` over. NULL: out of memory, and it is closed. One of host and path is NULL. */
static struct listener *add_listener(struct server *server, int fd, const char *host,
                                     const char *path)
{
    struct listener *listener = calloc(1, sizeof(*listener));

    if (listener == NULL) {
        close(fd);
        return NULL;
    }
    listener->server = server;
    listener->fd = fd;
    listener->host = copy_of(host);
    listener->path = copy_of(path);
    listener->event =
        event_new(server->base, fd, EV_READ | EV_PERSIST, on_acceptable, listener);
    listener->again = evtimer_new(server->base, on_pause_over, listener);
    if ((listener->host == NULL && listener->path == NULL) || listener->event == NULL ||
        listener->again == NULL || event_add(listener->event, NULL) != 0) {
        free_listener(listener);
        return NULL;
    }
    listener->next = server->listeners;
    server->listeners = listener;
    return listener;
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

static void explain(const struct place *place, int error)
{
    if (error == 0)
        log_write(LOG_WARNING, "bind: '%s' is not an address", place->host);
    else if (error == EADDRINUSE)
        log_write(LOG_WARNING,
                  "Port %d on %s is taken by another program. Choose another: --port N "
                  "(make run PORT=N)",
                  place->port, place->host);
    else
        log_write(LOG_WARNING, "Cannot listen on %s port %d: %s", place->host, place->port,
                  strerror(error));
}

/* Redis writes "*" for all addresses of IPv4 and "::*" for all of IPv6. */
static const char *numeric_host(const char *host)
{
    if (strcmp(host, "*") == 0)
        return "0.0.0.0";
    return strcmp(host, "::*") == 0 ? "::" : host;
}

/* Logs why there is no socket. May the server do without the address? As in Redis, also where
 * the kernel has no IPv6. */
static bool may_lack(const struct place *place, int error)
{
    explain(place, error);
    if (error == 0)
        return place->optional;
    return (place->optional && error == EADDRNOTAVAIL) || error == EAFNOSUPPORT ||
           error == EPFNOSUPPORT || error == EPROTONOSUPPORT || error == ESOCKTNOSUPPORT ||
           error == ENOPROTOOPT;
}

/* -1: no socket, and errno; 0 there: the host is no address. */
static int try_place(const struct place *place, int backlog)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST};
    struct addrinfo *found;
    char service[16];
    int fd, error;

    snprintf(service, sizeof(service), "%d", place->port);
    if (getaddrinfo(numeric_host(place->host), service, &hints, &found) != 0) {
        errno = 0;
        return -1;
    }
    fd = listen_at(found, backlog);
    error = errno;
    freeaddrinfo(found);
    errno = error;
    return fd;
}

int listener_socket(const char *host, int port, int backlog, bool *ret_lacks)
{
    struct place place = {host + (host[0] == '-'), host[0] == '-', port, false};
    int fd = handover_take("http", place.host, port);

    if (fd < 0)
        fd = try_place(&place, backlog);

    if (fd < 0)
        *ret_lacks = may_lack(&place, errno);
    return fd;
}

/* Closes what the new configuration does not name; port 0: at all ports. False: nothing. */
static bool close_left(struct server *server, int port)
{
    struct listener **at = &server->listeners;
    bool closed = false;

    while (*at != NULL) {
        struct listener *listener = *at;

        if (listener->kept || (port != 0 && listener->port != port)) {
            at = &listener->next;
            continue;
        }
        *at = listener->next;
        free_listener(listener);
        closed = true;
    }
    return closed;
}

/* A socket for all addresses cannot be opened beside one for a single address. The system looks
 * at the rights first: who may not open the port does not lose the old one. */
static bool open_tcp(struct server *server, const struct place *place)
{
    int backlog = (int)server->config.tcp_backlog, fd;
    struct listener *listener;

    fd = handover_take(place->secure ? "tls" : "tcp", place->host, place->port);
    if (fd < 0)
        fd = try_place(place, backlog);
    if (fd < 0 && errno == EADDRINUSE && close_left(server, place->port))
        fd = try_place(place, backlog);
    if (fd < 0)
        return may_lack(place, errno);
    listener = add_listener(server, fd, place->host, NULL);
    if (listener == NULL)
        return false;
    listener->port = place->port;
    listener->secure = place->secure;
    listener->kept = true;
    return true;
}

/* ---- the addresses of a configuration */

static bool visit_place(struct server *server, struct place *place, int64_t port, bool secure,
                        bool (*visit)(struct server *server, const struct place *place))
{
    place->port = (int)port;
    place->secure = secure;
    return port == 0 || visit(server, place);
}

/* Calls `visit` for each address and port, until one returns false; then it is false. */
static bool visit_places(struct server *server, const struct config *config,
                         bool (*visit)(struct server *server, const struct place *place))
{
    char *hosts = strdup(config->bind), *rest = NULL;
    bool good = hosts != NULL;

    for (char *host = good ? strtok_r(hosts, " ", &rest) : NULL; host != NULL && good;
         host = strtok_r(NULL, " ", &rest)) {
        struct place place = {.host = host + (host[0] == '-'), .optional = host[0] == '-'};

        good = visit_place(server, &place, config->port, false, visit) &&
               visit_place(server, &place, config->tls_port, true, visit);
    }
    free(hosts);
    return good;
}

static bool is_at(const struct listener *listener, const struct place *place)
{
    return listener->host != NULL && listener->port == place->port &&
           listener->secure == place->secure && strcmp(listener->host, place->host) == 0;
}

static bool keep(struct server *server, const struct place *place)
{
    for (struct listener *at = server->listeners; at != NULL; at = at->next)
        at->kept = at->kept || is_at(at, place);
    return true;
}

static bool open_missing(struct server *server, const struct place *place)
{
    for (const struct listener *at = server->listeners; at != NULL; at = at->next)
        if (is_at(at, place))
            return true;
    return open_tcp(server, place);
}

/* Opens the ports that the configuration names and that are not open, and then closes those
 * that it does not name: a socket that stays loses no client. False: one could not be opened,
 * and of those that were open only what was in the way is closed. */
static bool follow(struct server *server, const struct config *config)
{
    bool good;

    for (struct listener *each = server->listeners; each != NULL; each = each->next)
        each->kept = each->host == NULL;
    good = visit_places(server, config, keep) && visit_places(server, config, open_missing);
    if (good)
        close_left(server, 0);
    return good;
}

const char *listeners_change(struct server *server, const struct config *changed,
                             struct config_error *error)
{
    const struct config *config = &server->config;
    bool moved = strcmp(config->bind, changed->bind) != 0;

    if (!moved && config->port == changed->port && config->tls_port == changed->tls_port)
        return NULL;
    if (follow(server, changed))
        return NULL;
    if (!follow(server, config)) {
        log_write(LOG_WARNING, "The ports of before could not be opened again");
        close_left(server, 0);
    }
    snprintf(error->text, sizeof(error->text), "%s",
             moved ? "Failed to bind to specified addresses."
                   : "Unable to listen on this port. Check server logs.");
    if (moved)
        return "bind";
    return config->port != changed->port ? "port" : "tls-port";
}

/* ---- unix sockets */

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

    if (!handover_is_pending() && stat(listener->path, &found) == 0 &&
        found.st_dev == listener->device && found.st_ino == listener->inode)
        unlink(listener->path);
}

/* The group of unixsocketgroup, by name or number. False: there is none of that name. */
static bool find_group(const char *name, gid_t *ret_group)
{
    const struct group *group = getgrnam(name);
    int64_t number;

    if (group != NULL)
        *ret_group = group->gr_gid;
    else if (number_parse_integer(name, strlen(name), &number) && number >= 0 &&
             number < UINT32_MAX)
        *ret_group = (gid_t)number;
    else
        return false;
    return true;
}

static bool fail_unix(const char *path, const char *what, const char *why)
{
    log_write(LOG_WARNING, "The unix socket %s: %s: %s", path, what, why);
    return false;
}

/* Gives the socket file its group and its mode. */
static bool grant(const struct config *config, const char *path)
{
    const char *name = config->unixsocketgroup;
    gid_t group;

    if (name[0] != '\0') {
        if (!find_group(name, &group))
            return fail_unix(path, "unixsocketgroup: there is no such group", name);
        if (chown(path, (uid_t)-1, group) != 0)
            return fail_unix(path, "unixsocketgroup", strerror(errno));
    }
    if (config->unixsocketperm != 0 && chmod(path, (mode_t)config->unixsocketperm) != 0)
        return fail_unix(path, "unixsocketperm", strerror(errno));
    return true;
}

/* The file exists from bind(2) on: until it has its group and mode, nobody else connects. */
static bool bind_privately(int fd, const struct sockaddr_un *address,
                           const struct config *config)
{
    if ((config->unixsocketperm != 0 || config->unixsocketgroup[0] != '\0') &&
        fchmod(fd, S_IRUSR | S_IWUSR) != 0)
        return false;
    return bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

static bool serve_unix(struct server *server, int fd, const char *path)
{
    struct listener *listener = add_listener(server, fd, NULL, path);
    struct stat made;

    if (listener == NULL)
        return false;
    if (stat(path, &made) == 0) {
        listener->device = made.st_dev;
        listener->inode = made.st_ino;
    }
    return true;
}

/* A socket file that a killed server left is replaced. */
static bool make_unix(struct server *server, int fd, const struct sockaddr_un *address)
{
    const char *path = address->sun_path;
    struct stat found;

    if (is_served(address))
        return fail_unix(path, "cannot listen", "it is taken by another program");
    if (lstat(path, &found) == 0 && S_ISSOCK(found.st_mode))
        unlink(path);
    if (!bind_privately(fd, address, &server->config))
        return fail_unix(path, "cannot listen", strerror(errno));
    if (!grant(&server->config, path)) {
        unlink(path);
        return false;
    }
    if (listen(fd, (int)server->config.tcp_backlog) != 0)
        return fail_unix(path, "cannot listen", strerror(errno));
    return true;
}

/* The socket of the program before; -1: there is none, or nobody can find it any more. */
static int take_unix(const char *path)
{
    struct stat found;
    int fd = handover_take("unix", path, 0);

    if (fd < 0 || (stat(path, &found) == 0 && S_ISSOCK(found.st_mode)))
        return fd;
    close(fd);
    return -1;
}

static bool open_unix(struct server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(address.sun_path))
        return fail_unix(path, "cannot listen", "the path is too long");
    strcpy(address.sun_path, path);
    fd = take_unix(path);
    if (fd >= 0)
        return grant(&server->config, path) ? serve_unix(server, fd, path) : (close(fd), false);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail_unix(path, "cannot listen", strerror(errno));
    if (make_unix(server, fd, &address))
        return serve_unix(server, fd, path);
    close(fd);
    return false;
}

/* ---- sockets of the service manager */

/* The path of a unix socket, which is the manager's to remove; "" for one of IP. */
static bool is_listening(int fd, char *ret_path, size_t room)
{
    struct sockaddr_storage own = {0};
    const struct sockaddr_un *address = (const void *)&own;
    socklen_t size = sizeof(own);
    int listens = 0;
    socklen_t flag_size = sizeof(listens);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &flag_size) != 0 || !listens ||
        getsockname(fd, (struct sockaddr *)&own, &size) != 0)
        return false;
    snprintf(ret_path, room, "%.*s", (int)room - 1,
             own.ss_family == AF_UNIX ? address->sun_path : "");
    return true;
}

static bool take_over(struct server *server, int fd, bool secure)
{
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
    struct listener *listener;

    if (!is_listening(fd, path, sizeof(path)) || evutil_make_socket_nonblocking(fd) != 0 ||
        evutil_make_socket_closeonexec(fd) != 0) {
        log_write(LOG_WARNING, "Descriptor %d of the service manager is no socket that listens",
                  fd);
        return false;
    }
    listener = add_listener(server, fd, NULL, path);
    if (listener == NULL)
        return false;
    listener->secure = secure;
    listener->is_given = true;
    return true;
}

/* The one whose name is "tls" is for TLS. */
static bool take_all_over(struct server *server, int count)
{
    for (int i = 0; i < count; i++) {
        bool secure = strcmp(supervisor_socket_name(i), "tls") == 0;

        if (secure && server->tls == NULL) {
            log_write(LOG_WARNING, "A socket for TLS needs tls-port and certificates");
            return false;
        }
        if (!take_over(server, SUPERVISOR_SOCKETS + i, secure))
            return false;
    }
    log_write(LOG_NOTICE, "Listening on %d sockets of the service manager", count);
    return true;
}

/* Those that the program had which this one replaces. */
static bool take_given_back(struct server *server, const char *kind, bool secure)
{
    for (int fd; (fd = handover_take(kind, "", 0)) >= 0;)
        if (!take_over(server, fd, secure))
            return false;
    return true;
}

/* ---- all of them */

bool listeners_open(struct server *server)
{
    int given = supervisor_sockets();

    if (given > 0)
        return take_all_over(server, given);
    if (!take_given_back(server, "given", false) || !take_given_back(server, "given-tls", true))
        return false;
    if (server->listeners != NULL)
        return true;
    if (!follow(server, &server->config))
        return false;
    if (server->config.unixsocket[0] != '\0' && !open_unix(server, server->config.unixsocket))
        return false;
    if (server->listeners == NULL)
        log_write(LOG_WARNING, "Configured to not listen anywhere, exiting.");
    return server->listeners != NULL;
}

void listeners_rest(struct server *server)
{
    for (struct listener *each = server->listeners; each != NULL; each = each->next) {
        event_del(each->event);
        event_del(each->again);
    }
}

void listeners_go_on(struct server *server)
{
    for (struct listener *each = server->listeners; each != NULL; each = each->next)
        if (event_add(each->event, NULL) != 0)
            pause_accepting(each);
}

static const char *kind_of(const struct listener *listener)
{
    if (listener->is_given)
        return listener->secure ? "given-tls" : "given";
    if (listener->host == NULL)
        return "unix";
    return listener->secure ? "tls" : "tcp";
}

void listeners_hand_over(struct server *server)
{
    while (server->listeners != NULL) {
        struct listener *listener = server->listeners;
        const char *text = listener->host != NULL ? listener->host : listener->path;

        if (!handover_add(kind_of(listener), listener->is_given ? "" : text, listener->port,
                          listener->fd))
            log_write(LOG_WARNING, "A socket is not handed over: %s", text);
        server->listeners = listener->next;
        free_listener(listener);
    }
}

void listeners_close(struct server *server)
{
    while (server->listeners != NULL) {
        struct listener *listener = server->listeners;

        server->listeners = listener->next;
        if (listener->path != NULL)
            remove_socket(listener);
        free_listener(listener);
    }
}
