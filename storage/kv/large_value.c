#include "storage/kv/large_value.h"

#include <stdlib.h>
#include <string.h>

struct large_value *large_value_new(const struct dueq_slice *parts, size_t count)
{
    struct large_value *value;
    size_t size = 0;
    uint8_t *at;

    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    value = malloc(sizeof(*value) + size);
    if (value == NULL)
        return NULL;
    value->next = value->prev = NULL;
    atomic_init(&value->holders, 1);
    value->size = size;
    at = value->bytes;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].size > 0)
            memcpy(at, parts[i].data, parts[i].size);
        at += parts[i].size;
    }
    return value;
}

void large_value_hold(struct large_value *value)
{
    atomic_fetch_add_explicit(&value->holders, 1, memory_order_relaxed);
}

void large_value_release(struct large_value *value)
{
    if (value != NULL &&
        atomic_fetch_sub_explicit(&value->holders, 1, memory_order_acq_rel) == 1)
        free(value);
}
