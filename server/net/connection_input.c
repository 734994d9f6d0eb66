/* A connection's input: reading it, and running the requests in it. */
#include "server/net/connection.h"

#include "server/containers/given_request.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/dispatch.h"
#include "server/dispatch/long_work.h"
#include "server/session/monitor_text.h"
#include "server/session/monitors.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"

#include <assert.h>
#include <errno.h>

enum {
    READ_SIZE = 64 * 1024,
    BUSY_PATIENCE_MS = 60 * 1000,
    LOOK_AFTER = 8, /* requests, at the clock */
    MANY_ARGUMENTS = 10000
};

/* ---- running */

/* The caller releases the waiter, if there is one: it is in use there. */
static enum outcome end_run(struct connection *connection, const struct waiter *waiter,
                            enum outcome outcome)
{
    connection->is_running = false;
    if (connection->session.life != SESSION_GONE)
        return outcome;
    connection_release_memory(connection, waiter != NULL);
    return OUTCOME_DONE;
}

static const struct long_work *work_of(const struct connection *connection)
{
    const struct waiter *waiter = connection->session.waiter;

    return waiter == NULL ? NULL : waiters_work_of(waiter);
}

/* A reply that is made in several runs asks for what all of them ask for. */
static void count_reply(struct connection *connection, unsigned asks, enum outcome outcome)
{
    const struct long_work *work = work_of(connection);

    connection->reply_is_aside = false;
    connection->reply_asks |= asks;
    if (outcome == OUTCOME_WAIT && work != NULL && long_work_is_whole(work)) {
        connection_keep_part(connection);
    } else if (outcome == OUTCOME_WAIT) {
        connection_count_part(connection, connection->run_mark, connection->reply_asks);
    } else {
        connection->unfinished = 0;
        connection_count_reply(connection, connection->run_mark, connection->reply_asks);
        connection->reply_asks = 0;
    }
}

/* Those that may be lent: what the store takes over lives until the next commit at least, and
 * nothing is committed while a command is alone with it. */
static struct resp_large *large_arguments(const struct connection *connection,
                                          const struct context *context, size_t *ret_count)
{
    *ret_count = 0;
    if (context->store == NULL)
        return NULL;
    if (context->waiter == NULL)
        return resp_reader_large(connection->reader, ret_count);
    return alone_is(context->server, context->session)
               ? waiters_large(context->waiter, ret_count)
               : NULL;
}

/* Runs the request; the store may take its large arguments over. */
static enum outcome lend_and_dispatch(struct connection *connection, struct context *context)
{
    struct dueq_loan loans[CONTEXT_LOANS_MOST];
    struct resp_large *lent[CONTEXT_LOANS_MOST];
    size_t count, lent_count = 0;
    struct resp_large *large = large_arguments(connection, context, &count);
    enum outcome outcome;

    for (size_t i = 0; i < count && lent_count < CONTEXT_LOANS_MOST; i++)
        if (large[i].memory != NULL)
            lent[lent_count++] = &large[i];
    if (lent_count == 0)
        return dispatch_command(context);
    for (size_t i = 0; i < lent_count; i++)
        loans[i] = (struct dueq_loan){lent[i]->memory, (uint8_t *)lent[i]->data, lent[i]->size,
                                      RESP_LARGE_BEFORE};
    context->loans = loans;
    context->loan_count = lent_count;
    dueq_lend(context->store, loans, lent_count);
    outcome = dispatch_command(context);
    dueq_lend(context->store, NULL, 0);
    for (size_t i = 0; i < lent_count; i++)
        lent[i]->memory = loans[i].memory;
    return outcome;
}

/* A command may run one of another client: CLIENT UNBLOCK. */
static enum outcome dispatch(struct connection *connection, struct context *context,
                             unsigned *ret_asks)
{
    struct server *server = connection->server;
    unsigned outer = server->asks;
    enum outcome outcome;

    server->asks = 0;
    outcome = lend_and_dispatch(connection, context);
    if (context->waiter == NULL)
        waiters_take(context->session, connection->reader);
    *ret_asks = server->asks;
    server->asks = outer;
    return outcome;
}

enum outcome connection_run(struct connection *connection, const struct request *request,
                            const struct waiter *waiter, bool timed_out)
{
    struct server *server = connection->server;
    struct session *session = &connection->session;
    bool was_authenticated = session->authenticated;
    struct context context = {.server = server,
                              .session = session,
                              .store = server->store,
                              .request = request,
                              .reply = &connection->writer,
                              .now = server->now,
                              .waiter = waiter,
                              .reader = waiter == NULL ? connection->reader : NULL,
                              .timed_out = timed_out,
                              .stops = server->stopping,
                              .again = connection->runs_again,
                              .monitor_text = &session->monitor_text,
                              .may_wait = true};
    enum outcome outcome;
    unsigned asks;

    assert(!connection->is_running && session->waiter == waiter);
    connection->writer.version = session->protocol;
    connection->is_running = true;
    connection->run_mark = buffer_size(&connection->output) - connection->unfinished;
    if (connection->unfinished > 0 && long_work_sets_reply_aside(work_of(connection)))
        connection_set_reply_aside(connection);
    outcome = dispatch(connection, &context, &asks);
    server->work_done = true;
    connection->runs_again = outcome == OUTCOME_AGAIN;
    if (outcome == OUTCOME_AGAIN)
        return end_run(connection, waiter, outcome);
    monitor_text_drop(&session->monitor_text);
    /* CLIENT REPLY SKIP also skips a reply that comes later */
    connection->is_replying = connection->is_replying && outcome == OUTCOME_WAIT;
    count_reply(connection, asks, outcome);
    connection_append_deferred(connection);
    connection_note_large(connection);
    if (outcome == OUTCOME_CLOSE)
        connection_close(connection);
    if (session->authenticated != was_authenticated)
        connection_limit_input(connection);
    outcome = end_run(connection, waiter, outcome);
    server_commit_if_large(server);
    return outcome;
}

static void refuse_input(struct connection *connection)
{
    log_write_limited(LOG_VERBOSE, "client id=%llu addr=%s: %s",
                      (unsigned long long)connection->session.id, connection->session.address,
                      resp_reader_error(connection->reader));
    connection_reply_error(connection, resp_reader_error(connection->reader));
    connection_close(connection);
}

/* A large request waits until earlier writes are on disk, so that other clients do not have to
 * wait for it; but not for ever, because their small requests may keep the store busy. */
static bool store_is_busy(struct connection *connection, const struct request *request)
{
    struct server *server = connection->server;
    const struct transaction *transaction = connection->session.transaction;
    size_t bytes = request->bytes + (transaction == NULL ? 0 : transaction_bytes(transaction));
    int64_t now = server->clock.last.monotonic;
    bool busy = server->store != NULL && dueq_is_busy(server->store, bytes);

    if (busy && connection->busy_until == 0)
        connection->busy_until = now + BUSY_PATIENCE_MS;
    if (!busy || now >= connection->busy_until) {
        connection->busy_until = 0; /* the next request has a wait of its own */
        return false;
    }
    server->awaits_store = true;
    return true;
}

/* Others are served between the slices of its line. */
static bool awaits_monitors(struct connection *connection, const struct request *request)
{
    if (connection->runs_again || /* its line is there */
        monitors_prepare(connection->server, &connection->session, request))
        return false;
    connection->server->awaits_check = true;
    return true;
}

static enum hold must_wait(struct connection *connection, const struct request *request)
{
    struct server *server = connection->server;

    if (awaits_monitors(connection, request) || store_is_busy(connection, request) ||
        (server->pause_until > 0 &&
         dispatch_is_paused(server, &connection->session, request)) ||
        (server->stopping && dispatch_is_late(&connection->session, request)) ||
        alone_holds(server, &connection->session, request) ||
        long_works_hold(server, &connection->session, request))
        return HOLD_EVENT;
    return throttle_hold(connection, request);
}

/* Reads the next request. RESP_MORE while that is held back. */
static enum resp_read next_request(struct connection *connection, struct request *ret_request)
{
    enum resp_read read = RESP_REQUEST;

    if (connection->hold == HOLD_NONE)
        read = resp_reader_next(connection->reader, &connection->request);
    connection->has_backlog = read == RESP_REQUEST;
    if (read != RESP_REQUEST)
        return read;
    *ret_request = connection->request;
    connection_hold(connection, must_wait(connection, ret_request));
    return connection->hold != HOLD_NONE ? RESP_MORE : RESP_REQUEST;
}

/* A million arguments are 50 MB: to free them takes as long as to read some thousands. */
static void spend_request(struct connection *connection)
{
    struct resp_given given;

    if (connection->reader == NULL)
        return;
    resp_reader_give(connection->reader, &given);
    given_request_release(&given);
}

static void serve_request(struct connection *connection, const struct request *request)
{
    struct server *server = connection->server;

    connection->session.active = server->clock.last.monotonic;
    if (connection_run(connection, request, NULL, false) == OUTCOME_AGAIN) {
        connection_hold(connection, HOLD_EVENT);
        server->awaits_check = true;
    } else {
        if (request->count >= MANY_ARGUMENTS)
            spend_request(connection);
        throttle_count(server);
    }
    waiters_serve(server);
}

/* False: there is no whole request, or it may not run, or it runs again later. */
static bool take_next_request(struct connection *connection)
{
    struct request request;
    enum resp_read read = next_request(connection, &request);

    if (read == RESP_ERROR)
        refuse_input(connection);
    if (read == RESP_REQUEST)
        serve_request(connection, &request);
    return read == RESP_REQUEST && connection->hold == HOLD_NONE;
}

/* Unread bytes may be only the beginning of a request: the next read shows that. */
static void note_backlog(struct connection *connection)
{
    connection->has_backlog = connection->hold != HOLD_NONE ||
                              (connection->reader != NULL && connection->has_backlog &&
                               resp_reader_unread(connection->reader) > 0);
}

/* Does it leave the next request to another turn? */
static bool has_run_enough(const struct connection *connection, int64_t run)
{
    const struct server *server = connection->server;

    return run >= server->config.pipeline_limit || (run > 0 && server_part_was_long(server)) ||
           (run > 0 && run % LOOK_AFTER == 0 && server_part_is_long(server));
}

/* run: how many requests have run. */
static void look_ahead(struct connection *connection, int64_t run)
{
    const struct server *server = connection->server;
    int64_t left = server->config.pipeline_limit - run;

    if (run % LOOKAHEAD_MOST == 0 && connection->hold == HOLD_NONE)
        lookahead(&connection->lookahead, server, &connection->session, connection->reader,
                  left < LOOKAHEAD_MOST ? (size_t)left : LOOKAHEAD_MOST);
}

/* Returns how many requests have run. now: usec. */
static int64_t run_backlog(struct connection *connection, uint64_t now)
{
    struct turn_watch *turn = &connection->server->turn;
    int64_t run = 0;

    turn_watch_begin_row(turn, now);
    while (connection_may_run(connection) && !has_run_enough(connection, run)) {
        look_ahead(connection, run);
        if (!take_next_request(connection))
            break;
        run++;
    }
    turn_watch_end_row(turn);
    note_backlog(connection);
    connection_account(connection);
    connection_update_events(connection);
    return run;
}

void connection_resume(struct connection *connection)
{
    run_backlog(connection, clock_usec());
}

/* ---- reading */

/* began: when it was read, usec. */
static void weigh(struct connection *connection, size_t size, int64_t run, uint64_t began)
{
    uint64_t seen = connection->server->turn.seen;
    struct weight_read read = {.size = size,
                               .unsent = buffer_size(&connection->output),
                               .more = connection->has_backlog,
                               .run = run,
                               .usec = seen > began ? seen - began : 0};

    weight_note(&connection->weight, &connection->server->weights, &read);
}

static void take_input(struct connection *connection, const char *bytes, size_t size)
{
    uint64_t began = clock_usec();

    server_renew_clock(connection->server, began);
    connection->server->stats.input_bytes += size;
    if (!resp_reader_feed(connection->reader, bytes, size)) {
        refuse_input(connection);
        return;
    }
    connection->has_backlog = true;
    weigh(connection, size, run_backlog(connection, began), began);
    connection_send_early(connection);
}

void connection_read(struct connection *connection)
{
    static char bytes[READ_SIZE];
    size_t room = sizeof(bytes);
    ssize_t got;

    if (connection->is_shaking_hands) {
        connection_shake_hands(connection);
        return;
    }
    if (connection->input_left < room)
        room = connection->input_left;
    got = connection_receive(connection, bytes, room);
    if (got > 0 && connection->input_left != SIZE_MAX)
        connection->input_left -= (size_t)got;
    if (got > 0)
        take_input(connection, bytes, (size_t)got);
    else if (got == 0)
        connection_end_input(connection);
    else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        connection_doom(connection);
}

void connection_go_on(struct connection *connection)
{
    bool reads = connection->reads_later && connection->awaits_input;

    connection->reads_later = false;
    if (reads)
        connection_read(connection);
    else
        connection_resume(connection);
}
