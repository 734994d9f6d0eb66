/* The index of keys: database and name -> type, object id, count, expiry. Private to
 * storage/keys.
 *
 * Open entries are cached in RAM. A changed one is usually written once, when the batch is
 * committed (key_index_save), however many commands of the turn changed it; earlier when more
 * than KEYS_UNSAVED_MAX packed values are changed. An entry lives until key_index_save, or
 * until it is removed. */
#ifndef DUEQ_KEY_INDEX_H
#define DUEQ_KEY_INDEX_H

#include "storage/keys/index/keys_internal.h"
#include "storage/keys/index/name_hash.h"
#include "storage/keys/index/object_key.h"

enum {
    KEYS_CACHE_MAX = 4096, /* open entries kept after a commit */

    /* Values of up to so many bytes are in the key's own record, which is written anew once a
     * turn when they change. The options for encodings do not matter here. */
    KEYS_PACKED_STRING = 256,
    KEYS_PACKED_LIST = 1024,
    KEYS_PACKED_LOOSE = 2048, /* where clients cannot see the order of the cells */
    KEYS_PACKED_ORDER = 8192, /* where they can: small hashes and sets of integers */
    KEYS_UNSAVED_MAX = 1024,  /* packed values that are changed and not yet saved */

    KEY_INDEX_KEY_FIXED = 1 + 8 + NAME_HASH_BYTES,
    EXPIRY_KEY_FIXED = 1 + 8 + 8 + NAME_HASH_BYTES
};

/* ---- finding. O(log n), O(1) for an open entry */

/* Finds the key; one whose expiry has passed is DUEQ_NOTFOUND. wanted KEYS_NONE: of any type;
 * DUEQ_WRONGTYPE: it has another one. */
enum dueq_status key_index_find(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry);
/* As key_index_find; an absent key is created, empty. */
enum dueq_status key_index_open(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type type, struct keys_entry **ret_entry);

/* ---- changing */

/* The encoding of a value of that type that has just got records of its own. A sorted set may
 * still have the small encoding. */
enum keys_encoding key_index_large_encoding(enum keys_type type);
/* The entry will be saved. */
void key_index_mark_dirty(struct keys *keys, struct keys_entry *entry);
/* The entry will be saved, and the change is recorded. Removes and frees an entry that has no
 * elements and is not a string. */
void key_index_changed(const struct keys_view *view, struct keys_entry *entry);
/* Records a change of the value that left the entry as it is. */
void key_index_touched(const struct keys_view *view, const struct keys_entry *entry);
/* Removes the key and erases its elements (reclaim.h). Frees the entry. */
void key_index_remove(struct keys *keys, struct keys_entry *entry, bool expired);
/* After a failure: removes an entry that was opened for elements that were not added. */
void key_index_drop_empty(struct keys *keys, struct keys_entry *entry);
/* Removes what has that name, expired or not. DUEQ_OK also when there was nothing. */
enum dueq_status key_index_make_free(const struct keys_view *view, struct dueq_slice name);
/* Sets the expiry and its record. DUEQ_NEVER: none. */
void key_index_set_expiry(struct keys *keys, struct keys_entry *entry, int64_t at);
/* Gives the value of `from` to a new name, which must be free, and frees `from`. On failure
 * nothing has changed. */
enum dueq_status key_index_relink(struct keys *keys, struct keys_entry *from, unsigned database,
                                  struct dueq_slice name);

/* ---- all of it */

enum dueq_status key_index_load(struct keys *keys);
/* Writes changed entries and counters, and closes entries above KEYS_CACHE_MAX. */
void key_index_save(struct keys *keys);
/* Closes the open entries of a physical database; drops their unsaved changes. */
void key_index_forget(struct keys *keys, uint64_t physical);

/* ---- records */

/* The content of a key's record; the slices point into key and record. */
struct key_index_record {
    enum keys_type type;
    enum keys_encoding encoding;
    bool packed;
    uint64_t object, count;
    int64_t expires, head;
    struct dueq_slice name, value; /* value: packed */
};
/* False: the record is damaged. */
bool key_index_read_record(struct dueq_slice key, struct dueq_slice record,
                           struct key_index_record *ret_record);
/* The whole name that belongs to an expiry record. */
struct dueq_slice key_index_expiring_name(struct dueq_slice key, struct dueq_slice record);
/* Builds the key of an entry's record. */
void key_index_key(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                   struct kv_key *ret_key);

/* ---- packed values */

/* Returns the packed value, which lives until the next change. */
enum dueq_status key_index_value(struct keys *keys, const struct keys_entry *entry,
                                 struct dueq_slice *ret_value);
/* Brings the packed value into entry->value, to be changed there, and marks the entry. This may
 * save other entries and release their values. Reserves room in the journal: a change of a few
 * bytes can write kilobytes. DUEQ_TOOBIG: one journal record cannot hold all unsaved values. On
 * failure nothing has changed. */
enum dueq_status key_index_edit(struct keys *keys, struct keys_entry *entry);
/* Replaces the value by this packed one and saves the entry at once. */
void key_index_write_value(struct keys *keys, struct keys_entry *entry,
                           struct dueq_slice value);
/* From now on the value has records of its own, with the id entry->object. The caller writes
 * them from *ret_value, and releases that. ret_value NULL: the value is dropped, and the call
 * cannot fail. On failure nothing has changed. */
enum dueq_status key_index_unpack(struct keys *keys, struct keys_entry *entry,
                                  struct packed *ret_value);
/* The reverse: takes over *value. The caller deletes the value's own records. */
void key_index_pack(struct keys *keys, struct keys_entry *entry, struct packed *value);
/* Is a value of that size, bytes, too large to be packed? */
bool key_index_outgrows(const struct keys_entry *entry, size_t size);
/* Copies type, count and encoding, and the value if it is packed, to a new entry. Records are
 * not copied: then both entries have the same object. */
enum dueq_status key_index_take_value(struct keys *keys, struct keys_entry *to,
                                      const struct keys_entry *from);

#endif
