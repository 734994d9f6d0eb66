#include "server/net/connection.h"

#include "protocol/number.h"
#include "server/acl/acl.h"
#include "server/dispatch/long_work.h"
#include "server/net/listener.h"
#include "server/net/tls.h"
#include "server/session/monitor_text.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

enum {
    LOGIN_ARGUMENTS = 10,
    LOGIN_BULK = 16384,
    /* From here on an argument is in memory of its own, for the store to take over. malloc maps
     * each block of that size (startup.c), so only bytes that have arrived take memory. */
    LARGE_ARGUMENT = 128 * 1024,
    INLINE_MAX = 64 * 1024,
    WAITING_BACKLOG = 64 * 1024, /* a waiting client is read up to this */
    GOODBYE = 64 * 1024
};

/* ---- what a connection awaits
 *
 * An open connection is in one of these states, and each has the event that ends it:
 *
 *   reading  its socket is awaited, and nothing that may be run lies in its reader;
 *   queued   it has a backlog and may run it: it is in the server's list `resumed`, and the
 *            turn comes to it; or its socket is readable, and others are read before it;
 *   parked   it has a backlog but may not run it, or too much of its output is unsent. It waits
 *            in a command (whose end calls connection_mark_resumed), or its request is held by
 *            a pause (whose end does), or its socket is to take output (connection_send calls
 *            connection_update_events).
 *
 * Only the first reads: so a client has one piece of input in memory beside the request that it
 * is sending, and no event is awaited for which the state has no use and which would come again
 * and again. One that is blocked in a command reads on while its backlog is small, to learn of
 * its peer's end; one whose command takes many turns is asked about that before each slice. */

static bool is_open(const struct connection *connection)
{
    return connection->session.life == SESSION_OPEN;
}

static bool should_read(const struct connection *connection)
{
    if (!is_open(connection) || connection->reader == NULL || connection->input_left == 0 ||
        connection->input_awaits_output)
        return false;
    if (connection->session.waiter != NULL)
        return waiters_is_blocked(&connection->session) &&
               resp_reader_unread(connection->reader) < WAITING_BACKLOG;
    return !connection->has_backlog && connection_has_room(connection);
}

static bool is_parked(const struct connection *connection)
{
    return connection->session.waiter != NULL || connection->hold != HOLD_NONE ||
           connection->input_awaits_output || connection->is_killed ||
           connection->session.awaits_stop || !connection_has_room(connection);
}

static bool should_run(const struct connection *connection)
{
    return is_open(connection) && connection->has_backlog && !is_parked(connection);
}

static void check_state(const struct connection *connection)
{
    assert(!connection->awaits_input || is_open(connection));
    assert(!connection->awaits_input || !connection->has_backlog ||
           connection->session.waiter != NULL);
    assert(!is_open(connection) || connection->readable == NULL || connection->awaits_input ||
           connection->is_resumed || is_parked(connection) || connection->input_left == 0);
}

/* False: out of memory. */
static bool await_input(struct connection *connection, bool wanted)
{
    if (connection->awaits_input == wanted || connection->readable == NULL)
        return true;
    if (wanted && event_add(connection->readable, NULL) != 0)
        return false;
    if (!wanted)
        event_del(connection->readable);
    connection->awaits_input = wanted;
    return true;
}

static void queue(struct connection *connection)
{
    if (connection->is_resumed)
        return;
    connection->is_resumed = true;
    DL_APPEND2(connection->server->resumed, connection, resumed_prev, resumed_next);
}

static void leave_held(struct connection *connection)
{
    struct held *held = &connection->server->held[connection->hold];

    if (connection->hold == HOLD_NONE)
        return;
    assert(held->count > 0);
    DL_DELETE2(held->first, connection, held_prev, held_next);
    held->count--;
}

void connection_hold(struct connection *connection, enum hold hold)
{
    struct held *held = &connection->server->held[hold];

    if (connection->hold == hold)
        return;
    leave_held(connection);
    connection->hold = hold;
    if (hold == HOLD_NONE)
        return;
    DL_APPEND2(held->first, connection, held_prev, held_next);
    held->count++;
}

bool connection_may_run(const struct connection *connection)
{
    return is_open(connection) && !connection->is_killed && !connection->session.awaits_stop &&
           connection->session.waiter == NULL && connection_has_room(connection);
}

/* Before connections that have not waited: one of these could take away what it waits for. */
static void queue_first(struct connection *connection)
{
    struct server *server = connection->server;

    if (connection->is_resumed)
        DL_DELETE2(server->resumed, connection, resumed_prev, resumed_next);
    connection->is_resumed = true;
    DL_PREPEND2(server->resumed, connection, resumed_prev, resumed_next);
}

void connection_update_events(struct connection *connection)
{
    if (should_run(connection))
        queue(connection);
    if (!await_input(connection, should_read(connection)))
        connection_doom(connection);
    check_state(connection);
}

/* Checks a held request again: it may have to wait for another pause. */
void connection_mark_resumed(struct connection *connection)
{
    if (connection->hold != HOLD_NONE && is_open(connection))
        queue_first(connection);
    connection_update_events(connection);
}

/* ---- memory */

/* Of what is prepared for monitors. */
static size_t text_bytes(const struct session *session)
{
    return monitor_text_bytes(session->monitor_text) +
           (session->transaction == NULL ? 0 : transaction_text_bytes(session->transaction));
}

void connection_measure(const struct connection *connection,
                        struct connection_memory *ret_memory)
{
    const struct session *session = &connection->session;
    struct connection_memory memory = {0};
    struct resp_memory reader = {0};

    if (connection->reader != NULL)
        resp_reader_measure(connection->reader, &reader);
    memory.input = reader.input;
    memory.input_free = reader.input_free;
    memory.arguments = reader.arguments;
    memory.queued = session->transaction == NULL ? 0 : transaction_bytes(session->transaction);
    memory.output = buffer_size(&connection->output) + buffer_size(&connection->deferred);
    memory.output_buffer = connection->output.capacity + connection->deferred.capacity;
    if (connection->tls != NULL)
        memory.total = tls_memory(connection->tls);
    memory.total += sizeof(*connection) + reader.total + memory.queued + memory.output_buffer +
                    text_bytes(session) + connection->gate_capacity * sizeof(struct gate) +
                    session->bound_bytes;
    if (session->waiter != NULL) {
        memory.arguments = waiters_request_bytes(session->waiter);
        memory.total += memory.arguments + long_work_bytes(waiters_work_of(session->waiter));
    }
    if (connection->front != NULL)
        memory.total += connection->front->bytes;
    *ret_memory = memory;
}

void connection_account(struct connection *connection)
{
    struct connection_memory memory;

    if (connection->session.life == SESSION_GONE)
        return;
    connection_measure(connection, &memory);
    client_memory_note(connection, &memory);
}

void connection_account_front(struct front *front, size_t bytes)
{
    bool changes = front->bytes != bytes;

    front->bytes = bytes;
    if (changes && front->connection != NULL)
        connection_account(front->connection);
}

void connection_leave_front(struct front *front)
{
    if (front->connection != NULL)
        front->connection->front = NULL;
    front->connection = NULL;
}

void connection_shrink(struct connection *connection)
{
    struct resp_memory memory;

    if (connection->hold != HOLD_NONE || connection->has_backlog || connection->reader == NULL)
        return;
    resp_reader_measure(connection->reader, &memory);
    if (memory.input_free + memory.arguments == 0)
        return;
    resp_reader_shrink(connection->reader);
    connection_account(connection);
}

/* ---- the end */

void connection_close(struct connection *connection)
{
    struct session *session = &connection->session;

    if (session->life != SESSION_OPEN)
        return;
    session->life = SESSION_CLOSING;
    connection_hold(connection, HOLD_NONE);
    session_leave(connection->server, session);
    connection_update_events(connection);
    if (!connection->is_running && connection_all_sent(connection))
        connection_doom(connection);
}

void connection_release_memory(struct connection *connection, bool waits_on)
{
    if (!waits_on)
        waiters_cancel(connection->server, &connection->session);
    resp_reader_free(connection->reader);
    connection->reader = NULL;
    connection_release_output(connection);
}

void connection_kill(struct connection *connection)
{
    if (connection->is_killed || connection->session.life == SESSION_GONE)
        return;
    connection->is_killed = true;
    DL_APPEND2(connection->server->killed, connection, killed_prev, killed_next);
}

static void leave_killed(struct connection *connection)
{
    struct server *server = connection->server;

    if (!connection->is_killed)
        return;
    DL_DELETE2(server->killed, connection, killed_prev, killed_next);
    connection->is_killed = false;
    connection->session.user = acl_default(server->acl); /* its user may be dead */
}

/* It stops waiting and listening at once: what comes after must not reach it. */
void connection_doom_killed(struct server *server)
{
    struct connection *connection = server->killed;

    connection_doom(connection);
    session_leave(server, &connection->session);
}

void connection_doom(struct connection *connection)
{
    struct server *server = connection->server;

    if (connection->session.life == SESSION_GONE)
        return;
    leave_killed(connection);
    connection->session.life = SESSION_GONE;
    DL_APPEND2(server->doomed, connection, doomed_prev, doomed_next);
    client_memory_forget(connection);
    connection_update_events(connection);
    if (connection->awaits_output)
        event_del(connection->writable);
    connection->awaits_output = false;
    if (!connection->is_running)
        connection_release_memory(connection, false);
}

void connection_end_input(struct connection *connection)
{
    connection_close(connection);
}

/* Is the end of the input next, or was the connection reset? Not known by TLS, where a record
 * comes before the end. */
static bool is_at_end(const struct connection *connection)
{
    char byte;
    ssize_t got;

    if (connection->has_backlog || connection->reader == NULL ||
        resp_reader_unread(connection->reader) > 0)
        return false;
    got = recv(connection->session.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}

/* The client behind one that is in this process may have gone first. */
static bool peer_has_closed(const struct connection *connection)
{
    struct pollfd peers[2] = {{.fd = connection->session.fd, .events = POLLRDHUP},
                              {.fd = connection->peer_fd, .events = POLLRDHUP}};

    return poll(peers, connection->session.is_inside ? 2 : 1, 0) > 0;
}

void connection_check_blocked_peer(struct connection *connection)
{
    if (peer_has_closed(connection))
        connection_end_input(connection);
}

void connection_check_peer(struct connection *connection)
{
    if (connection->awaits_input || connection->session.waiter == NULL ||
        !peer_has_closed(connection))
        return;
    if (waiters_is_blocked(&connection->session) || is_at_end(connection))
        connection_end_input(connection);
}

/* ---- the server is about to stop */

static void set_number(int fd, int level, int option, int number)
{
    setsockopt(fd, level, option, &number, sizeof(number));
}

/* Bytes that nobody has read; by TLS those of its records. */
static size_t unread_bytes(const struct connection *connection)
{
    int unread = 0;

    return ioctl(connection->session.fd, FIONREAD, &unread) == 0 && unread > 0 ? (size_t)unread
                                                                               : 0;
}

void connection_cut_input(struct connection *connection)
{
    connection->input_left = unread_bytes(connection);
    connection_update_events(connection);
}

void connection_rest(struct connection *connection)
{
    connection->input_left = 0;
    connection_update_events(connection);
}

void connection_restore_input(struct connection *connection)
{
    connection->input_left = connection->has_ended ? 0 : SIZE_MAX;
    connection_update_events(connection);
}

/* Parked by pressure, a request may wait for minutes: it was not accepted. */
static bool has_work(const struct connection *connection)
{
    if (connection->session.waiter != NULL || connection->hold == HOLD_EVENT)
        return true;
    return connection->hold == HOLD_NONE &&
           (connection->has_backlog || (is_open(connection) && connection->input_left > 0 &&
                                        unread_bytes(connection) > 0));
}

/* Closing a socket with unread input makes the kernel drop output that the peer has not got. */
bool connection_is_owed(struct connection *connection)
{
    int unsent = 0;

    if (connection->sent < connection->written || has_work(connection))
        return true;
    return !connection->session.is_unix &&
           ioctl(connection->session.fd, SIOCOUTQ, &unsent) == 0 && unsent > 0;
}

bool connection_is_unread(const struct connection *connection)
{
    return connection->awaits_output ||
           (connection_all_sent(connection) && !has_work(connection));
}

/* Who is in the midst of a transaction sends the rest of it first. */
bool connection_is_last(const struct connection *connection)
{
    const struct session *session = &connection->session;

    return connection->server->stopping && is_open(connection) && !session->is_late &&
           !connection_may_stay(connection) && !session->awaits_stop &&
           session->transaction == NULL && session->watcher == NULL &&
           !connection->is_running && connection->released == connection->written &&
           connection->sent < connection->written && !has_work(connection);
}

/* The end of the stream leaves in the segment of the last bytes: the client sees both at once.
 */
void connection_begin_last(struct connection *connection)
{
    if (!connection->session.is_unix)
        set_number(connection->session.fd, IPPROTO_TCP, TCP_CORK, 1);
}

void connection_end_last(struct connection *connection)
{
    connection->has_ended = true;
    connection->input_left = 0;
    connection_leave_tls(connection);
    shutdown(connection->session.fd, SHUT_WR);
    connection_update_events(connection);
}

/* ---- closing */

/* Input that was sent and not read would turn the close into a reset. */
static void say_goodbye(const struct connection *connection)
{
    static char unread[GOODBYE];

    if (connection->is_handed)
        return;
    if (recv(connection->session.fd, unread, sizeof(unread), MSG_DONTWAIT) > 0)
        shutdown(connection->session.fd, SHUT_WR);
    close(connection->session.fd);
}

static void leave_lists(struct connection *connection)
{
    struct server *server = connection->server;

    if (connection->is_touched)
        DL_DELETE2(server->touched, connection, touched_prev, touched_next);
    connection_leave_gated(connection);
    if (connection->is_resumed)
        DL_DELETE2(server->resumed, connection, resumed_prev, resumed_next);
    leave_killed(connection);
    if (connection->session.life == SESSION_GONE)
        DL_DELETE2(server->doomed, connection, doomed_prev, doomed_next);
    connection_leave_tls(connection);
    client_memory_forget(connection);
    server_remove_session(server, &connection->session);
}

static void free_event(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

void connection_free(struct connection *connection)
{
    struct session *session = &connection->session;

    if (connection->front != NULL)
        connection_leave_front(connection->front);
    connection_hold(connection, HOLD_NONE);
    session_leave(connection->server, session);
    leave_lists(connection);
    free_event(connection->readable);
    free_event(connection->writable);
    say_goodbye(connection);
    tls_free(connection->tls);
    resp_reader_free(connection->reader);
    connection_release_output(connection);
    session_release(session);
    free(connection);
}

/* ---- the beginning */

static struct resp_limits limits_of(const struct connection *connection)
{
    const struct config *config = &connection->server->config;
    struct resp_limits limits = {.arguments = 1024 * 1024,
                                 .bulk_bytes = number_as_size(config->proto_max_bulk_len),
                                 .inline_bytes = INLINE_MAX,
                                 .query_bytes =
                                     number_as_size(config->client_query_buffer_limit),
                                 .large_bytes = LARGE_ARGUMENT};

    if (!connection->session.authenticated) {
        limits.arguments = LOGIN_ARGUMENTS;
        limits.bulk_bytes = LOGIN_BULK;
        limits.before_login = true;
    }
    return limits;
}

void connection_limit_input(struct connection *connection)
{
    struct resp_limits limits = limits_of(connection);

    if (connection->reader != NULL)
        resp_reader_set_limits(connection->reader, &limits);
}

/* A dead host is noticed after twice the time of tcp-keepalive: as in Redis three probes, a
 * third of the time apart, after a time of silence; as long for what was sent and is not
 * acknowledged, for which there are no probes. */
static void set_socket_options(int fd, const struct config *config)
{
    int64_t seconds = config->tcp_keepalive, most = INT32_MAX / 2000;
    int third = seconds < 3 ? 1 : (int)(seconds / 3);

    set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (seconds == 0)
        return;
    set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)seconds);
    set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, third);
    set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
               (int)(seconds < most ? seconds : most) * 2000);
}

static void init_session(struct connection *connection, const struct accepted *accepted)
{
    struct session *session = &connection->session;
    struct server *server = connection->server;

    session->id = ++server->next_session;
    session->is_late = server->stopping;
    session->fd = accepted->fd;
    session->is_unix = accepted->is_unix;
    session->is_inside = accepted->is_inside;
    snprintf(session->address, sizeof(session->address), "%s", accepted->address);
    snprintf(session->local_address, sizeof(session->local_address), "%s",
             accepted->local_address);
    session_log_out(server, session);
    session->protocol = 2;
    if (accepted->user != NULL) {
        session->user = accepted->user;
        session->credentials = accepted->user->credentials;
        session->authenticated = true;
        session->protocol = 3;
    }
    session->created = session->active = server->clock.last.monotonic;
    server_add_session(server, session);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *connection = arg;

    (void)fd;
    (void)what;
    server_begin_turn(connection->server);
    if (connection->weight.is_heavy) {
        connection->reads_later = true;
        queue(connection);
    } else {
        connection_read(connection);
    }
    server_end_event(connection->server);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *connection = arg;

    (void)fd;
    (void)what;
    server_begin_turn(connection->server);
    connection->awaits_output = false;
    connection->input_awaits_output = false;
    if (connection->is_shaking_hands)
        connection_shake_hands(connection);
    else
        connection_send(connection);
    if (connection->tls != NULL)
        connection_update_events(connection);
}

static bool open_events(struct connection *connection)
{
    struct event_base *base = connection->server->base;
    int fd = connection->session.fd;

    connection->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, connection);
    connection->writable = event_new(base, fd, EV_WRITE, on_writable, connection);
    return connection->readable != NULL && connection->writable != NULL;
}

/* The text is Redis': clients and their users know it. */
static const char protected_mode_denied[] =
    "-DENIED Redis is running in protected mode because protected mode is enabled and no "
    "password is set for the default user. In this mode connections are only accepted from the "
    "loopback interface. If you want to connect from external computers to Redis you may adopt "
    "one of the following solutions: 1) Just disable protected mode sending the command "
    "'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from "
    "the same host the server is running, however MAKE SURE Redis is not publicly accessible "
    "from internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) "
    "Alternatively you can just disable the protected mode by editing the Redis configuration "
    "file, and setting the protected mode option to 'no', and then restarting the server. 3) "
    "If you started the server manually just for testing, restart it with the "
    "'--protected-mode no' option. 4) Setup a an authentication password for the default user. "
    "NOTE: You only need to do one of the above things in order for the server to start "
    "accepting connections from the outside.\r\n";

/* protected-mode: while the default user needs no password, only clients of this machine are
 * served. */
static bool is_remote_and_refused(const struct server *server, const char *address)
{
    return server->config.protected_mode && acl_default(server->acl)->no_password &&
           !listener_is_loopback(address);
}

bool connection_is_refused(struct server *server, const char *address, const char **ret_why)
{
    if (!is_remote_and_refused(server, address))
        return false;
    log_write_limited(LOG_WARNING, "A client at %s was turned away by protected-mode", address);
    server->stats.connections_rejected++;
    *ret_why = protected_mode_denied;
    return true;
}

/* Closes; a plain client is told why. */
static void turn_away(int fd, const char *address, bool secure, const char *why)
{
    if (!secure && send(fd, why, strlen(why), MSG_NOSIGNAL) < 0)
        log_write_limited(LOG_VERBOSE, "a client at %s was gone before it was turned away",
                          address);
    close(fd);
}

/* A client that is only yet to be closed takes no other one's place. */
static bool has_place(struct server *server)
{
    uint64_t most = (uint64_t)server->config.maxclients;

    while (server->session_count >= most && server->doomed != NULL)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): each time it is another one */
        connection_free(server->doomed);
    return server->session_count < most;
}

/* A client of TLS learns of protected-mode after its handshake. */
static bool is_turned_away(struct server *server, const struct accepted *accepted)
{
    const char *why = "-ERR max number of clients reached\r\n";

    if (!has_place(server))
        server->stats.connections_rejected++;
    else if (accepted->secure || accepted->is_unix ||
             !connection_is_refused(server, accepted->address, &why))
        return false;
    turn_away(accepted->fd, accepted->address, accepted->secure, why);
    return true;
}

void connection_accept(struct server *server, const struct accepted *accepted)
{
    struct connection *connection;
    struct resp_limits limits;

    server->stats.connections_received++;
    if (is_turned_away(server, accepted))
        return;
    connection = calloc(1, sizeof(*connection));
    if (connection == NULL) {
        close(accepted->fd);
        return;
    }
    connection->server = server;
    connection->input_left = SIZE_MAX;
    connection->peer_fd = accepted->peer_fd;
    connection->front = accepted->front;
    if (accepted->front != NULL)
        accepted->front->connection = connection;
    init_session(connection, accepted);
    set_socket_options(accepted->fd, &server->config);
    limits = limits_of(connection);
    connection->reader = resp_reader_new(&limits);
    connection_init_output(connection);
    if (connection->reader == NULL || !open_events(connection) ||
        (accepted->secure && !connection_secure(connection))) {
        connection_free(connection);
        return;
    }
    connection_limit_output(connection);
    connection_account(connection);
    connection_update_events(connection);
}
