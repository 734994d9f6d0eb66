#include "storage/keys/index/entry_value.h"

#include "storage/keys/record/entry_record.h"
#include "storage/keys/index/unsaved.h"
#include "storage/kv/kv.h"

#include <assert.h>

static enum dueq_status stored_value(struct keys *keys, const struct keys_entry *entry,
                                     struct dueq_slice *ret_value)
{
    struct entry_record read;
    struct dueq_slice record;
    struct kv_key key;
    enum dueq_status status;

    entry_record_own_key(keys, entry, &key);
    status = kv_get(keys->kv, kv_key_slice(&key), &record);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    if (!entry_record_read(kv_key_slice(&key), record, &read) || !read.packed)
        return DUEQ_CORRUPT;
    *ret_value = read.value;
    return DUEQ_OK;
}

enum dueq_status entry_value_get(struct keys *keys, const struct keys_entry *entry,
                                 struct dueq_slice *ret_value)
{
    if (entry->value.bytes == NULL && entry->stored)
        return stored_value(keys, entry, ret_value);
    *ret_value = packed_slice(&entry->value);
    return DUEQ_OK;
}

static enum dueq_status load_value(struct keys *keys, struct keys_entry *entry,
                                   struct dueq_slice value)
{
    if (!packed_load(&entry->value, value))
        return DUEQ_NOMEM;
    unsaved_add_value(keys, entry);
    return DUEQ_OK;
}

enum dueq_status entry_value_edit(struct keys *keys, struct keys_entry *entry)
{
    struct dueq_slice value = {NULL, 0};
    enum dueq_status status = DUEQ_OK;

    if (entry->value.bytes == NULL) {
        status = unsaved_admit(keys);
        if (status == DUEQ_OK && entry->stored)
            status = stored_value(keys, entry, &value);
        if (status == DUEQ_OK)
            status = load_value(keys, entry, value);
    }
    if (status == DUEQ_OK)
        unsaved_mark(keys, entry);
    return status;
}

void entry_value_write(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    assert(!entry_value_outgrows(entry, value.size));
    entry->packed = true;
    entry_record_put(keys, entry, value);
    unsaved_unmark(keys, entry);
}

enum dueq_status entry_value_unpack(struct keys *keys, struct keys_entry *entry,
                                    struct packed *ret_value)
{
    enum dueq_status status = ret_value == NULL ? DUEQ_OK : entry_value_edit(keys, entry);

    if (status != DUEQ_OK)
        return status;
    if (ret_value != NULL)
        *ret_value = unsaved_take_value(keys, entry);
    else
        unsaved_drop_value(keys, entry);
    entry->packed = false;
    entry->object = keys->next_object++;
    keys->counters_dirty = true;
    unsaved_mark(keys, entry);
    return DUEQ_OK;
}

void entry_value_pack(struct keys *keys, struct keys_entry *entry, struct packed *value)
{
    unsaved_drop_value(keys, entry);
    entry->packed = true;
    entry->object = 0;
    entry->value = *value;
    *value = (struct packed){.bytes = NULL};
    unsaved_add_value(keys, entry);
    unsaved_mark(keys, entry);
}

bool entry_value_outgrows(const struct keys_entry *entry, size_t size)
{
    switch (entry->type) {
    case KEYS_STRING:
        return size > KEYS_PACKED_STRING;
    case KEYS_LIST:
        return size > KEYS_PACKED_LIST;
    case KEYS_SET:
        return size > (entry->encoding == KEYS_INTSET ? KEYS_PACKED_ORDER : KEYS_PACKED_LOOSE);
    case KEYS_HASH:
        return size >
               (entry->encoding == KEYS_LISTPACK ? KEYS_PACKED_ORDER : KEYS_PACKED_LOOSE);
    default:
        return size > KEYS_PACKED_LOOSE;
    }
}

enum dueq_status entry_value_copy(struct keys *keys, struct keys_entry *to,
                                  const struct keys_entry *from)
{
    struct dueq_slice value = {NULL, 0};
    enum dueq_status status = DUEQ_OK;

    to->type = from->type;
    to->encoding = from->encoding;
    to->packed = from->packed;
    to->object = from->object;
    to->count = from->count;
    to->head = from->head;
    if (!from->packed)
        return DUEQ_OK;
    status = unsaved_admit(keys);
    if (status == DUEQ_OK)
        status = entry_value_get(keys, from, &value);
    return status == DUEQ_OK ? load_value(keys, to, value) : status;
}
