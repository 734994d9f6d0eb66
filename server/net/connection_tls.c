/* A connection by TLS: its handshake, and how bytes come and go. */
#include "server/net/connection.h"
#include "server/net/tls.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <utlist.h>

/* ---- the handshake */

static void leave_shaking(struct connection *connection)
{
    struct server *server = connection->server;

    if (!connection->is_shaking_hands)
        return;
    DL_DELETE2(server->shaking, connection, shaking_prev, shaking_next);
    server->shaking_count--;
    connection->is_shaking_hands = false;
}

static void give_up(struct connection *connection)
{
    leave_shaking(connection);
    connection_doom(connection);
}

/* Many peers that never end their handshakes must not keep others out: the oldest gives way.
 * One that is in earnest takes two exchanges, and is not the oldest of a thousand for long. */
static void make_room(struct server *server)
{
    int64_t most = server->config.maxclients / 4;

    if (most > HANDSHAKES_MOST || most < 1)
        most = most < 1 ? 1 : HANDSHAKES_MOST;
    if (server->shaking_count < (uint64_t)most)
        return;
    log_write_limited(LOG_WARNING,
                      "%lld handshakes of TLS have begun and not ended: the oldest are cut off",
                      (long long)most);
    server->stats.connections_rejected++;
    give_up(server->shaking);
}

bool connection_secure(struct connection *connection)
{
    struct server *server = connection->server;

    connection->tls =
        server->tls == NULL ? NULL : tls_new(server->tls, connection->session.fd, false);
    if (connection->tls == NULL)
        return false;
    make_room(server);
    connection->is_shaking_hands = true;
    server->shaking_count++;
    DL_APPEND2(server->shaking, connection, shaking_prev, shaking_next);
    return true;
}

static void note_failure(const struct connection *connection, const char *what)
{
    log_write_limited(LOG_VERBOSE, "client id=%llu addr=%s: TLS: %s: %s",
                      (unsigned long long)connection->session.id, connection->session.address,
                      what, tls_error(connection->tls));
}

static void finish_handshake(struct connection *connection)
{
    const char *why = NULL;
    size_t put;

    leave_shaking(connection);
    connection->session.active = connection->server->clock.last.monotonic;
    if (connection->session.is_unix ||
        !connection_is_refused(connection->server, connection->session.address, &why))
        return;
    tls_write(connection->tls, why, strlen(why), &put);
    connection_doom(connection);
}

void connection_shake_hands(struct connection *connection)
{
    switch (tls_handshake(connection->tls)) {
    case TLS_DONE:
        finish_handshake(connection);
        break;
    case TLS_WANTS_INPUT:
        break;
    case TLS_WANTS_OUTPUT:
        connection->input_awaits_output = true;
        connection_await_room(connection);
        break;
    default:
        note_failure(connection, "handshake");
        connection_doom(connection);
    }
    connection_account(connection);
}

/* They are in the order in which they began. */
void connections_end_handshakes(struct server *server)
{
    int64_t now = server->clock.last.monotonic;

    while (server->shaking != NULL && now - server->shaking->session.created >= HANDSHAKE_MS)
        give_up(server->shaking);
}

void connection_leave_tls(struct connection *connection)
{
    leave_shaking(connection);
    if (connection->tls != NULL)
        tls_end(connection->tls);
}

/* ---- bytes */

static ssize_t fail(int error)
{
    errno = error;
    return -1;
}

ssize_t connection_receive(struct connection *connection, void *bytes, size_t size)
{
    size_t got;

    if (connection->tls == NULL)
        return recv(connection->session.fd, bytes, size, 0);
    switch (tls_read(connection->tls, bytes, size, &got)) {
    case TLS_DONE:
        return (ssize_t)got;
    case TLS_ENDED:
        return 0;
    case TLS_WANTS_INPUT:
        return fail(EAGAIN);
    case TLS_WANTS_OUTPUT:
        connection->input_awaits_output = true;
        connection_await_room(connection);
        return fail(EAGAIN);
    default:
        note_failure(connection, "read");
        return fail(EPROTO);
    }
}

/* No peer that keeps the rules makes a write wait for input: a message of a handshake would
 * have to be in parts. */
ssize_t connection_transmit(struct connection *connection, const void *bytes, size_t size)
{
    size_t put;

    if (connection->tls == NULL)
        return send(connection->session.fd, bytes, size, MSG_NOSIGNAL);
    switch (tls_write(connection->tls, bytes, size, &put)) {
    case TLS_DONE:
        return (ssize_t)put;
    case TLS_WANTS_OUTPUT:
        return fail(EAGAIN);
    default:
        return fail(EPROTO);
    }
}
