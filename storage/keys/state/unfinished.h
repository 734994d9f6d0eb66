/* Work on a key that goes on in slices: builds (keys_build.h) and removals (keys_removal.h).
 * Private to storage/keys.
 *
 * Each one is in a list of the store, so that a change of the key it reads makes it stale, and
 * so that the object it builds is not erased as garbage. The work is the caller's; it may
 * outlive the store, which then is NULL. */
#ifndef DUEQ_UNFINISHED_H
#define DUEQ_UNFINISHED_H

#include "storage/keys/state/keys_types.h"

struct unfinished {
    struct unfinished *prev, *next; /* all of the store (utlist) */
    struct keys *keys;              /* NULL: not in a list, or the store was closed */
    uint64_t source;                /* the object that is read; 0: none */
    uint64_t built;                 /* the object that grows; 0: none */
    bool stale;                     /* the source has changed since unfinished_begin */
};

void unfinished_begin(struct unfinished *work, struct keys *keys, uint64_t source,
                      uint64_t built);
/* Takes it out of the list; nothing when it is in none. */
void unfinished_end(struct unfinished *work);

/* Is the object being built? O(works). */
bool unfinished_builds(const struct keys *keys, uint64_t object);
/* The object has changed: the works that read it become stale. O(works). */
void unfinished_note_change(struct keys *keys, uint64_t object);
/* The store closes. */
void unfinished_forget_all(struct keys *keys);

#endif
