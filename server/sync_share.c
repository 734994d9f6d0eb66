#include "server/sync_share.h"

#include "server/net/connection.h"
#include "storage/store.h"

#include <poll.h>

enum {
    GATHER_USEC = 100, /* of changes at least share a sync, when there are so many */
    MANY = 16,         /* clients: they share a sync sooner */
    OTHERS = 8,        /* who do not wait */
    MOMENT_USEC = 30,  /* so long these may send, while MANY wait for a sync, */
    BUSY_PART = 8      /* unless the loop waits for less than that part of its time */
};

void sync_share_begin(struct server *server, uint64_t now)
{
    server->share.had_time = now - server->turn.marked >= server->share.took / BUSY_PART;
}

bool sync_share_is_open(const struct server *server)
{
    const struct connection *first = server->touched;

    return server->config.durability == DUEQ_SYNC_ALWAYS && first != NULL &&
           first->touched_prev != first;
}

size_t sync_share_bytes(const struct server *server)
{
    return server->store == NULL ? 0 : dueq_batch_bytes(server->store);
}

static bool has_many(const struct server *server)
{
    const struct connection *connection = server->touched;
    unsigned count = 0;

    while (connection != NULL && count < MANY) {
        connection = connection->touched_next;
        count++;
    }
    return count == MANY;
}

/* They should when no sync is under way and they took half as long as one: so the sync of these
 * overlaps with the work for other clients. Those of few clients, who asked for much each, are
 * worth fewer syncs. */
bool sync_share_is_full(struct server *server, uint64_t now)
{
    uint64_t sync_usec, took;

    if (!sync_share_is_open(server) || sync_share_bytes(server) == 0)
        return false;
    if (server->share.since == 0)
        server->share.since = now;
    took = now - server->share.since;
    return took >= GATHER_USEC && store_may_sync(server->store, &sync_usec) &&
           took >= sync_usec / 2 && (took >= sync_usec * 2 || has_many(server));
}

void sync_share_end(struct server *server)
{
    server->share.since = 0;
    server->share.took = server->turn.marked - server->turn.began;
}

/* Do replies of many clients wait for a sync that is under way, while others may ask for more?
 */
static bool many_wait(const struct server *server)
{
    uint64_t sync_usec;

    return server->store != NULL && server->config.durability == DUEQ_SYNC_ALWAYS &&
           server->gated_count >= MANY &&
           server->session_count >= server->gated_count + OTHERS &&
           !store_may_sync(server->store, &sync_usec);
}

/* Requests that come while a sync is under way wait for the next one. Taken one at a time, each
 * wakes the loop, and its reply the client. The end of the sync ends the moment. A loop that
 * has no time to wait finds many at once. */
void sync_share_await(const struct server *server)
{
    const struct timespec moment = {.tv_nsec = MOMENT_USEC * 1000};
    struct pollfd notice = {.fd = server->notice_fd, .events = POLLIN};

    if (server->share.had_time && many_wait(server))
        ppoll(&notice, 1, &moment, NULL);
}
