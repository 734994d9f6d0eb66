/* A connection's output: writing to it, gates until its records are durable, sending. */
#include "server/net/connection.h"

#include "server/containers/spent.h"
#include "server/dispatch/long_work.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

enum {
    OUTPUT_SOFT = 1024 * 1024,  /* unsent output at which no more requests are run ... */
    OUTPUT_LOGIN = 16 * 1024,   /* ... and before login */
    OUTPUT_KEEP = 1024,         /* memory kept by an idle connection */
    SEND_MOST = 512 * 1024,     /* in one call: a millisecond, and others come in between */
    FILL_MOST = 2 * 1024 * 1024 /* copied in one turn: a millisecond */
};

/* ---- large values in replies
 *
 * A reply is counted, limited and gated with all of its bytes when its command has run. The
 * bytes of a large value are held in the store then, and are copied in later turns; so what
 * other commands do to its key meanwhile does not matter, and the reply may be one of an EXEC.
 * Whether the client reads does not matter either: no value is held for long. */

static void let_go(void *hold)
{
    dueq_let_go(hold);
}

static bool lend(void *arg, const void *data, size_t size, struct buffer_source *ret_source)
{
    const struct connection *connection = arg;
    struct dueq *store = connection->server->store;
    struct dueq_hold *hold = store == NULL ? NULL : dueq_hold(store, data);

    *ret_source = (struct buffer_source){data, size, hold, let_go};
    return hold != NULL;
}

static void leave_filling(struct connection *connection)
{
    if (!connection->is_filling)
        return;
    DL_DELETE2(connection->server->filling, connection, filling_prev, filling_next);
    connection->is_filling = false;
}

void connection_note_large(struct connection *connection)
{
    if (connection->is_filling || buffer_is_filled(&connection->output))
        return;
    connection->is_filling = true;
    DL_APPEND2(connection->server->filling, connection, filling_prev, filling_next);
}

static void fill(struct connection *connection, size_t most)
{
    buffer_fill(&connection->output, most);
    connection->server->stats.reply_parts++;
    if (buffer_is_filled(&connection->output))
        leave_filling(connection);
    if (!connection->awaits_output)
        connection_send(connection);
}

void connections_fill(struct server *server)
{
    if (server->filling != NULL)
        fill(server->filling, FILL_MOST);
}

void connections_fill_all(struct server *server)
{
    while (server->filling != NULL)
        fill(server->filling, SIZE_MAX);
}

void connection_init_output(struct connection *connection)
{
    buffer_init(&connection->output, SIZE_MAX / 2);
    buffer_init(&connection->deferred, SIZE_MAX / 2);
    connection->lender = (struct resp_lender){lend, connection};
    connection->writer = (struct resp_writer){&connection->output, 2, &connection->lender};
    connection->deferred_writer = (struct resp_writer){&connection->deferred, 2, NULL};
}

/* What nobody has read may be a gigabyte. */
static void give_up_output(struct connection *connection)
{
    char *bytes = connection->output.data;
    size_t size = connection->output.capacity;

    connection->output.data = NULL;
    buffer_release(&connection->output);
    spent_grown_memory(bytes, size);
}

/* Output that is written from now on is dropped. */
void connection_release_output(struct connection *connection)
{
    leave_filling(connection);
    give_up_output(connection);
    buffer_release(&connection->deferred);
    connection->output.maximum = connection->deferred.maximum = 0;
    free(connection->gates);
    connection->gates = NULL;
    connection->gate_count = connection->gate_capacity = 0;
    connection->unfinished = 0;
    connection->reply_is_aside = false;
}

bool connection_has_room(const struct connection *connection)
{
    return buffer_size(&connection->output) <
           (connection->session.authenticated ? OUTPUT_SOFT : OUTPUT_LOGIN);
}

bool connection_all_sent(const struct connection *connection)
{
    return connection->sent == connection->written;
}

bool connection_is_settled(const struct connection *connection)
{
    return connection->released == connection->written && connection->unfinished == 0 &&
           buffer_is_filled(&connection->output) && !connection->output.overflowed;
}

/* ---- limits */

static void cut_off(struct connection *connection)
{
    if (connection->session.life == SESSION_GONE)
        return;
    log_write_limited(LOG_WARNING,
                      "client id=%llu addr=%s closed: its unread replies passed "
                      "client-output-buffer-limit",
                      (unsigned long long)connection->session.id, connection->session.address);
    connection_doom(connection);
}

/* Output of MONITOR has no end, like that of a subscription; Redis has the limit of normal
 * clients for it. The lower one holds. */
static const struct output_limit *limit_of(const struct connection *connection)
{
    const struct session *session = &connection->session;
    const struct output_limit *limits = connection->server->config.output_limits.of;
    const struct output_limit *normal = &limits[CLIENT_NORMAL],
                              *pubsub = &limits[CLIENT_PUBSUB];

    if (session_subscriptions(session) > 0)
        return pubsub;
    if (!session->monitors || pubsub->hard == 0)
        return normal;
    return normal->hard > 0 && normal->hard < pubsub->hard ? normal : pubsub;
}

void connection_limit_output(struct connection *connection)
{
    const struct output_limit *limit = limit_of(connection);
    size_t size = buffer_size(&connection->output);
    int64_t now = connection->server->clock.last.monotonic;

    if (connection->session.life == SESSION_GONE)
        return;
    connection->output.maximum = limit->hard > 0 && (uint64_t)limit->hard < SIZE_MAX / 2
                                     ? (size_t)limit->hard
                                     : SIZE_MAX / 2;
    connection->deferred.maximum = connection->output.maximum;
    if (limit->soft == 0 || size <= (uint64_t)limit->soft)
        connection->soft_since = 0;
    else if (connection->soft_since == 0)
        connection->soft_since = now;
    if (size > connection->output.maximum ||
        (connection->soft_since > 0 && now - connection->soft_since > limit->seconds * 1000))
        cut_off(connection);
}

/* ---- writing */

static void touch(struct connection *connection)
{
    if (connection->is_touched)
        return;
    connection->is_touched = true;
    DL_APPEND2(connection->server->touched, connection, touched_prev, touched_next);
}

static void account_if_changed(struct connection *connection)
{
    size_t capacity = connection->output.capacity + connection->deferred.capacity;

    if (capacity == connection->counted_output)
        return;
    connection->counted_output = capacity;
    connection_account(connection);
}

static void count_written(struct connection *connection, size_t before)
{
    if (connection->session.life == SESSION_GONE)
        return;
    connection->written += buffer_size(&connection->output) - before;
    touch(connection);
    if (buffer_size(&connection->output) > OUTPUT_KEEP)
        connection_limit_output(connection);
    if (connection->output.overflowed)
        cut_off(connection);
    else
        account_if_changed(connection);
}

/* Must what asks for that be durable before it leaves, or is it enough that it is written? */
static bool needs_durable(const struct connection *connection)
{
    return (connection->asks & ASKS_ALWAYS) ||
           ((connection->asks & ASKS_MODE) &&
            connection->server->config.durability == DUEQ_SYNC_ALWAYS);
}

/* In front of the first output of a turn that must be durable there may be some about topics
 * with the durability `interval`: that leaves before it. */
static void count_output(struct connection *connection, size_t before, unsigned asks)
{
    bool was_prompt = (connection->asks & ASKS_INTERVAL) && !needs_durable(connection);

    connection->asks |= asks;
    if (was_prompt && needs_durable(connection))
        connection->prompt = connection->written;
    count_written(connection, before);
}

static void drop_unwanted(struct connection *connection, size_t before)
{
    struct session *session = &connection->session;

    if (session_is_silent(session))
        buffer_truncate(&connection->output, before);
    if (session->reply_skip > 0)
        session->reply_skip--;
}

void connection_count_reply(struct connection *connection, size_t before, unsigned asks)
{
    drop_unwanted(connection, before);
    count_output(connection, before, asks);
}

void connection_count_part(struct connection *connection, size_t before, unsigned asks)
{
    if (buffer_size(&connection->output) == before)
        return;
    if (session_is_silent(&connection->session))
        buffer_truncate(&connection->output, before);
    connection->is_replying = true;
    count_output(connection, before, asks);
}

void connection_keep_part(struct connection *connection)
{
    if (connection->session.life == SESSION_GONE)
        return;
    assert(connection->run_mark <= buffer_size(&connection->output));
    connection->unfinished = buffer_size(&connection->output) - connection->run_mark;
    connection->is_replying = connection->unfinished > 0;
    if (connection->output.overflowed)
        cut_off(connection);
    else
        account_if_changed(connection);
}

void connection_drop_part(struct connection *connection)
{
    if (connection->unfinished == 0)
        return;
    buffer_truncate(&connection->output,
                    buffer_size(&connection->output) - connection->unfinished);
    connection->unfinished = 0;
    connection->is_replying = false;
}

void connection_set_reply_aside(struct connection *connection)
{
    assert(!connection->reply_is_aside);
    assert(connection->unfinished <= buffer_size(&connection->output));
    connection->output.end -= connection->unfinished; /* the bytes stay */
    connection->reply_is_aside = true;
}

void connection_restore_reply(struct connection *connection)
{
    if (connection->reply_is_aside)
        connection->output.end += connection->unfinished;
    connection->reply_is_aside = false;
}

static bool is_deferred(const struct connection *connection)
{
    return connection->is_replying ||
           (connection->is_running && connection->push_mark > connection->run_mark);
}

/* A message that a command causes for its own client comes before the reply, or after it when
 * the reply has begun. It is counted at once, so that dropping an unwanted reply keeps it. */
struct resp_writer *connection_push_begin(struct connection *connection)
{
    connection->writer.version = connection->session.protocol;
    connection->deferred_writer.version = connection->session.protocol;
    connection->push_mark = buffer_size(&connection->output);
    return is_deferred(connection) ? &connection->deferred_writer : &connection->writer;
}

void connection_push_end(struct connection *connection)
{
    if (is_deferred(connection))
        return;
    count_output(connection, connection->push_mark, ASKS_MODE);
    connection_note_large(connection);
    connection->run_mark = buffer_size(&connection->output); /* the reply begins after it */
}

void connection_append_deferred(struct connection *connection)
{
    size_t before = buffer_size(&connection->output);

    if (connection->deferred.overflowed)
        cut_off(connection);
    if (buffer_size(&connection->deferred) == 0 || connection->is_replying)
        return;
    buffer_append(&connection->output, buffer_content(&connection->deferred),
                  buffer_size(&connection->deferred));
    buffer_release(&connection->deferred);
    count_output(connection, before, ASKS_MODE);
}

void connection_reply_error(struct connection *connection, const char *text)
{
    size_t before = buffer_size(&connection->output);

    resp_error(&connection->writer, text);
    connection_count_reply(connection, before, ASKS_MODE | connection->reply_asks);
    connection->reply_asks = 0;
}

/* ---- gates */

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

static struct gate *last_gate(struct connection *connection)
{
    return connection->gate_count > 0 ? &connection->gates[connection->gate_count - 1] : NULL;
}

/* False: there is no memory. */
static bool gate_upto(struct connection *connection, struct gate gate)
{
    struct gate *last = last_gate(connection);

    if (last == NULL || last->lsn != gate.lsn || (gate.durable && !last->durable))
        return push_gate(connection, gate);
    last->upto = gate.upto;
    return true;
}

static void leave_touched(struct connection *connection)
{
    DL_DELETE2(connection->server->touched, connection, touched_prev, touched_next);
    connection->is_touched = false;
}

void connection_gate(struct connection *connection, uint64_t lsn)
{
    const struct gate *last = last_gate(connection);
    bool durable = needs_durable(connection);
    uint64_t prompt = connection->prompt;

    if (connection->asks == 0)
        lsn = last != NULL ? last->lsn : 0;
    assert(connection->is_touched);
    assert(last == NULL || (last->lsn <= lsn && last->upto <= connection->written));
    connection->asks = 0;
    connection->prompt = 0;
    leave_touched(connection);
    if (connection->session.life == SESSION_GONE)
        return;
    if ((prompt > 0 && !gate_upto(connection, (struct gate){prompt, lsn, false})) ||
        !gate_upto(connection, (struct gate){connection->written, lsn, durable})) {
        connection_doom(connection);
        return;
    }
    if (connection->is_gated)
        return;
    connection->is_gated = true;
    DL_APPEND2(connection->server->gated, connection, gated_prev, gated_next);
    connection->server->gated_count++;
}

void connection_leave_gated(struct connection *connection)
{
    if (!connection->is_gated)
        return;
    DL_DELETE2(connection->server->gated, connection, gated_prev, gated_next);
    connection->server->gated_count--;
    connection->is_gated = false;
}

static bool is_open(const struct gate *gate, uint64_t written_lsn, uint64_t durable_lsn)
{
    return gate->lsn <= (gate->durable ? durable_lsn : written_lsn);
}

bool connection_release(struct connection *connection, uint64_t written_lsn,
                        uint64_t durable_lsn)
{
    size_t passed = 0;

    while (passed < connection->gate_count &&
           is_open(&connection->gates[passed], written_lsn, durable_lsn))
        connection->released = connection->gates[passed++].upto;
    assert(connection->released <= connection->written);
    if (passed == 0)
        return false;
    connection->gate_count -= passed;
    memmove(connection->gates, connection->gates + passed,
            connection->gate_count * sizeof(struct gate));
    if (connection->gate_count == 0)
        connection_leave_gated(connection);
    if (!connection->awaits_output)
        connection_send(connection);
    return true;
}

static bool read_whole(int fd, off_t offset, char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t got = pread(fd, bytes, size, offset);

        if (got <= 0)
            return false;
        bytes += got;
        offset += got;
        size -= (size_t)got;
    }
    return true;
}

bool connection_restore_output(struct connection *connection, int fd, off_t offset, size_t size)
{
    char *bytes = buffer_reserve(&connection->output, size);

    if (connection->written > 0 || bytes == NULL || !read_whole(fd, offset, bytes, size))
        return false;
    buffer_commit(&connection->output, size);
    connection->written = connection->released = size;
    account_if_changed(connection);
    if (connection->session.life == SESSION_OPEN)
        connection_await_room(connection);
    return true;
}

/* ---- sending */

/* Everything that may leave has left: closes, or gives memory back and goes on. */
static void finish_send(struct connection *connection)
{
    if (connection->session.life == SESSION_CLOSING && connection_all_sent(connection)) {
        connection_doom(connection);
        return;
    }
    long_works_drained(connection->server, &connection->session);
    if (buffer_size(&connection->output) == 0 && connection->output.capacity > OUTPUT_KEEP)
        give_up_output(connection);
    account_if_changed(connection);
    connection_update_events(connection);
}

void connection_await_room(struct connection *connection)
{
    connection->awaits_output = event_add(connection->writable, NULL) == 0;
    if (connection->awaits_output)
        connection_update_events(connection);
    else
        connection_doom(connection);
}

/* Bytes that may leave and are copied already. */
static size_t sendable(const struct connection *connection)
{
    size_t released = (size_t)(connection->released - connection->sent);
    size_t ready = buffer_ready(&connection->output);

    return released < ready ? released : ready;
}

/* Bytes that the socket took, of `most`; -1: it is full; 0: it is broken. */
static ssize_t send_some(struct connection *connection, size_t most)
{
    size_t all = sendable(connection), size = all < most ? all : most;
    ssize_t put = connection_transmit(connection, buffer_content(&connection->output), size);

    if (put < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : 0;
    assert((size_t)put <= size);
    connection->sent += (uint64_t)put;
    connection->server->stats.output_bytes += (uint64_t)put;
    buffer_consume(&connection->output, (size_t)put);
    return put;
}

void connection_send(struct connection *connection)
{
    bool last = connection->server->stopping && connection_is_last(connection);
    size_t sent = 0;

    if (connection->session.life == SESSION_GONE)
        return;
    if (last)
        connection_begin_last(connection);
    while (sendable(connection) > 0) {
        ssize_t put = sent < SEND_MOST ? send_some(connection, SEND_MOST - sent) : -1;

        if (put == 0) {
            connection_doom(connection);
            return;
        }
        if (put < 0) {
            connection_await_room(connection);
            return;
        }
        sent += (size_t)put;
    }
    if (last && connection_all_sent(connection))
        connection_end_last(connection);
    if (connection->sent == connection->released)
        finish_send(connection);
}

/* What asks for nothing, such as the reply to a PING, need not wait for the work of others and
 * for the commit. */
void connection_send_early(struct connection *connection)
{
    if (!connection->is_touched || connection->asks != 0 || connection->gate_count > 0 ||
        connection->session.life == SESSION_GONE)
        return;
    leave_touched(connection);
    connection->released = connection->written;
    if (!connection->awaits_output)
        connection_send(connection);
}
