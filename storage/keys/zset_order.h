/* The ordered side of a sorted set: object, score, member. Private to storage/keys.
 *
 * Each open entry remembers bounds below and above which nothing lives, so that a walk from an
 * end does not step over what was removed there. */
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
enum dueq_status zset_order_walk(struct keys *keys, struct keys_entry *entry,
                                 const struct zset_range *range,
                                 bool (*fn)(void *arg, const struct zset_entry *entry),
                                 void *arg);

#endif
