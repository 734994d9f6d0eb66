#include "server/each_second.h"

#include "server/dispatch/alone.h"
#include "server/net/connection.h"
#include "server/process/process_memory.h"
#include "server/store_log.h"
#include "server/turn.h"
#include "storage/store.h"

enum {
    CRON_MS = 1000,
    AWAKE_MS = 10 * CRON_MS, /* so long after an event each second has a turn; more than
                                CLIENT_MEMORY_PAST */
    CHECKS_MOST = 256,       /* connections that are looked at in a turn */
    SHRINK_AFTER_MS = 2000   /* a client idle for that long keeps no memory for requests */
};

/* A client that waits or has subscriptions may be idle for ever. */
static bool is_idle_too_long(const struct server *server, const struct connection *connection)
{
    const struct session *session = &connection->session;
    int64_t limit = server->config.timeout * 1000;

    return limit > 0 && session->waiter == NULL && connection->hold == HOLD_NONE &&
           !session->monitors && session_subscriptions(session) == 0 &&
           server->clock.last.monotonic - session->active > limit;
}

void each_second_stay(struct server *server)
{
    server->awake_until = server->clock.last.monotonic + AWAKE_MS;
}

bool each_second_rests(const struct server *server)
{
    return server->awake_until - server->clock.last.monotonic < AWAKE_MS / 2;
}

/* Something may happen to this client without an event: it takes no output, or has gone while
 * nothing is read from it. */
static bool wants_seconds(const struct connection *connection)
{
    return !connection_all_sent(connection) ||
           (connection->session.waiter != NULL && !connection->awaits_input);
}

static void check_session(struct server *server, struct connection *connection)
{
    if (wants_seconds(connection))
        each_second_stay(server);
    connection_limit_input(connection);
    connection_limit_output(connection);
    connection_check_peer(connection);
    if (server->clock.last.monotonic - connection->session.active > SHRINK_AFTER_MS)
        connection_shrink(connection);
    if (is_idle_too_long(server, connection))
        connection_doom(connection);
}

/* Some of those that have not been looked at in this second. */
static void check_sessions(struct server *server)
{
    for (unsigned checked = 0;
         server->unchecked != NULL && turn_may_go_on(server, checked, CHECKS_MOST); checked++) {
        struct session *session = server->unchecked;

        server->unchecked = session->next;
        if (!alone_is(server, session)) /* it would be done at once */
            check_session(server, connection_of(session));
    }
}

void each_second_do(struct server *server)
{
    check_sessions(server);
    if (server->clock.last.monotonic - server->last_second < CRON_MS)
        return;
    server->last_second = server->clock.last.monotonic;
    if (server->unchecked == NULL)
        server->unchecked = server->sessions;
    process_memory_read(); /* for its peak */
    client_memory_tick(server);
    connections_end_handshakes(server);
    log_report_omitted(false);
    server_last_save(server);
    store_log_loading(server);
    store_log_changes(server);
}

/* Is there work for do_each_second, or for dueq_maintain, without an event? A quiet server has
 * no timer at all. */
bool each_second_is_wanted(const struct server *server)
{
    return server->clock.last.monotonic < server->awake_until || server->store == NULL ||
           server->clock_event == NULL || server->shaking != NULL ||
           server->checkpoint_wanted || server->full_logged ||
           (server->config.timeout > 0 && server->sessions != NULL) || log_has_omitted() ||
           !store_rests(server->store);
}
