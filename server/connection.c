#include "server/connection.h"

#include "server/waiters.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    DL_DELETE(server->sessions, &connection->session);
    server->session_count--;
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
    session->authenticated = server->config.requirepass[0] == '\0';
    session->protocol = 2;
    session->created = session->active = server->clock.last.monotonic;
    DL_APPEND(server->sessions, session);
    server->session_count++;
}

static void on_readable(evutil_socket_t fd, short what, void *arg);
static void on_writable(evutil_socket_t fd, short what, void *arg);

void connection_accept(struct server *server, int fd, const char *address,
                       const char *local_address)
{
    static const char refusal[] = "-ERR max number of clients reached\r\n";
    struct connection *connection;
    struct resp_limits limits;
    int64_t output_limit = server->config.output_limits.of[CLIENT_NORMAL].hard;

    server->stats.connections_received++;
    if (server->session_count >= (uint64_t)server->config.maxclients) {
        server->stats.connections_rejected++;
        if (send(fd, refusal, sizeof(refusal) - 1, MSG_NOSIGNAL) < 0)
            log_write(LOG_VERBOSE, "a client beyond maxclients was gone before it was told");
        close(fd);
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
    buffer_init(&connection->output, output_limit > 0 ? (size_t)output_limit : SIZE_MAX / 2);
    connection->writer = (struct resp_writer){&connection->output, 2};
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

    session_leave(connection->server, session);
    leave_lists(connection);
    if (connection->readable != NULL)
        event_free(connection->readable);
    if (connection->writable != NULL)
        event_free(connection->writable);
    close(session->fd);
    resp_reader_free(connection->reader);
    buffer_release(&connection->output);
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
    if (connection->output.overflowed) {
        log_write(LOG_WARNING,
                  "client id=%llu addr=%s closed: its unread replies passed "
                  "client-output-buffer-limit",
                  (unsigned long long)session->id, session->address);
        connection_doom(connection);
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

size_t connection_push_begin(struct connection *connection)
{
    connection->writer.version = connection->session.protocol;
    return buffer_size(&connection->output);
}

/* A connection that is running a command counts all it has written at its end. */
void connection_push_end(struct connection *connection, size_t mark)
{
    if (!connection->is_running)
        count_output(connection, mark);
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
    outcome = command_dispatch(&context);
    connection->is_running = false;
    server->work_done = true;
    if (outcome != OUTCOME_WAIT)
        account_output(connection, before); /* a reply yet to come is yet to be skipped */
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
    log_write(LOG_VERBOSE, "client id=%llu addr=%s: %s",
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
        read = resp_reader_next(connection->reader, &request);
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
    connection->server->stats.input_bytes += (uint64_t)got;
    if (connection->session.close_after_reply)
        return;
    if (!resp_reader_feed(connection->reader, bytes, (size_t)got)) {
        refuse_input(connection);
        return;
    }
    connection_resume(connection);
}
