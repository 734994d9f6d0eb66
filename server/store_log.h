/* What the log says about the store. */
#ifndef DUEQ_STORE_LOG_H
#define DUEQ_STORE_LOG_H

#include "server/server.h"

/* The store is open: what was found in its directory. */
void store_log_opened(struct server *server);
/* How far the first opening is. No-op when there is none. */
void store_log_loading(struct server *server);
/* One line for each change that an operator has to know: room, compactions, backups. */
void store_log_changes(struct server *server);
/* The store has failed and is about to be dropped: what it takes along. */
void store_log_dropped(const struct server *server);

#endif
