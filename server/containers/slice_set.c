#include "server/containers/slice_set.h"

#include "server/containers/seeded_table.h"

#include <stdlib.h>
#include <string.h>

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
    if (seeded_table_holds(item))
        return true;
    free(item);
    return false;
}

/* The table goes first: the items are still linked to each other. */
void slice_set_free(struct slice_set *set)
{
    struct slice_set *item = set;

    HASH_CLEAR(hh, set);
    while (item != NULL) {
        struct slice_set *next = item->hh.next;

        free(item);
        item = next;
    }
}
