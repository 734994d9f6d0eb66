#include "server/slice_set.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* hh.tbl is NULL then */
#include <uthash.h>

struct slice_set {
    UT_hash_handle hh;
    char bytes[];
};

bool slice_set_add(struct slice_set **set, struct dueq_slice slice, bool *ret_added)
{
    struct slice_set *item = NULL;

    HASH_FIND(hh, *set, slice.data, slice.size, item);
    *ret_added = item == NULL;
    if (item != NULL)
        return true;
    item = malloc(sizeof(*item) + slice.size);
    if (item == NULL)
        return false;
    if (slice.size > 0)
        memcpy(item->bytes, slice.data, slice.size);
    HASH_ADD_KEYPTR(hh, *set, item->bytes, slice.size, item);
    if (item->hh.tbl != NULL)
        return true;
    free(item);
    return false;
}

void slice_set_free(struct slice_set *set)
{
    struct slice_set *item, *next;

    HASH_ITER(hh, set, item, next)
    {
        HASH_DEL(set, item);
        free(item);
    }
}
