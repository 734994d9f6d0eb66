#include "protocol/grown_memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SIZES = 4, /* that are kept: GROWN_MAPPED and its doubles */
    SPARES = 8 /* of each */
};

static _Atomic(void *) spares[SIZES][SPARES];
static atomic_size_t kept; /* bytes */

/* ---- spares */

/* Its index among the sizes that are kept; SIZES: it is none of them. */
static unsigned index_of(size_t size)
{
    unsigned index = 0;

    while (index < SIZES && (size_t)GROWN_MAPPED << index != size)
        index++;
    return index;
}

static void *take(unsigned index, int place)
{
    void *spare = atomic_exchange(&spares[index][place], NULL);

    if (spare != NULL)
        atomic_fetch_sub(&kept, (size_t)GROWN_MAPPED << index);
    return spare;
}

/* NULL: there is none. */
static void *take_spare(size_t size)
{
    unsigned index = index_of(size);
    void *spare = NULL;

    for (int i = 0; index < SIZES && i < SPARES && spare == NULL; i++)
        spare = take(index, i);
    return spare;
}

static bool put(void *memory, unsigned index)
{
    for (int i = 0; i < SPARES; i++) {
        void *none = NULL;

        if (atomic_compare_exchange_strong(&spares[index][i], &none, memory))
            return true;
    }
    return false;
}

/* False: it is to be freed. */
static bool keep_spare(void *memory, size_t size)
{
    unsigned index = index_of(size);

    if (index == SIZES)
        return false;
    if (atomic_fetch_add(&kept, size) + size <= GROWN_KEPT_MOST && put(memory, index))
        return true;
    atomic_fetch_sub(&kept, size);
    return false;
}

void grown_memory_give_back(void)
{
    for (unsigned index = 0; index < SIZES; index++)
        for (int i = 0; i < SPARES; i++) {
            void *spare = take(index, i);

            if (spare != NULL)
                munmap(spare, (size_t)GROWN_MAPPED << index);
        }
}

/* ---- memory */

static void *or_null(void *mapped)
{
    return mapped == MAP_FAILED ? NULL : mapped;
}

static void *new_mapping(size_t size)
{
    void *spare = take_spare(size);

    return spare != NULL ? spare
                         : or_null(mmap(NULL, size, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/* It moves to another mapping. */
static void *move(void *memory, size_t size, size_t new_size)
{
    void *mapped = new_mapping(new_size);

    if (mapped == NULL)
        return NULL;
    if (memory != NULL)
        memcpy(mapped, memory, size);
    grown_memory_free(memory, size);
    return mapped;
}

void *grown_memory_resize(void *memory, size_t size, size_t new_size)
{
    if (new_size < GROWN_MAPPED)
        return realloc(memory, new_size);
    if (memory == NULL || size < GROWN_SPARE_MOST)
        return move(memory, size, new_size);
    return or_null(mremap(memory, size, new_size, MREMAP_MAYMOVE));
}

void grown_memory_free(void *memory, size_t size)
{
    if (memory == NULL || size < GROWN_MAPPED)
        free(memory);
    else if (!keep_spare(memory, size))
        munmap(memory, size);
}
