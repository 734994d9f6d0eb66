/* The filter of a run: answers "not present" for most keys that the run does not have. A Bloom
 * filter in chunks, which are the first records of the run: key 0 and the chunk's number, both
 * in place of a key of a table. It covers the records that are looked up by their key: those of
 * the index of ids. Private to storage/kv. */
#ifndef DUEQ_RUN_FILTER_H
#define DUEQ_RUN_FILTER_H

#include "storage/kv/lmdb_store.h"
#include "storage/kv/runs.h"

enum {
    RUN_FILTER_CHUNK = 1900, /* bytes; two of them fill a page */
    RUN_FILTER_MOST = 512    /* chunks; for 780,000 keys */
};

struct run_filter {
    uint64_t run; /* 0: none */
    uint64_t seed;
    unsigned chunks;
    uint8_t *bytes; /* NULL: any key may be present */
};

/* Does the filter of a run say something about the key? */
static inline bool run_filter_covers(struct dueq_slice key)
{
    return *(const uint8_t *)key.data == 'U';
}

/* Makes one for that many keys. False: out of memory. */
bool run_filter_init(struct run_filter *filter, uint64_t run, uint64_t seed, size_t keys);
void run_filter_release(struct run_filter *filter);

void run_filter_add(struct run_filter *filter, struct dueq_slice key);
bool run_filter_may_have(const struct run_filter *filter, struct dueq_slice key);

/* The key and the value of a chunk. */
struct dueq_slice run_filter_key(struct run_key *run, unsigned chunk);
struct dueq_slice run_filter_chunk(const struct run_filter *filter, unsigned chunk);

/* Reads the filter of a run, for the owner: a megabyte at most. Without memory, or when it
 * cannot be read, any key may be present. */
void run_filter_read(struct run_filter *filter, struct lmdb_store *lmdb, uint64_t run,
                     uint64_t seed);

#endif
