#include "storage/keys/index/unsaved.h"

#include "storage/keys/record/entry_record.h"
#include "storage/keys/index/entry_value.h"
#include "storage/kv/kv.h"
#include "storage/kv/room.h"

#include <assert.h>
#include <utlist.h>

void unsaved_mark(struct keys *keys, struct keys_entry *entry)
{
    if (entry->dirty)
        return;
    entry->dirty = true;
    DL_APPEND(keys->changed, entry);
}

void unsaved_add_value(struct keys *keys, const struct keys_entry *entry)
{
    assert(entry->packed && entry->value.bytes != NULL);
    keys->unsaved++;
    keys->unsaved_bytes += entry->value.size;
}

struct packed unsaved_take_value(struct keys *keys, struct keys_entry *entry)
{
    struct packed value = entry->value;

    assert(value.bytes != NULL && keys->unsaved > 0);
    entry->value = (struct packed){.bytes = NULL};
    keys->unsaved--;
    if (keys->unsaved == 0)
        keys->unsaved_bytes = 0;
    return value;
}

void unsaved_drop_value(struct keys *keys, struct keys_entry *entry)
{
    struct packed value;

    if (entry->value.bytes == NULL)
        return;
    value = unsaved_take_value(keys, entry);
    packed_release(&value);
}

void unsaved_unmark(struct keys *keys, struct keys_entry *entry)
{
    if (entry->dirty)
        DL_DELETE(keys->changed, entry);
    entry->dirty = false;
    unsaved_drop_value(keys, entry);
}

/* A packed entry that is stored and whose value is not in memory has not changed: before a
 * change, entry_value_edit loads the value. */
void unsaved_save(struct keys *keys, struct keys_entry *entry)
{
    if (!entry->packed || !entry->stored || entry->value.bytes != NULL)
        entry_record_put(keys, entry, packed_slice(&entry->value));
    unsaved_unmark(keys, entry);
}

void unsaved_save_all(struct keys *keys)
{
    while (keys->changed != NULL)
        unsaved_save(keys, keys->changed);
}

enum dueq_status unsaved_admit(struct keys *keys)
{
    size_t coming = KEYS_PACKED_ORDER + KV_KEY_MAX + ENTRY_RECORD_HEAD_MAX;

    if (keys->unsaved >= KEYS_UNSAVED_MAX)
        unsaved_save_all(keys);
    coming += keys->unsaved_bytes + keys->unsaved * (KV_KEY_MAX + ENTRY_RECORD_HEAD_MAX);
    return kv_room(keys->kv, coming) == DUEQ_TOOBIG ? DUEQ_TOOBIG : DUEQ_OK;
}
