/* Stretches of a sorted set's order in which nothing lives. Private to storage/keys.
 *
 * A deleted record that lies in LMDB is hidden by a tombstone until the next checkpoint, and a
 * cursor has to step over it. A walk that stepped over many remembers the gap, and those after
 * it go around; so each tombstone costs one step, not one a walk. Puts split gaps, deletes
 * beside a gap widen it. Kept in RAM with the open entry: losing them costs time only. */
#ifndef DUEQ_STORAGE_ZSET_GAP_H
#define DUEQ_STORAGE_ZSET_GAP_H

#include "storage/keys/directory.h"

enum {
    ZSET_GAPS = 4,      /* kept for a sorted set, those noted last */
    ZSET_GAP_WORTH = 16 /* tombstones from which on a gap is remembered */
};

struct zset_gap {
    struct kv_key from, to; /* nothing lives at `from` or behind it, before `to` */
};

/* The gap that a walk stands before: that which holds `key` (forward), or the place just below
 * it (backward). NULL: none. */
const struct zset_gap *zset_gap_ahead(const struct keys_entry *entry, const struct kv_key *key,
                                      bool backward);
void zset_gap_note(struct keys_entry *entry, const struct kv_key *from,
                   const struct kv_key *to);

/* Tell of the record with that key. */
void zset_gap_put(struct keys_entry *entry, const struct kv_key *key);
void zset_gap_del(struct keys_entry *entry, const struct kv_key *key);

void zset_key_copy(struct kv_key *key, struct dueq_slice bytes);
/* Makes it the least key behind: with a zero byte appended or, as none is longer than
 * KV_KEY_MAX, the next of that length. */
void zset_key_follow(struct kv_key *key);

#endif
