/* Strings: the value stands in the directory's record when it is short, else under the object
 * id. */
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
    if (directory_has_value(entry))
        return directory_read_value(keys_of(view), entry, ret_value);
    key = value_key(entry->object);
    return kv_get(keys_of(view)->kv, kv_key_slice(&key), ret_value);
}

static void write_value(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    struct kv_key key = value_key(entry->object);

    kv_put(keys->kv, kv_key_slice(&key), value, entry->count == 0);
    entry->count = 1;
    directory_mark(keys, entry);
}

static void erase_value(struct keys *keys, struct keys_entry *entry)
{
    struct kv_key key = value_key(entry->object);

    kv_del(keys->kv, kv_key_slice(&key));
    entry->count = 0;
}

void string_put(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    if (!directory_takes_value(entry, value)) {
        write_value(keys, entry, value);
        return;
    }
    if (entry->count > 0)
        erase_value(keys, entry);
    directory_write_value(keys, entry, value);
}

/* The expiry first: writing a short value saves the entry as it is. */
enum dueq_status string_set(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice value, int64_t expires)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    enum dueq_status status = directory_open(view, name, KEYS_STRING, &entry);

    if (status == DUEQ_WRONGTYPE) {
        keys_make_way(view, name);
        status = directory_open(view, name, KEYS_STRING, &entry);
    }
    if (status != DUEQ_OK)
        return status;
    if (expires != KEYS_KEEP_EXPIRY && expires != entry->expires)
        directory_expire(keys, entry, expires);
    string_put(keys, entry, value);
    directory_touched(view, entry);
    return DUEQ_OK;
}
