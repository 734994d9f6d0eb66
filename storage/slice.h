/* A borrowed run of bytes. A slice owns nothing; the function that returns one says how long it
 * is valid. */
#ifndef DUEQ_SLICE_H
#define DUEQ_SLICE_H

#include <stddef.h>
#include <string.h>

struct dueq_slice {
    const void *data; /* may be NULL when size is 0 */
    size_t size;      /* bytes */
};

static inline struct dueq_slice dueq_slice(const void *data, size_t size)
{
    struct dueq_slice slice = {data, size}; /* no compound literal: C++ reads this too */

    return slice;
}

/* Compares bytes; a prefix is less than what it begins. This is the order of the key space.
 * Less than 0, 0, or greater than 0, as memcmp. */
static inline int dueq_slice_compare(struct dueq_slice a, struct dueq_slice b)
{
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static inline int dueq_slice_equal(struct dueq_slice a, struct dueq_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

#endif
