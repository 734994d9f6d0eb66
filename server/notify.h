/* Keyspace notifications: what happens to keys, published on channels named after the key and
 * after the event, as notify-keyspace-events chooses. */
#ifndef DUEQ_SERVER_NOTIFY_H
#define DUEQ_SERVER_NOTIFY_H

#include "server/keyspace_events.h"
#include "server/server.h"
#include "storage/slice.h"

/* Tells of the keys whose expiry has come to light, and of those that are new. */
void notify_lives(struct server *server);

/* The same first: what has expired was there before what took its place, and a key is there
 * before anything happens to it. */
void notify_event(struct server *server, enum keyspace_event type, const char *event,
                  unsigned database, struct dueq_slice key);

#endif
