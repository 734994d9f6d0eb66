/* Entries of the same score whose members agree in all the bytes that are sure to be in their
 * keys: 478 of them. There the keys lie in the order of hashes; a walk that comes upon them
 * gathers them and puts them in the order of their bytes. Private to storage/keys. */
#ifndef DUEQ_ZSET_TIES_H
#define DUEQ_ZSET_TIES_H

#include "storage/keys/cuts.h"
#include "storage/keys/zset_order.h"

enum { ZSET_TIES_MAX = 4096 }; /* entries; larger ones stay in the order of their hashes */

struct zset_tie {
    struct kv_key key;
    struct dueq_slice member; /* of a folded key, while gathering */
};

/* A zeroed one is empty. */
struct zset_ties {
    struct zset_tie *spots; /* by bytes of the members */
    size_t count, room;
    size_t at;            /* where a walk stands */
    struct kv_key prefix; /* what the keys have in common */
    bool too_large;       /* that prefix's: count is 0 */
};

/* Gathers the cluster of the record at the cursor, which has a member of ZSET_ORDER_MEMBER_SURE
 * bytes or more, without those that are gone. The cursor is moved, but for one that is too
 * large. */
enum dueq_status zset_ties_gather(struct zset_ties *cluster, struct kv_cursor *at,
                                  struct cuts *cuts);
void zset_ties_release(struct zset_ties *cluster);

#endif
