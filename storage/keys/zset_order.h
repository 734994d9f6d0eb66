/* The records of a sorted set's order: object, score, member. Private to storage/keys.
 *
 * A member too long for the key is folded (kv/key.h) and stands whole in the value. */
#ifndef DUEQ_ZSET_ORDER_H
#define DUEQ_ZSET_ORDER_H

#include "storage/keys/member.h"

enum {
    ZSET_ORDER_KEY_FIXED = 1 + 8 + 8,
    ZSET_ORDER_KEY_SURE = KV_KEY_MAX - 16, /* a folded key's bytes before the hash */
    ZSET_ORDER_MEMBER_SURE =
        ZSET_ORDER_KEY_SURE - ZSET_ORDER_KEY_FIXED /* of any member: as they are */
};

/* The score as a member's value keeps it: the bits of the double, big-endian. */
void zset_order_write_score(uint8_t *bytes, double score);
double zset_order_read_score(struct dueq_slice value);

/* What all keys of the set begin with, and the first key behind them. */
struct kv_key zset_order_first(const struct keys_entry *entry);
struct kv_key zset_order_end(const struct keys_entry *entry);
/* Before the keys of that score; `above`: behind them. */
struct kv_key zset_order_edge(const struct keys_entry *entry, double score, bool above);
struct kv_key zset_order_key(const struct keys *keys, const struct keys_entry *entry,
                             double score, struct dueq_slice member);

void zset_order_put(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member, bool absent);
void zset_order_del(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member);

/* zset.c: gives a member its score, in the order, too. `old`: the one that it has; NULL: it is
 * not there. The caller tells the directory. */
enum dueq_status zset_member_put(struct keys *keys, struct keys_entry *entry,
                                 struct dueq_slice member, double score, const double *old);

/* Is the cursor at a record of the set? */
bool zset_order_holds(const struct keys_entry *entry, const struct kv_cursor *at);
/* The record at the cursor. The member lives until it moves, or the next change. */
struct zset_entry zset_order_read(const struct kv_cursor *at);

#endif
