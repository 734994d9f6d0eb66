#include "server/http/http_connection.h"

#include "server/http/api.h"
#include "server/http/http.h"
#include "server/http/http_reply.h"
#include "server/http/http_socket.h"
#include "server/net/listener.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AT_ONCE = 16 /* requests of one connection in a turn */ };

static int64_t now_ms(const struct http_connection *connection)
{
    return connection->server->clock.last.monotonic;
}

struct evbuffer *http_connection_input(struct http_connection *connection)
{
    return http_socket_input(connection->socket);
}

struct evbuffer *http_connection_output(struct http_connection *connection)
{
    return http_socket_output(connection->socket);
}

bool http_connection_has_room(const struct http_connection *connection)
{
    return evbuffer_get_length(http_socket_output(connection->socket)) <= HTTP_OUTPUT_LOW;
}

bool http_connection_is_secure(const struct http_connection *connection)
{
    return http_socket_is_secure(connection->socket);
}

size_t http_connection_memory(const struct http_connection *connection)
{
    return sizeof(*connection) + http_socket_memory(connection->socket) +
           (connection->bytes == NULL ? 0 : HTTP_HEADERS_MAX);
}

bool http_connection_sends(const struct http_connection *connection)
{
    return connection->stage != HTTP_DEAD && http_socket_unsent(connection->socket) > 0;
}

bool http_connection_has_stalled(struct http_connection *connection, int64_t since)
{
    size_t unsent = http_socket_unsent(connection->socket);

    if (unsent != connection->unsent || connection->moved_at < since)
        connection->moved_at = now_ms(connection);
    connection->unsent = unsent;
    return unsent > 0 && now_ms(connection) - connection->moved_at >= HTTP_STALL_MS;
}

void http_connection_expect(struct http_connection *connection)
{
    connection->deadline = now_ms(connection) + HTTP_SEND_MS;
}

void http_connection_continue(struct http_connection *connection)
{
    if (connection->head.expects && connection->body_left > 0 &&
        evbuffer_get_length(http_connection_input(connection)) == 0)
        evbuffer_add_printf(http_connection_output(connection),
                            "HTTP/1.1 100 Continue\r\n\r\n");
    http_connection_expect(connection);
}

bool http_connection_is_late(const struct http_connection *connection)
{
    return connection->deadline != 0 && now_ms(connection) >= connection->deadline;
}

void http_connection_served_by(struct http_connection *connection,
                               const struct http_hooks *hooks, void *served)
{
    connection->hooks = hooks;
    connection->served = served;
}

void http_connection_took(struct http_connection *connection, size_t size)
{
    assert(size <= connection->body_left);
    connection->body_left -= size;
}

/* ---- the end */

static void run_again(struct http_connection *connection)
{
    event_active(connection->again, EV_TIMEOUT, 1);
}

static void leave(struct http_connection *connection)
{
    const struct http_hooks *hooks = connection->hooks;

    connection->hooks = NULL;
    if (hooks != NULL && hooks->on_gone != NULL)
        hooks->on_gone(connection->served);
}

void http_connection_doom(struct http_connection *connection)
{
    if (connection->stage == HTTP_DEAD)
        return;
    connection->stage = HTTP_DEAD;
    http_socket_stop(connection->socket);
    leave(connection);
    run_again(connection);
}

void http_connection_free(struct http_connection *connection)
{
    leave(connection);
    api_free(connection->api);
    http_socket_free(connection->socket);
    if (connection->again != NULL)
        event_free(connection->again);
    free(connection->bytes);
    free(connection);
}

static bool has_unread(const struct http_connection *connection)
{
    return connection->body_left > 0 || http_socket_has_unread(connection->socket);
}

/* All is given to the kernel. To close a socket with unread input, or one to which the peer
 * sends another request then, would take back what the peer has not got. */
static void end(struct http_connection *connection)
{
    struct evbuffer *input = http_connection_input(connection);
    bool has_unsent = http_socket_unsent(connection->socket) > 0;

    if (connection->peer_ended || (!has_unsent && !has_unread(connection))) {
        http_connection_doom(connection);
        return;
    }
    connection->stage = HTTP_ENDS;
    connection->deadline = now_ms(connection) + (has_unsent ? HTTP_SEND_MS : HTTP_LINGER_MS);
    http_socket_end_output(connection->socket);
    evbuffer_drain(input, evbuffer_get_length(input));
}

static void send_rest(struct http_connection *connection)
{
    connection->stage = HTTP_SENDS;
    http_connection_expect(connection);
    if (evbuffer_get_length(http_connection_output(connection)) == 0)
        end(connection);
}

/* ---- requests */

void http_connection_done(struct http_connection *connection)
{
    connection->hooks = NULL;
    connection->ends_with_peer = false;
    free(connection->bytes);
    connection->bytes = NULL;
    connection->has_begun = false;
    connection->idle_since = now_ms(connection);
    connection->deadline = now_ms(connection) + HTTP_IDLE_MS;
    if (connection->stage == HTTP_DEAD)
        return;
    connection->stage = HTTP_READS;
    if (!connection->keeps || connection->body_left > 0)
        send_rest(connection);
    if (!connection->is_advancing)
        run_again(connection);
}

/* A request that nobody understands. */
static void refuse(struct http_connection *connection, int status)
{
    connection->keeps = false;
    connection->stage = HTTP_SERVES;
    http_reply_error(connection, status, NULL);
}

static void skip_empty_lines(struct evbuffer *input)
{
    char two[2];

    while (evbuffer_copyout(input, two, 2) == 2 && memcmp(two, "\r\n", 2) == 0)
        evbuffer_drain(input, 2);
}

/* Bytes of the head, which are contiguous then. 0: it is not there. */
static size_t find_head(struct http_connection *connection, const char **ret_bytes)
{
    struct evbuffer *input = http_connection_input(connection);
    size_t size = evbuffer_get_length(input);

    size = size < HTTP_HEADERS_MAX ? size : HTTP_HEADERS_MAX;
    *ret_bytes = (const char *)evbuffer_pullup(input, (ev_ssize_t)size);
    return *ret_bytes == NULL ? 0 : http_head_size(*ret_bytes, size);
}

static void begin_request(struct http_connection *connection, size_t size)
{
    int status;

    connection->bytes = malloc(size);
    if (connection->bytes == NULL) {
        http_connection_doom(connection);
        return;
    }
    evbuffer_remove(http_connection_input(connection), connection->bytes, size);
    status = http_head_read(connection->bytes, size, &connection->head);
    connection->stage = HTTP_SERVES;
    connection->keeps = false;
    connection->body_left = connection->head.length;
    http_connection_expect(connection);
    if (status == 0)
        connection->owner->serve(connection);
    else
        refuse(connection, status);
}

/* False: there is no whole head. */
static bool read_request(struct http_connection *connection)
{
    struct evbuffer *input = http_connection_input(connection);
    const char *bytes;
    size_t size;

    skip_empty_lines(input);
    size = find_head(connection, &bytes);
    if (size > 0) {
        begin_request(connection, size);
        return true;
    }
    if (evbuffer_get_length(input) >= HTTP_HEADERS_MAX)
        refuse(connection, 431);
    else if (connection->peer_ended)
        send_rest(connection);
    else if (!connection->has_begun && evbuffer_get_length(input) > 0) {
        connection->has_begun = true;
        connection->deadline = now_ms(connection) + HTTP_HEAD_MS;
    }
    return false;
}

/* Serves the requests that are there, some in each turn. */
static void advance(struct http_connection *connection)
{
    int served = 0;

    if (connection->is_advancing)
        return;
    connection->is_advancing = true;
    while (connection->stage == HTTP_READS && http_connection_has_room(connection)) {
        if (served++ == AT_ONCE) {
            run_again(connection);
            break;
        }
        if (!read_request(connection))
            break;
    }
    connection->is_advancing = false;
}

/* ---- events */

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct http_connection *connection = arg;
    struct server *server = connection->server;

    (void)fd;
    (void)what;
    server_begin_turn(server);
    if (connection->stage == HTTP_DEAD) {
        connection->owner->ended(connection);
    } else {
        advance(connection);
        api_account(connection->api);
    }
    server_end_event(server);
}

static void on_input(void *arg)
{
    struct http_connection *connection = arg;
    struct evbuffer *input = http_connection_input(connection);

    if (connection->stage == HTTP_READS)
        advance(connection);
    else if (connection->stage == HTTP_ENDS)
        evbuffer_drain(input, evbuffer_get_length(input));
    else if (connection->stage == HTTP_SERVES && connection->body_left > 0 &&
             connection->hooks != NULL && connection->hooks->on_input != NULL)
        connection->hooks->on_input(connection->served);
    api_account(connection->api);
}

static void on_sent(void *arg)
{
    struct http_connection *connection = arg;

    if (connection->stage == HTTP_SENDS) {
        if (evbuffer_get_length(http_connection_output(connection)) == 0)
            end(connection);
    } else if (connection->stage == HTTP_SERVES && connection->hooks != NULL &&
               connection->hooks->on_drained != NULL) {
        connection->hooks->on_drained(connection->served);
    } else if (connection->stage == HTTP_READS) {
        advance(connection);
    }
    api_account(connection->api);
}

/* A peer may end its side after a request, and yet want the reply. */
static void on_peer_ended(struct http_connection *connection)
{
    size_t unread = evbuffer_get_length(http_connection_input(connection));

    connection->peer_ended = true;
    if (connection->stage == HTTP_READS)
        advance(connection);
    else if (connection->stage == HTTP_ENDS ||
             (connection->stage == HTTP_SERVES &&
              (connection->ends_with_peer || unread < connection->body_left)))
        http_connection_doom(connection);
}

static void on_end(void *arg, bool is_broken)
{
    struct http_connection *connection = arg;

    if (is_broken)
        http_connection_doom(connection);
    else
        on_peer_ended(connection);
}

static const struct http_socket_hooks hooks = {on_input, on_sent, on_end};

/* ---- the beginning */

static void note_addresses(struct http_connection *connection)
{
    struct sockaddr_storage peer = {0}, own = {0};
    socklen_t peer_size = sizeof(peer), own_size = sizeof(own);

    getpeername(connection->fd, (struct sockaddr *)&peer, &peer_size);
    getsockname(connection->fd, (struct sockaddr *)&own, &own_size);
    listener_format_address(&peer, NULL, connection->address, sizeof(connection->address));
    listener_format_address(&own, NULL, connection->local_address,
                            sizeof(connection->local_address));
}

/* Replies to several requests that came at once would else await the peer's delayed ACK. */
static void send_at_once(int fd)
{
    int yes = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

struct http_connection *http_connection_new(struct server *server, int fd,
                                            const struct http_owner *owner)
{
    struct http_connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        close(fd);
        return NULL;
    }
    connection->server = server;
    connection->fd = fd;
    connection->owner = owner;
    note_addresses(connection);
    send_at_once(fd);
    connection->deadline = now_ms(connection) + HTTP_HEAD_MS;
    connection->has_begun = true;
    connection->idle_since = now_ms(connection);
    connection->again = event_new(server->base, -1, 0, on_again, connection);
    connection->socket =
        http_socket_new(server, fd, server->config.http_tls, &hooks, connection);
    if (connection->socket == NULL || connection->again == NULL) {
        http_connection_free(connection);
        return NULL;
    }
    return connection;
}
