#include "server/containers/slice_list.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

void slice_list_init(struct slice_list *list)
{
    buffer_init(&list->bytes, SIZE_MAX / 2);
    list->count = 0;
}

void slice_list_release(struct slice_list *list)
{
    buffer_release(&list->bytes);
}

/* Each slice comes after its size. */
bool slice_list_add(struct slice_list *list, struct dueq_slice slice)
{
    char *space = buffer_reserve(&list->bytes, sizeof(slice.size) + slice.size);

    if (space == NULL)
        return false;
    memcpy(space, &slice.size, sizeof(slice.size));
    if (slice.size > 0)
        memcpy(space + sizeof(slice.size), slice.data, slice.size);
    buffer_commit(&list->bytes, sizeof(slice.size) + slice.size);
    list->count++;
    return true;
}

bool slice_list_next(const struct slice_list *list, size_t *at, struct dueq_slice *ret_slice)
{
    const char *here;
    size_t size;

    assert(*at <= buffer_size(&list->bytes));
    if (*at == buffer_size(&list->bytes))
        return false;
    here = buffer_content(&list->bytes) + *at;
    memcpy(&size, here, sizeof(size));
    *ret_slice = dueq_slice(here + sizeof(size), size);
    *at += sizeof(size) + size;
    return true;
}
