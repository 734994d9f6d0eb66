/* Keyspace notifications: what happens to keys, published on channels named after the key and
 * after the event, as notify-keyspace-events chooses. */
#ifndef DUEQ_NOTIFICATIONS_H
#define DUEQ_NOTIFICATIONS_H

#include "server/config/keyspace_events.h"
#include "server/server.h"
#include "storage/slice.h"

/* Tells of the keys whose expiry has come to light, and of those that are new. */
void notifications_publish_pending(struct server *server);

/* The same first: what has expired was there before what took its place, and a key is there
 * before anything happens to it. */
void notifications_publish(struct server *server, enum keyspace_event type, const char *event,
                           unsigned database, struct dueq_slice key);

#endif
