#include "storage/queue/core/id_filter.h"

#include "storage/prefetch.h"

#include <stdlib.h>

enum {
    LINE_WORDS = 8,
    LINE_BYTES = LINE_WORDS * 8,
    LINE_IDS = 64, /* at capacity: a byte an id */
    BITS =
        3, /* that an id sets: more would answer better at capacity, and worse far above it */
    BIT_NAME = 9, /* bits of the hash that name one of them */
    LINE_NAME = 30,
    MOST_LINES = 1 << LINE_NAME
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t lines_for(uint64_t ids, size_t least, size_t most)
{
    uint64_t wanted = ids / LINE_IDS + (ids % LINE_IDS > 0);
    uint64_t fewest = least / LINE_BYTES + (least % LINE_BYTES > 0);
    uint64_t lines = wanted > fewest ? wanted : fewest;

    lines = smaller(lines, smaller(most / LINE_BYTES, MOST_LINES));
    return lines > 0 ? lines : 1;
}

bool id_filter_init(struct id_filter *filter, uint64_t ids, size_t least, size_t most)
{
    uint64_t lines = lines_for(ids, least, most);

    *filter = (struct id_filter){.memory = calloc(lines + 1, LINE_BYTES)};
    if (filter->memory == NULL)
        return false;
    filter->lines = lines;
    filter->capacity = lines * LINE_IDS;
    filter->words = (uint64_t *)(((uintptr_t)filter->memory + LINE_BYTES - 1) &
                                 ~(uintptr_t)(LINE_BYTES - 1));
    return true;
}

void id_filter_release(struct id_filter *filter)
{
    free(filter->memory);
    *filter = (struct id_filter){0};
}

size_t id_filter_bytes(uint64_t lines)
{
    return (size_t)lines * LINE_BYTES;
}

static uint64_t *line_of(const struct id_filter *filter, uint64_t hash)
{
    uint64_t share = hash & (((uint64_t)1 << LINE_NAME) - 1); /* of 2^LINE_NAME */

    return filter->words + (share * filter->lines >> LINE_NAME) * LINE_WORDS;
}

void id_filter_expect(const struct id_filter *filter, uint64_t hash)
{
    if (filter->words != NULL)
        prefetch(line_of(filter, hash));
}

static uint64_t mask_of(uint64_t name)
{
    return (uint64_t)1 << (name & 63);
}

static unsigned word_of(uint64_t name)
{
    return (unsigned)(name >> 6) & (LINE_WORDS - 1);
}

void id_filter_add(struct id_filter *filter, uint64_t hash)
{
    uint64_t *line;

    if (filter->words == NULL)
        return;
    line = line_of(filter, hash);
    hash >>= LINE_NAME;
    for (int i = 0; i < BITS; i++, hash >>= BIT_NAME)
        line[word_of(hash)] |= mask_of(hash);
    filter->ids++;
}

bool id_filter_may_have(const struct id_filter *filter, uint64_t hash)
{
    const uint64_t *line;

    if (filter->words == NULL)
        return true;
    line = line_of(filter, hash);
    hash >>= LINE_NAME;
    for (int i = 0; i < BITS; i++, hash >>= BIT_NAME)
        if ((line[word_of(hash)] & mask_of(hash)) == 0)
            return false;
    return true;
}
