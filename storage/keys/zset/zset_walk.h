/* Walks through a sorted set in order. Private to storage/keys.
 *
 * For as long as begin and step answer DUEQ_OK; then, and whenever it is left before, it is
 * ended:
 *
 *     for (status = zset_walk_begin(&walk, ...); status == DUEQ_OK;
 *          status = zset_walk_step(&walk))
 *         ...walk.here...
 *     zset_walk_end(&walk);
 *
 * Where it stands may be deleted before it steps on. DUEQ_NOTFOUND: the range is at its end. */
#ifndef DUEQ_ZSET_WALK_H
#define DUEQ_ZSET_WALK_H

#include "storage/keys/zset/zset_ties.h"
#include "storage/keys/zset/zset_packed.h"

struct zset_walk {
    struct keys *keys;
    struct keys_entry *owner;
    struct kv_cursor *at; /* NULL: the set is packed */
    const struct zset_range *range;
    bool reverse;           /* may be turned on the way, in a range without bounds */
    struct zset_entry here; /* the member lives until the next step or change */
    struct zset_ties cluster;
    struct cuts cuts;
    struct zset_packed packed; /* all there was when the walk began */
};
enum dueq_status zset_walk_begin(struct zset_walk *walk, struct keys *keys,
                                 struct keys_entry *owner, const struct zset_range *range);
/* Begins at an edge in the order: with the first record at it or behind it (reverse: with the
 * last before). The set is not packed. */
enum dueq_status zset_walk_resume(struct zset_walk *walk, struct keys *keys,
                                  struct keys_entry *owner, const struct zset_range *range,
                                  const struct kv_key *edge);
/* The edge that the walk comes to before where it stands, or has come to when it has passed
 * that. False: there is none, the entries around lie in another order than their keys. */
bool zset_walk_edge(const struct zset_walk *walk, bool passed, struct kv_key *ret_edge);
/* Instead of begin: stands at the entry with that key, of a set that has not changed since it
 * was marked. DUEQ_NOTFOUND: there is none. */
enum dueq_status zset_walk_return(struct zset_walk *walk, struct keys *keys,
                                  struct keys_entry *owner, const struct zset_range *range,
                                  const struct kv_key *key);
/* The key of where it stands, for that. */
void zset_walk_mark(const struct zset_walk *walk, struct kv_key *ret_key);
enum dueq_status zset_walk_step(struct zset_walk *walk);
void zset_walk_end(struct zset_walk *walk);

#endif
