/* Chunks of memory for arenas, the size of a huge page. To touch one for the first time takes
 * the kernel up to several milliseconds, so chunks of a merged memtable are used again, and the
 * checkpoint thread touches some before they are needed. Any thread may call. */
#ifndef DUEQ_CHUNK_POOL_H
#define DUEQ_CHUNK_POOL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CHUNK_SIZE = 2 * 1024 * 1024,
    CHUNKS_READY = 2 /* that are kept ready while chunks are taken */
};

struct chunk_pool;

/* It keeps so many bytes at most. NULL: out of memory. */
struct chunk_pool *chunk_pool_new(size_t most);
/* All chunks that are in use must have been given back. NULL is fine. */
void chunk_pool_free(struct chunk_pool *pool);

/* CHUNK_SIZE bytes at an address that is a multiple of that; their content is undefined. NULL:
 * out of memory. pool NULL: from the system. */
void *chunk_pool_take(struct chunk_pool *pool);
/* Back to the pool, or to the system when that is full. */
void chunk_pool_give(struct chunk_pool *pool, void *chunk);

/* Has chunk_pool_tend something to do? O(1). */
bool chunk_pool_wants_tending(struct chunk_pool *pool);
/* Makes CHUNKS_READY chunks ready, if any was taken since the last trim; or carries out the
 * trim. Takes milliseconds: not for the owner of a store. */
void chunk_pool_tend(struct chunk_pool *pool);
/* The next chunk_pool_tend returns all of the pool to the system. Again: no-op, until a chunk
 * is taken. */
void chunk_pool_trim(struct chunk_pool *pool);
size_t chunk_pool_bytes(struct chunk_pool *pool);

#endif
