/* ZRANGESTORE: stores a range of a sorted set under another name. A long range is read in
 * slices (long_work.h); the result grows in the store, unnamed, until it is complete. */
#ifndef DUEQ_ZSET_STORE_H
#define DUEQ_ZSET_STORE_H

#include "server/commands/database.h"
#include "storage/keys/zset/zset.h"

struct zset_store_request {
    size_t key; /* argument; the one before it is the destination */
    struct zset_range range;
    uint64_t skip, take; /* numbers of entries, from the start of the range */
};

/* Replies the number of entries, in this turn or a later one. */
enum outcome zset_store(struct context *context, const struct zset_store_request *wanted);
/* For a handler that runs again. `wanted` is computed from the key as it is now. */
enum outcome zset_store_continue(struct context *context,
                                 const struct zset_store_request *wanted);

#endif
