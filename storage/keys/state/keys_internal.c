#include "storage/keys/state/keys_internal.h"

#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <assert.h>
#include <stdlib.h>

struct kv_cursor *keys_take_cursor(struct keys *keys)
{
    struct kv_cursor **cursor;

    if (keys->cursors_taken == sizeof(keys->cursors) / sizeof(keys->cursors[0]))
        return NULL;
    cursor = &keys->cursors[keys->cursors_taken];
    if (*cursor == NULL)
        *cursor = kv_cursor_new(keys->kv);
    if (*cursor != NULL)
        keys->cursors_taken++;
    return *cursor;
}

void keys_give_cursor(struct keys *keys)
{
    assert(keys->cursors_taken > 0);
    keys->cursors_taken--;
}

void keys_lower_bound(struct kv_key *bound, const struct kv_key *key)
{
    if (dueq_slice_compare(kv_key_slice(key), kv_key_slice(bound)) < 0)
        *bound = *key;
}

uint8_t *keys_reserve(struct keys *keys, size_t size)
{
    uint8_t *grown;

    if (keys->scratch != NULL && size <= keys->scratch_size)
        return keys->scratch;
    grown = realloc(keys->scratch, size + 64);
    if (grown == NULL)
        return NULL;
    keys->scratch = grown;
    keys->scratch_size = size + 64;
    return grown;
}

struct dueq_slice keys_keep(struct keys *keys, struct dueq_slice value)
{
    uint8_t *bytes = keys_reserve(keys, value.size);

    if (bytes == NULL)
        return dueq_slice(NULL, 0);
    if (value.size > 0)
        memcpy(bytes, value.data, value.size);
    return dueq_slice(bytes, value.size);
}
