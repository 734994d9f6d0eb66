#include "server/session.h"

#include "server/monitors.h"
#include "server/pubsub.h"
#include "server/server.h"
#include "server/transaction.h"
#include "server/waiters.h"
#include "server/watches.h"

#include <stdlib.h>

void session_leave(struct server *server, struct session *session)
{
    waiters_cancel(server, session);
    watches_drop(server, session);
    pubsub_drop(server, session);
    monitors_remove(server, session);
    transaction_free(session->transaction);
    session->transaction = NULL;
}

void session_release(struct session *session)
{
    free(session->name);
    free(session->library_name);
    free(session->library_version);
}
