/* Strings: one value under the object id. */
#include "storage/keys/directory.h"

static struct kv_key value_key(uint64_t object)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_STRING);
    kv_key_u64(&key, object);
    return key;
}

enum dueq_status string_get(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    struct kv_key key;
    enum dueq_status status = directory_find(view, name, KEYS_STRING, &entry);

    if (status != DUEQ_OK)
        return status;
    key = value_key(entry->object);
    return kv_get(keys_of(view)->kv, kv_key_slice(&key), ret_value);
}

enum dueq_status string_set(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice value, int64_t expires)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    struct kv_key key;
    enum dueq_status status = directory_open(view, name, KEYS_STRING, &entry);

    if (status == DUEQ_WRONGTYPE) {
        keys_del(view, name);
        status = directory_open(view, name, KEYS_STRING, &entry);
    }
    if (status != DUEQ_OK)
        return status;
    key = value_key(entry->object);
    kv_put(keys->kv, kv_key_slice(&key), value, !entry->stored && entry->count == 0);
    entry->count = 1;
    if (expires != KEYS_KEEP_EXPIRY && expires != entry->expires)
        directory_expire(keys, entry, expires);
    directory_touched(view, entry);
    return DUEQ_OK;
}
