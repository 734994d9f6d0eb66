#include "storage/kv/run_filter.h"
#include "storage/xxh3.h"

#include <stdlib.h>
#include <string.h>

enum {
    BITS_A_KEY = 10,
    PROBES = 6, /* 1 in 100 absent keys gets "maybe" */
    CHUNK_BITS = RUN_FILTER_CHUNK * 8,
    COUNT_SIZE = 2 /* bytes before the bits of a value: how many chunks there are */
};

static size_t size_of(unsigned chunks)
{
    return (size_t)chunks * (COUNT_SIZE + RUN_FILTER_CHUNK);
}

size_t run_filter_bytes(const struct run_filter *filter)
{
    return filter->bytes == NULL ? 0 : size_of(filter->chunks);
}

bool run_filter_init_chunks(struct run_filter *filter, uint64_t run, uint64_t seed,
                            size_t chunks)
{
    if (chunks > RUN_FILTER_MOST)
        chunks = RUN_FILTER_MOST;
    *filter = (struct run_filter){run, seed, (unsigned)chunks, NULL, NULL};
    filter->bytes = chunks == 0 ? NULL : calloc(chunks, COUNT_SIZE + RUN_FILTER_CHUNK);
    return filter->bytes != NULL;
}

bool run_filter_init(struct run_filter *filter, uint64_t run, uint64_t seed, size_t keys)
{
    return run_filter_init_chunks(filter, run, seed, keys * BITS_A_KEY / CHUNK_BITS + 1);
}

void run_filter_release(struct run_filter *filter)
{
    free(filter->bytes);
    free(filter->places);
    *filter = (struct run_filter){0};
}

static uint8_t *chunk_at(const struct run_filter *filter, unsigned chunk)
{
    return filter->bytes + (size_t)chunk * (COUNT_SIZE + RUN_FILTER_CHUNK);
}

/* The chunk, the first bit in it, and how far the next one is from each. */
struct place {
    unsigned chunk;
    uint32_t bit, step;
};

static struct place place_of(const struct run_filter *filter, struct dueq_slice key)
{
    uint64_t hash = XXH3_64bits_withSeed(key.data, key.size, filter->seed);

    return (struct place){(unsigned)((hash >> 32) * filter->chunks >> 32),
                          (uint32_t)hash & 0xffff, (uint32_t)hash >> 16 | 1};
}

void run_filter_add(struct run_filter *filter, struct dueq_slice key)
{
    struct place place = place_of(filter, key);
    uint8_t *bits = chunk_at(filter, place.chunk) + COUNT_SIZE;

    for (int i = 0; i < PROBES; i++, place.bit += place.step)
        bits[place.bit % CHUNK_BITS / 8] |= (uint8_t)(1 << place.bit % CHUNK_BITS % 8);
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

enum dueq_status run_filter_count(struct lmdb_cursor *cursor, struct run_key *run,
                                  unsigned *ret_chunks)
{
    struct dueq_slice first = run_filter_key(run, 0);
    enum dueq_status status = lmdb_seek(cursor, first);

    *ret_chunks = status == DUEQ_OK && dueq_slice_equal(lmdb_key(cursor), first)
                      ? read_count(lmdb_value(cursor))
                      : 0;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* ---- the owner */

static bool read_chunk(struct lmdb_store *lmdb, uint64_t run, unsigned chunk,
                       struct dueq_slice *ret_value)
{
    struct run_key key;

    run_key_start(&key, run);
    return lmdb_get(lmdb, run_filter_key(&key, chunk), ret_value) == DUEQ_OK;
}

void run_filter_open(struct run_filter *filter, struct lmdb_store *lmdb, uint64_t run,
                     uint64_t seed, size_t room)
{
    struct dueq_slice value;
    unsigned chunks = read_chunk(lmdb, run, 0, &value) ? read_count(value) : 0;

    if (chunks > RUN_FILTER_MOST)
        chunks = 0;
    *filter = (struct run_filter){run, seed, chunks, NULL, NULL};
    if (size_of(chunks) <= room)
        run_filter_init_chunks(filter, run, seed, chunks);
    else
        filter->places = calloc(chunks, sizeof(*filter->places));
}

void run_filter_forget_places(struct run_filter *filter)
{
    if (filter->places != NULL)
        memset(filter->places, 0, filter->chunks * sizeof(*filter->places));
}

/* A chunk that was read begins with a number. */
static const uint8_t *find_chunk(struct run_filter *filter, struct lmdb_store *lmdb,
                                 unsigned chunk)
{
    uint8_t *kept = filter->bytes == NULL ? NULL : chunk_at(filter, chunk);
    struct dueq_slice value;

    if (kept != NULL && (kept[0] != 0 || kept[1] != 0))
        return kept;
    if (filter->places != NULL && filter->places[chunk] != NULL)
        return filter->places[chunk];
    if (!read_chunk(lmdb, filter->run, chunk, &value) || read_count(value) != filter->chunks)
        return NULL;
    if (filter->places != NULL)
        filter->places[chunk] = value.data;
    return kept == NULL ? value.data : memcpy(kept, value.data, value.size);
}

bool run_filter_may_have(struct run_filter *filter, struct lmdb_store *lmdb,
                         struct dueq_slice key)
{
    struct place place;
    const uint8_t *bits;

    if (filter->chunks == 0)
        return true;
    place = place_of(filter, key);
    bits = find_chunk(filter, lmdb, place.chunk);
    if (bits == NULL)
        return true;
    bits += COUNT_SIZE;
    for (int i = 0; i < PROBES; i++, place.bit += place.step)
        if ((bits[place.bit % CHUNK_BITS / 8] >> place.bit % CHUNK_BITS % 8 & 1) == 0)
            return false;
    return true;
}
