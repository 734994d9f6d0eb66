/* The packed value of an entry: a small value inside the record of its key. Private to
 * storage/keys. A larger value has records of its own, and only entry_value_pack is for it. */
#ifndef DUEQ_ENTRY_VALUE_H
#define DUEQ_ENTRY_VALUE_H

#include "storage/keys/state/keys_internal.h"

/* Values of at most so many bytes are packed. A changed one is written anew once a turn. The
 * options for encodings do not matter here. */
enum {
    KEYS_PACKED_STRING = 256,
    KEYS_PACKED_LIST = 1024,
    KEYS_PACKED_LOOSE = 2048, /* where clients cannot see the order of the cells */
    KEYS_PACKED_ORDER = 8192  /* where they can: small hashes and sets of integers */
};

/* Returns the packed value, which lives until the next change. */
enum dueq_status entry_value_get(struct keys *keys, const struct keys_entry *entry,
                                 struct dueq_slice *ret_value);
/* Brings the packed value into entry->value, where the caller changes it, and marks the entry.
 * This may save other entries and release their values. Reserves room in the journal: a change
 * of a few bytes can write kilobytes. DUEQ_TOOBIG: one journal record cannot hold all unsaved
 * values. On failure nothing has changed. */
enum dueq_status entry_value_edit(struct keys *keys, struct keys_entry *entry);
/* Replaces the value by this packed one and saves the entry at once. */
void entry_value_write(struct keys *keys, struct keys_entry *entry, struct dueq_slice value);
/* From now on the value has records of its own, with the id entry->object. The caller writes
 * them from *ret_value, and releases that. ret_value NULL: the value is dropped, and the call
 * cannot fail. On failure nothing has changed. */
enum dueq_status entry_value_unpack(struct keys *keys, struct keys_entry *entry,
                                    struct packed *ret_value);
/* The reverse: takes over *value. The caller deletes the value's own records. */
void entry_value_pack(struct keys *keys, struct keys_entry *entry, struct packed *value);
/* Is a value of that size, bytes, too large to be packed? */
bool entry_value_outgrows(const struct keys_entry *entry, size_t size);
/* Copies type, count and encoding, and the value if it is packed, to a new entry. Records are
 * not copied: then both entries have the same object. */
enum dueq_status entry_value_copy(struct keys *keys, struct keys_entry *to,
                                  const struct keys_entry *from);

#endif
