#include "server/http/http_socket.h"

#include "server/net/tls.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_MOST = 16 * 1024, RECORD = 16 * 1024, RECORDS_AT_ONCE = 4 };

struct http_socket {
    struct server *server;
    const struct http_socket_hooks *hooks;
    void *arg;
    int fd;
    struct tls *tls;          /* NULL: it is plain */
    bool is_shaking_hands;    /* of TLS: there is neither input nor output yet */
    bool input_awaits_output; /* TLS has to send something before it can read on */
    bool has_stopped;         /* its owner wants nothing more */
    bool input_ended;
    struct event *readable, *writable;
    struct evbuffer *input, *output;
};

struct evbuffer *http_socket_input(struct http_socket *socket)
{
    return socket->input;
}

struct evbuffer *http_socket_output(struct http_socket *socket)
{
    return socket->output;
}

bool http_socket_is_secure(const struct http_socket *socket)
{
    return socket->tls != NULL;
}

bool http_socket_has_unread(const struct http_socket *socket)
{
    int unread = 0;

    return evbuffer_get_length(socket->input) > 0 ||
           (ioctl(socket->fd, FIONREAD, &unread) == 0 && unread > 0);
}

size_t http_socket_unsent(const struct http_socket *socket)
{
    size_t kept = evbuffer_get_length(socket->output);
    int sent = 0;

    return ioctl(socket->fd, SIOCOUTQ, &sent) == 0 && sent > 0 ? kept + (size_t)sent : kept;
}

size_t http_socket_memory(const struct http_socket *socket)
{
    return evbuffer_get_length(socket->input) + evbuffer_get_length(socket->output) +
           (socket->tls == NULL ? 0 : tls_memory(socket->tls));
}

/* ---- what it awaits */

static void update_events(struct http_socket *socket)
{
    bool may_read = !socket->has_stopped && !socket->input_ended &&
                    evbuffer_get_length(socket->input) < HTTP_INPUT_MOST;
    bool has_output = !socket->has_stopped &&
                      (socket->input_awaits_output || evbuffer_get_length(socket->output) > 0);

    if (may_read && !socket->input_awaits_output)
        event_add(socket->readable, NULL);
    else
        event_del(socket->readable);
    if (has_output)
        event_add(socket->writable, NULL);
    else
        event_del(socket->writable);
}

/* Somebody has taken input, or has put output. */
static void on_change(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
    struct http_socket *socket = arg;

    if (buffer == socket->input ? info->n_deleted > 0 : info->n_added > 0)
        update_events(socket);
}

static void end_input(struct http_socket *socket, bool is_broken)
{
    socket->input_ended = true;
    update_events(socket);
    socket->hooks->on_end(socket->arg, is_broken);
}

/* ---- TLS */

static void fail(struct http_socket *socket, const char *what)
{
    log_write_limited(LOG_VERBOSE, "http: TLS: %s: %s", what, tls_error(socket->tls));
    end_input(socket, true);
}

static void shake_hands(struct http_socket *socket)
{
    switch (tls_handshake(socket->tls)) {
    case TLS_DONE:
        socket->is_shaking_hands = false;
        break;
    case TLS_WANTS_INPUT:
        break;
    case TLS_WANTS_OUTPUT:
        socket->input_awaits_output = true;
        break;
    default:
        fail(socket, "handshake");
    }
    update_events(socket);
}

static void read_record(struct http_socket *socket)
{
    char bytes[TLS_READ_LEAST];
    size_t got;

    switch (tls_read(socket->tls, bytes, sizeof(bytes), &got)) {
    case TLS_DONE:
        if (evbuffer_add(socket->input, bytes, got) != 0)
            end_input(socket, true);
        else
            socket->hooks->on_input(socket->arg);
        break;
    case TLS_WANTS_INPUT:
        break;
    case TLS_WANTS_OUTPUT:
        socket->input_awaits_output = true;
        break;
    case TLS_ENDED:
        end_input(socket, false);
        break;
    default:
        fail(socket, "read");
    }
    update_events(socket);
}

/* As send(2). The same bytes come again, and as many or more, when they find no room. */
static ssize_t write_record(struct http_socket *socket)
{
    size_t size = evbuffer_get_length(socket->output), put;
    const void *bytes;

    size = size < RECORD ? size : RECORD;
    bytes = evbuffer_pullup(socket->output, (ev_ssize_t)size);
    errno = ENOMEM;
    if (bytes == NULL)
        return -1;
    switch (tls_write(socket->tls, bytes, size, &put)) {
    case TLS_DONE:
        evbuffer_drain(socket->output, put);
        return (ssize_t)put;
    case TLS_WANTS_INPUT:
    case TLS_WANTS_OUTPUT:
        errno = EAGAIN;
        return -1;
    default:
        errno = EPROTO;
        return -1;
    }
}

/* ---- bytes */

static void read_plain(struct http_socket *socket)
{
    int got = evbuffer_read(socket->input, socket->fd, READ_MOST);

    if (got > 0)
        socket->hooks->on_input(socket->arg);
    else if (got == 0)
        end_input(socket, false);
    else if (errno != EAGAIN && errno != EINTR)
        end_input(socket, true);
    update_events(socket);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct http_socket *socket = arg;
    struct server *server = socket->server;

    (void)fd;
    (void)what;
    server_begin_turn(server);
    if (socket->is_shaking_hands)
        shake_hands(socket);
    else if (socket->tls != NULL)
        read_record(socket);
    else
        read_plain(socket);
    server_end_event(server);
}

static ssize_t send_some(struct http_socket *socket)
{
    ssize_t sent = 0, part = 1;

    if (socket->tls == NULL)
        return evbuffer_write(socket->output, socket->fd);
    for (int i = 0; i < RECORDS_AT_ONCE && part > 0 && evbuffer_get_length(socket->output) > 0;
         i++) {
        part = write_record(socket);
        sent += part > 0 ? part : 0;
    }
    return sent > 0 ? sent : part;
}

static void send_output(struct http_socket *socket)
{
    ssize_t sent = send_some(socket);

    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        end_input(socket, true);
    else if (sent > 0 && evbuffer_get_length(socket->output) <= HTTP_OUTPUT_LOW)
        socket->hooks->on_sent(socket->arg);
    update_events(socket);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct http_socket *socket = arg;
    struct server *server = socket->server;

    if (socket->input_awaits_output) {
        socket->input_awaits_output = false;
        on_readable(fd, what, arg);
        return;
    }
    server_begin_turn(server);
    if (evbuffer_get_length(socket->output) > 0)
        send_output(socket);
    else
        update_events(socket);
    server_end_event(server);
}

/* ---- life */

static bool make_events(struct http_socket *socket)
{
    struct event_base *base = socket->server->base;

    socket->readable = event_new(base, socket->fd, EV_READ | EV_PERSIST, on_readable, socket);
    socket->writable = event_new(base, socket->fd, EV_WRITE | EV_PERSIST, on_writable, socket);
    socket->input = evbuffer_new();
    socket->output = evbuffer_new();
    return socket->readable != NULL && socket->writable != NULL && socket->input != NULL &&
           socket->output != NULL &&
           evbuffer_add_cb(socket->input, on_change, socket) != NULL &&
           evbuffer_add_cb(socket->output, on_change, socket) != NULL;
}

static bool secure(struct http_socket *socket)
{
    if (socket->server->tls != NULL)
        socket->tls = tls_new(socket->server->tls, socket->fd, true);
    socket->is_shaking_hands = true;
    return socket->tls != NULL;
}

struct http_socket *http_socket_new(struct server *server, int fd, bool is_secure,
                                    const struct http_socket_hooks *hooks, void *arg)
{
    struct http_socket *socket = calloc(1, sizeof(*socket));

    if (socket == NULL) {
        close(fd);
        return NULL;
    }
    *socket = (struct http_socket){.server = server, .hooks = hooks, .arg = arg, .fd = fd};
    if (!make_events(socket) || (is_secure && !secure(socket)) ||
        event_add(socket->readable, NULL) != 0) {
        http_socket_free(socket);
        return NULL;
    }
    return socket;
}

/* Input that nobody has read would turn the close into a reset. */
static void leave(struct http_socket *socket)
{
    static char unread[READ_MOST];

    if (recv(socket->fd, unread, sizeof(unread), MSG_DONTWAIT) > 0)
        shutdown(socket->fd, SHUT_WR);
    close(socket->fd);
}

void http_socket_free(struct http_socket *socket)
{
    if (socket == NULL)
        return;
    if (socket->tls != NULL)
        tls_end(socket->tls);
    tls_free(socket->tls);
    if (socket->readable != NULL)
        event_free(socket->readable);
    if (socket->writable != NULL)
        event_free(socket->writable);
    if (socket->input != NULL)
        evbuffer_free(socket->input);
    if (socket->output != NULL)
        evbuffer_free(socket->output);
    leave(socket);
    free(socket);
}

void http_socket_stop(struct http_socket *socket)
{
    socket->has_stopped = true;
    update_events(socket);
}

void http_socket_end_output(struct http_socket *socket)
{
    if (socket->tls != NULL)
        tls_end(socket->tls);
    shutdown(socket->fd, SHUT_WR);
}
