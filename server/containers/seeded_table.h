/* The server's hash tables: uthash with a seeded hash, because clients choose the keys and must
 * not be able to make them collide, and with handling of allocation failure. Include this, not
 * uthash.h.
 *
 * After HASH_ADD check seeded_table_holds: false means out of memory, the item is not in the
 * table. */
#ifndef DUEQ_SEEDED_TABLE_H
#define DUEQ_SEEDED_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* XXH3 with a seed that each process draws at its first call. */
uint64_t seeded_table_hash(const void *key, size_t size);

/* Allocates memory of the tables; tests replace it with one that fails. */
extern void *(*seeded_table_allocate)(size_t size);

#define HASH_FUNCTION(key, size, hash) ((hash) = (unsigned)seeded_table_hash((key), (size)))
#define HASH_NONFATAL_OOM              1
#define uthash_malloc(size)            seeded_table_allocate(size)
#include <uthash.h>

/* Most tables are one of the TABLE_SHARDS of another, and have few items. */
#undef HASH_INITIAL_NUM_BUCKETS
#undef HASH_INITIAL_NUM_BUCKETS_LOG2
#define HASH_INITIAL_NUM_BUCKETS      4U
#define HASH_INITIAL_NUM_BUCKETS_LOG2 2U

#define seeded_table_holds(item) ((item)->hh.tbl != NULL)

/* A table of names that may be a million: uthash doubles its buckets in one go, which takes
 * 50 ms then. So it is an array of TABLE_SHARDS heads, each the head of a table; the upper bits
 * of the hash say which. (uthash itself uses the lower ones.) */
enum { TABLE_SHARDS = 512, TABLE_SHARD_SHIFT = 23 };

static inline size_t seeded_table_shard(unsigned hash)
{
    return hash >> TABLE_SHARD_SHIFT;
}

#define SHARDS_FIND(shards, key, size, out)                                                    \
    do {                                                                                       \
        unsigned shards_hash = (unsigned)seeded_table_hash((key), (size));                     \
        HASH_FIND_BYHASHVALUE(hh, (shards)[seeded_table_shard(shards_hash)], (key), (size),    \
                              shards_hash, out);                                               \
    } while (0)
#define SHARDS_ADD(shards, key, size, item)                                                    \
    do {                                                                                       \
        unsigned shards_hash = (unsigned)seeded_table_hash((key), (size));                     \
        HASH_ADD_KEYPTR_BYHASHVALUE(hh, (shards)[seeded_table_shard(shards_hash)], (key),      \
                                    (size), shards_hash, item);                                \
    } while (0)
#define SHARDS_DELETE(shards, item)                                                            \
    HASH_DEL((shards)[seeded_table_shard((item)->hh.hashv)], item)

#endif
