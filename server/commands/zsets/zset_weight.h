/* How much a part of a sorted set is, before it is removed in one turn or in slices. */
#ifndef DUEQ_ZSET_WEIGHT_H
#define DUEQ_ZSET_WEIGHT_H

#include "storage/keys/zset/zset.h"

struct zset_weight {
    uint64_t look_at; /* entries; more are not looked at */
    size_t most;      /* bytes; the same */
    uint64_t entries; /* that were looked at, ... */
    size_t bytes;     /* ... and those of their members */
};

/* A zset_fn; arg: the weight. */
static inline bool zset_weight_add(void *arg, const struct zset_entry *entry)
{
    struct zset_weight *weight = arg;

    weight->bytes += entry->member.size;
    return ++weight->entries < weight->look_at && weight->bytes <= weight->most;
}

#endif
