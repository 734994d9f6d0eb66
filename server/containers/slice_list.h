/* Copies of slices in one block of bytes, which outlive changes of the store. */
#ifndef DUEQ_SLICE_LIST_H
#define DUEQ_SLICE_LIST_H

#include "protocol/buffer.h"
#include "storage/slice.h"

struct slice_list {
    struct buffer bytes;
    size_t count;
};

void slice_list_init(struct slice_list *list); /* allocates nothing */
void slice_list_release(struct slice_list *list);

bool slice_list_add(struct slice_list *list, struct dueq_slice slice); /* false: no memory */

/* Walks from the first to the last: *at begins at 0. False: there are no more. The slice is
 * valid until the next add. */
bool slice_list_next(const struct slice_list *list, size_t *at, struct dueq_slice *ret_slice);

#endif
