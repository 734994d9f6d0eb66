/* The inside of a store. For storage/store.c, for tests, and for the server, which needs the
 * keys besides the jobs of the public API. */
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
