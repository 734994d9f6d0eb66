#include "server/server.h"

#include "server/acl/acl.h"
#include "server/ending.h"
#include "server/net/tls.h"
#include "server/events.h"
#include "server/process/handover.h"
#include "server/reload.h"
#include "server/startup.h"
#include "server/turn.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <utlist.h>

/* ---- for handlers */

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

/* ---- from the start to the end */

int server_check(struct config *config)
{
    static struct server server;
    bool good;

    server.config = *config;
    good = startup_check(&server);
    tls_context_free(server.tls);
    acl_free(server.acl);
    *config = server.config;
    return good ? 0 : 1;
}

int server_run(struct config *config)
{
    static struct server server;

    server.config = *config;
    reload_begin(config);
    server.checkpoint_on_exit = true;
    if (!startup_run(&server)) {
        server.exit_status = 1;
    } else {
        ending_turn(&server);
        while (!server.stopped) {
            turn_run_events(&server);
            turn_finish(&server);
            ending_turn(&server);
        }
    }
    ending_run(&server);
    events_close(&server);
    ending_look_again(&server);
    if (server.upgrading) {
        handover_run();
        log_write(LOG_WARNING, "Cannot start %s, nor this program again: %s",
                  handover_program(), strerror(errno));
        server.exit_status = 1;
    }
    reload_end();
    *config = server.config;
    return server.exit_status;
}
