/* Memory that is freed as a whole. Chunks from the system are cut into pieces of size classes;
 * a released piece goes to the free list of its class and is used again. One thread. */
#ifndef DUEQ_ARENA_H
#define DUEQ_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARENA_CLASSES = 120,
    ARENA_LARGE = 64 * 1024 /* bytes; larger pieces are malloc'ed */
};

struct arena_chunk;
struct chunk_pool;
struct arena_large;

struct arena {
    struct chunk_pool *pool;
    struct arena_chunk *chunks; /* newest first */
    struct arena_large *large;  /* pieces above ARENA_LARGE, each malloc'ed by itself */
    uint8_t *next, *end;        /* the free rest of the newest chunk */
    void *free_lists[ARENA_CLASSES];
    size_t used;       /* bytes allocated and not freed, rounded up to classes */
    size_t reserved;   /* bytes taken from the system */
    size_t mapped;     /* of those, bytes of chunks; the others are malloc's */
    size_t next_chunk; /* size of the next chunk: 4 KiB doubling to 2 MiB */
};

/* pool: where chunks of CHUNK_SIZE come from; NULL: the system. */
void arena_init(struct arena *arena, struct chunk_pool *pool);
void arena_release(struct arena *arena); /* frees everything */

/* 8-byte aligned; NULL: out of memory. O(1). */
void *arena_alloc(struct arena *arena, size_t size);

/* Afterwards arena_alloc succeeds for pieces of ARENA_LARGE bytes at most whose arena_room adds
 * up to `size` at most. False: out of memory, nothing has changed. */
bool arena_reserve(struct arena *arena, size_t size);

/* `size`: as given to arena_alloc. O(1). */
void arena_free(struct arena *arena, void *piece, size_t size);

/* Of the bytes reserved, those that were ever handed out: it grows in small steps. */
size_t arena_taken(const struct arena *arena);

/* Bytes that arena_alloc(size) takes: a piece may grow in place up to that size. */
size_t arena_room(size_t size);

#endif
