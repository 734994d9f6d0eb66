/* Walks through a sorted set in order. Private to storage/keys.
 *
 * The walk continues while begin and step return DUEQ_OK. It must be ended, whatever they
 * returned:
 *
 *     for (status = zset_walk_begin(&walk, ...); status == DUEQ_OK;
 *          status = zset_walk_step(&walk))
 *         ...walk.here...
 *     zset_walk_end(&walk);
 *
 * The entry `here` may be deleted before the next step. DUEQ_NOTFOUND: the end of the range. */
#ifndef DUEQ_ZSET_WALK_H
#define DUEQ_ZSET_WALK_H

#include "storage/keys/zset/zset.h"
#include "storage/keys/zset/zset_packed.h"
#include "storage/keys/zset/zset_ties.h"

struct zset_walk {
    struct keys *keys;
    struct keys_entry *owner;
    struct kv_cursor *at; /* NULL: the set is packed */
    const struct zset_range *range;
    bool reverse;           /* the caller may change it, in a range without bounds */
    struct zset_entry here; /* the member lives until the next step or change */
    struct zset_ties ties;
    struct cuts cuts;
    struct zset_packed packed; /* all entries of a packed set, as the walk began */
};

enum dueq_status zset_walk_begin(struct zset_walk *walk, struct keys *keys,
                                 struct keys_entry *owner, const struct zset_range *range);
enum dueq_status zset_walk_step(struct zset_walk *walk);
void zset_walk_end(struct zset_walk *walk);

/* Begins at an edge, of a set that is not packed: with the first record at or after it
 * (reverse: with the last before it). */
enum dueq_status zset_walk_resume(struct zset_walk *walk, struct keys *keys,
                                  struct keys_entry *owner, const struct zset_range *range,
                                  const struct kv_key *edge);
/* The edge before the present entry in the walk's direction, or with `passed` the one after it.
 * False: there is none, because the entry is among ties, whose keys are in another order. */
bool zset_walk_edge(const struct zset_walk *walk, bool passed, struct kv_key *ret_edge);

/* Returns the key of the present entry, for zset_walk_return. */
void zset_walk_mark(const struct zset_walk *walk, struct kv_key *ret_key);
/* Begins at the entry with that key, of a set that has not changed since. DUEQ_NOTFOUND: there
 * is no such entry. */
enum dueq_status zset_walk_return(struct zset_walk *walk, struct keys *keys,
                                  struct keys_entry *owner, const struct zset_range *range,
                                  const struct kv_key *key);

#endif
