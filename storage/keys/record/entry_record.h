/* The record of a key, and the keys of this record and of its expiry record. Private to
 * storage/keys. Format: FORMAT.md, tables k and e. */
#ifndef DUEQ_ENTRY_RECORD_H
#define DUEQ_ENTRY_RECORD_H

#include "storage/bytes.h"
#include "storage/keys/state/keys_internal.h"
#include "storage/keys/state/name_hash.h"
#include "storage/keys/record/object_key.h"

enum {
    ENTRY_RECORD_KEY_FIXED = 1 + 8 + NAME_HASH_BYTES, /* bytes of a key before the name */
    ENTRY_RECORD_EXPIRY_FIXED = 1 + 8 + 8 + NAME_HASH_BYTES,
    ENTRY_RECORD_HEAD_MAX = 4 + 8 + 2 * BYTES_NUMBER_MAX + 8 + BYTES_NUMBER_MAX /* the value
                                                                    without name and content */
};

/* The content of a key's record; the slices point into key and record. */
struct entry_record {
    enum keys_type type;
    enum keys_encoding encoding;
    bool packed;
    uint64_t object, count;
    int64_t expires, head;
    struct dueq_slice name, value; /* value: packed */
};

/* Builds the key of the record. hash: name_hash() of the name. */
void entry_record_key(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                      uint64_t hash, struct kv_key *ret_key);
/* Builds the key of the entry's record. */
void entry_record_own_key(const struct keys *keys, const struct keys_entry *entry,
                          struct kv_key *ret_key);
/* Builds the key of the expiry record, for the entry's present expiry. */
void entry_record_expiry_key(const struct keys *keys, const struct keys_entry *entry,
                             struct kv_key *ret_key);
/* The whole name that belongs to an expiry record. */
struct dueq_slice entry_record_expiring_name(struct dueq_slice key, struct dueq_slice record);

/* False: the record is damaged. */
bool entry_record_read(struct dueq_slice key, struct dueq_slice record,
                       struct entry_record *ret_record);
/* Fills a new entry; not the packed value. */
void entry_record_load(struct keys_entry *entry, const struct entry_record *record);
/* Makes an entry like an open one, which belongs to the caller (free). NULL: out of memory. */
struct keys_entry *entry_record_open(const struct keys *keys, uint64_t physical,
                                     const struct entry_record *record);
/* Writes the record. value: the packed value, or empty. */
void entry_record_put(struct keys *keys, struct keys_entry *entry, struct dueq_slice value);

#endif
