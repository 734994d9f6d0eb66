#include "server/settle.h"

#include "server/dispatch/alone.h"
#include "server/net/connection.h"
#include "server/store_life.h"
#include "server/turn.h"
#include "storage/store.h"

#include <utlist.h>

enum {
    SENDS_MOST = 128, /* connections that get what became durable, in a turn: a millisecond */
    BATCH_LARGE = 8 * 1024 * 1024,
    COMMIT_PATIENCE_MS = 5000 /* a slow disk may need that long to free a segment */
};

/* A commit that finds no room, or no descriptor, changes nothing and is tried again. Clients
 * get no replies meanwhile, so after COMMIT_PATIENCE_MS the batch is given up with the store,
 * which is reopened from what is on disk. */
static bool wait_for_commit(struct server *server, enum dueq_status status)
{
    int64_t now = server->clock.last.monotonic;

    if (dueq_status(server->store) != DUEQ_OK) {
        store_life_fail(server, dueq_failure(server->store));
        return false;
    }
    if (server->commit_until == 0)
        server->commit_until = now + COMMIT_PATIENCE_MS;
    if (now >= server->commit_until)
        store_life_fail(server, status == DUEQ_FULL
                                    ? "the disk is full, and so is what was set aside for this"
                                    : "no memory or no descriptor for the journal");
    return false;
}

static enum dueq_status commit_batch(struct server *server, uint64_t *ret_lsn)
{
    uint64_t began = clock_usec();
    enum dueq_status status = dueq_commit(server->store, server->now, ret_lsn);

    turn_note_latency(server, LATENCY_COMMIT, began);
    return status;
}

bool settle_commit(struct server *server, uint64_t *ret_lsn)
{
    enum dueq_status status;

    *ret_lsn = 0;
    if (server->store == NULL)
        return true;
    if (alone_runs(server))
        return false;
    status = commit_batch(server, ret_lsn);
    if (status != DUEQ_OK)
        return wait_for_commit(server, status);
    server->commit_until = 0;
    return true;
}

void server_commit_if_large(struct server *server)
{
    uint64_t lsn;

    if (server->running == 0 && server->store != NULL && !alone_runs(server) &&
        dueq_batch_bytes(server->store) > BATCH_LARGE)
        commit_batch(server, &lsn); /* a failure shows at the turn's end */
}

void settle_gate(struct server *server, uint64_t lsn)
{
    while (server->touched != NULL)
        connection_gate(server->touched, lsn);
}

void settle_gate_storeless(struct server *server)
{
    struct connection *connection, *next;

    DL_FOREACH_SAFE2(server->touched, connection, next, touched_next)
        if (connection->asks == 0)
            connection_gate(connection, 0);
}

/* A record may open the gates of ten thousand connections. Those that are left are the first
 * ones of the next turn, which begins at once. */
void settle_release_some(struct server *server)
{
    uint64_t durable = server->store == NULL ? UINT64_MAX : dueq_durable_lsn(server->store);
    uint64_t written = server->store == NULL ? UINT64_MAX : dueq_written_lsn(server->store);
    struct connection *connection, *next;

    server->releases_more = false;
    DL_FOREACH_SAFE2(server->gated, connection, next, gated_next) {
        if (!turn_may_go_on(server, server->releases, SENDS_MOST)) {
            server->releases_more = true;
            return;
        }
        server->releases += connection_release(connection, written, durable);
    }
}

void settle_release_all(struct server *server)
{
    do {
        server->releases = 0;
        settle_release_some(server);
    } while (server->releases_more);
}
