/* The records of a sorted set's order: object, score, member. Private to storage/keys.
 *
 * A member that is too long for the key is folded (kv/key.h); then the value contains it. */
#ifndef DUEQ_ZSET_ORDER_H
#define DUEQ_ZSET_ORDER_H

#include "storage/keys/state/keys_internal.h"

enum {
    ZSET_ORDER_SCORE = 8, /* bytes of a score as a value */
    ZSET_ORDER_KEY_FIXED = 1 + 8 + 8,
    ZSET_ORDER_KEY_SURE = KV_KEY_MAX - 16, /* bytes of a folded key before the hash */
    ZSET_ORDER_MEMBER_SURE =
        ZSET_ORDER_KEY_SURE -
        ZSET_ORDER_KEY_FIXED /* bytes of any member that its key contains */
};

/* The score as the value of a member: the bits of the double, big-endian, 8 bytes. */
void zset_order_write_score(uint8_t *bytes, double score);
double zset_order_read_score(struct dueq_slice value);

/* The bytes with which all keys of the set begin, and the first key after them. */
struct kv_key zset_order_first(const struct keys_entry *entry);
struct kv_key zset_order_end(const struct keys_entry *entry);
/* The first possible key of that score; `above`: the first one after that score. */
struct kv_key zset_order_edge(const struct keys_entry *entry, double score, bool above);
struct kv_key zset_order_key(const struct keys *keys, const struct keys_entry *entry,
                             double score, struct dueq_slice member);

/* A record will likely be put soon (kv_expect). */
void zset_order_expect(const struct keys *keys, const struct keys_entry *entry, double score,
                       struct dueq_slice member);
void zset_order_put(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member, bool absent);
void zset_order_del(struct keys *keys, struct keys_entry *entry, double score,
                    struct dueq_slice member);

struct kv_cursor;

/* Is the cursor at a record of the set? */
bool zset_order_holds(const struct keys_entry *entry, const struct kv_cursor *at);
/* Reads the record at the cursor. The member lives until the cursor moves, or the next
 * change. */
void zset_order_read(const struct kv_cursor *at, struct zset_entry *ret_entry);

#endif
