/* The ordered side of a sorted set: object, score, member. Private to storage/keys. */
#ifndef DUEQ_STORAGE_ZSET_ORDER_H
#define DUEQ_STORAGE_ZSET_ORDER_H

#include "storage/keys/member.h"

/* The score as a member's value keeps it: the bits of the double, big-endian. */
void zset_write_score(uint8_t *bytes, double score);
double zset_read_score(struct dueq_slice value);

void zset_order_put(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member);
void zset_order_del(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member);

/* A walk through a range, for as long as begin and step answer DUEQ_OK; then, and whenever it
 * is left before, it is ended:
 *
 *     for (status = zset_walk_begin(&walk, ...); status == DUEQ_OK;
 *          status = zset_walk_step(&walk))
 *         ...walk.here...
 *     zset_walk_end(&walk);
 *
 * Where it stands may be deleted before it steps on. DUEQ_NOTFOUND: the range is at its end. */
struct zset_walk {
    struct keys *keys;
    struct keys_entry *owner;
    struct kv_cursor *at;
    const struct zset_range *range;
    bool reverse;           /* may be turned on the way, in a range without bounds */
    struct zset_entry here; /* the member lives until the next step or change */
};
enum dueq_status zset_walk_begin(struct zset_walk *walk, struct keys *keys,
                                 struct keys_entry *owner, const struct zset_range *range);
enum dueq_status zset_walk_step(struct zset_walk *walk);
void zset_walk_end(struct zset_walk *walk);

#endif
