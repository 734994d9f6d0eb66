/* Keyspace notifications: what happens to keys, published on channels named after the key and
 * after the event, as notify-keyspace-events chooses. */
#ifndef DUEQ_NOTIFICATIONS_H
#define DUEQ_NOTIFICATIONS_H

#include "server/config/keyspace_events.h"
#include "server/server.h"
#include "storage/slice.h"

/* Publishes expirations and creations that are not yet published, each once. The store must be
 * open. */
void notifications_publish_pending(struct server *server);

/* Publishes those first, and then `event` of the key: so an expiration comes before events of
 * the key that took its place, and a creation before the event that caused it. */
void notifications_publish(struct server *server, enum keyspace_event type, const char *event,
                           unsigned database, struct dueq_slice key);

/* Publishes what has happened to jobs, as far as anybody may be subscribed to it; else it is
 * not even noted. The store is open. */
void notifications_publish_jobs(struct server *server);

#endif
