#include "server/ending.h"

#include "server/acl/acl.h"
#include "server/dispatch/alone.h"
#include "server/dispatch/long_work.h"
#include "server/http/http.h"
#include "server/inheritance.h"
#include "server/net/connection.h"
#include "server/net/listener.h"
#include "server/net/tls.h"
#include "server/opening.h"
#include "server/process/pidfile.h"
#include "server/process/stop_signals.h"
#include "server/process/supervisor.h"
#include "server/session/pubsub.h"
#include "server/session/session_output.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "server/settle.h"
#include "server/store_life.h"
#include "server/turn.h"
#include "server/upgrade.h"
#include "storage/store.h"

#include <inttypes.h>
#include <utlist.h>

/* So long clients are served that have just sent a request, or are about to: each is told with
 * a reply that its connection ends. */
enum { GRACE_MS = 100 };

/* So long after that an upgrade waits for clients whose replies it cannot leave to the next
 * program, and who do not read them. */
enum { READ_MS = 2000 };

/* ---- begin and abort */

/* The checkpoint goes on beside the clients, so that little is left to write at the end. */
void server_shutdown(struct server *server, bool checkpoint, bool now)
{
    int64_t time = server->clock.last.monotonic;

    server->checkpoint_on_exit = checkpoint;
    server->stop_now = now;
    if (server->stopping) {
        upgrade_cancel(server);
        return;
    }
    server->stopping = true;
    server->grace_until = time + GRACE_MS;
    server->stop_until = time + server->config.shutdown_timeout * 1000;
    server->checkpoint_wanted = server->checkpoint_wanted || checkpoint;
    server_pause(server, 0, false);
}

bool server_abort_shutdown(struct server *server)
{
    struct session *session;

    if (!server->stopping || server->stopped || server->stop_now)
        return false;
    log_write(LOG_NOTICE, "Shutdown manually aborted.");
    server->stopping = server->input_is_cut = false;
    upgrade_cancel(server);
    stop_signals_forget();
    DL_FOREACH(server->sessions, session) {
        session->is_late = false;
        connection_restore_input(connection_of(session));
        if (!session->awaits_stop)
            continue;
        session->awaits_stop = false;
        session_reply_error(session, "ERR Errors trying to SHUTDOWN. Check logs.");
        session_resume(session);
    }
    server->pause_ended = true; /* requests of those that were late are held as by a pause */
    return true;
}

/* ---- the way there */

void ending_tell_waiters(struct server *server)
{
    struct session *session, *next;

    DL_FOREACH_SAFE(server->sessions, session, next)
        if (waiters_is_blocked(session))
            waiters_unblock(server, session, false);
}

static void cut_input(struct server *server)
{
    struct session *session;

    DL_FOREACH(server->sessions, session)
        if (!session->is_late)
            connection_cut_input(connection_of(session));
    server->input_is_cut = true;
}

/* An upgrade has waited long enough for those who do not read. */
static bool reads_late(const struct server *server)
{
    return server->upgrading && server->clock.last.monotonic >= server->grace_until + READ_MS;
}

static bool is_given_up(const struct server *server, const struct connection *connection)
{
    return reads_late(server) && connection_is_unread(connection);
}

static void give_up_client(struct connection *connection)
{
    log_write_limited(LOG_WARNING,
                      "client id=%" PRIu64 " addr=%s closed: the upgrade does not wait until "
                      "it reads its replies",
                      connection->session.id, connection->session.address);
    connection_free(connection);
}

/* Returns how many clients are owed something. Those that came late, or sent SHUTDOWN, stay to
 * the end: that may be aborted. */
static uint64_t close_finished(struct server *server)
{
    struct session *session, *next;
    uint64_t owed = 0;

    DL_FOREACH_SAFE(server->sessions, session, next) {
        struct connection *connection = connection_of(session);

        if (session->is_late || session->awaits_stop)
            continue;
        if (connection_is_portable(connection)) {
            connection_rest(connection);
            continue;
        }
        if (connection_is_owed(connection) && is_given_up(server, connection))
            give_up_client(connection);
        else if (connection_is_owed(connection) ||
                 !(server->input_is_cut || connection->has_ended))
            owed++;
        else
            connection_free(connection);
    }
    return owed;
}

/* One that fails, because the disk is full, is not waited for. */
static bool checkpoint_runs(const struct server *server)
{
    struct dueq_stats stats;

    if (!server->checkpoint_on_exit || server->store == NULL)
        return false;
    dueq_get_stats(server->store, &stats);
    return !stats.full && dueq_status(server->store) == DUEQ_OK &&
           (server->checkpoint_wanted || stats.checkpoint_running);
}

static void give_up(struct server *server, uint64_t owed)
{
    if (owed > 0)
        log_write(LOG_WARNING,
                  "%" PRIu64 " clients did not take their replies within shutdown-timeout",
                  owed);
    server->checkpoint_given_up = checkpoint_runs(server);
    if (server->checkpoint_given_up)
        log_write(LOG_WARNING, "The last checkpoint did not end within shutdown-timeout: the "
                               "journal will be replayed");
}

void ending_turn(struct server *server)
{
    int64_t now = server->clock.last.monotonic;
    uint64_t owed;

    if (!server->stopping)
        return;
    if (server->stop_now || server->loading) {
        server->stopped = true;
        return;
    }
    if (!server->input_is_cut && now >= server->grace_until)
        cut_input(server);
    owed = close_finished(server) + http_owed(server, !reads_late(server));
    server->stopped = now >= server->stop_until || (owed == 0 && !checkpoint_runs(server));
    if (server->stopped && now >= server->stop_until)
        give_up(server, owed);
}

/* ---- the end */

/* The last turn: waits until its record is durable, then sends its replies. */
static void finish_output(struct server *server)
{
    uint64_t lsn;

    alone_finish_all(server);
    pubsub_finish(server);
    if (!settle_commit(server, &lsn))
        return;
    settle_gate(server, lsn);
    if (server->store != NULL && dueq_wait(server->store, lsn) != DUEQ_OK)
        return;
    settle_release_all(server);
    connections_fill_all(server);
    turn_close_doomed(server);
}

/* The file with the pid stays, too: it is that of the next program. */
static void leave_sockets(struct server *server)
{
    struct session *session, *next;

    supervisor_reloading((int64_t)clock_usec());
    if (!inheritance_leave(server))
        log_write(LOG_WARNING, "The next program gets options and users as they were when the "
                               "upgrade began: out of memory or descriptors");
    listeners_hand_over(server);
    http_hand_over(server);
    DL_FOREACH_SAFE(server->sessions, session, next) {
        struct connection *connection = connection_of(session);

        if (connection_is_portable(connection)) {
            connection_hand_over(connection);
            connection_free(connection);
        }
    }
    server->pidfile_written = false;
}

void ending_run(struct server *server)
{
    upgrade_end();
    if (server->upgrading)
        leave_sockets(server);
    else
        supervisor_stopping();
    listeners_close(server);
    http_close(server);
    if (server->opening != NULL)
        opening_stop(server->opening);
    if (server->waiters != NULL)
        finish_output(server);
    while (server->sessions != NULL)
        connection_free(connection_of(server->sessions));
    store_life_give_up(server);
    if (server->store != NULL && server->checkpoint_on_exit && !server->checkpoint_given_up) {
        store_life_close(server);
    } else {
        dueq_abandon(server->store);
    }
    tls_context_free(server->tls);
    bound_jobs_forget(server);
    workers_release(server);
    waiters_free(server->waiters);
    watches_free(server->watches);
    long_works_free(server->long_works);
    pubsub_free(server->pubsub);
    hasher_free(server->hasher);
    acl_free(server->acl);
    if (server->pidfile_written)
        pidfile_remove(server->config.pidfile);
    log_report_omitted(true);
    log_write(LOG_NOTICE, server->upgrading ? "dueq makes room for the next program"
                                            : "dueq is down, bye bye");
}

void ending_look_again(struct server *server)
{
    if (!server->upgrading || stop_signals_caught() == 0)
        return;
    server->upgrading = false;
    supervisor_stopping();
    pidfile_remove(server->config.pidfile);
    log_write(LOG_NOTICE, "Received a signal to stop: there is no upgrade");
}
