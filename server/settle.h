/* How a turn settles: its changes become one record, its replies wait at gates for that record,
 * and leave when it is durable. Only the loop's own files include this. */
#ifndef DUEQ_SETTLE_H
#define DUEQ_SETTLE_H

#include "server/server.h"

/* Commits the batch. False: nothing is committed; it is tried again in the next turn, or the
 * store has failed and waiting clients are closed, or a command that is alone with the store
 * (alone.h) has not ended. *ret_lsn: of the record, 0 without one. */
bool settle_commit(struct server *server, uint64_t *ret_lsn);
/* The output of this turn waits for the record. */
void settle_gate(struct server *server, uint64_t lsn);
/* Output that tells nothing about the store waits only for what its connection has got before.
 */
void settle_gate_storeless(struct server *server);
/* Sends what is durable, to so many connections as a turn may. */
void settle_release_some(struct server *server);
/* Sends it to all, however long that takes. */
void settle_release_all(struct server *server);

#endif
