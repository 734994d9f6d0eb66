#include "server/containers/small_blocks.h"

#include <assert.h>
#include <stdlib.h>

static size_t held, most; /* bytes */

void *small_block_new(size_t size)
{
    void *block = calloc(1, size);

    if (block == NULL)
        return NULL;
    held += size;
    if (held > most)
        most = held;
    return block;
}

void small_block_free(void *block, size_t size)
{
    assert(held >= size);
    held -= size;
    free(block);
}

size_t small_blocks_held(void)
{
    return held;
}

size_t small_blocks_freed(void)
{
    return most - held;
}

void small_blocks_given_back(void)
{
    most = held;
}
