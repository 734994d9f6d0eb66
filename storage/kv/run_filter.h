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
    RUN_FILTER_MOST = 4096   /* chunks; for 6 million keys */
};

struct run_filter {
    uint64_t run; /* 0: none */
    uint64_t seed;
    unsigned chunks;
    uint8_t *bytes; /* the owner's: zero where not read yet, or NULL: they are not kept ... */
    const uint8_t **places; /* ... and these are where the snapshot has those that were read */
};

/* Does the filter of a run say something about the key? */
static inline bool run_filter_covers(struct dueq_slice key)
{
    return *(const uint8_t *)key.data == 'U';
}

/* ---- the thread that writes */

/* Makes one for that many keys, or with that many chunks. False: out of memory. */
bool run_filter_init(struct run_filter *filter, uint64_t run, uint64_t seed, size_t keys);
bool run_filter_init_chunks(struct run_filter *filter, uint64_t run, uint64_t seed,
                            size_t chunks);
void run_filter_release(struct run_filter *filter);
/* Of memory. */
size_t run_filter_bytes(const struct run_filter *filter);

void run_filter_add(struct run_filter *filter, struct dueq_slice key);

/* How many chunks the filter of a run has; 0: it has none. cursor: any of the writer's. */
enum dueq_status run_filter_count(struct lmdb_cursor *cursor, struct run_key *run,
                                  unsigned *ret_chunks);

/* The key and the value of a chunk. */
struct dueq_slice run_filter_key(struct run_key *run, unsigned chunk);
struct dueq_slice run_filter_chunk(const struct run_filter *filter, unsigned chunk);

/* ---- the owner */

/* Opens the filter of a run. Chunks are read when a key asks for them. They stay in memory if
 * all of them take at most `room` bytes; of others it remembers where they are, which takes 8
 * bytes a chunk. When one cannot be read, any key may be present. */
void run_filter_open(struct run_filter *filter, struct lmdb_store *lmdb, uint64_t run,
                     uint64_t seed, size_t room);
/* The snapshot is another one. */
void run_filter_forget_places(struct run_filter *filter);
bool run_filter_may_have(struct run_filter *filter, struct lmdb_store *lmdb,
                         struct dueq_slice key);

#endif
