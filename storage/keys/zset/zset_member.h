/* Writes a member of a sorted set together with its record of the order. Private to
 * storage/keys. */
#ifndef DUEQ_ZSET_MEMBER_H
#define DUEQ_ZSET_MEMBER_H

#include "storage/keys/state/keys_internal.h"

/* Gives the member that score and updates entry->count. `old`: its present score; NULL: it is
 * absent. The caller calls key_index_changed. On failure nothing has changed. */
enum dueq_status zset_member_put(struct keys *keys, struct keys_entry *entry,
                                 struct dueq_slice member, double score, const double *old);

/* Sets KEYS_SKIPLIST when a set of `count` members, or with that member, is beyond the limits.
 * Redis never goes back from there. In the small encoding -0 is 0. */
void zset_member_update_encoding(const struct keys *keys, struct keys_entry *entry,
                                 uint64_t count, struct dueq_slice member);

#endif
