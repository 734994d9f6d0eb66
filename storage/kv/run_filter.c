#include "storage/kv/run_filter.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    BITS_A_KEY = 10,
    PROBES = 6, /* 1 in 100 absent keys gets "maybe" */
    CHUNK_BITS = RUN_FILTER_CHUNK * 8,
    COUNT_SIZE = 2 /* bytes before the bits of a value: how many chunks there are */
};

bool run_filter_init(struct run_filter *filter, uint64_t run, uint64_t seed, size_t keys)
{
    size_t chunks = keys * BITS_A_KEY / CHUNK_BITS + 1;

    if (chunks > RUN_FILTER_MOST)
        chunks = RUN_FILTER_MOST;
    *filter = (struct run_filter){run, seed, (unsigned)chunks, NULL};
    filter->bytes = calloc(chunks, COUNT_SIZE + RUN_FILTER_CHUNK);
    return filter->bytes != NULL;
}

void run_filter_release(struct run_filter *filter)
{
    free(filter->bytes);
    *filter = (struct run_filter){0};
}

static uint8_t *chunk_at(const struct run_filter *filter, unsigned chunk)
{
    return filter->bytes + (size_t)chunk * (COUNT_SIZE + RUN_FILTER_CHUNK);
}

/* The chunk, the first bit in it, and how far the next one is from each. */
struct place {
    uint8_t *bits;
    uint32_t bit, step;
};

static struct place place_of(const struct run_filter *filter, struct dueq_slice key)
{
    uint64_t hash = XXH3_64bits_withSeed(key.data, key.size, filter->seed);
    unsigned chunk = (unsigned)((hash >> 32) * filter->chunks >> 32);

    return (struct place){chunk_at(filter, chunk) + COUNT_SIZE, (uint32_t)hash & 0xffff,
                          (uint32_t)hash >> 16 | 1};
}

void run_filter_add(struct run_filter *filter, struct dueq_slice key)
{
    struct place place = place_of(filter, key);

    for (int i = 0; i < PROBES; i++, place.bit += place.step)
        place.bits[place.bit % CHUNK_BITS / 8] |= (uint8_t)(1 << place.bit % CHUNK_BITS % 8);
}

bool run_filter_may_have(const struct run_filter *filter, struct dueq_slice key)
{
    struct place place;

    if (filter->bytes == NULL)
        return true;
    place = place_of(filter, key);
    for (int i = 0; i < PROBES; i++, place.bit += place.step)
        if ((place.bits[place.bit % CHUNK_BITS / 8] >> place.bit % CHUNK_BITS % 8 & 1) == 0)
            return false;
    return true;
}

struct dueq_slice run_filter_key(struct run_key *run, unsigned chunk)
{
    uint8_t key[] = {0, (uint8_t)(chunk >> 8), (uint8_t)chunk};

    return run_key_of(run, dueq_slice(key, sizeof(key)));
}

struct dueq_slice run_filter_chunk(const struct run_filter *filter, unsigned chunk)
{
    uint8_t *bytes = chunk_at(filter, chunk);

    bytes[0] = (uint8_t)(filter->chunks >> 8);
    bytes[1] = (uint8_t)filter->chunks;
    return dueq_slice(bytes, COUNT_SIZE + RUN_FILTER_CHUNK);
}

/* 0: there is no such chunk. */
static unsigned read_count(struct dueq_slice value)
{
    const uint8_t *bytes = value.data;

    return value.size == COUNT_SIZE + RUN_FILTER_CHUNK ? (unsigned)bytes[0] << 8 | bytes[1] : 0;
}

static bool read_chunk(struct lmdb_store *lmdb, struct run_key *key, unsigned chunk,
                       struct dueq_slice *ret_value)
{
    return lmdb_get(lmdb, run_filter_key(key, chunk), ret_value) == DUEQ_OK;
}

static bool read_chunks(struct run_filter *filter, struct lmdb_store *lmdb, struct run_key *key)
{
    struct dueq_slice value;

    for (unsigned i = 0; i < filter->chunks; i++) {
        if (!read_chunk(lmdb, key, i, &value) || read_count(value) != filter->chunks)
            return false;
        memcpy(chunk_at(filter, i), value.data, value.size);
    }
    return true;
}

void run_filter_read(struct run_filter *filter, struct lmdb_store *lmdb, uint64_t run,
                     uint64_t seed)
{
    struct dueq_slice value;
    struct run_key key;
    unsigned chunks;

    *filter = (struct run_filter){.run = run, .seed = seed};
    run_key_start(&key, run);
    chunks = read_chunk(lmdb, &key, 0, &value) ? read_count(value) : 0;
    if (chunks == 0 || chunks > RUN_FILTER_MOST)
        return;
    filter->chunks = chunks;
    filter->bytes = malloc((size_t)chunks * (COUNT_SIZE + RUN_FILTER_CHUNK));
    if (filter->bytes == NULL || read_chunks(filter, lmdb, &key))
        return;
    free(filter->bytes);
    filter->bytes = NULL;
}
