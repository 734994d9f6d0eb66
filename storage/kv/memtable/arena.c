#include "storage/kv/memtable/arena.h"

#include "storage/kv/memtable/chunk_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

enum {
    STEP = 8, /* bytes between the classes up to SMALL */
    SMALL = 512,
    SMALL_OCTAVE = 9, /* 2^9 is SMALL */
    SMALL_CLASSES = SMALL / STEP,
    PER_OCTAVE = 8, /* above, eight classes for each power of two */
    FIRST_CHUNK = 4 * 1024,
    LAST_CHUNK = CHUNK_SIZE,
    CHUNK_HEADER = 16,
    LARGE_HEADER = 24
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

static_assert(sizeof(struct arena_chunk) <= CHUNK_HEADER, "a chunk's header has its room");
static_assert(sizeof(struct arena_large) <= LARGE_HEADER, "a large piece's header too");
static_assert(ARENA_LARGE <= LAST_CHUNK - CHUNK_HEADER, "a chunk holds the largest piece");

/* ---- size classes */

static unsigned class_of(size_t size)
{
    unsigned octave, step;

    if (size <= SMALL)
        return size == 0 ? 0 : (unsigned)((size - 1) / STEP);
    octave = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^octave < size <= 2^(octave + 1) */
    step = (unsigned)((size - 1) >> (octave - 3)) & 7;
    return SMALL_CLASSES + (octave - SMALL_OCTAVE) * PER_OCTAVE + step;
}

static size_t class_size(unsigned class)
{
    unsigned octave, step;

    if (class < SMALL_CLASSES)
        return ((size_t) class + 1) * STEP;
    octave = SMALL_OCTAVE + (class - SMALL_CLASSES) / PER_OCTAVE;
    step = (class - SMALL_CLASSES) % PER_OCTAVE;
    return ((size_t)1 << octave) + ((size_t)(step + 1) << (octave - 3));
}

size_t arena_room(size_t size)
{
    return size > ARENA_LARGE ? size : class_size(class_of(size));
}

/* ---- life */

void arena_init(struct arena *arena, struct chunk_pool *pool)
{
    memset(arena, 0, sizeof(*arena));
    arena->pool = pool;
    arena->next_chunk = FIRST_CHUNK;
}

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* Chunks are mapped, not malloc'ed, so that freeing returns them to the system at once. */
static void *take_chunk(struct arena *arena, size_t size)
{
    return size == LAST_CHUNK ? chunk_pool_take(arena->pool) : map(size);
}

static void give_chunk(struct arena *arena, struct arena_chunk *chunk)
{
    ASAN_UNPOISON_MEMORY_REGION(chunk, chunk->size);
    if (chunk->size == LAST_CHUNK)
        chunk_pool_give(arena->pool, chunk);
    else
        munmap(chunk, chunk->size);
}

void arena_release(struct arena *arena)
{
    while (arena->chunks != NULL) {
        struct arena_chunk *chunk = arena->chunks;

        arena->chunks = chunk->older;
        give_chunk(arena, chunk);
    }
    while (arena->large != NULL) {
        struct arena_large *large = arena->large;

        arena->large = large->next;
        free(large);
    }
    arena_init(arena, arena->pool);
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

/* ---- small pieces; AddressSanitizer reports accesses to pieces that are not allocated */

static void push_free(struct arena *arena, void *piece, unsigned class)
{
    struct free_piece *freed = piece;

    freed->next = arena->free_lists[class];
    arena->free_lists[class] = freed;
    ASAN_POISON_MEMORY_REGION(piece, class_size(class));
}

static void *pop_free(struct arena *arena, unsigned class)
{
    struct free_piece *piece = arena->free_lists[class];

    if (piece == NULL)
        return NULL;
    ASAN_UNPOISON_MEMORY_REGION(piece, class_size(class));
    arena->free_lists[class] = piece->next;
    return piece;
}

static void *cut(struct arena *arena, size_t room)
{
    void *piece = arena->next;

    ASAN_UNPOISON_MEMORY_REGION(piece, room);
    arena->next += room;
    return piece;
}

static size_t left_in_chunk(const struct arena *arena)
{
    return (size_t)(arena->end - arena->next);
}

size_t arena_taken(const struct arena *arena)
{
    return arena->reserved - left_in_chunk(arena);
}

/* Cuts the rest of the old chunk into free pieces. */
static void retire_chunk(struct arena *arena)
{
    while (left_in_chunk(arena) >= STEP) {
        size_t left = left_in_chunk(arena);
        size_t size = left > SMALL ? SMALL : left / STEP * STEP;

        push_free(arena, cut(arena, size), class_of(size));
    }
}

static bool add_chunk(struct arena *arena, size_t wanted)
{
    size_t size = arena->next_chunk;
    struct arena_chunk *chunk;

    while (size < wanted + CHUNK_HEADER)
        size *= 2;
    chunk = take_chunk(arena, size);
    if (chunk == NULL)
        return false;
    retire_chunk(arena);
    chunk->older = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    arena->next = (uint8_t *)chunk + CHUNK_HEADER;
    arena->end = (uint8_t *)chunk + size;
    ASAN_POISON_MEMORY_REGION(arena->next, left_in_chunk(arena));
    arena->reserved += size;
    arena->mapped += size;
    if (arena->next_chunk < LAST_CHUNK)
        arena->next_chunk *= 2;
    return true;
}

bool arena_reserve(struct arena *arena, size_t size)
{
    return left_in_chunk(arena) >= size || add_chunk(arena, size);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    unsigned class = class_of(size);
    size_t room;
    void *piece;

    if (size > ARENA_LARGE)
        return alloc_large(arena, size);
    room = class_size(class);
    piece = pop_free(arena, class);
    if (piece == NULL) {
        if (!arena_reserve(arena, room))
            return NULL;
        piece = cut(arena, room);
    }
    arena->used += room;
    return piece;
}

void arena_free(struct arena *arena, void *piece, size_t size)
{
    unsigned class = class_of(size);

    if (size > ARENA_LARGE) {
        free_large(arena, piece);
        return;
    }
    assert(arena->used >= class_size(class));
    arena->used -= class_size(class);
    push_free(arena, piece, class);
}
