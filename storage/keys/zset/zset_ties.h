/* Ties: entries of the same score whose members have the first 478 bytes in common, which is
 * what a key is sure to contain. Their keys are in the order of hashes; a walk that finds ties
 * collects them and sorts them by their bytes. Private to storage/keys. */
#ifndef DUEQ_ZSET_TIES_H
#define DUEQ_ZSET_TIES_H

#include "storage/keys/garbage/cuts.h"
#include "storage/keys/record/zset_order.h"

enum { ZSET_TIES_MAX = 4096 }; /* entries; more of them stay in the order of their hashes */

struct zset_tie {
    struct kv_key key;
    struct dueq_slice member; /* of a folded key; valid only while they are collected */
};

struct zset_ties {
    struct zset_tie *members; /* by bytes of the members */
    size_t count, capacity;
    size_t at;            /* index of the walk's entry */
    struct kv_key prefix; /* the bytes that the keys have in common */
    bool too_large;       /* more than ZSET_TIES_MAX have that prefix: count is 0 */
};

void zset_ties_init(struct zset_ties *ties); /* none */
/* Collects the ties of the record at the cursor, whose member has ZSET_ORDER_MEMBER_SURE bytes
 * or more, without those that are cut. Moves the cursor, unless they are too many. Release the
 * ties also after a failure. */
enum dueq_status zset_ties_gather(struct zset_ties *ties, struct kv_cursor *at,
                                  struct cuts *cuts);
void zset_ties_release(struct zset_ties *ties);

#endif
