#include "server/containers/spent.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STEP_BYTES = 2 << 20 };

static struct spent *first;

/* Gives back the last pages. */
static bool free_pages(struct spent *spent)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)spent;
    uintptr_t last = (begin + spent->size) / page * page;

    if (spent->size <= SPENT_AT_ONCE) {
        free(spent);
        return true;
    }
    spent->size -= STEP_BYTES;
    begin = (begin + spent->size + page - 1) / page * page;
    if (begin < last)
        madvise((void *)begin, last - begin, MADV_DONTNEED);
    return false;
}

void spent_memory(void *memory, size_t size)
{
    struct spent *spent = memory;

    if (memory == NULL || size <= SPENT_AT_ONCE) {
        free(memory);
        return;
    }
    spent->size = size;
    spent_add(spent, free_pages);
}

void spent_add(struct spent *spent, bool (*free_some)(struct spent *spent))
{
    spent->free_some = free_some;
    spent->next = first;
    first = spent;
}

bool spent_any(void)
{
    return first != NULL;
}

void spent_free_some(void)
{
    struct spent *spent = first;

    if (spent == NULL)
        return;
    first = spent->next;
    if (!spent->free_some(spent))
        spent_add(spent, spent->free_some);
}
