#include "storage/kv/gaps.h"

#include "storage/kv/runs.h"
#include "storage/xxh3.h"

#include <stdlib.h>

enum {
    GAPS_MOST = 16384, /* a place for each run and lane, if their hashes differ */
    MEMTABLE_SHARE = 10,
    BYTES = 40 /* of a key; longer ones have no gaps */
};

struct gap {
    uint64_t run; /* 0: none */
    uint8_t from_size, end_size;
    uint8_t from[BYTES], end[BYTES];
};

static struct gap *place_of(const struct gaps *gaps, uint64_t run, struct dueq_slice key)
{
    return &gaps->space[XXH3_64bits_withSeed(key.data, runs_lane_size(key), run) %
                        gaps->places];
}

static bool is_of_lane(const struct gap *gap, uint64_t run, struct dueq_slice key)
{
    size_t size = runs_lane_size(key);

    return gap->run == run && gap->from_size >= size && memcmp(gap->from, key.data, size) == 0;
}

static struct dueq_slice from_of(const struct gap *gap)
{
    return dueq_slice(gap->from, gap->from_size);
}

static struct dueq_slice end_of(const struct gap *gap)
{
    return dueq_slice(gap->end, gap->end_size);
}

void gaps_init(struct gaps *gaps, size_t memtable_bytes)
{
    size_t places = memtable_bytes / MEMTABLE_SHARE / sizeof(struct gap) + 1;

    *gaps = (struct gaps){.places = places < GAPS_MOST ? places : GAPS_MOST};
}

void gaps_release(struct gaps *gaps)
{
    free(gaps->space);
    gaps->space = NULL;
}

bool gaps_find(const struct gaps *gaps, uint64_t run, struct dueq_slice key,
               struct dueq_slice *ret_end)
{
    const struct gap *gap;

    if (gaps->space == NULL || key.size > BYTES)
        return false;
    gap = place_of(gaps, run, key);
    if (!is_of_lane(gap, run, key) || dueq_slice_compare(key, from_of(gap)) < 0 ||
        (gap->end_size > 0 && dueq_slice_compare(key, end_of(gap)) > 0))
        return false;
    *ret_end = end_of(gap);
    return true;
}

void gaps_note(struct gaps *gaps, uint64_t run, struct dueq_slice key, struct dueq_slice end)
{
    struct gap *gap;

    if (key.size > BYTES || end.size > BYTES)
        return;
    if (gaps->space == NULL)
        gaps->space = calloc(gaps->places, sizeof(*gaps->space));
    if (gaps->space == NULL)
        return;
    gap = place_of(gaps, run, key);
    if (is_of_lane(gap, run, key) && dueq_slice_equal(end, end_of(gap)) &&
        dueq_slice_compare(from_of(gap), key) <= 0)
        return; /* it is a part of this one */
    gap->run = run;
    gap->from_size = (uint8_t)key.size;
    gap->end_size = (uint8_t)end.size;
    memcpy(gap->from, key.data, key.size);
    if (end.size > 0)
        memcpy(gap->end, end.data, end.size);
}
