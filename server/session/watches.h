/* WATCH: which sessions want to know whether a key changes before their EXEC. A change marks
 * them; nobody is told until then. */
#ifndef DUEQ_WATCHES_H
#define DUEQ_WATCHES_H

#include "server/dispatch/command.h"
#include "storage/keys/keys.h"

struct watches;

struct watches *watches_new(void); /* NULL: out of memory */
void watches_free(struct watches *watches);

/* The session watches a key of its database; once is enough. False: out of memory. O(1). */
bool watches_add(struct server *server, struct session *session, struct dueq_slice name);

/* The session watches nothing any more, and is marked no longer. */
void watches_drop(struct server *server, struct session *session);

/* Marks who watches what changed: O(those). Of a whole database: O(1). */
void watches_note(struct server *server, const struct keys_change *change);

/* Has nothing that the session watches changed, nor run out of time, since? O(watches). */
bool watches_intact(struct server *server, const struct session *session);

/* Watches looked at, ever: what the work grows with. */
uint64_t watches_steps(const struct watches *watches);

#endif
