#include "server/server.h"

#include "server/acl/acl_file.h"
#include "server/dispatch/long_work.h"
#include "server/info/info.h"
#include "server/http/http.h"
#include "server/net/connection.h"
#include "server/net/listener.h"
#include "server/net/tls.h"
#include "server/opening.h"
#include "server/process/pidfile.h"
#include "server/process/process_memory.h"
#include "server/process/rights.h"
#include "server/process/sandbox.h"
#include "server/process/stop_signals.h"
#include "server/process/supervisor.h"
#include "server/session/pubsub.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "storage/keys/state/changes.h"
#include "storage/keys/keys.h"
#include "storage/store.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utlist.h>

enum {
    PART_USEC = 3000,   /* after that a part of a turn leaves the rest to the next turn */
    TURN_USEC = 4000,   /* after that of the whole turn, too, */
    SHORT_USEC = 500,   /* so long a part does what could also wait */
    PART_LEAST = 200,   /* as soon as it has had so much for itself */
    TICK_BUDGET = 2000, /* steps of background work in a turn at most */
    TICK_STEPS = 20,    /* of these, between two looks at the clock */
    SENDS_MOST = 128,   /* connections that get what became durable, in a turn: a millisecond */
    CLOSES_MOST = 64,   /* that are closed: as long */
    KILLS_MOST = 128,   /* that are doomed: half as long */
    CHECKS_MOST = 256,  /* that are looked at for what is done once a second */
    LOOK_AFTER = 8,     /* of these, at the clock */
    COLLECTS_MOST = 8,  /* looks at the sockets before a commit that must be synced */
    BATCH_LARGE = 8 * 1024 * 1024,
    CRON_MS = 1000,
    AWAKE_MS = 10 * CRON_MS, /* so long after an event each second has a turn; more than
                                CLIENT_MEMORY_PAST */
    QUIET_MS = 24 * 3600 * 1000,
    NEARER = 1024, /* a timer that is this part short of its end is armed again */
    NEARER_FROM_MS = 10000,
    REOPEN_MS = 1000,
    OPEN_PATIENCE_MS = 200,    /* an opening that is done by then costs no client an error */
    DRAIN_MS = 20,             /* between checks whether clients have taken their replies */
    COMMIT_PATIENCE_MS = 5000, /* a slow disk may need that long to free a segment */
    COMMIT_RETRY_MS = 20,
    SHRINK_AFTER_MS = 2000, /* a client idle for that long keeps no memory for requests */
    SPARE_DESCRIPTORS = 64
};

/* ---- the store */

/* Called by the store's threads. Wakes the loop, with one system call for many notices. */
static void on_notice(void *arg)
{
    struct server *server = arg;
    uint64_t one = 1;

    if (atomic_exchange(&server->notice_pending, true))
        return;
    while (write(server->notice_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}

static void set_limits(struct server *server)
{
    const struct config *config = &server->config;
    struct keys_limits limits = {.hash_entries = (uint64_t)config->hash_max_listpack_entries,
                                 .hash_value = (uint64_t)config->hash_max_listpack_value,
                                 .intset_entries = (uint64_t)config->set_max_intset_entries,
                                 .zset_entries = (uint64_t)config->zset_max_listpack_entries,
                                 .zset_value = (uint64_t)config->zset_max_listpack_value,
                                 .list_entries = UINT64_MAX};

    /* Below 0 it means 4 KiB and more, which no packed list reaches here. */
    if (config->list_max_listpack_size >= 0)
        limits.list_entries = (uint64_t)config->list_max_listpack_size;

    keys_set_limits(store_keys(server->store), &limits);
}

static void set_defaults(struct server *server)
{
    struct dueq_defaults defaults = {.lease = server->config.queue_lease,
                                     .retries = server->config.queue_retries,
                                     .crashes = server->config.queue_crashes,
                                     .backoff = server->config.queue_backoff,
                                     .backoff_max = server->config.queue_backoff_max};

    dueq_set_defaults(server->store, &defaults);
    set_limits(server);
}

/* While the first opening runs nobody knows where the queue's clock has stopped: it runs from
 * the wall clock. */
static void begin_clock(struct server *server)
{
    uint8_t boot[DUEQ_BOOT_SIZE];

    clock_read_boot(boot);
    clock_init(&server->clock, clock_read(), boot, NULL, 0);
    server_update_clock(server);
}

/* The queue's clock goes on where the store stopped; a later reopening does not set it. All
 * that is measured by it so far is a pause. */
static void continue_clock(struct server *server)
{
    struct dueq_timeline line;
    bool kept = dueq_get_timeline(server->store, &line);
    int64_t floor = dueq_time_floor(server->store), before = server->now.now;
    uint8_t boot[DUEQ_BOOT_SIZE];

    clock_read_boot(boot);
    clock_init(&server->clock, clock_read(), boot, kept ? &line : NULL, floor);
    server_update_clock(server);
    waiters_start_clock(server->waiters, server->now.now);
    if (server->pause_until > 0 && server->pause_until != DUEQ_NEVER)
        server->pause_until += server->now.now - before;
    if (kept && server->clock.last.wall < floor + line.ahead)
        log_write(LOG_WARNING,
                  "The wall clock is behind the last time this store knew: delays, "
                  "leases and expiries go on as if no time had passed since");
}

/* Logs a failure once, not at each attempt: the log may be on the disk that is full. */
static void log_open_failure(struct server *server, const char *why)
{
    char failure[sizeof(server->failure)];

    snprintf(failure, sizeof(failure), "%.300s", why);
    if (strcmp(failure, server->failure) == 0)
        return;
    log_write(LOG_WARNING, "Cannot open the store: %s", why);
    memcpy(server->failure, failure, sizeof(failure));
}

static void write_pidfile(struct server *server)
{
    const char *path = server->config.pidfile;

    if (path[0] == '\0' || server->pidfile_written)
        return;
    server->pidfile_written = pidfile_write(path);
    if (!server->pidfile_written)
        log_write(LOG_WARNING, "Cannot write the pid file %s: %s", path, strerror(errno));
}

static bool begin_opening(struct server *server)
{
    struct dueq_time unknown = {.now = DUEQ_DEFAULT, .wall = server->now.wall};
    struct dueq_options options;

    config_store_options(&server->config, &options);
    options.notify = on_notice;
    options.notify_arg = server;
    options.heeds_pressure = true;
    server->opening_since = server->now.wall;
    server->opening =
        opening_start(server->config.dir, &options, server->loading ? unknown : server->now);
    if (server->opening == NULL)
        log_open_failure(server, "no memory, or no thread");
    return server->opening != NULL;
}

static void log_opened(struct server *server)
{
    struct dueq_stats stats;

    dueq_get_stats(server->store, &stats);
    log_write(
        LOG_NOTICE, "Store open in %s: %zu topics, %" PRIu64 " journal records replayed%s",
        server->config.dir, dueq_topic_count(server->store), stats.replayed_records,
        stats.cut_bytes > 0 ? "; its end was torn and is cut: what was under way when power or "
                              "process went, or a last record that was damaged right after"
                            : "");
}

static void log_ready(const struct config *config)
{
    if (config->port > 0 || config->tls_port == 0)
        log_write(LOG_NOTICE, "Ready to accept connections on port %" PRId64, config->port);
    if (config->tls_port > 0)
        log_write(LOG_NOTICE, "Ready to accept connections with TLS on port %" PRId64,
                  config->tls_port);
}

static void use_store(struct server *server, struct dueq *store)
{
    server->store = store;
    server->failure[0] = '\0';
    if (server->loading)
        continue_clock(server);
    server_update_clock(server);
    server_apply_config(server); /* it may have changed since the opening began */
    changes_enable(store_keys(store), true);
    log_opened(server);
    if (server->loading) {
        write_pidfile(server);
        log_ready(&server->config);
        supervisor_ready();
    }
    server->loading = false;
}

/* At the start a failure ends the server, as one of the configuration does. */
static void end_opening(struct server *server)
{
    struct dueq_error error;
    struct dueq *store;
    enum dueq_status status = opening_finish(server->opening, &store, &error);

    server->opening = NULL;
    if (status == DUEQ_OK) {
        use_store(server, store);
        return;
    }
    log_open_failure(server, error.text);
    server->reopen_at = server->clock.last.monotonic + REOPEN_MS;
    if (server->loading) {
        server_shutdown(server, false, true);
        server->exit_status = 1;
    }
}

/* After opening_stop. What was replayed is in the journal still. */
static void give_up_opening(struct server *server)
{
    struct dueq_error error;
    struct dueq *store;

    if (server->opening == NULL)
        return;
    opening_finish(server->opening, &store, &error);
    server->opening = NULL;
    dueq_abandon(store);
}

/* Replies whose records are not durable must not leave: their clients are cut off, and learn by
 * asking again what has happened. The store is reopened from what is on disk. */
static void fail_store(struct server *server, const char *why)
{
    struct session *session, *next;

    snprintf(server->failure, sizeof(server->failure), "%s", why);
    server->commit_until = 0;
    log_write(
        LOG_WARNING,
        "The store failed: %s. Nothing is acknowledged that is not on disk; it is reopened "
        "from there every second. Check the disk, and dmesg",
        server->failure);
    server->stats.store_failures++;
    DL_FOREACH_SAFE(server->sessions, session, next) {
        struct connection *connection = connection_of(session);

        if (connection->is_gated || connection->is_touched || session->waiter != NULL)
            connection_free(connection);
        else
            session->watch_broken = session->watches != NULL; /* what it read may be lost */
    }
    connections_fill_all(server);
    dueq_abandon(server->store);
    server->store = NULL;
    server->reopen_at = server->clock.last.monotonic + REOPEN_MS;
}

const char *server_failure(const struct server *server)
{
    return server->failure;
}

bool server_opening(const struct server *server, struct dueq_progress *ret_progress)
{
    if (server->opening == NULL)
        return false;
    opening_get_progress(server->opening, ret_progress);
    return true;
}

static void check_store(struct server *server)
{
    if (server->store != NULL && dueq_status(server->store) != DUEQ_OK)
        fail_store(server, dueq_failure(server->store));
    if (server->store != NULL)
        return;
    if (server->opening != NULL) {
        if (opening_has_ended(server->opening))
            end_opening(server);
    } else if (server->clock.last.monotonic >= server->reopen_at && !begin_opening(server)) {
        server->reopen_at = server->clock.last.monotonic + REOPEN_MS;
    }
}

/* ---- the turn */

/* False: it has begun before. */
static bool begin_turn(struct server *server)
{
    if (turn_watch_runs(&server->turn))
        return false;
    turn_watch_begin(&server->turn, clock_usec(), clock_cpu_usec());
    return true;
}

/* The loop may have slept for hours: what an event notes as the time is that of the event. */
void server_begin_turn(struct server *server)
{
    if (begin_turn(server))
        server_update_clock(server);
}

bool server_part_is_long(const struct server *server)
{
    uint64_t now, used;

    if (!turn_watch_runs(&server->turn))
        return false;
    now = clock_usec();
    used = now - server->turn.marked;
    return used >= PART_USEC || (used >= PART_LEAST && now - server->turn.began >= TURN_USEC);
}

bool server_part_was_long(const struct server *server)
{
    const struct turn_watch *turn = &server->turn;

    return turn_watch_runs(turn) && turn->seen > turn->marked + PART_USEC;
}

bool server_has_time(const struct server *server)
{
    uint64_t now = clock_usec();

    return turn_watch_runs(&server->turn) && now - server->turn.marked < SHORT_USEC &&
           now - server->turn.began < PART_USEC;
}

/* May a part that has done `done` of `most` steps do one more? */
static bool may_go_on(const struct server *server, unsigned done, unsigned most)
{
    return done < most && (done == 0 || done % LOOK_AFTER != 0 || !server_part_is_long(server));
}

void server_end_event(struct server *server)
{
    if (server_part_is_long(server))
        event_base_loopbreak(server->base);
}

static void end_part(struct server *server, enum turn_part part)
{
    turn_watch_mark(&server->turn, part, clock_usec());
}

void server_update_clock(struct server *server)
{
    if (clock_update(&server->clock, clock_read(), &server->now))
        log_write(LOG_WARNING,
                  "The wall clock jumped by %" PRId64
                  " ms. Delays and leases are not affected; "
                  "jobs with AT follow it",
                  server->clock.last_jump);
    if (server->store != NULL)
        dueq_keep_timeline(server->store, &server->clock.line);
}

/* Ten thousand peers can go in one moment, and to close a socket takes 15 us. */
static void close_some(struct server *server)
{
    for (unsigned closed = 0; server->doomed != NULL && may_go_on(server, closed, CLOSES_MOST);
         closed++)
        connection_free(server->doomed);
}

static void doom_some(struct server *server)
{
    for (unsigned doomed = 0; server->killed != NULL && may_go_on(server, doomed, KILLS_MOST);
         doomed++)
        connection_doom_killed(server);
}

static void close_doomed(struct server *server)
{
    while (server->killed != NULL)
        connection_doom_killed(server);
    while (server->doomed != NULL)
        connection_free(server->doomed);
}

/* A record may open the gates of ten thousand connections. Those that are left are the first
 * ones of the next turn, which begins at once. */
static void release_some(struct server *server)
{
    uint64_t durable = server->store == NULL ? UINT64_MAX : dueq_durable_lsn(server->store);
    uint64_t written = server->store == NULL ? UINT64_MAX : dueq_written_lsn(server->store);
    struct connection *connection, *next;

    server->releases_more = false;
    DL_FOREACH_SAFE2(server->gated, connection, next, gated_next) {
        if (!may_go_on(server, server->releases, SENDS_MOST)) {
            server->releases_more = true;
            return;
        }
        server->releases += connection_release(connection, written, durable);
    }
}

static void release_durable(struct server *server)
{
    do {
        server->releases = 0;
        release_some(server);
    } while (server->releases_more);
}

/* A commit that finds no room, or no descriptor, changes nothing and is tried again. Clients
 * get no replies meanwhile, so after COMMIT_PATIENCE_MS the batch is given up with the store,
 * which is reopened from what is on disk. */
static bool wait_for_commit(struct server *server, enum dueq_status status)
{
    int64_t now = server->clock.last.monotonic;

    if (dueq_status(server->store) != DUEQ_OK) {
        fail_store(server, dueq_failure(server->store));
        return false;
    }
    if (server->commit_until == 0)
        server->commit_until = now + COMMIT_PATIENCE_MS;
    if (now >= server->commit_until)
        fail_store(server, status == DUEQ_FULL
                               ? "the disk is full, and so is what was set aside for this"
                               : "no memory or no descriptor for the journal");
    return false;
}

static void note_latency(struct server *server, enum latency_event event, uint64_t began)
{
    latency_note(&server->latency, event, clock_usec() - began,
                 server->config.latency_threshold, server->now.wall / 1000);
}

static enum dueq_status commit_batch(struct server *server, uint64_t *ret_lsn)
{
    uint64_t began = clock_usec();
    enum dueq_status status = dueq_commit(server->store, server->now, ret_lsn);

    note_latency(server, LATENCY_COMMIT, began);
    return status;
}

static bool may_tick(const struct server *server)
{
    return server->store != NULL && dueq_drains(server->store) == DUEQ_OK &&
           dueq_pressure(server->store) < DUEQ_PRESSURE_MOST;
}

/* True: more work is due. */
static bool tick(struct server *server)
{
    uint64_t began = clock_usec();
    unsigned steps = 0;
    bool more;

    do {
        more = dueq_tick(server->store, server->now, TICK_STEPS);
        steps += TICK_STEPS;
    } while (more && steps < TICK_BUDGET && !server_part_is_long(server));
    note_latency(server, LATENCY_TICK, began);
    return more;
}

/* False: nothing is committed; the store may have failed and waiting clients may be closed. */
static bool commit(struct server *server, uint64_t *ret_lsn)
{
    enum dueq_status status;

    *ret_lsn = 0;
    if (server->store == NULL)
        return true;
    status = commit_batch(server, ret_lsn);
    if (status != DUEQ_OK)
        return wait_for_commit(server, status);
    server->commit_until = 0;
    return true;
}

static void gate_touched(struct server *server, uint64_t lsn)
{
    while (server->touched != NULL)
        connection_gate(server->touched, lsn);
}

void server_commit_if_large(struct server *server)
{
    uint64_t lsn;

    if (server->running == 0 && server->store != NULL &&
        dueq_batch_bytes(server->store) > BATCH_LARGE)
        commit_batch(server, &lsn); /* a failure shows at the turn's end */
}

/* Connections whose next request is held back go on, in order of arrival: when a pause has
 * ended, a key is free again, or the store may be less busy. */
static void resume_held(struct server *server)
{
    const struct held *held = &server->held[HOLD_EVENT];
    struct connection *connection;
    bool goes_on = long_works_freed(server) || server->pause_ended || server->awaits_store ||
                   server->awaits_check;

    server->pause_ended = false; /* another may have begun in the same turn */
    server->awaits_store = server->awaits_check = false;
    if (server->pause_until > 0 && server->pause_until <= server->now.now) {
        server->pause_until = 0;
        goes_on = true;
    }
    if (!goes_on || held->count == 0)
        return;
    connection = held->first->held_prev; /* from the last: each is put before the others */
    for (size_t left = held->count; left > 0; left--) {
        struct connection *before = connection->held_prev;

        connection_mark_resumed(connection);
        connection = before;
    }
}

/* Runs requests of connections that have read more than they could run; each connection once,
 * and not all of them when it takes long. */
static void resume_some(struct server *server)
{
    struct connection *last = server->resumed == NULL ? NULL : server->resumed->resumed_prev;

    while (server->resumed != NULL) {
        struct connection *connection = server->resumed;

        DL_DELETE2(server->resumed, connection, resumed_prev, resumed_next);
        connection->is_resumed = false;
        connection_resume(connection);
        if (connection == last || server_part_is_long(server))
            break;
    }
}

/* ---- once a second */

/* A client that waits or has subscriptions may be idle for ever. */
static bool is_idle_too_long(const struct server *server, const struct connection *connection)
{
    const struct session *session = &connection->session;
    int64_t limit = server->config.timeout * 1000;

    return limit > 0 && session->waiter == NULL && connection->hold == HOLD_NONE &&
           !session->monitors && session_subscriptions(session) == 0 &&
           server->clock.last.monotonic - session->active > limit;
}

static void stay_awake(struct server *server)
{
    server->awake_until = server->clock.last.monotonic + AWAKE_MS;
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
        stay_awake(server);
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
         server->unchecked != NULL && may_go_on(server, checked, CHECKS_MOST); checked++) {
        struct session *session = server->unchecked;

        server->unchecked = session->next;
        check_session(server, connection_of(session));
    }
}

/* Logs one line when room ends and one when there is room again. */
static void log_room_change(struct server *server, const struct dueq_stats *stats)
{
    if (stats->full == server->full_logged)
        return;
    server->full_logged = stats->full;
    if (stats->full)
        log_write(
            LOG_WARNING,
            "No room: pushes are refused until there is some; claims, acks and deletes go "
            "on. The disk has %" PRIu64 " MB free of which disk-reserve is %" PRId64
            ", data.mdb has %" PRIu64 " MB in use of %" PRIu64 ", map-size is %" PRIu64,
            stats->disk_free_bytes >> 20, server->config.disk_reserve >> 20,
            stats->map_used_bytes >> 20, stats->data_file_bytes >> 20, stats->map_bytes >> 20);
    else
        log_write(LOG_NOTICE, "There is room again: pushes are taken");
}

static void log_loading(struct server *server)
{
    struct dueq_progress progress;

    if (!server->loading || server->opening == NULL)
        return;
    opening_get_progress(server->opening, &progress);
    log_write(LOG_NOTICE,
              "Loading: %" PRIu64 " of %" PRIu64 " bytes of the journal replayed, %" PRIu64
              " topics loaded",
              progress.replayed_bytes, progress.journal_bytes, progress.topics);
}

static void log_compacted(const struct dueq_stats *stats)
{
    log_write(LOG_NOTICE,
              "Compacted data.mdb: %" PRIu64 " MB, %" PRIu64 " before, in %" PRIu64 " ms",
              stats->compaction_after_bytes >> 20, stats->compaction_before_bytes >> 20,
              stats->compaction_usec_last / 1000);
}

/* One line for each that succeeds; the same failure is not logged again until one does. */
static void log_compaction(struct server *server, const struct dueq_stats *stats)
{
    if (stats->compactions > server->compactions) {
        log_compacted(stats);
        server->compaction_logged = DUEQ_OK;
    } else if (stats->compaction_failures > server->compaction_failures &&
               stats->compaction_status != server->compaction_logged) {
        log_write(LOG_WARNING,
                  "data.mdb is not compacted, and stays as it is: %s. It has %" PRIu64
                  " MB, %" PRIu64 " in use; the disk has %" PRIu64 " MB free",
                  stats->compaction_status == DUEQ_FULL
                      ? "besides disk-reserve there is no disk space for a copy"
                      : dueq_status_text(stats->compaction_status),
                  stats->data_file_bytes >> 20, stats->map_used_bytes >> 20,
                  stats->disk_free_bytes >> 20);
        server->compaction_logged = stats->compaction_status;
    }
    server->compactions = stats->compactions;
    server->compaction_failures = stats->compaction_failures;
}

static void log_backed_up(const struct dueq_stats *stats)
{
    log_write(LOG_NOTICE,
              "The backup is complete and checked: %" PRIu64 " bytes, up to LSN %" PRIu64
              ", in %" PRIu64 " ms",
              stats->backup_bytes, stats->backup_lsn, stats->backup_usec_last / 1000);
}

/* One line for each. */
static void log_backup(struct server *server, const struct dueq_stats *stats)
{
    if (stats->backups > server->backups)
        log_backed_up(stats);
    if (stats->backup_failures > server->backup_failures)
        log_write(LOG_WARNING, "The backup has failed, and is removed: %s",
                  stats->backup_status == DUEQ_FULL
                      ? "besides disk-reserve the disk of backup-dir has no room for it"
                      : dueq_status_text(stats->backup_status));
    server->backups = stats->backups;
    server->backup_failures = stats->backup_failures;
}

static void log_store(struct server *server)
{
    struct dueq_stats stats;

    if (server->store == NULL)
        return;
    dueq_get_stats(server->store, &stats);
    log_room_change(server, &stats);
    log_compaction(server, &stats);
    log_backup(server, &stats);
}

static void do_each_second(struct server *server)
{
    check_sessions(server);
    if (server->clock.last.monotonic - server->last_second < CRON_MS)
        return;
    server->last_second = server->clock.last.monotonic;
    if (server->unchecked == NULL)
        server->unchecked = server->sessions;
    client_memory_tick(server);
    connections_end_handshakes(server);
    log_report_omitted(false);
    server_last_save(server);
    log_loading(server);
    log_store(server);
}

/* Is there work for do_each_second, or for dueq_maintain, without an event? A quiet server has
 * no timer at all. */
static bool wants_each_second(const struct server *server)
{
    return server->clock.last.monotonic < server->awake_until || server->store == NULL ||
           server->clock_event == NULL || server->shaking != NULL ||
           server->checkpoint_wanted || server->full_logged ||
           (server->config.timeout > 0 && server->sessions != NULL) || log_has_omitted() ||
           !store_rests(server->store);
}

/* Waits while a checkpoint runs: that one does not contain what this turn has committed. */
static void start_checkpoint(struct server *server)
{
    struct dueq_stats stats;

    if (!server->checkpoint_wanted || server->store == NULL)
        return;
    dueq_get_stats(server->store, &stats);
    if (stats.checkpoint_running)
        return;
    dueq_start_checkpoint(server->store);
    server->checkpoint_wanted = false;
}

/* Nothing reaches a socket before its record is durable. So the order is: all work of this
 * turn, the commit, the gates, then output whose records are durable. */
static void finish_turn(struct server *server)
{
    bool more = false, committed;
    uint64_t lsn;

    assert(server->running == 0);
    server->stats.turns++;
    begin_turn(server);
    end_part(server, TURN_EVENTS);
    server_update_clock(server);
    supervisor_alive(server->clock.last.monotonic);
    do_each_second(server);
    end_part(server, TURN_SECOND);
    resume_held(server);
    throttle_turn(server);
    resume_some(server);
    end_part(server, TURN_RESUMED);
    pubsub_turn(server);
    long_works_turn(server);
    end_part(server, TURN_WORKS);
    if (may_tick(server))
        more = tick(server);
    end_part(server, TURN_TICK);
    waiters_serve(server);
    waiters_expire(server);
    end_part(server, TURN_WAITERS);
    committed = commit(server, &lsn);
    end_part(server, TURN_COMMIT);
    if (committed)
        gate_touched(server, lsn);
    release_some(server); /* what is durable, also when there was no room to commit */
    end_part(server, TURN_RELEASE);
    connections_fill(server);
    doom_some(server);
    close_some(server);
    end_part(server, TURN_FILL);
    check_store(server);
    start_checkpoint(server);
    if (server->store != NULL)
        dueq_maintain(server->store, !server->work_done && !more);
    end_part(server, TURN_STORE);
    turn_watch_end(&server->turn, clock_cpu_usec());
    if (server->work_done || !server->timer_fired)
        stay_awake(server);
    server->work_done = server->timer_fired = false;
    server->releases = 0;
}

/* The wall clock, which jobs with AT follow, may be slewed while a timer runs: a long one ends
 * a little earlier, and the rest is measured anew. */
static int64_t nearer(int64_t wait)
{
    return wait < NEARER_FROM_MS ? wait : wait - wait / NEARER;
}

/* ms until a turn must begin without an event. */
static int64_t next_turn(struct server *server)
{
    int64_t wait = wants_each_second(server) ? CRON_MS : QUIET_MS, next;

    if (server->resumed != NULL || server->filling != NULL || server->awaits_check ||
        server->releases_more || server->killed != NULL || server->doomed != NULL ||
        pubsub_is_busy(server) || server->unchecked != NULL)
        return 0;
    if (may_tick(server)) {
        next = nearer(dueq_next_tick(server->store, server->now));
        wait = next < wait ? next : wait;
    }
    if (server->commit_until > 0)
        wait = wait < COMMIT_RETRY_MS ? wait : COMMIT_RETRY_MS;
    next = supervisor_next(server->clock.last.monotonic);
    wait = next < wait ? next : wait;
    next = throttle_next(server);
    wait = next < wait ? next : wait;
    next = long_works_next(server);
    wait = next < wait ? next : wait;
    next = waiters_next(server->waiters, server->now.now);
    wait = next < wait ? next : wait;
    if (server->pause_ended && server->held[HOLD_EVENT].count > 0)
        return 0;
    if (server->pause_until > 0) {
        next = server->pause_until - server->now.now;
        wait = next < wait ? next : wait;
    }
    return wait < 0 ? 0 : wait;
}

/* Ends with a ms, not that long after now: what is due in the next ms is due when it begins. */
static void arm_timer(struct server *server)
{
    int64_t wait = next_turn(server) * 1000;
    struct timeval until;

    if (wait > 0)
        wait -= server->clock.wall_usec % 1000;
    until = (struct timeval){(time_t)(wait / 1000000), (suseconds_t)(wait % 1000000)};
    event_add(server->timer, &until);
}

/* ---- events */

/* Only begins a turn, which does the work: on a busy server the timer never fires. */
static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;

    (void)fd;
    (void)what;
    server->timer_fired = true;
    server_begin_turn(server);
}

static void on_clock_set(evutil_socket_t fd, short what, void *arg)
{
    (void)what;
    server_begin_turn(arg);
    clock_watch_again(fd);
}

static void on_store_notice(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    uint64_t count;

    (void)what;
    server_begin_turn(server);
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_write(LOG_WARNING, "eventfd: %s", strerror(errno));
    /* In this order: a notice suppressed before this line is handled by the release below, one
     * after it writes again. In the other order a write could be lost while the flag is set,
     * and no notice would ever come. */
    atomic_store(&server->notice_pending, false);
    release_some(server);
}

/* Certificates for new connections; those that are open keep theirs. False: the log says why,
 * and nothing has changed. */
static bool use_certificates(struct server *server, const struct config *config)
{
    struct config_error error;
    struct tls_context *made = tls_context_new(config, &error);

    if (made == NULL) {
        log_write(LOG_WARNING, "Failed to configure TLS: %s%s", error.text,
                  server->tls == NULL ? "" : " (the certificates of before stay in use)");
        return false;
    }
    tls_context_free(server->tls);
    server->tls = made;
    return true;
}

static void on_hangup(evutil_socket_t signal, short what, void *arg)
{
    struct server *server = arg;

    (void)signal;
    (void)what;
    log_reopen();
    if (server->config.tls_port > 0 && use_certificates(server, &server->config))
        log_write(LOG_NOTICE, "The certificates for TLS were read again");
}

static void on_state_signal(evutil_socket_t signal, short what, void *arg)
{
    (void)signal;
    (void)what;
    server_begin_turn(arg);
    info_log(arg);
}

static void on_stop_signal(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    uint64_t count;

    (void)what;
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_write(LOG_WARNING, "eventfd: %s", strerror(errno));
    log_write(LOG_NOTICE, "Received SIG%s, shutting down (again: at once)",
              stop_signals_caught() == SIGTERM ? "TERM" : "INT");
    if (!server->stopping)
        server_shutdown(server, true, false);
}

static bool add_event(struct server *server, struct event **event, int fd, short what,
                      event_callback_fn callback)
{
    *event = event_new(server->base, fd, what | EV_PERSIST, callback, server);
    return *event != NULL && event_add(*event, NULL) == 0;
}

/* Timers are exact to the microsecond; by default epoll waits up to a ms longer. */
static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config == NULL)
        return NULL;
    if (event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) == 0)
        base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static bool init_events(struct server *server)
{
    int stop_fd = stop_signals_open();

    server->base = new_base();
    server->notice_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    server->clock_fd = clock_watch_open(); /* without it each second has a turn */
    if (server->base == NULL || server->notice_fd < 0 || stop_fd < 0)
        return false;
    server->timer = evtimer_new(server->base, on_timer, server);
    signal(SIGPIPE, SIG_IGN);
    return server->timer != NULL &&
           add_event(server, &server->notice_event, server->notice_fd, EV_READ,
                     on_store_notice) &&
           add_event(server, &server->stop_event, stop_fd, EV_READ, on_stop_signal) &&
           add_event(server, &server->hangup_event, SIGHUP, EV_SIGNAL, on_hangup) &&
           add_event(server, &server->state_event, SIGUSR1, EV_SIGNAL, on_state_signal) &&
           (server->clock_fd < 0 ||
            add_event(server, &server->clock_event, server->clock_fd, EV_READ, on_clock_set));
}

/* ---- for handlers */

int64_t server_last_save(struct server *server)
{
    const struct clock_times *now = &server->clock.last;
    struct dueq_stats stats;

    if (server->store != NULL) {
        dueq_get_stats(server->store, &stats);
        checkpoint_watch_update(&server->checkpoints, &stats, now->wall);
    }
    if (server->checkpoints.last > 0)
        return server->checkpoints.last;
    return (now->wall - (now->monotonic - server->stats.start_monotonic)) / 1000;
}

struct session *server_find_session(struct server *server, uint64_t id)
{
    struct session *session;

    HASH_FIND(by_id, server->sessions_by_id, &id, sizeof(id), session);
    return session;
}

/* Without memory for the table the session works, but cannot be found by its id. */
void server_add_session(struct server *server, struct session *session)
{
    DL_APPEND(server->sessions, session);
    HASH_ADD(by_id, server->sessions_by_id, id, sizeof(session->id), session);
    server->session_count++;
}

void server_remove_session(struct server *server, struct session *session)
{
    assert(server->session_count > 0);
    if (server->unchecked == session)
        server->unchecked = session->next;
    DL_DELETE(server->sessions, session);
    if (session->by_id.tbl != NULL)
        HASH_DELETE(by_id, server->sessions_by_id, session);
    server->session_count--;
}

void server_pause(struct server *server, int64_t until, bool writes)
{
    if (until == 0) {
        server->pause_ended = server->pause_until > 0;
        server->pause_until = 0;
        return;
    }
    if (server->pause_until > 0)
        writes = writes && server->pause_writes;
    server->pause_writes = writes;
    if (until > server->pause_until)
        server->pause_until = until;
}

bool server_pauses(const struct server *server, unsigned command_flags)
{
    return server->pause_until > server->now.now &&
           (!server->pause_writes || (command_flags & COMMAND_MAY_WRITE));
}

void server_shutdown(struct server *server, bool checkpoint, bool now)
{
    server->stopping = true;
    server->checkpoint_on_exit = checkpoint;
    server->stop_now = now;
}

/* Raises the limit of descriptors for so many clients. Returns how many clients it allows. */
static int64_t raise_descriptors(int64_t clients)
{
    rlim_t wanted = (rlim_t)clients + SPARE_DESCRIPTORS;
    struct rlimit limit, raised;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return clients;
    raised = limit;
    raised.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    if (limit.rlim_cur >= wanted)
        return clients;
    return limit.rlim_cur > SPARE_DESCRIPTORS ? (int64_t)(limit.rlim_cur - SPARE_DESCRIPTORS)
                                              : 1;
}

/* The ports come last: when one cannot be opened, certificates that are newer do no harm. */
static const char *follow_network(struct server *server, const struct config *changed,
                                  bool reload, struct config_error *error)
{
    if (changed->tls_port == 0 || (server->tls != NULL && !reload) ||
        use_certificates(server, changed))
        return listeners_change(server, changed, error);
    snprintf(error->text, sizeof(error->text),
             "Unable to update TLS configuration. Check server logs.");
    return "tls";
}

const char *server_check_config(struct server *server, const struct config *changed,
                                bool reload, struct config_error *error)
{
    int64_t most = INT64_MAX;

    if (changed->maxclients != server->config.maxclients)
        most = raise_descriptors(changed->maxclients);
    if (most >= changed->maxclients)
        return follow_network(server, changed, reload, error);
    snprintf(error->text, sizeof(error->text),
             "The operating system is not able to handle the specified number of clients, try "
             "with %" PRId64,
             most);
    return "maxclients";
}

void server_apply_config(struct server *server)
{
    acl_log_trim(&server->acl->log, (size_t)server->config.acllog_max_len);
    log_set_level((enum log_level)server->config.loglevel);
    log_set_format((enum log_format)server->config.log_format);
    if (server->store == NULL)
        return;
    set_defaults(server);
    dueq_set_durability(server->store, (enum dueq_durability)server->config.durability,
                        (unsigned)server->config.durability_interval);
    dueq_set_auto_compact(server->store, (unsigned)server->config.auto_compact_percentage,
                          (uint64_t)server->config.auto_compact_min_size);
}

/* Does the turn so far have changes of several clients that wait for a sync? */
static bool shares_sync(const struct server *server)
{
    const struct connection *first = server->touched;

    return server->config.durability == DUEQ_SYNC_ALWAYS && first != NULL &&
           first->touched_prev != first;
}

static size_t batch_bytes(const struct server *server)
{
    return server->store == NULL ? 0 : dueq_batch_bytes(server->store);
}

/* Waits for events and runs them. While several clients change something, more may have sent
 * requests meanwhile: with theirs in the same record half the syncs do. A client that is alone
 * waits for nobody. */
static void run_events(struct server *server)
{
    size_t before = 0;

    event_base_loop(server->base, EVLOOP_ONCE);
    for (unsigned i = 0;
         i < COLLECTS_MOST && batch_bytes(server) > before && shares_sync(server) &&
         !server->stopping && !server_part_is_long(server);
         i++) {
        before = batch_bytes(server);
        event_base_loop(server->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
}

/* ---- starting and stopping */

/* Fewer descriptors than wanted mean fewer clients: the log says so at the start. */
static void limit_clients(struct config *config)
{
    int64_t most = raise_descriptors(config->maxclients);

    if (most >= config->maxclients)
        return;
    config->maxclients = most;
    log_write(LOG_WARNING, "maxclients is %" PRId64 ": the system allows no more (ulimit -n)",
              config->maxclients);
}

/* Large buffers go back to the system when they are freed, and threads share two arenas: memory
 * does not grow under a load that comes and goes. Freed blocks are joined at once: those of a
 * quarter of a million topics, joined by the next large allocation, took 50 ms of one turn. */
static void tune_malloc(void)
{
    mallopt(M_MXFAST, 0);
    mallopt(M_ARENA_MAX, 2);
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
}

static bool refuse_rights(const struct rights_error *error)
{
    log_write(LOG_WARNING, "%s", error->text);
    return false;
}

/* After the ports, which root may open, and the key for TLS, which root may read. False: the
 * log says why. */
static bool take_rights(const struct config *config)
{
    const char *log = config->logfile[0] == '\0' ? NULL : config->logfile;
    struct rights_error error;
    struct rights rights;
    char name[64];

    if (!rights_check_directory(config->dir, &error))
        return refuse_rights(&error);
    if (config->run_as[0] == '\0')
        return true;
    if (!rights_find(config->run_as, name, &rights, &error) ||
        !rights_hand_over(&rights, config->dir, log, &error) || !rights_drop(&rights, &error))
        return refuse_rights(&error);
    return true;
}

static bool enter_sandbox(const struct config *config)
{
    const char *why;

    if (!config->sandbox || sandbox_enter(&why))
        return true;
    log_write(LOG_WARNING, "sandbox: %s", why);
    return false;
}

static bool define_users(struct server *server, struct buffer *why)
{
    const struct config *config = &server->config;
    enum acl_channels channels = (enum acl_channels)config->acl_pubsub_default;
    const struct config_user *user;
    struct acl *acl;

    DL_FOREACH(config->users, user)
        if (!acl_file_define(server->acl, user->words, user->count, channels, why))
            return false;
    if (config->aclfile[0] == '\0')
        return true;
    acl = acl_file_read(config->aclfile, channels, why);
    if (acl == NULL)
        return false;
    acl_free(server->acl);
    server->acl = acl;
    return true;
}

void server_warn_of_users(const struct server *server)
{
    const struct acl_user *user = acl_default(server->acl);

    if (server->config.requirepass_size > 0 && server->config.aclfile[0] != '\0' &&
        user->enabled && user->no_password)
        log_write(LOG_WARNING, "requirepass has no effect, because aclfile defines the users, "
                               "and its user default has no password: every client may do "
                               "what that user may. Give it a password there, or turn it off");
}

/* False: the log says why. */
static bool open_users(struct server *server)
{
    const struct config *config = &server->config;
    struct buffer why;
    bool good;

    if (config->users != NULL && config->aclfile[0] != '\0') {
        log_write(LOG_WARNING,
                  "Configuring dueq with users defined in its configuration file and at the "
                  "same setting an ACL file path is invalid: define users in one of them only");
        return false;
    }
    server->acl = acl_new();
    if (server->acl == NULL ||
        !acl_set_default_password(server->acl,
                                  dueq_slice(config->requirepass, config->requirepass_size)))
        return false;
    buffer_init(&why, SIZE_MAX);
    good = define_users(server, &why);
    if (!good)
        log_write(LOG_WARNING, "Aborting start because of ACL errors: %.*s",
                  (int)buffer_size(&why), buffer_size(&why) > 0 ? buffer_content(&why) : "");
    buffer_release(&why);
    config_release_users(&server->config);
    if (good)
        server_warn_of_users(server);
    return good;
}

static bool start(struct server *server)
{
    log_write(LOG_NOTICE, "dueq %s starting, pid %d", DUEQ_VERSION, (int)getpid());
    supervisor_open();
    limit_clients(&server->config);
    if (!init_events(server)) {
        log_write(LOG_WARNING, "Cannot start the event loop: %s", strerror(errno));
        return false;
    }
    if (server->config.tls_port > 0 && !use_certificates(server, &server->config))
        return false;
    if (!open_users(server) || !listeners_open(server) || !http_open(server) ||
        !take_rights(&server->config) || !enter_sandbox(&server->config))
        return false;
    begin_clock(server);
    server->waiters = waiters_new(server->now.now);
    server->watches = watches_new();
    server->long_works = long_works_new();
    server->pubsub = pubsub_new();
    server->stats.start_wall = server->clock.last.wall;
    server->stats.start_monotonic = server->clock.last.monotonic;
    server->stats.start_memory = process_memory_read().own;
    server->loading = true;
    if (server->waiters == NULL || server->watches == NULL || server->pubsub == NULL ||
        server->long_works == NULL || !begin_opening(server))
        return false;
    listeners_warn(&server->config, acl_wants_login(server->acl));
    if (opening_await(server->opening, OPEN_PATIENCE_MS))
        end_opening(server);
    if (server->opening != NULL) {
        write_pidfile(server); /* no other server has the directory, or it had ended */
        log_loading(server);
        server->last_second = server->clock.last.monotonic;
    }
    return true;
}

/* Reads nothing more. Closes connections that have no output left. */
static void close_finished(struct server *server)
{
    struct session *session, *next;

    DL_FOREACH_SAFE(server->sessions, session, next)
        if (!connection_drain(connection_of(session)))
            connection_free(connection_of(session));
}

/* Sends remaining replies as fast as clients take them, at most for shutdown-timeout s. */
static void await_clients(struct server *server)
{
    int64_t end = (int64_t)(clock_usec() / 1000) + server->config.shutdown_timeout * 1000, left;

    close_finished(server);
    while (server->sessions != NULL && (left = end - (int64_t)(clock_usec() / 1000)) > 0) {
        struct timeval until = {0, 1000 * (suseconds_t)(left < DRAIN_MS ? left : DRAIN_MS)};

        event_add(server->timer, &until);
        event_base_loop(server->base, EVLOOP_ONCE);
        close_doomed(server);
        close_finished(server);
    }
    if (server->sessions != NULL)
        log_write(LOG_WARNING,
                  "%" PRIu64 " clients did not take their replies within shutdown-timeout",
                  server->session_count);
}

/* The last turn: waits until its record is durable, then sends its replies. */
static void finish_output(struct server *server)
{
    uint64_t lsn;

    pubsub_finish(server);
    if (!commit(server, &lsn))
        return;
    gate_touched(server, lsn);
    if (server->store != NULL && dueq_wait(server->store, lsn) != DUEQ_OK)
        return;
    release_durable(server);
    connections_fill_all(server);
    close_doomed(server);
    if (!server->stop_now)
        await_clients(server);
}

/* A full disk is no failure: the journal contains everything. */
static void close_store(struct server *server)
{
    enum dueq_status status = dueq_close(server->store);

    if (status == DUEQ_OK)
        return;
    log_write(LOG_WARNING, "The last checkpoint failed (%s): the journal will be replayed",
              dueq_status_text(status));
    server->exit_status = status == DUEQ_FULL ? 0 : 1;
}

static void stop(struct server *server)
{
    supervisor_stopping();
    listeners_close(server);
    http_close(server);
    if (server->opening != NULL)
        opening_stop(server->opening);
    if (server->waiters != NULL)
        finish_output(server);
    while (server->sessions != NULL)
        connection_free(connection_of(server->sessions));
    give_up_opening(server);
    if (server->store != NULL && server->checkpoint_on_exit) {
        close_store(server);
    } else {
        dueq_abandon(server->store);
    }
    tls_context_free(server->tls);
    waiters_free(server->waiters);
    watches_free(server->watches);
    long_works_free(server->long_works);
    pubsub_free(server->pubsub);
    acl_free(server->acl);
    if (server->pidfile_written)
        pidfile_remove(server->config.pidfile);
    log_report_omitted(true);
    log_write(LOG_NOTICE, "dueq is down, bye bye");
}

static void free_events(struct server *server)
{
    struct event *events[] = {server->timer,        server->notice_event, server->stop_event,
                              server->hangup_event, server->state_event,  server->clock_event};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (events[i] != NULL)
            event_free(events[i]);
    if (server->base != NULL)
        event_base_free(server->base);
    close(server->notice_fd);
    if (server->clock_fd >= 0)
        close(server->clock_fd);
    stop_signals_close();
}

int server_run(struct config *config)
{
    static struct server server;

    tune_malloc();
    server.config = *config;
    server.checkpoint_on_exit = true;
    if (!start(&server)) {
        server.exit_status = 1;
    } else {
        while (!server.stopping) {
            arm_timer(&server);
            run_events(&server);
            finish_turn(&server);
        }
    }
    stop(&server);
    free_events(&server);
    *config = server.config;
    return server.exit_status;
}
