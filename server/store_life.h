/* The store of the server: it is opened on a thread, it may fail and is opened anew, and it is
 * closed. server->store is NULL meanwhile. Only the loop's own files include this. */
#ifndef DUEQ_STORE_LIFE_H
#define DUEQ_STORE_LIFE_H

#include "server/server.h"

/* Begins to open it. False: no memory, or no thread; the log says so. */
bool store_life_begin(struct server *server);
/* The opening has ended: uses the store, or tries again later. At the start a failure ends the
 * server, as one of the configuration does. */
void store_life_end_opening(struct server *server);
/* After opening_stop: waits for the opening's end. No-op when none runs. What was replayed is
 * in the journal still. */
void store_life_give_up(struct server *server);

/* In each turn: has the store failed, has an opening ended, is it time for another? */
void store_life_check(struct server *server);
/* Replies whose records are not durable must not leave: their clients are cut off, and learn by
 * asking again what has happened. The store is reopened from what is on disk. */
void store_life_fail(struct server *server, const char *why);
/* Starts the checkpoint of BGSAVE, when none runs: that one does not contain what this turn has
 * committed. */
void store_life_checkpoint(struct server *server);
/* With a checkpoint. A full disk is no failure: the journal contains everything. */
void store_life_close(struct server *server);

#endif
