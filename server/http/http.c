#include "server/http/http.h"

#include "server/http/health.h"
#include "server/http/http_reply.h"
#include "server/http/scrape.h"
#include "server/net/listener.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 64, LISTENERS_MAX = 16, PAUSE_MS = 100, CROWD_MS = 1 };

/* One more is accepted, so that the oldest can make room for it. */
enum { PLACES = HTTP_CONNECTIONS_MAX + 1 };

/* evhttp does not tell when a connection ends: the inode of its socket does. */
struct http_connection {
    struct bufferevent *fresh; /* accepted in this turn; its socket is not known yet */
    int fd;                    /* -1: not known, or the place is free */
    bool is_cut_off;           /* and still open: evhttp looks at it when it has replied */
    dev_t device;
    ino_t inode;
    int64_t accepted; /* monotonic ms */
    uint64_t serial;  /* in order of arrival */
};

struct http {
    struct server *server;
    struct evhttp *evhttp;
    struct event *learn; /* sockets of fresh connections */
    struct event *watch; /* each second while there are connections */
    struct event *again; /* a timer, while none is accepted */
    struct evconnlistener *listeners[LISTENERS_MAX];
    size_t listener_count;
    uint64_t accepted; /* connections so far */
    struct http_connection connections[PLACES];
};

static struct http *listening; /* NULL: none; libevent has no place for it in a listener */

/* ---- paths */

static const struct path {
    const char *path;
    http_handler handler;
} paths[] = {{"/metrics", scrape_start},
             {"/healthz", health_reply_alive},
             {"/readyz", health_reply_ready}};

static http_handler find_handler(struct evhttp_request *request)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri == NULL ? NULL : evhttp_uri_get_path(uri);

    for (size_t i = 0; path != NULL && i < sizeof(paths) / sizeof(paths[0]); i++)
        if (strcmp(path, paths[i].path) == 0)
            return paths[i].handler;
    return NULL;
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct http *http = arg;
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    http_handler handler = find_handler(request);

    server_begin_turn(http->server);
    if (handler == NULL)
        http_reply_text(request, 404, "There is /metrics, /healthz and /readyz.\n");
    else if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD)
        http_reply_text(request, 405, "Only GET and HEAD are served.\n");
    else
        handler(http->server, request);
}

/* ---- connections */

static bool is_alive(const struct http_connection *connection)
{
    struct stat found;

    return connection->fd >= 0 && fstat(connection->fd, &found) == 0 &&
           found.st_dev == connection->device && found.st_ino == connection->inode;
}

/* evhttp sees the end of the connection, and closes it; not before it has replied. */
static void cut_off(struct http_connection *connection)
{
    if (is_alive(connection))
        shutdown(connection->fd, SHUT_RDWR);
    connection->is_cut_off = true;
}

static void learn_socket(struct http *http, struct http_connection *connection)
{
    struct stat found;
    int fd = bufferevent_getfd(connection->fresh);

    bufferevent_decref(connection->fresh);
    connection->fresh = NULL;
    if (fd < 0 || fstat(fd, &found) != 0)
        return;
    *connection = (struct http_connection){.fd = fd,
                                           .device = found.st_dev,
                                           .inode = found.st_ino,
                                           .accepted = http->server->clock.last.monotonic,
                                           .serial = connection->serial};
}

/* Frees the places of connections that have ended, and cuts off those that last too long. */
static size_t count_connections(struct http *http)
{
    int64_t now = http->server->clock.last.monotonic;
    size_t count = 0;

    for (size_t i = 0; i < PLACES; i++) {
        struct http_connection *connection = &http->connections[i];

        if (!is_alive(connection))
            connection->fd = -1;
        else if (now - connection->accepted >= HTTP_LIFE_MS)
            cut_off(connection);
        count += connection->fd >= 0 || connection->fresh != NULL;
    }
    return count;
}

/* One at a time: until it is closed, no other has to go. */
static void cut_off_oldest(struct http *http)
{
    struct http_connection *oldest = NULL;

    for (size_t i = 0; i < PLACES; i++) {
        struct http_connection *connection = &http->connections[i];

        if (connection->fd < 0)
            continue;
        if (connection->is_cut_off)
            return;
        if (oldest == NULL || connection->serial < oldest->serial)
            oldest = connection;
    }
    if (oldest != NULL)
        cut_off(oldest);
}

/* None is accepted until then. */
static void pause_listening(struct http *http, int64_t ms)
{
    struct timeval pause = {0, ms * 1000};

    if (event_add(http->again, &pause) != 0)
        return;
    for (size_t i = 0; i < http->listener_count; i++)
        evconnlistener_disable(http->listeners[i]);
}

static bool is_crowded(struct http *http)
{
    return count_connections(http) == PLACES;
}

/* Runs in the same pass of the loop as the accept, before anything can have been read: the
 * bufferevents are still there. */
static void on_learn(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval second = {1, 0};
    struct http *http = arg;

    (void)fd;
    (void)what;
    server_begin_turn(http->server);
    for (size_t i = 0; i < PLACES; i++)
        if (http->connections[i].fresh != NULL)
            learn_socket(http, &http->connections[i]);
    if (is_crowded(http))
        cut_off_oldest(http);
    event_add(http->watch, &second);
}

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;

    (void)fd;
    (void)what;
    server_begin_turn(http->server);
    if (count_connections(http) == 0)
        event_del(http->watch);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;

    (void)fd;
    (void)what;
    server_begin_turn(http->server);
    if (is_crowded(http)) {
        cut_off_oldest(http);
        pause_listening(http, CROWD_MS);
        return;
    }
    for (size_t i = 0; i < http->listener_count; i++)
        evconnlistener_enable(http->listeners[i]);
}

static struct http_connection *find_place(struct http *http)
{
    for (size_t i = 0; i < PLACES; i++)
        if (http->connections[i].fd < 0 && http->connections[i].fresh == NULL)
            return &http->connections[i];
    return NULL;
}

/* evhttp has accepted a connection. Its socket is set right after this. Who takes the last
 * place is the last one until another connection is closed, not only cut off. */
static struct bufferevent *on_accepted(struct event_base *base, void *arg)
{
    struct http *http = arg;
    struct bufferevent *fresh = bufferevent_socket_new(base, -1, 0);
    struct http_connection *place = find_place(http);

    if (fresh != NULL && place != NULL) {
        bufferevent_incref(fresh); /* without memory evhttp frees it before the socket is set */
        place->fresh = fresh;
        place->serial = ++http->accepted;
        event_active(http->learn, EV_READ, 1);
    }
    if (is_crowded(http))
        pause_listening(http, CROWD_MS);
    return fresh;
}

/* ---- listening */

/* Without descriptors the loop would report the same connection again and again. The argument
 * is evhttp's: evhttp_bind_listener sets it. */
static void on_accept_failed(struct evconnlistener *listener, void *arg)
{
    struct http *http = listening;
    int error = errno;

    (void)listener;
    (void)arg;
    server_begin_turn(http->server);
    log_write_limited(LOG_WARNING, "http: accept: %s", strerror(error));
    pause_listening(http, PAUSE_MS);
}

static bool listen_on(struct http *http, const char *host)
{
    bool lacks;
    int fd = listener_socket(host, (int)http->server->config.http_port, BACKLOG, &lacks);
    struct evconnlistener *listener;

    if (fd < 0)
        return lacks;
    listener = http->listener_count == LISTENERS_MAX
                   ? NULL
                   : evconnlistener_new(http->server->base, NULL, NULL,
                                        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (listener == NULL) {
        close(fd);
        return false;
    }
    if (evhttp_bind_listener(http->evhttp, listener) == NULL) {
        evconnlistener_free(listener);
        return false;
    }
    evconnlistener_set_error_cb(listener, on_accept_failed);
    http->listeners[http->listener_count++] = listener;
    return true;
}

static bool listen_on_all(struct http *http)
{
    char *hosts = strdup(http->server->config.http_bind), *rest = NULL;
    bool good = hosts != NULL;

    for (char *host = good ? strtok_r(hosts, " ", &rest) : NULL; host != NULL && good;
         host = strtok_r(NULL, " ", &rest))
        good = listen_on(http, host);
    free(hosts);
    if (good && http->listener_count > 0)
        log_write(LOG_NOTICE, "Metrics on http port %d", (int)http->server->config.http_port);
    return good;
}

/* ---- life */

static bool init(struct http *http)
{
    struct event_base *base = http->server->base;

    http->evhttp = evhttp_new(base);
    http->learn = event_new(base, -1, 0, on_learn, http);
    http->watch = event_new(base, -1, EV_PERSIST, on_watch, http);
    http->again = evtimer_new(base, on_pause_over, http);
    for (size_t i = 0; i < PLACES; i++)
        http->connections[i].fd = -1;
    if (http->evhttp == NULL || http->learn == NULL || http->watch == NULL ||
        http->again == NULL)
        return false;
    evhttp_set_bevcb(http->evhttp, on_accepted, http);
    evhttp_set_gencb(http->evhttp, on_request, http);
    evhttp_set_timeout(http->evhttp, HTTP_IDLE_S);
    evhttp_set_max_headers_size(http->evhttp, HTTP_HEADERS_MAX);
    evhttp_set_max_body_size(http->evhttp, 0);
    evhttp_set_allowed_methods(http->evhttp, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD |
                                                 EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                                 EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
                                                 EVHTTP_REQ_TRACE | EVHTTP_REQ_PATCH);
    return true;
}

bool http_open(struct server *server)
{
    if (server->config.http_port == 0)
        return true;
    server->http = calloc(1, sizeof(*server->http));
    if (server->http == NULL)
        return false;
    server->http->server = server;
    listening = server->http;
    return init(server->http) && listen_on_all(server->http);
}

void http_close(struct server *server)
{
    struct http *http = server->http;

    if (http == NULL)
        return;
    scrape_stop_all();
    if (http->evhttp != NULL)
        evhttp_free(http->evhttp);
    if (http->learn != NULL)
        event_free(http->learn);
    if (http->watch != NULL)
        event_free(http->watch);
    if (http->again != NULL)
        event_free(http->again);
    listening = NULL;
    free(http);
    server->http = NULL;
}
