#include "server/store_life.h"

#include "server/dispatch/alone.h"
#include "server/net/connection.h"
#include "server/opening.h"
#include "server/session/waiters.h"
#include "server/startup.h"
#include "server/store_log.h"
#include "storage/keys/keys.h"
#include "storage/keys/state/changes.h"
#include "storage/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

enum {
    REOPEN_MS = 1000,
    STAGE_SHARE = 64 /* of a segment: what the sync thread is yet to write at most. Beyond that
                        the loop writes all of it: so much takes it a millisecond */
};

/* ---- opening */

/* One system call for many notices. */
void server_wake(void *arg)
{
    struct server *server = arg;
    uint64_t one = 1;

    if (atomic_exchange(&server->notice_pending, true))
        return;
    while (write(server->notice_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
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
    if (kept && clock_is_behind(&server->clock, &line, floor))
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

bool store_life_begin(struct server *server)
{
    struct dueq_time unknown = {.now = DUEQ_DEFAULT, .wall = server->now.wall};
    struct dueq_options options;

    config_store_options(&server->config, &options);
    options.notify = server_wake;
    options.notify_arg = server;
    options.heeds_pressure = true;
    options.stage_bytes = options.segment_bytes / STAGE_SHARE;
    server->opening_since = server->now.wall;
    server->opening =
        opening_start(server->config.dir, &options, server->loading ? unknown : server->now);
    if (server->opening == NULL)
        log_open_failure(server, "no memory, or no thread");
    return server->opening != NULL;
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
    store_log_opened(server);
    if (server->loading)
        startup_end(server);
    server->loading = false;
}

void store_life_end_opening(struct server *server)
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

void store_life_give_up(struct server *server)
{
    struct dueq_error error;
    struct dueq *store;

    if (server->opening == NULL)
        return;
    opening_finish(server->opening, &store, &error);
    server->opening = NULL;
    dueq_abandon(store);
}

/* ---- failing */

void store_life_fail(struct server *server, const char *why)
{
    struct session *session, *next;

    snprintf(server->failure, sizeof(server->failure), "%s", why);
    server->commit_until = 0;
    alone_drop(server);
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
            session->watch_broken = session->watcher != NULL; /* what it read may be lost */
    }
    bound_jobs_forget(server);
    connections_fill_all(server);
    store_log_dropped(server);
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

void store_life_check(struct server *server)
{
    if (server->store != NULL && dueq_status(server->store) != DUEQ_OK)
        store_life_fail(server, dueq_failure(server->store));
    if (server->store != NULL)
        return;
    if (server->opening != NULL) {
        if (opening_has_ended(server->opening))
            store_life_end_opening(server);
    } else if (!server->stopping && server->clock.last.monotonic >= server->reopen_at &&
               !store_life_begin(server)) {
        server->reopen_at = server->clock.last.monotonic + REOPEN_MS;
    }
}

void store_life_checkpoint(struct server *server)
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

void store_life_close(struct server *server)
{
    enum dueq_status status = dueq_close(server->store);

    if (status == DUEQ_OK)
        return;
    log_write(LOG_WARNING, "The last checkpoint failed (%s): the journal will be replayed",
              dueq_status_text(status));
    server->exit_status = status == DUEQ_FULL ? 0 : 1;
}
