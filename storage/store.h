/* The inside of a store. For storage/store.c, for the server, which needs the keys beside the
 * jobs that the public API has, and for tests. */
#ifndef DUEQ_STORE_H
#define DUEQ_STORE_H

#include "storage/dueq.h"

struct dueq {
    struct kv *kv;       /* storage/kv/kv.h */
    struct queue *queue; /* storage/queue/queue.h */
    struct keys *keys;   /* storage/keys/keys.h */
};

static inline struct keys *store_keys(const struct dueq *store)
{
    return store->keys;
}

#endif
