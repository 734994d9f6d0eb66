#include "server/containers/heap_return.h"

#include "server/containers/spent.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__

/* A step is some 100 usec: the pages of so many bytes, or so many blocks that are freed. */
enum { STEP_BYTES = 512 * 1024, STEP_FREES = 250 };

/* Of blocks, one after the other. malloc takes them from the heap: M_MMAP_THRESHOLD. */
static const size_t sizes[] = {120 * 1024, 24 * 1024};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

struct block {
    struct block *next;
};

static struct {
    struct spent spent;
    struct block *blocks;
    unsigned size; /* of those that are taken now; SIZES: all are */
    size_t left;   /* bytes that may still be taken */
    bool runs;
} heap;

static void give_pages(struct block *block, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)(block + 1);
    uintptr_t end = ((uintptr_t)block + size) / page * page;

    begin = (begin + page - 1) / page * page;
    madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* False: there is no such free part, and malloc has made the heap longer, or mapped memory. */
static bool take_block(size_t size)
{
    uintptr_t end = (uintptr_t)sbrk(0);
    struct block *block = malloc(size);

    if (block == NULL)
        return false;
    if ((uintptr_t)sbrk(0) != end || (uintptr_t)block >= end) {
        free(block);
        return false;
    }
    give_pages(block, size);
    block->next = heap.blocks;
    heap.blocks = block;
    return true;
}

static void take_some(void)
{
    size_t size = sizes[heap.size];

    for (size_t taken = 0; taken < STEP_BYTES; taken += size) {
        if (heap.left < size || !take_block(size)) {
            heap.size++;
            return;
        }
        heap.left -= size;
    }
}

static void free_blocks(void)
{
    for (int i = 0; i < STEP_FREES && heap.blocks != NULL; i++) {
        struct block *next = heap.blocks->next;

        free(heap.blocks);
        heap.blocks = next;
    }
}

static void end(void)
{
    malloc_trim(0);
    heap.runs = false;
}

static bool go_on(struct spent *spent)
{
    (void)spent;
    if (heap.size < SIZES) {
        take_some();
        return false;
    }
    free_blocks();
    if (heap.blocks == NULL)
        end();
    return !heap.runs;
}

void heap_return_begin(size_t most)
{
    if (heap.runs)
        return;
    heap.left = most;
    heap.runs = true;
    heap.size = 0;
    spent_add(&heap.spent, go_on);
}

bool heap_return_runs(void)
{
    return heap.runs;
}

#else

void heap_return_begin(size_t most)
{
    (void)most;
}

bool heap_return_runs(void)
{
    return false;
}

#endif
