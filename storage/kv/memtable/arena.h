/* Memory that is freed whole: chunks from the system, cut into size classes whose free lists
 * make released pieces usable again. One thread. */
#ifndef DUEQ_ARENA_H
#define DUEQ_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ARENA_CLASSES = 120, ARENA_LARGE = 64 * 1024 };

struct arena_chunk;
struct arena_large;

struct arena {
    struct arena_chunk *chunks; /* newest first */
    struct arena_large *large;  /* pieces above ARENA_LARGE, each malloc'ed by itself */
    uint8_t *next, *end;        /* what is left of the newest chunk */
    void *free_lists[ARENA_CLASSES];
    size_t used;       /* bytes handed out and not released, rounded to classes */
    size_t reserved;   /* bytes taken from the system */
    size_t mapped;     /* of those, bytes of chunks; the rest is malloc's */
    size_t next_chunk; /* size of the next chunk: 4 KiB doubling to 2 MiB */
};

void arena_init(struct arena *arena);
void arena_release(struct arena *arena);

/* 8-byte aligned; NULL: out of memory. O(1). */
void *arena_alloc(struct arena *arena, size_t size);

/* Makes sure that pieces of at most ARENA_LARGE, whose rooms sum up to `size` at most, can be
 * had without failure. False: out of memory, nothing has changed. */
bool arena_reserve(struct arena *arena, size_t size);

/* size: as given to arena_alloc. */
void arena_free(struct arena *arena, void *piece, size_t size);

/* What arena_alloc(size) really sets aside: a piece may grow to that in place. */
size_t arena_room(size_t size);

#endif
