#include "storage/keys/large_copy.h"

#include "storage/kv/kv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    HUGE_PAGE = 2 << 20,
    SMALL_PAGES = 8 * HUGE_PAGE /* first bytes of a value, in small pages */
};

/* The first touch of a huge page can take 4 ms; but 500 MB in small ones are given back in 40.
 */
uint8_t *large_copy_memory(size_t size)
{
    size_t small = size < SMALL_PAGES ? size : SMALL_PAGES;
    void *bytes = NULL;

    if (size < HUGE_PAGE)
        return malloc(size > 0 ? size : 1);
    if (posix_memalign(&bytes, HUGE_PAGE, size) != 0)
        return NULL;
    madvise(bytes, small, MADV_NOHUGEPAGE);
    if (size > small)
        madvise((uint8_t *)bytes + small, size - small, MADV_HUGEPAGE);
    return bytes;
}

static bool begin(struct large_copy *copy, size_t size)
{
    large_copy_release(copy);
    copy->bytes = large_copy_memory(size);
    copy->size = size;
    return copy->bytes != NULL;
}

bool large_copy_part(struct large_copy *copy, struct dueq_slice value, size_t most)
{
    size_t left;

    if ((copy->bytes == NULL || copy->size != value.size) && !begin(copy, value.size))
        return false;
    left = copy->size - copy->at;
    if (most > left)
        most = left;
    memcpy(copy->bytes + copy->at, (const uint8_t *)value.data + copy->at, most);
    copy->at += most;
    return most == left;
}

void large_copy_put(struct large_copy *copy, struct kv *kv, const struct kv_key *key)
{
    struct dueq_loan loan = {copy->bytes, copy->bytes, copy->size, 0};

    kv_lend(kv, &loan, 1);
    kv_put(kv, kv_key_slice(key), dueq_slice(copy->bytes, copy->size), true);
    kv_lend(kv, NULL, 0);
    copy->bytes = loan.memory;
    large_copy_release(copy);
}

void large_copy_release(struct large_copy *copy)
{
    free(copy->bytes);
    *copy = (struct large_copy){NULL, 0, 0};
}
