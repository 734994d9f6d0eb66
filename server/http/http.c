#include "server/http/http.h"

#include "server/http/api.h"
#include "server/http/dashboard.h"
#include "server/http/health.h"
#include "server/http/http_connection.h"
#include "server/http/http_reply.h"
#include "server/http/page.h"
#include "server/http/scrape.h"
#include "server/net/listener.h"
#include "server/process/handover.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

/* To accept a connection takes 70 us, one of TLS more: then others come in between. */
enum { BACKLOG = 128, LISTENERS_MAX = 16, PAUSE_MS = 100, ACCEPT_AT_ONCE = 16 };

struct http {
    struct server *server;
    struct event *watch;                    /* each second while there are connections */
    struct event *again;                    /* a timer, while none is accepted */
    struct event *listeners[LISTENERS_MAX]; /* each has its socket */
    char *hosts[LISTENERS_MAX];             /* of these */
    size_t listener_count;
    struct http_connection *connections; /* the oldest first (utlist) */
};

/* ---- paths */

static const struct path {
    const char *path;
    http_handler handler;
} paths[] = {{"/metrics", scrape_start},
             {"/healthz", health_reply_alive},
             {"/readyz", health_reply_ready}};

static http_handler find_handler(struct http_part path)
{
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (path.size == strlen(paths[i].path) &&
            memcmp(path.data, paths[i].path, path.size) == 0)
            return paths[i].handler;
    return NULL;
}

static void serve(struct http_connection *connection)
{
    enum http_method method = connection->head.method;
    http_handler handler = find_handler(connection->head.path);
    bool is_page =
        connection->server->dashboard != NULL && page_has_path(connection->head.path);

    if (api_has_path(connection->head.path))
        api_serve(connection);
    else if (connection->head.length > 0)
        http_reply_error(connection, 413, NULL);
    else if (handler == NULL && !is_page)
        http_reply_text(connection, 404, "There is /metrics, /healthz, /readyz and /v1.\n");
    else if (method != HTTP_GET && method != HTTP_HEAD)
        http_reply_text(connection, 405, "Only GET and HEAD are served.\n");
    else if (is_page)
        page_serve(connection);
    else
        handler(connection->server, connection);
}

/* ---- connections */

bool http_has_sessions(const struct config *config)
{
    return config->http_port != 0 && (config->http_api != HTTP_API_NO || config->dashboard);
}

static void end(struct http_connection *connection)
{
    DL_DELETE(connection->server->http->connections, connection);
    http_connection_free(connection);
}

static const struct http_owner owner = {serve, end};

/* Those that are without a session are few: with one more the oldest of them goes. */
static void make_room(struct http *http)
{
    size_t most =
        http_has_sessions(&http->server->config) ? HTTP_FRESH_MAX : HTTP_CONNECTIONS_MAX;
    struct http_connection *connection, *oldest = NULL;
    size_t count = 0;

    DL_FOREACH(http->connections, connection) {
        if (api_has_session(connection) || connection->is_stream)
            continue;
        oldest = oldest == NULL ? connection : oldest;
        count++;
    }
    if (count >= most)
        end(oldest);
}

bool http_make_room_for_session(struct server *server)
{
    struct http_connection *connection, *idle = NULL;
    size_t count = 0;

    DL_FOREACH(server->http->connections, connection) {
        if (!api_has_session(connection))
            continue;
        count++;
        if (connection->stage == HTTP_READS &&
            (idle == NULL || connection->idle_since < idle->idle_since))
            idle = connection;
    }
    if (count >= HTTP_SESSIONS_MAX && idle != NULL)
        http_connection_doom(idle);
    return count < HTTP_SESSIONS_MAX || idle != NULL;
}

static void take_in(struct http *http, int fd)
{
    static const struct timeval second = {1, 0};
    struct http_connection *connection;

    make_room(http);
    connection = http_connection_new(http->server, fd, &owner);
    if (connection == NULL)
        return;
    DL_APPEND(http->connections, connection);
    if (!event_pending(http->watch, EV_TIMEOUT, NULL)) /* its second would begin anew */
        event_add(http->watch, &second);
}

/* Cuts off those that take too long. */
static void on_watch(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;
    struct http_connection *connection;

    (void)fd;
    (void)what;
    server_begin_turn(http->server);
    DL_FOREACH(http->connections, connection)
        if (http_connection_is_late(connection))
            http_connection_doom(connection);
    if (http->connections == NULL)
        event_del(http->watch);
}

/* ---- listening */

void http_rest(struct server *server)
{
    struct http *http = server->http;

    for (size_t i = 0; http != NULL && i < http->listener_count; i++)
        event_del(http->listeners[i]);
    if (http != NULL)
        event_del(http->again);
}

void http_go_on(struct server *server)
{
    struct http *http = server->http;

    for (size_t i = 0; http != NULL && i < http->listener_count; i++)
        event_add(http->listeners[i], NULL);
}

static void on_pause_over(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;

    (void)fd;
    (void)what;
    server_begin_turn(http->server);
    http_go_on(http->server);
}

/* Without descriptors the loop would report the same connection again and again. */
static void pause_accepting(struct http *http, int error)
{
    static const struct timeval pause = {0, PAUSE_MS * 1000};

    log_write_limited(LOG_WARNING, "http: accept: %s", strerror(error));
    http_rest(http->server);
    event_add(http->again, &pause);
}

/* False: nobody is left in the backlog, or nobody can be accepted now. */
static bool accept_one(struct http *http, int fd)
{
    int accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (accepted >= 0)
        take_in(http, accepted);
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        pause_accepting(http, errno);
    return accepted >= 0;
}

/* Some in each turn: a flood of them keeps nobody waiting for long. */
static void on_acceptable(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;
    int count = 0;

    (void)what;
    server_begin_turn(http->server);
    while (count < ACCEPT_AT_ONCE && accept_one(http, fd))
        count++;
    server_end_event(http->server);
}

static bool listen_on(struct http *http, const char *host)
{
    bool lacks;
    int fd = listener_socket(host, (int)http->server->config.http_port, BACKLOG, &lacks);
    struct event *listener;

    if (fd < 0)
        return lacks;
    listener =
        http->listener_count == LISTENERS_MAX
            ? NULL
            : event_new(http->server->base, fd, EV_READ | EV_PERSIST, on_acceptable, http);
    if (listener == NULL || event_add(listener, NULL) != 0) {
        if (listener != NULL)
            event_free(listener);
        close(fd);
        return false;
    }
    http->hosts[http->listener_count] = strdup(host + (host[0] == '-'));
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
        log_write(LOG_NOTICE, "Metrics on http port %d%s", (int)http->server->config.http_port,
                  http->server->config.http_tls ? " with TLS" : "");
    return good;
}

/* ---- life */

bool http_open(struct server *server)
{
    struct event_base *base = server->base;

    if (server->config.http_port == 0 && server->config.dashboard)
        log_write(LOG_WARNING, "dashboard has no effect without http-port");
    if (server->config.http_port == 0)
        return true;
    server->http = calloc(1, sizeof(*server->http));
    if (server->http == NULL)
        return false;
    server->http->server = server;
    server->http->watch = event_new(base, -1, EV_PERSIST, on_watch, server->http);
    server->http->again = evtimer_new(base, on_pause_over, server->http);
    return server->http->watch != NULL && server->http->again != NULL &&
           listen_on_all(server->http) && dashboard_follow(server);
}

/* Its request may be run to the end, but for a reply that nobody reads. */
static void give_up(struct http_connection *connection)
{
    log_write_limited(LOG_WARNING,
                      "http client addr=%s closed: the stop does not wait until it reads its "
                      "reply",
                      connection->address);
    http_connection_doom(connection);
}

uint64_t http_owed(struct server *server, bool unread)
{
    struct http_connection *connection;
    uint64_t owed = 0;

    if (server->http == NULL)
        return 0;
    DL_FOREACH(server->http->connections, connection) {
        if (connection->is_stream)
            continue;
        if (http_connection_has_stalled(connection, server->grace_until))
            give_up(connection);
        else
            owed += connection->stage == HTTP_SERVES ||
                    (unread && http_connection_sends(connection));
    }
    return owed;
}

void http_hand_over(const struct server *server)
{
    const struct http *http = server->http;

    for (size_t i = 0; http != NULL && i < http->listener_count; i++)
        if (http->hosts[i] == NULL ||
            !handover_add("http", http->hosts[i], (int)server->config.http_port,
                          event_get_fd(http->listeners[i])))
            log_write(LOG_WARNING, "A socket of http-port is not handed over");
}

void http_close(struct server *server)
{
    struct http *http = server->http;

    if (http == NULL)
        return;
    while (http->connections != NULL)
        end(http->connections);
    dashboard_close(server);
    for (size_t i = 0; i < http->listener_count; i++) {
        int fd = event_get_fd(http->listeners[i]);

        event_free(http->listeners[i]);
        close(fd);
        free(http->hosts[i]);
    }
    if (http->watch != NULL)
        event_free(http->watch);
    if (http->again != NULL)
        event_free(http->again);
    free(http);
    server->http = NULL;
}
