/* A value that is too large to be copied from hand to hand: shared by the memtable and by the
 * journal's record that is yet to be written. Its bytes never change. */
#ifndef DUEQ_LARGE_VALUE_H
#define DUEQ_LARGE_VALUE_H

#include "storage/slice.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct large_value {
    struct large_value *next, *prev; /* in the list of the memtable that holds it */
    _Atomic(unsigned) holders;       /* the last one frees it */
    size_t size;
    const uint8_t *bytes;
    void *memory; /* that the bytes lie in, when it is not its own; for free() */
};

/* The concatenation of the parts, held once. NULL: out of memory. */
struct large_value *large_value_new(const struct dueq_slice *parts, size_t count);

/* The bytes as they lie, in memory that is taken over. NULL: out of memory, nothing is taken.
 */
struct large_value *large_value_take(void *memory, const uint8_t *bytes, size_t size);

void large_value_hold(struct large_value *value);    /* any thread that may let go of it */
void large_value_release(struct large_value *value); /* any thread; NULL is fine */

#endif
