#include "server/net/throttle.h"

#include "server/dispatch/dispatch.h"
#include "server/net/connection.h"

enum {
    RUN_MOST = 200,         /* held requests in one turn */
    CREDIT_USEC = 20000,    /* of time in which nothing grew; a turn may take that long */
    LOOK_AGAIN_MS = 10,     /* when those who may run do not read their replies */
    ADDS_LITTLE = 16 * 1024 /* bytes of an argument: an ack with a longer result grows */
};

/* ---- what a request does */

static bool has_large_argument(const struct request *request)
{
    if (request->bytes > ADDS_LITTLE)
        for (size_t i = 0; i < request->count; i++)
            if (request->arguments[i].size > ADDS_LITTLE)
                return true;
    return false;
}

/* As what it waits under pressure; HOLD_NONE: it does not write. */
static enum hold kind_of(const struct connection *connection, const struct request *request)
{
    unsigned flags = dispatch_write_flags(&connection->session, request);

    if (flags & COMMAND_DENYOOM)
        return HOLD_GROWTH;
    if (!(flags & COMMAND_WRITE))
        return HOLD_NONE;
    return has_large_argument(request) ? HOLD_GROWTH : HOLD_WORK;
}

/* ---- may it run? */

static int64_t now_usec(const struct server *server)
{
    return server->clock.last.monotonic * 1000;
}

/* Without room it does not wait, because it is refused. */
static bool admits(const struct server *server, enum hold kind)
{
    unsigned pressure = server->store == NULL ? 0 : dueq_pressure(server->store);

    if (pressure == 0)
        return true;
    if (kind == HOLD_WORK)
        return pressure < DUEQ_PRESSURE_MOST;
    return (pressure < DUEQ_PRESSURE_FULL && server->throttle.next <= now_usec(server)) ||
           dueq_room(server->store, 0) != DUEQ_OK;
}

/* Earlier requests of its kind come first; one that has waited for something else does not lose
 * its turn to those that came later. */
static bool is_overtaking(const struct connection *connection, enum hold kind)
{
    return connection->hold == HOLD_NONE && connection->server->held[kind].count > 0;
}

enum hold throttle_hold(struct connection *connection, const struct request *request)
{
    struct server *server = connection->server;
    struct throttle *throttle = &server->throttle;
    unsigned pressure = server->store == NULL ? 0 : dueq_pressure(server->store);
    enum hold kind;

    throttle->is_growing = false; /* the one before was not counted: it runs again */
    if (pressure == 0 && server->held[HOLD_GROWTH].count + server->held[HOLD_WORK].count == 0)
        return HOLD_NONE;
    kind = kind_of(connection, request);
    if (kind == HOLD_NONE)
        return HOLD_NONE;
    if (admits(server, kind) && !is_overtaking(connection, kind)) {
        throttle->is_growing = kind == HOLD_GROWTH && pressure > 0;
        return HOLD_NONE;
    }
    throttle->delayed += connection->hold != kind;
    return kind;
}

/* ---- running it */

void throttle_count(struct server *server)
{
    struct throttle *throttle = &server->throttle;
    int64_t earliest = now_usec(server) - CREDIT_USEC;

    if (!throttle->is_growing)
        return;
    throttle->is_growing = false;
    if (server->store == NULL)
        return;
    if (throttle->next < earliest)
        throttle->next = earliest;
    throttle->next += (int64_t)dueq_growth_pause(server->store);
}

static struct connection *first_that_runs(const struct server *server, enum hold kind)
{
    struct connection *connection = server->held[kind].first;

    while (connection != NULL && !connection_may_run(connection))
        connection = connection->held_next;
    return connection;
}

static void run_held(struct server *server, enum hold kind, unsigned *left)
{
    struct connection *connection;

    while (*left > 0 && !server_part_is_long(server) && server->held[kind].count > 0 &&
           admits(server, kind) && (connection = first_that_runs(server, kind)) != NULL) {
        --*left;
        connection_resume(connection);
    }
}

void throttle_turn(struct server *server)
{
    unsigned left = RUN_MOST;

    run_held(server, HOLD_WORK, &left);
    run_held(server, HOLD_GROWTH, &left);
    server->throttle.has_more = left == 0 || server_part_is_long(server);
}

int64_t throttle_next(const struct server *server)
{
    int64_t wait = server->throttle.next - now_usec(server);

    if (server->throttle.has_more)
        return 0;
    if (server->held[HOLD_WORK].count > 0 && admits(server, HOLD_WORK))
        return LOOK_AGAIN_MS;
    if (server->held[HOLD_GROWTH].count == 0)
        return DUEQ_NEVER;
    if (admits(server, HOLD_GROWTH))
        return LOOK_AGAIN_MS;
    return wait > 0 && dueq_pressure(server->store) < DUEQ_PRESSURE_FULL ? (wait + 999) / 1000
                                                                         : DUEQ_NEVER;
}
