#include "protocol/grown_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *or_null(void *mapped)
{
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* What malloc has made moves to a mapping. */
static void *map(void *memory, size_t size, size_t new_size)
{
    void *mapped = or_null(
        mmap(NULL, new_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

    if (mapped == NULL)
        return NULL;
    if (memory != NULL)
        memcpy(mapped, memory, size);
    free(memory);
    return mapped;
}

void *grown_memory_resize(void *memory, size_t size, size_t new_size)
{
    if (new_size < GROWN_MAPPED)
        return realloc(memory, new_size);
    if (memory == NULL || size < GROWN_MAPPED)
        return map(memory, size, new_size);
    return or_null(mremap(memory, size, new_size, MREMAP_MAYMOVE));
}

void grown_memory_free(void *memory, size_t size)
{
    if (memory != NULL && size >= GROWN_MAPPED)
        munmap(memory, size);
    else
        free(memory);
}
