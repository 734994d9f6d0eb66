/* Subscriptions to channels and patterns, and the delivery of messages. A message leaves like a
 * reply: when the record of the turn in which it was published is durable. */
#ifndef DUEQ_PUBSUB_H
#define DUEQ_PUBSUB_H

#include "server/dispatch/context.h"

/* What it takes to begin or end a subscription, in steps of a slice: it is looked for in three
 * tables, which are in no cache when there are many. */
enum { PUBSUB_STEPS = 4 };

enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD, PUBSUB_KINDS };

struct pubsub;
struct pubsub_listing;

struct pubsub *pubsub_new(void); /* NULL: out of memory */
void pubsub_free(struct pubsub *pubsub);

/* Subscribes, at most once to a name; the name is copied. False: out of memory. O(1). */
bool pubsub_subscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                      struct dueq_slice name);
/* False: the session was not subscribed. O(1). */
bool pubsub_unsubscribe(struct server *server, struct session *session, enum pubsub_kind kind,
                        struct dueq_slice name);
/* The newest subscription of that kind; its name is valid until it ends. False: none. */
bool pubsub_newest(const struct session *session, enum pubsub_kind kind,
                   struct dueq_slice *ret_name);
/* Ends all subscriptions without a message: the session ends or is reset, and gets no more
 * messages. Those beyond a thousand end in later turns; until then they count as receivers. */
void pubsub_drop(struct server *server, struct session *session);

/* Calls fn for each subscription of that kind, oldest first; fn must not change any. */
void pubsub_each_of(const struct session *session, enum pubsub_kind kind,
                    void (*fn)(void *arg, struct dueq_slice name), void *arg);

/* Delivers a message; kind: PUBSUB_CHANNEL or PUBSUB_SHARD. Returns how many are subscribed.
 * When it takes turns, later turns deliver it, after those that are being delivered, and nobody
 * waits for it: who leaves meanwhile is counted and does not get it. loan: not NULL when it
 * contains the message; its memory may be taken over, and is readable until the turn ends.
 * O(receivers + patterns); beyond 1 MiB of such messages, also what it takes to deliver the
 * oldest. */
size_t pubsub_publish(struct server *server, enum pubsub_kind kind, struct dueq_slice channel,
                      struct dueq_slice message, struct dueq_loan *loan);

/* Is that too much for one turn, or is another message being delivered? O(1). */
bool pubsub_takes_turns(const struct server *server, enum pubsub_kind kind,
                        struct dueq_slice channel, struct dueq_slice message);
/* The same as pubsub_publish in this turn and later ones, a slice in each, one message after
 * the other. The channel is copied, and the message, unless there is a loan that contains it:
 * then pubsub_take has to come in the same turn. NULL: out of memory. */
struct publication *pubsub_publish_later(struct server *server, enum pubsub_kind kind,
                                         struct dueq_slice channel, struct dueq_slice message,
                                         const struct dueq_loan *loan);
/* Takes over the memory of the loan, which stays readable until pubsub_let_go. All receivers
 * share it: each copies it into its output, in parts, in later turns. */
void pubsub_take(struct publication *publication, struct dueq_loan *loan);
/* False: it is not delivered to all yet. */
bool pubsub_has_published(const struct publication *publication, size_t *ret_receivers);
/* The publisher no longer asks; what is not delivered yet will be. */
void pubsub_let_go(struct publication *publication);

/* Delivers a slice, and ends some subscriptions of who has left. To be called in each turn. */
void pubsub_turn(struct server *server);
bool pubsub_is_busy(const struct server *server);
/* Delivers all messages that are left. */
void pubsub_finish(struct server *server);

/* ---- for PUBSUB */

/* Subscriptions to that very name; patterns that match it do not count. */
size_t pubsub_receivers(const struct server *server, enum pubsub_kind kind,
                        struct dueq_slice name);
size_t pubsub_names(const struct server *server,
                    enum pubsub_kind kind); /* with a subscription */
/* The channels on which the server says what happens to jobs begin so; a topic and a word
 * follow. */
#define PUBSUB_JOBS "__queue__:"
/* Is there a subscription to one of them, or a pattern that may match one? O(1). */
bool pubsub_hears_jobs(const struct server *server);
/* Lists the names with a subscription, in several turns: what is subscribed to all the time is
 * listed once. NULL: out of memory. pubsub_list_end, always, before pubsub_free. */
struct pubsub_listing *pubsub_list(const struct server *server, enum pubsub_kind kind);
/* Calls fn for up to `most` of them; fn must not subscribe or unsubscribe. True: that were all.
 */
bool pubsub_list_on(struct pubsub_listing *listing, size_t most,
                    void (*fn)(void *arg, struct dueq_slice name), void *arg);
void pubsub_list_end(struct pubsub_listing *listing);

#endif
