/* WATCH: the keys that must not change before a session's EXEC. A change marks the session;
 * EXEC looks at the mark. */
#ifndef DUEQ_WATCHES_H
#define DUEQ_WATCHES_H

#include "server/dispatch/context.h"
#include "storage/keys/state/changes.h"
#include "storage/keys/keys.h"

struct watches;

struct watches *watches_new(void); /* NULL: out of memory */
void watches_free(struct watches *watches);

/* Watches a key of the session's database, at most once; the name is copied. False: out of
 * memory. O(1). */
bool watches_add(struct server *server, struct session *session, struct dueq_slice name);

size_t watches_count(const struct session *session);

/* Ends all watches of the session and clears its mark. O(1): many are freed later. */
void watches_drop(struct server *server, struct session *session);

/* Marks the sessions that watch the changed key: O(these). Of a whole database: O(1). */
void watches_note(struct server *server, const struct keys_change *change);

enum watches_state {
    WATCHES_INTACT,
    WATCHES_BROKEN, /* a key that the session watches has changed or expired since */
    WATCHES_UNKNOWN /* not all have been looked at */
};
/* For EXEC: looks at `most` of the session's watches; the next call goes on. No key may change
 * in between. */
enum watches_state watches_check(struct server *server, const struct session *session,
                                 size_t most);

/* Watches looked at since the start, for tests of the cost. */
uint64_t watches_steps(const struct watches *watches);

/* For the loop: watches that were dropped, and were too many for one turn. */
bool watches_have_dropped(const struct watches *watches);
void watches_free_some(struct watches *watches);

#endif
