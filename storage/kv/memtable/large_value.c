#include "storage/kv/memtable/large_value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* `room`: bytes after the struct. */
static struct large_value *new_value(size_t size, size_t room)
{
    struct large_value *value = malloc(sizeof(*value) + room);

    if (value == NULL)
        return NULL;
    *value = (struct large_value){.size = size, .bytes = (uint8_t *)(value + 1)};
    atomic_init(&value->holders, 1);
    return value;
}

struct large_value *large_value_new(const struct dueq_slice *parts, size_t count)
{
    struct large_value *value;
    size_t size = 0;
    uint8_t *at;

    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    value = new_value(size, size);
    if (value == NULL)
        return NULL;
    at = (uint8_t *)(value + 1);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].size > 0)
            memcpy(at, parts[i].data, parts[i].size);
        at += parts[i].size;
    }
    return value;
}

struct large_value *large_value_take(void *memory, const uint8_t *bytes, size_t size)
{
    struct large_value *value = new_value(size, 0);

    if (value == NULL)
        return NULL;
    value->bytes = bytes;
    value->memory = memory;
    return value;
}

void large_value_hold(struct large_value *value)
{
    unsigned before = atomic_fetch_add_explicit(&value->holders, 1, memory_order_relaxed);

    assert(before > 0);
    (void)before;
}

void large_value_release(struct large_value *value)
{
    unsigned before;

    if (value == NULL)
        return;
    before = atomic_fetch_sub_explicit(&value->holders, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    free(value->memory);
    free(value);
}
