#include "server/connection.h"

#include "server/listener.h"
#include "server/waiters.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

enum {
    READ_SIZE = 64 * 1024,
    OUTPUT_SOFT = 1024 * 1024, /* unsent output at which no more requests are run */
    OUTPUT_KEEP = 1024,        /* memory kept by an idle connection */
    LOGIN_ARGUMENTS = 10,
    LOGIN_BULK = 16384,
    INLINE_MAX = 64 * 1024
};

/* ---- lists */

static void touch(struct connection *connection)
{
    if (connection->is_touched)
        return;
    connection->is_touched = true;
    DL_APPEND2(connection->server->touched, connection, touched_prev, touched_next);
}

void connection_mark_resumed(struct connection *connection)
{
    if (connection->is_resumed)
        return;
    connection->is_resumed = true;
    DL_APPEND2(connection->server->resumed, connection, resumed_prev, resumed_next);
}

void connection_doom(struct connection *connection)
{
    if (connection->is_doomed)
        return;
    connection->is_doomed = true;
    LL_PREPEND2(connection->server->doomed, connection, doomed_next);
}

static void leave_lists(struct connection *connection)
{
    struct server *server = connection->server;

    if (connection->is_touched)
        DL_DELETE2(server->touched, connection, touched_prev, touched_next);
    if (connection->is_gated)
        DL_DELETE2(server->gated, connection, gated_prev, gated_next);
    if (connection->is_resumed)
        DL_DELETE2(server->resumed, connection, resumed_prev, resumed_next);
    if (connection->is_doomed)
        LL_DELETE2(server->doomed, connection, doomed_next);
    server_remove_session(server, &connection->session);
}

/* ---- life */

static struct resp_limits limits_of(const struct connection *connection)
{
    const struct config *config = &connection->server->config;
    struct resp_limits limits = {.arguments = 1024 * 1024,
                                 .bulk_bytes = (size_t)config->proto_max_bulk_len,
                                 .inline_bytes = INLINE_MAX,
                                 .query_bytes = (size_t)config->client_query_buffer_limit};

    if (!connection->session.authenticated) {
        limits.arguments = LOGIN_ARGUMENTS;
        limits.bulk_bytes = LOGIN_BULK;
        limits.before_login = true;
    }
    return limits;
}

static void set_socket_options(int fd, const struct config *config)
{
    int one = 1, seconds = (int)config->tcp_keepalive;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (seconds == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
}

static void init_session(struct connection *connection, int fd, const char *address,
                         const char *local_address)
{
    struct session *session = &connection->session;
    struct server *server = connection->server;

    session->id = ++server->next_session;
    session->fd = fd;
    snprintf(session->address, sizeof(session->address), "%s", address);
    snprintf(session->local_address, sizeof(session->local_address), "%s", local_address);
    snprintf(session->user, sizeof(session->user), "default");
    session->authenticated = !config_wants_login(&server->config);
    session->protocol = 2;
    session->created = session->active = server->clock.last.monotonic;
    server_add_session(server, session);
}

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

void connection_init_output(struct connection *connection)
{
    buffer_init(&connection->output, SIZE_MAX / 2);
    buffer_init(&connection->aside, SIZE_MAX / 2);
    connection->writer = (struct resp_writer){&connection->output, 2};
    connection->aside_writer = (struct resp_writer){&connection->aside, 2};
}

static void cut_off(struct connection *connection)
{
    if (connection->is_doomed)
        return;
    log_write_limited(LOG_WARNING,
                      "client id=%llu addr=%s closed: its unread replies passed "
                      "client-output-buffer-limit",
                      (unsigned long long)connection->session.id, connection->session.address);
    connection_doom(connection);
}

/* As the configuration and the subscriptions are now. What is above the soft limit may stay a
 * while. */
void connection_limit_output(struct connection *connection)
{
    const struct session *session = &connection->session;
    const struct output_limits *limits = &connection->server->config.output_limits;
    int64_t now = connection->server->clock.last.monotonic;
    const struct output_limit *limit =
        &limits->of[session_subscriptions(session) > 0 ? CLIENT_PUBSUB : CLIENT_NORMAL];

    connection->output.maximum = limit->hard > 0 ? (size_t)limit->hard : SIZE_MAX / 2;
    connection->aside.maximum = connection->output.maximum;
    if (limit->soft == 0 || session->output_bytes <= (size_t)limit->soft)
        connection->soft_since = 0;
    else if (connection->soft_since == 0)
        connection->soft_since = now;
    if (session->output_bytes > connection->output.maximum ||
        (connection->soft_since > 0 && now - connection->soft_since > limit->seconds * 1000))
        cut_off(connection);
}

static const char protected_mode_denied[] =
    "-DENIED dueq is running in protected mode because protected mode is enabled and no "
    "password is set for the default user. In this mode connections are only accepted from the "
    "loopback interface. If you want to connect from external computers, do one of the "
    "following: 1) set a password for the default user (requirepass); 2) send 'CONFIG SET "
    "protected-mode no' from the machine the server runs on, and CONFIG REWRITE to keep it; 3) "
    "set protected-mode to 'no' in the configuration file and restart; 4) restart with "
    "'--protected-mode no'. Without a password make sure that the port cannot be reached from "
    "the internet.\r\n";

/* As long as no password keeps strangers out, the machine's border does. */
static bool is_stranger(const struct config *config, const char *address)
{
    return config->protected_mode && !config_wants_login(config) &&
           strchr(address, '/') == NULL && !listener_is_loopback(address);
}

/* Instead of being served. */
static void turn_away(struct server *server, int fd, const char *address, const char *why)
{
    server->stats.connections_rejected++;
    if (send(fd, why, strlen(why), MSG_NOSIGNAL) < 0)
        log_write_limited(LOG_VERBOSE, "a client at %s was gone before it was turned away",
                          address);
    close(fd);
}

void connection_accept(struct server *server, int fd, const char *address,
                       const char *local_address)
{
    struct connection *connection;
    struct resp_limits limits;

    server->stats.connections_received++;
    if (server->session_count >= (uint64_t)server->config.maxclients) {
        turn_away(server, fd, address, "-ERR max number of clients reached\r\n");
        return;
    }
    if (is_stranger(&server->config, address)) {
        log_write_limited(LOG_WARNING, "A client at %s was turned away by protected-mode",
                          address);
        turn_away(server, fd, address, protected_mode_denied);
        return;
    }
    connection = calloc(1, sizeof(*connection));
    if (connection == NULL) {
        close(fd);
        return;
    }
    connection->server = server;
    init_session(connection, fd, address, local_address);
    set_socket_options(fd, &server->config);
    limits = limits_of(connection);
    connection->reader = resp_reader_new(&limits);
    connection_init_output(connection);
    connection_limit_output(connection);
    connection->readable =
        event_new(server->base, fd, EV_READ | EV_PERSIST, on_readable, connection);
    connection->writable = event_new(server->base, fd, EV_WRITE, on_writable, connection);
    if (connection->reader == NULL || connection->readable == NULL ||
        connection->writable == NULL || event_add(connection->readable, NULL) != 0)
        connection_free(connection);
}

void connection_free(struct connection *connection)
{
    struct session *session = &connection->session;

    connection->server->held -= connection->is_held;
    session_leave(connection->server, session);
    leave_lists(connection);
    if (connection->readable != NULL)
        event_free(connection->readable);
    if (connection->writable != NULL)
        event_free(connection->writable);
    close(session->fd);
    resp_reader_free(connection->reader);
    buffer_release(&connection->output);
    buffer_release(&connection->aside);
    free(connection->gates);
    free(connection);
}

/* ---- output */

/* Counts what was written since `before`. */
static void count_output(struct connection *connection, size_t before)
{
    struct session *session = &connection->session;

    connection->written += buffer_size(&connection->output) - before;
    session->output_bytes = buffer_size(&connection->output);
    if (session->output_bytes > OUTPUT_KEEP)
        connection_limit_output(connection);
    if (connection->output.overflowed) {
        cut_off(connection);
        return;
    }
    touch(connection);
}

/* The same, and takes it back when the client wants no replies. */
static void account_output(struct connection *connection, size_t before)
{
    struct session *session = &connection->session;

    if (session->reply_off || session->reply_skip > 0)
        buffer_truncate(&connection->output, before);
    if (session->reply_skip > 0)
        session->reply_skip--;
    count_output(connection, before);
}

/* What a command brings about for its own connection comes before the reply, or behind it once
 * that has begun. */
struct resp_writer *connection_push_begin(struct connection *connection)
{
    connection->writer.version = connection->session.protocol;
    connection->aside_writer.version = connection->session.protocol;
    connection->push_mark = buffer_size(&connection->output);
    return connection->is_running && connection->push_mark > connection->run_mark
               ? &connection->aside_writer
               : &connection->writer;
}

void connection_push_end(struct connection *connection)
{
    if (!connection->is_running)
        count_output(connection, connection->push_mark);
    else if (connection->push_mark == connection->run_mark)
        connection->run_mark = buffer_size(&connection->output); /* the reply is yet to begin */
}

static void append_aside(struct connection *connection)
{
    size_t before = buffer_size(&connection->output);

    if (buffer_size(&connection->aside) == 0)
        return;
    buffer_append(&connection->output, buffer_content(&connection->aside),
                  buffer_size(&connection->aside));
    buffer_release(&connection->aside);
    buffer_init(&connection->aside, connection->output.maximum);
    count_output(connection, before);
}

static bool push_gate(struct connection *connection, struct gate gate)
{
    size_t capacity = connection->gate_capacity == 0 ? 4 : connection->gate_capacity * 2;
    struct gate *grown;

    if (connection->gates == NULL || connection->gate_count == connection->gate_capacity) {
        grown = realloc(connection->gates, capacity * sizeof(*grown));
        if (grown == NULL)
            return false;
        connection->gates = grown;
        connection->gate_capacity = capacity;
    }
    connection->gates[connection->gate_count++] = gate;
    return true;
}

void connection_gate(struct connection *connection, uint64_t lsn)
{
    struct gate *last =
        connection->gate_count > 0 ? &connection->gates[connection->gate_count - 1] : NULL;

    DL_DELETE2(connection->server->touched, connection, touched_prev, touched_next);
    connection->is_touched = false;
    if (last != NULL && last->lsn == lsn)
        last->upto = connection->written;
    else if (!push_gate(connection, (struct gate){connection->written, lsn})) {
        connection_doom(connection);
        return;
    }
    if (connection->is_gated)
        return;
    connection->is_gated = true;
    DL_APPEND2(connection->server->gated, connection, gated_prev, gated_next);
}

/* Closes when all is said; gives memory back when there is nothing more to say for now. */
static void rest(struct connection *connection)
{
    struct session *session = &connection->session;

    if (session->close_after_reply && connection->sent == connection->written)
        connection_doom(connection);
    buffer_shrink(&connection->output, OUTPUT_KEEP);
    if (!session->close_after_reply && resp_reader_unread(connection->reader) > 0 &&
        session->waiter == NULL)
        connection_mark_resumed(connection);
}

static void send_released(struct connection *connection)
{
    while (connection->sent < connection->released) {
        ssize_t put = send(connection->session.fd, buffer_content(&connection->output),
                           (size_t)(connection->released - connection->sent), MSG_NOSIGNAL);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            connection->writing = event_add(connection->writable, NULL) == 0;
            return;
        }
        if (put < 0) {
            connection_doom(connection);
            return;
        }
        connection->sent += (uint64_t)put;
        connection->server->stats.output_bytes += (uint64_t)put;
        buffer_consume(&connection->output, (size_t)put);
        connection->session.output_bytes = buffer_size(&connection->output);
    }
    rest(connection);
}

void connection_release(struct connection *connection, uint64_t settled)
{
    size_t passed = 0;

    if (connection->gates == NULL)
        return;
    while (passed < connection->gate_count && connection->gates[passed].lsn <= settled)
        connection->released = connection->gates[passed++].upto;
    if (passed == 0)
        return;
    connection->gate_count -= passed;
    memmove(connection->gates, connection->gates + passed,
            connection->gate_count * sizeof(struct gate));
    if (connection->gate_count == 0) {
        DL_DELETE2(connection->server->gated, connection, gated_prev, gated_next);
        connection->is_gated = false;
    }
    if (!connection->writing && !connection->is_doomed)
        send_released(connection);
}

/* Closing a socket with unread input makes the kernel drop what the peer has not got yet. */
bool connection_drain(struct connection *connection)
{
    bool local = strchr(connection->session.address, '/') != NULL;
    int unsent = 0;

    event_del(connection->readable);
    if (connection->sent < connection->written)
        return true;
    return !local && ioctl(connection->session.fd, SIOCOUTQ, &unsent) == 0 && unsent > 0;
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct connection *connection = arg;

    (void)fd;
    (void)what;
    connection->writing = false;
    send_released(connection);
}

/* ---- input */

enum outcome connection_run(struct connection *connection, const struct request *request,
                            const struct waiter *waiter, bool timed_out)
{
    struct server *server = connection->server;
    struct session *session = &connection->session;
    size_t before = buffer_size(&connection->output);
    bool was_authenticated = session->authenticated;
    struct context context = {.server = server,
                              .session = session,
                              .store = server->store,
                              .request = request,
                              .reply = &connection->writer,
                              .now = server->now,
                              .waiter = waiter,
                              .timed_out = timed_out,
                              .may_wait = true};
    enum outcome outcome;

    connection->writer.version = session->protocol;
    connection->is_running = true;
    connection->run_mark = before;
    outcome = command_dispatch(&context);
    connection->is_running = false;
    server->work_done = true;
    if (outcome != OUTCOME_WAIT)
        account_output(connection, before); /* a reply yet to come is yet to be skipped */
    append_aside(connection);
    if (outcome == OUTCOME_CLOSE)
        session->close_after_reply = true;
    if (session->authenticated != was_authenticated) {
        struct resp_limits limits = limits_of(connection);

        resp_reader_set_limits(connection->reader, &limits);
    }
    server_commit_if_large(server);
    return outcome;
}

void connection_reply_error(struct connection *connection, const char *text)
{
    size_t before = buffer_size(&connection->output);

    resp_error(&connection->writer, text);
    account_output(connection, before);
}

static void refuse_input(struct connection *connection)
{
    log_write_limited(LOG_VERBOSE, "client id=%llu addr=%s: %s",
                      (unsigned long long)connection->session.id, connection->session.address,
                      resp_reader_error(connection->reader));
    connection_reply_error(connection, resp_reader_error(connection->reader));
    connection->session.close_after_reply = true;
}

static bool may_run(const struct connection *connection)
{
    const struct session *session = &connection->session;

    return !connection->is_doomed && !session->kill && !session->close_after_reply &&
           session->waiter == NULL && buffer_size(&connection->output) < OUTPUT_SOFT;
}

static void note_input(struct connection *connection)
{
    struct session *session = &connection->session;

    session->query_bytes = resp_reader_unread(connection->reader);
    session->memory_bytes = sizeof(*connection) + resp_reader_memory(connection->reader) +
                            connection->output.capacity;
}

/* The next request; while it is held back, RESP_MORE. */
static enum resp_read next_request(struct connection *connection, struct request *ret_request)
{
    struct server *server = connection->server;
    enum resp_read read = RESP_REQUEST;

    if (!connection->is_held)
        read = resp_reader_next(connection->reader, &connection->request);
    if (read != RESP_REQUEST)
        return read;
    *ret_request = connection->request;
    server->held -= connection->is_held;
    connection->is_held =
        server->pause_until > 0 && command_is_paused(server, &connection->session, ret_request);
    server->held += connection->is_held;
    return connection->is_held ? RESP_MORE : RESP_REQUEST;
}

void connection_resume(struct connection *connection)
{
    struct server *server = connection->server;
    int64_t left = server->config.pipeline_limit;

    while (may_run(connection)) {
        struct request request;
        enum resp_read read;

        if (left-- == 0) {
            connection_mark_resumed(connection);
            break;
        }
        read = next_request(connection, &request);
        if (read == RESP_ERROR)
            refuse_input(connection);
        if (read != RESP_REQUEST)
            break;
        connection->session.active = server->clock.last.monotonic;
        connection->session.argument_bytes = request.bytes;
        connection_run(connection, &request, NULL, false);
        waiters_serve(server);
    }
    note_input(connection);
}

/* A peer that is gone is noticed also while its session waits. While too much output is unread,
 * input stays in the socket. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static char bytes[READ_SIZE];
    struct connection *connection = arg;
    ssize_t got;

    (void)what;
    if (buffer_size(&connection->output) >= OUTPUT_SOFT) {
        event_del(connection->readable);
        connection_mark_resumed(connection);
        return;
    }
    got = recv(fd, bytes, sizeof(bytes), 0);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (got <= 0) {
        connection_doom(connection);
        return;
    }
    server_update_clock(connection->server);
    connection->server->stats.input_bytes += (uint64_t)got;
    if (connection->session.close_after_reply)
        return;
    if (!resp_reader_feed(connection->reader, bytes, (size_t)got)) {
        refuse_input(connection);
        return;
    }
    connection_resume(connection);
}
