/* A set, sorted set or list that a command makes out of other keys. Small ones are held in
 * memory and stored at once. When there is more, and the command goes on over several turns, it
 * grows in the store, where nobody sees it (keys_build_empty), and takes its place at the end.
 * What is given up on the way leaves nothing. */
#ifndef DUEQ_MADE_KEY_H
#define DUEQ_MADE_KEY_H

#include "server/containers/gathered.h"
#include "server/commands/database.h"

/* Begins with type, in_memory and grown set, all else zero. */
struct made_key {
    enum keys_type type;
    bool in_memory; /* whatever its size: it is replied, or made within one turn */
    bool grown;     /* as in zset_replace */
    struct gathered gathered;
    struct gathered_item *found;
    struct keys_build *build; /* NULL: all that there is has been gathered */
};

void made_key_release(struct made_key *made);

/* DUEQ_NOTFOUND: there is no such member. Only of members that were added to be `found`. */
enum dueq_status made_key_find(struct made_key *made, struct dueq_slice member,
                               double *ret_score);
/* A member that is not there, or an element at the end of a list, which has no score. */
enum dueq_status made_key_add(struct made_key *made, const struct keys_view *view,
                              struct dueq_slice member, double score, bool found);
/* Another score for the member that made_key_find has just found with `old`. */
enum dueq_status made_key_change(struct made_key *made, struct dueq_slice member, double score,
                                 double old);

/* Puts it under the name, in place of what is there (nothing: removes it), replies its number
 * of elements and tells of `event`, as Redis' ...STORE commands do. */
enum outcome made_key_store(struct made_key *made, struct context *context,
                            struct dueq_slice name, const char *event);

#endif
