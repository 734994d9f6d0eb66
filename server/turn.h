/* One round of the loop: what events brought is run, time brings what is due, the batch is
 * committed, and what is durable leaves. Each part has a bound, so that no client waits long
 * for what others asked for. Only the loop's own files include this. */
#ifndef DUEQ_TURN_H
#define DUEQ_TURN_H

#include "server/server.h"

/* Waits for events, until something is due without one, and runs them. */
void turn_run_events(struct server *server);
/* Does the rest of the turn, after its events. */
void turn_finish(struct server *server);

/* Notes how long something took that began then, for LATENCY. */
void turn_note_latency(struct server *server, enum latency_event event, uint64_t began);
/* Closes all connections that are to be closed, however long that takes. */
void turn_close_doomed(struct server *server);

#endif
