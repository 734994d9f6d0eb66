#include "server/http/health.h"

#include "server/http/http_reply.h"

#include <inttypes.h>
#include <stdio.h>

enum health health_now(const struct server *server)
{
    struct dueq_stats stats;

    if (server->stopping)
        return HEALTH_STOPPING;
    if (server->store == NULL)
        return server->loading ? HEALTH_LOADING : HEALTH_FAILED;
    if (dueq_status(server->store) != DUEQ_OK)
        return HEALTH_FAILED;
    dueq_get_stats(server->store, &stats);
    return stats.full ? HEALTH_FULL : HEALTH_READY;
}

static void explain(const struct server *server, enum health health, char *text, size_t room)
{
    struct dueq_progress progress = {0};

    switch (health) {
    case HEALTH_LOADING:
        (void)server_opening(server, &progress);
        snprintf(text, room,
                 "loading: %" PRIu64 " of %" PRIu64 " bytes of the journal replayed\n",
                 progress.replayed_bytes, progress.journal_bytes);
        break;
    case HEALTH_FAILED:
        snprintf(text, room, "failed: %s\n",
                 server->store == NULL ? server_failure(server) : dueq_failure(server->store));
        break;
    case HEALTH_FULL:
        snprintf(text, room, "full: pushes are refused until there is room\n");
        break;
    case HEALTH_STOPPING:
        snprintf(text, room, "stopping\n");
        break;
    case HEALTH_READY:
        snprintf(text, room, "ready\n");
        break;
    }
}

static void reply(struct server *server, struct http_connection *connection, enum health health,
                  bool good)
{
    char text[512];

    explain(server, health, text, sizeof(text));
    http_reply_text(connection, good ? 200 : 503, text);
}

void health_reply_alive(struct server *server, struct http_connection *connection)
{
    enum health health = health_now(server);

    reply(server, connection, health, health != HEALTH_FAILED);
}

void health_reply_ready(struct server *server, struct http_connection *connection)
{
    enum health health = health_now(server);

    reply(server, connection, health, health == HEALTH_READY);
}
