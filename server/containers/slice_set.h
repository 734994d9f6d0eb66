/* Copies of slices, each once: to tell what has been seen. */
#ifndef DUEQ_SLICE_SET_H
#define DUEQ_SLICE_SET_H

#include "storage/slice.h"

#include <stdbool.h>

struct slice_set; /* NULL: the empty one */

/* *ret_added false: it was there. The call is false when there is no memory. O(1). */
bool slice_set_add(struct slice_set **set, struct dueq_slice slice, bool *ret_added);
void slice_set_free(struct slice_set *set);

#endif
