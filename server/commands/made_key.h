/* A set, sorted set or list that a command makes from other keys. A small one is gathered in
 * memory and stored at once. A larger one, of a command that runs over several turns, grows in
 * the store without a name (keys_build_empty) and gets its name at the end. One that is
 * released before leaves nothing in the store. */
#ifndef DUEQ_MADE_KEY_H
#define DUEQ_MADE_KEY_H

#include "server/commands/database.h"
#include "server/containers/gathered.h"

/* The owner sets type, in_memory and grown; all else begins as zero. */
struct made_key {
    enum keys_type type;
    bool in_memory; /* of any size: it is replied, or made in one turn */
    bool grown;     /* made element by element: as in zset_replace */
    struct gathered gathered;
    struct gathered_item *found; /* by the last made_key_find */
    struct keys_build *build;    /* NULL: all elements are in `gathered` */
};

/* Frees it, stored or not. */
void made_key_release(struct made_key *made);

/* Only for members that were added with `found`. DUEQ_NOTFOUND: there is no such member. */
enum dueq_status made_key_find(struct made_key *made, struct dueq_slice member,
                               double *ret_score);
/* Adds a member that is not in it, or appends an element to a list (the score is not used).
 * found: made_key_find can find the member. DUEQ_NOMEM, or an error of the store. */
enum dueq_status made_key_add(struct made_key *made, const struct keys_view *view,
                              struct dueq_slice member, double score, bool found);
/* Sets the score of the member that made_key_find has just found with the score `old`. */
enum dueq_status made_key_change(struct made_key *made, struct dueq_slice member, double score,
                                 double old);

/* Stores it under `name` and replaces what was there; an empty one only removes that. Replies
 * the number of elements and publishes `event`, or `del`, as Redis' STORE commands do. */
enum outcome made_key_store(struct made_key *made, struct context *context,
                            struct dueq_slice name, const char *event);

#endif
