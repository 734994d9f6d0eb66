#include "storage/keys/string.h"

#include "storage/keys/index/entry_value.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/index/unsaved.h"
#include "storage/kv/kv.h"

enum { STRING_EMBEDDED_MAX = 44, STRING_INTEGER_MAX = 20 }; /* bytes */

static struct kv_key value_key(const struct keys_entry *entry)
{
    return object_key_prefix(TABLE_STRING, entry->object);
}

enum dueq_status string_get(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    struct kv_key key;
    enum dueq_status status = key_index_read(view, name, KEYS_STRING, &entry, ret_value);

    if (status != DUEQ_OK || entry->packed)
        return status;
    key = value_key(entry);
    return kv_get(view->keys->kv, kv_key_slice(&key), ret_value);
}

static enum keys_encoding encoding_of(struct dueq_slice value, enum string_origin origin)
{
    if (origin == STRING_GIVEN && value.size <= STRING_INTEGER_MAX && packed_is_integer(value))
        return KEYS_INT;
    return origin == STRING_EDITED || value.size > STRING_EMBEDDED_MAX ? KEYS_RAW : KEYS_EMBSTR;
}

static void write_long(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    bool absent = entry->packed;
    struct kv_key key;

    if (absent)
        entry_value_unpack(keys, entry, NULL);
    key = value_key(entry);
    kv_put(keys->kv, kv_key_slice(&key), value, absent);
    unsaved_mark(keys, entry);
}

static void write_short(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    struct kv_key key = value_key(entry);

    if (!entry->packed)
        kv_del(keys->kv, kv_key_slice(&key));
    entry_value_write(keys, entry, value);
}

/* Sets the expiry first, because write_short saves the entry at once. */
enum dueq_status string_set(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice value, int64_t expires, enum string_origin origin)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    enum dueq_status status = key_index_open(view, name, KEYS_STRING, &entry);

    if (status == DUEQ_WRONGTYPE) {
        if (expires == KEYS_KEEP_EXPIRY &&
            key_index_find(view, name, KEYS_NONE, &entry) == DUEQ_OK)
            expires = entry->expires;
        key_index_make_way(view, name);
        status = key_index_open(view, name, KEYS_STRING, &entry);
    }
    if (status != DUEQ_OK)
        return status;
    if (expires != KEYS_KEEP_EXPIRY && expires != entry->expires)
        key_index_set_expiry(keys, entry, expires);
    entry->encoding = encoding_of(value, origin);
    entry->count = 1;
    if (entry_value_outgrows(entry, value.size))
        write_long(keys, entry, value);
    else
        write_short(keys, entry, value);
    key_index_touched(view, entry);
    return DUEQ_OK;
}

enum dueq_status string_make_raw(const struct keys_view *view, struct dueq_slice name)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_STRING, &entry);

    if (status != DUEQ_OK || entry->encoding == KEYS_RAW)
        return status;
    if (entry->packed)
        status = entry_value_edit(keys, entry);
    if (status != DUEQ_OK)
        return status;
    entry->encoding = KEYS_RAW;
    unsaved_mark(keys, entry);
    return DUEQ_OK;
}
