#include "server/http/api_session.h"

#include "server/net/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct api_session {
    struct server *server;
    struct bufferevent *socket;
    uint64_t id;
    struct front front;
    bool has_ended;
    void (*on_event)(void *arg);
    void *arg;
};

struct evbuffer *api_session_replies(struct api_session *session)
{
    return bufferevent_get_input(session->socket);
}

struct evbuffer *api_session_requests(struct api_session *session)
{
    return bufferevent_get_output(session->socket);
}

bool api_session_has_ended(const struct api_session *session)
{
    return session->has_ended;
}

uint64_t api_session_id(const struct api_session *session)
{
    return session->id;
}

void api_session_account(struct api_session *session, size_t bytes)
{
    connection_account_front(&session->front,
                             sizeof(*session) + bytes +
                                 evbuffer_get_length(api_session_replies(session)) +
                                 evbuffer_get_length(api_session_requests(session)));
}

static void tell(struct api_session *session)
{
    server_begin_turn(session->server);
    session->on_event(session->arg);
}

static void on_socket(struct bufferevent *socket, void *arg)
{
    (void)socket;
    tell(arg);
}

static void on_socket_event(struct bufferevent *socket, short what, void *arg)
{
    struct api_session *session = arg;

    (void)socket;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        session->has_ended = true;
    tell(session);
}

static bool use_socket(struct api_session *session, int fd)
{
    session->socket = bufferevent_socket_new(session->server->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (session->socket == NULL) {
        close(fd);
        return false;
    }
    bufferevent_setcb(session->socket, on_socket, on_socket, on_socket_event, session);
    bufferevent_setwatermark(session->socket, EV_READ, 0, API_REPLIES_MOST);
    bufferevent_setwatermark(session->socket, EV_WRITE, API_REQUEST_MOST / 2, 0);
    bufferevent_set_max_single_read(session->socket, API_REPLIES_MOST);
    return bufferevent_enable(session->socket, EV_READ | EV_WRITE) == 0;
}

/* Returns the id of the session; 0: it is turned away. */
static uint64_t accept_other_end(const struct http_connection *connection, struct front *front,
                                 int fd, struct acl_user *user)
{
    struct server *server = connection->server;
    uint64_t before = server->next_session;
    struct accepted accepted = {.fd = fd,
                                .is_unix = true,
                                .is_inside = true,
                                .peer_fd = connection->fd,
                                .front = front,
                                .user = user};

    snprintf(accepted.address, sizeof(accepted.address), "%s", connection->address);
    snprintf(accepted.local_address, sizeof(accepted.local_address), "%s",
             connection->local_address);
    connection_accept(server, &accepted);
    return server->next_session == before ? 0 : server->next_session;
}

struct api_session *api_session_open(const struct http_connection *connection,
                                     struct acl_user *user, void (*on_event)(void *arg),
                                     void *arg)
{
    struct api_session *session = calloc(1, sizeof(*session));
    int ends[2];

    if (session == NULL)
        return NULL;
    *session =
        (struct api_session){.server = connection->server, .on_event = on_event, .arg = arg};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        free(session);
        return NULL;
    }
    session->id = accept_other_end(connection, &session->front, ends[1], user);
    if (use_socket(session, ends[0]))
        return session;
    api_session_close(session);
    return NULL;
}

void api_session_close(struct api_session *session)
{
    if (session == NULL)
        return;
    connection_leave_front(&session->front);
    if (session->socket != NULL)
        bufferevent_free(session->socket);
    free(session);
}
