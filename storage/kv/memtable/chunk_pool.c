#include "storage/kv/memtable/chunk_pool.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* At the beginning of a chunk in the pool. */
struct spare {
    struct spare *next;
};

struct chunk_pool {
    pthread_mutex_t lock;
    struct spare *spares;
    size_t count, most;
    bool in_use;  /* a chunk was taken since the last trim */
    bool is_idle; /* chunk_pool_trim was called, and no chunk was taken since */
};

/* ---- the system */

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

static void want_huge_page(void *chunk)
{
    madvise(chunk, CHUNK_SIZE, MADV_HUGEPAGE);
}

/* At an aligned address, so that it can be a huge page. */
static void *map_chunk(void)
{
    uint8_t *memory = map(2 * CHUNK_SIZE), *begin;
    size_t before;

    if (memory == NULL)
        return NULL;
    before = (CHUNK_SIZE - (uintptr_t)memory % CHUNK_SIZE) % CHUNK_SIZE;
    begin = memory + before;
    if (before > 0)
        munmap(memory, before);
    munmap(begin + CHUNK_SIZE, CHUNK_SIZE - before);
    return begin;
}

/* In a huge page, if the system has one, address translation takes less time in searches of a
 * large table. */
static void touch(void *chunk)
{
    volatile uint8_t *bytes = chunk;

    want_huge_page(chunk);
    for (size_t at = 0; at < CHUNK_SIZE; at += PAGE)
        bytes[at] = 0;
}

static void unmap_all(struct spare *spare)
{
    while (spare != NULL) {
        struct spare *next = spare->next;

        munmap(spare, CHUNK_SIZE);
        spare = next;
    }
}

/* ---- life */

struct chunk_pool *chunk_pool_new(size_t most)
{
    struct chunk_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pthread_mutex_init(&pool->lock, NULL);
    pool->most = most / CHUNK_SIZE;
    return pool;
}

void chunk_pool_free(struct chunk_pool *pool)
{
    if (pool == NULL)
        return;
    unmap_all(pool->spares);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* ---- taking and giving back */

/* Under the lock. */
static void push(struct chunk_pool *pool, void *chunk)
{
    struct spare *spare = chunk;

    spare->next = pool->spares;
    pool->spares = spare;
    pool->count++;
}

void *chunk_pool_take(struct chunk_pool *pool)
{
    struct spare *spare;

    if (pool == NULL)
        return map_chunk();
    pthread_mutex_lock(&pool->lock);
    pool->in_use = true;
    pool->is_idle = false;
    spare = pool->spares;
    if (spare != NULL) {
        pool->spares = spare->next;
        pool->count--;
    }
    pthread_mutex_unlock(&pool->lock);
    /* one that is not ready has small pages, whose first touch is short */
    return spare != NULL ? spare : map_chunk();
}

/* False: the pool is full. */
static bool keep(struct chunk_pool *pool, void *chunk)
{
    bool kept;

    want_huge_page(chunk); /* from now on, if it was not ready: the kernel makes it one */
    pthread_mutex_lock(&pool->lock);
    kept = pool->count < pool->most;
    if (kept)
        push(pool, chunk);
    pthread_mutex_unlock(&pool->lock);
    return kept;
}

void chunk_pool_give(struct chunk_pool *pool, void *chunk)
{
    if (pool == NULL || !keep(pool, chunk))
        munmap(chunk, CHUNK_SIZE);
}

/* ---- tending */

static bool lacks(const struct chunk_pool *pool)
{
    return pool->in_use && !pool->is_idle && pool->count < CHUNKS_READY &&
           pool->count < pool->most;
}

bool chunk_pool_wants_tending(struct chunk_pool *pool)
{
    bool wants;

    pthread_mutex_lock(&pool->lock);
    wants = lacks(pool) || (pool->is_idle && pool->count > 0);
    pthread_mutex_unlock(&pool->lock);
    return wants;
}

static struct spare *take_idle(struct chunk_pool *pool)
{
    struct spare *spares = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->is_idle) {
        spares = pool->spares;
        pool->spares = NULL;
        pool->count = 0;
    }
    pthread_mutex_unlock(&pool->lock);
    return spares;
}

static bool lacks_now(struct chunk_pool *pool)
{
    bool lacking;

    pthread_mutex_lock(&pool->lock);
    lacking = lacks(pool);
    pthread_mutex_unlock(&pool->lock);
    return lacking;
}

void chunk_pool_tend(struct chunk_pool *pool)
{
    unmap_all(take_idle(pool));
    for (int i = 0; i < CHUNKS_READY && lacks_now(pool); i++) {
        void *chunk = map_chunk();

        if (chunk == NULL)
            return;
        touch(chunk);
        chunk_pool_give(pool, chunk);
    }
}

void chunk_pool_trim(struct chunk_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_idle = true;
    pool->in_use = false;
    pthread_mutex_unlock(&pool->lock);
}

size_t chunk_pool_bytes(struct chunk_pool *pool)
{
    size_t bytes;

    pthread_mutex_lock(&pool->lock);
    bytes = pool->count * CHUNK_SIZE;
    pthread_mutex_unlock(&pool->lock);
    return bytes;
}
