/* A value that is too large to be copied: the memtable and the batch that is not yet written
 * share it, by a reference count. Its bytes never change. */
#ifndef DUEQ_LARGE_VALUE_H
#define DUEQ_LARGE_VALUE_H

#include "storage/slice.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct large_value {
    struct large_value *next, *prev; /* in the list of the one memtable that holds it */
    _Atomic(unsigned) holders;       /* the last one to release it frees it */
    size_t size;
    const uint8_t *bytes;
    void *memory; /* malloc'ed block that contains `bytes`; NULL: they follow the struct */
};

/* Copies the parts, one after the other. The caller holds the value. NULL: out of memory. */
struct large_value *large_value_new(const struct dueq_slice *parts, size_t count);

/* Does not copy: takes over `memory`, which contains `bytes` and is freed with the value. The
 * caller holds the value. NULL: out of memory, `memory` stays the caller's. */
struct large_value *large_value_take(void *memory, const uint8_t *bytes, size_t size);

void large_value_hold(struct large_value *value);    /* any thread that holds it already */
void large_value_release(struct large_value *value); /* any thread; NULL is fine */

#endif
