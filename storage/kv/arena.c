#include "storage/kv/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    STEP = 16, /* classes up to SMALL are this far apart */
    SMALL = 512,
    SMALL_CLASSES = SMALL / STEP,
    PER_OCTAVE = 8, /* above, classes are an eighth of a power of two apart */
    FIRST_CHUNK = 4 * 1024,
    LAST_CHUNK = 1024 * 1024,
    CHUNK_HEADER = 32,
    LARGE_HEADER = 32
};

struct arena_chunk {
    struct arena_chunk *older;
    size_t size;
};

struct arena_large {
    struct arena_large *next, *prev;
    size_t size;
};

struct free_piece {
    struct free_piece *next;
};

/* ---- size classes */

static unsigned class_of(size_t size)
{
    unsigned octave, step;

    if (size <= SMALL)
        return size == 0 ? 0 : (unsigned)((size - 1) / STEP);
    octave = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^octave < size <= 2^(octave + 1) */
    step = (unsigned)((size - 1) >> (octave - 3)) & 7;
    return SMALL_CLASSES + (octave - 9) * PER_OCTAVE + step;
}

static size_t class_size(unsigned class)
{
    unsigned octave, step;

    if (class < SMALL_CLASSES)
        return ((size_t) class + 1) * STEP;
    octave = 9 + (class - SMALL_CLASSES) / PER_OCTAVE;
    step = (class - SMALL_CLASSES) % PER_OCTAVE;
    return ((size_t)1 << octave) + ((size_t)(step + 1) << (octave - 3));
}

size_t arena_room(size_t size)
{
    return size > ARENA_LARGE ? size : class_size(class_of(size));
}

/* ---- life */

void arena_init(struct arena *arena)
{
    memset(arena, 0, sizeof(*arena));
    arena->next_chunk = FIRST_CHUNK;
}

/* Chunks are mapped, not malloc'ed, so that the system has them back at once. */
static void *map_chunk(size_t size)
{
    void *chunk = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return chunk == MAP_FAILED ? NULL : chunk;
}

void arena_release(struct arena *arena)
{
    while (arena->chunks != NULL) {
        struct arena_chunk *chunk = arena->chunks;

        arena->chunks = chunk->older;
        munmap(chunk, chunk->size);
    }
    while (arena->large != NULL) {
        struct arena_large *large = arena->large;

        arena->large = large->next;
        free(large);
    }
    arena_init(arena);
}

/* ---- large pieces */

static void *alloc_large(struct arena *arena, size_t size)
{
    struct arena_large *large = malloc(LARGE_HEADER + size);

    if (large == NULL)
        return NULL;
    large->size = size;
    large->prev = NULL;
    large->next = arena->large;
    if (arena->large != NULL)
        arena->large->prev = large;
    arena->large = large;
    arena->used += size;
    arena->reserved += size;
    return (uint8_t *)large + LARGE_HEADER;
}

static void free_large(struct arena *arena, void *piece)
{
    struct arena_large *large = (struct arena_large *)(void *)((uint8_t *)piece - LARGE_HEADER);

    if (large->prev != NULL)
        large->prev->next = large->next;
    else
        arena->large = large->next;
    if (large->next != NULL)
        large->next->prev = large->prev;
    arena->used -= large->size;
    arena->reserved -= large->size;
    free(large);
}

/* ---- small pieces */

/* The rest of the old chunk is cut into free pieces rather than lost. */
static void retire_chunk(struct arena *arena)
{
    size_t left = (size_t)(arena->end - arena->next);

    while (left >= STEP) {
        size_t size = left > SMALL ? SMALL : left / STEP * STEP;
        struct free_piece *piece = (struct free_piece *)(void *)arena->next;

        piece->next = arena->free_lists[class_of(size)];
        arena->free_lists[class_of(size)] = piece;
        arena->next += size;
        left -= size;
    }
}

static int add_chunk(struct arena *arena, size_t wanted)
{
    size_t size = arena->next_chunk;
    struct arena_chunk *chunk;

    while (size < wanted + CHUNK_HEADER)
        size *= 2;
    chunk = map_chunk(size);
    if (chunk == NULL)
        return 0;
    retire_chunk(arena);
    chunk->older = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    arena->next = (uint8_t *)chunk + CHUNK_HEADER;
    arena->end = (uint8_t *)chunk + size;
    arena->reserved += size;
    if (arena->next_chunk < LAST_CHUNK)
        arena->next_chunk *= 2;
    return 1;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    unsigned class;
    struct free_piece *piece;
    size_t room;
    void *fresh;

    if (size > ARENA_LARGE)
        return alloc_large(arena, size);
    class = class_of(size);
    room = class_size(class);
    piece = arena->free_lists[class];
    if (piece != NULL) {
        arena->free_lists[class] = piece->next;
        arena->used += room;
        return piece;
    }
    if ((size_t)(arena->end - arena->next) < room && !add_chunk(arena, room))
        return NULL;
    fresh = arena->next;
    arena->next += room;
    arena->used += room;
    return fresh;
}

void arena_free(struct arena *arena, void *piece, size_t size)
{
    unsigned class = class_of(size);
    struct free_piece *freed = piece;

    if (size > ARENA_LARGE) {
        free_large(arena, piece);
        return;
    }
    freed->next = arena->free_lists[class];
    arena->free_lists[class] = freed;
    arena->used -= class_size(class);
}
