#include "server/session/session.h"

#include "server/acl/acl.h"
#include "server/server.h"
#include "server/session/bound_jobs.h"
#include "server/session/monitor_text.h"
#include "server/session/monitors.h"
#include "server/session/pubsub.h"
#include "server/session/transaction.h"
#include "server/session/waiters.h"
#include "server/session/watches.h"
#include "server/session/workers.h"

#include <assert.h>
#include <stdlib.h>

void session_leave(struct server *server, struct session *session)
{
    waiters_cancel(server, session);
    bound_jobs_leave(server, session);
    workers_leave(server, session);
    watches_drop(server, session);
    pubsub_drop(server, session);
    monitors_remove(server, session);
    monitor_text_drop(&session->monitor_text);
    transaction_free(session->transaction);
    session->transaction = NULL;
}

void session_log_out(const struct server *server, struct session *session)
{
    session->user = acl_default(server->acl);
    session->authenticated = !acl_wants_login(server->acl);
}

void session_release(struct session *session)
{
    assert(session->waiter == NULL && session->transaction == NULL);
    free(session->name);
    free(session->library_name);
    free(session->library_version);
}
