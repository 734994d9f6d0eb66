/* ZRANGESTORE: a range of a sorted set under another name. It is walked through from its
 * beginning on, in slices when that takes long, and what is stored grows beside. */
#ifndef DUEQ_ZSET_STORE_H
#define DUEQ_ZSET_STORE_H

#include "server/commands/database.h"

struct zset_stored {
    size_t key; /* argument; the destination stands before it */
    struct zset_range range;
    uint64_t skip, take; /* entries of the range */
};

/* Replies the number of entries, now or from here on in later turns. */
enum outcome zset_store(struct context *context, const struct zset_stored *wanted);
/* When the handler runs again; wanted: as the key is now. */
enum outcome zset_store_on(struct context *context, const struct zset_stored *wanted);

#endif
