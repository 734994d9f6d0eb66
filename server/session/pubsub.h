/* Who listens to what, and the messages that go there. Delivered with the turn in which they
 * were published: when its record is settled, like every reply. */
#ifndef DUEQ_PUBSUB_H
#define DUEQ_PUBSUB_H

#include "server/dispatch/command.h"

enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

struct pubsub;

struct pubsub *pubsub_new(void); /* NULL: out of memory */
void pubsub_free(struct pubsub *pubsub);

/* False: out of memory. Subscribing twice, or to nothing at all, changes nothing. O(1). */
bool pubsub_subscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                      struct dueq_slice name);
/* False: was not subscribed. */
bool pubsub_unsubscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                        struct dueq_slice name);
/* The newest subscription of that kind; false: there is none. */
bool pubsub_newest(const struct session *session, enum pubsub_kind kind,
                   struct dueq_slice *ret_name);
/* Everything, without a word: the session goes away or is reset. */
void pubsub_drop(struct server *server, struct session *session);

/* Delivers a message; kind: PUBSUB_CHANNEL or PUBSUB_SHARD. Returns the number of receivers.
 * O(receivers + patterns). */
size_t pubsub_publish(struct server *server, enum pubsub_kind kind, struct dueq_slice channel,
                      struct dueq_slice message);

/* ---- for PUBSUB */

size_t pubsub_receivers(const struct server *server, enum pubsub_kind kind,
                        struct dueq_slice name);
size_t pubsub_names(const struct server *server, enum pubsub_kind kind); /* different ones */
/* Hands out the names that somebody is subscribed to. */
void pubsub_each(const struct server *server, enum pubsub_kind kind,
                 void (*fn)(void *arg, struct dueq_slice name), void *arg);

#endif
