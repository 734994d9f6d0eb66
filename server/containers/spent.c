#include "server/containers/spent.h"

#include "protocol/grown_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STEP_BYTES = 2 << 20 };

static struct spent *first;

/* Takes the last pages from the object and returns them. */
static void *cut_pages(struct spent *spent, size_t *ret_size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)spent;
    uintptr_t last = (begin + spent->size) / page * page;

    spent->size -= STEP_BYTES;
    begin = (begin + spent->size + page - 1) / page * page;
    *ret_size = last - begin;
    return (void *)begin;
}

static bool free_pages(struct spent *spent)
{
    void *pages;
    size_t size;

    if (spent->size <= SPENT_AT_ONCE) {
        free(spent);
        return true;
    }
    pages = cut_pages(spent, &size);
    madvise(pages, size, MADV_DONTNEED);
    return false;
}

/* A mapping. Its size is one of whole pages, and stays so. */
static bool unmap_pages(struct spent *spent)
{
    void *pages;
    size_t size;

    if (spent->size <= SPENT_AT_ONCE) {
        munmap(spent, spent->size);
        return true;
    }
    pages = cut_pages(spent, &size);
    munmap(pages, size);
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

void spent_grown_memory(void *memory, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct spent *spent = memory;

    if (memory == NULL || size <= SPENT_AT_ONCE) {
        grown_memory_free(memory, size);
        return;
    }
    spent->size = (size + page - 1) / page * page;
    spent_add(spent, unmap_pages);
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
