/* A set of copied slices. */
#ifndef DUEQ_SLICE_SET_H
#define DUEQ_SLICE_SET_H

#include "storage/slice.h"

#include <stdbool.h>

struct slice_set; /* NULL: the empty one */

/* Adds a copy. *ret_added false: the set contains it already. False: out of memory. O(1). */
bool slice_set_add(struct slice_set **set, struct dueq_slice slice, bool *ret_added);
void slice_set_free(struct slice_set *set); /* NULL is fine */

#endif
