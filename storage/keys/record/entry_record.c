#include "storage/keys/record/entry_record.h"

#include "storage/bytes.h"
#include "storage/kv/kv.h"

#include <assert.h>
#include <stdlib.h>

/* ---- keys */

void entry_record_key(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                      uint64_t hash, struct kv_key *ret_key)
{
    kv_key_start(ret_key, TABLE_KEY);
    kv_key_u64(ret_key, physical);
    name_hash_append(ret_key, hash);
    if (name.size > 0)
        kv_key_name(ret_key, name, keys->seed);
}

void entry_record_own_key(const struct keys *keys, const struct keys_entry *entry,
                          struct kv_key *ret_key)
{
    entry_record_key(keys, entry->physical, keys_entry_name(entry), entry->hash, ret_key);
}

void entry_record_expiry_key(const struct keys *keys, const struct keys_entry *entry,
                             struct kv_key *ret_key)
{
    kv_key_start(ret_key, TABLE_EXPIRY);
    kv_key_time(ret_key, entry->expires);
    kv_key_u64(ret_key, entry->physical);
    name_hash_append(ret_key, entry->hash);
    if (entry->name_size > 0)
        kv_key_name(ret_key, keys_entry_name(entry), keys->seed);
}

struct dueq_slice entry_record_expiring_name(struct dueq_slice key, struct dueq_slice record)
{
    if (key.size == KV_KEY_MAX)
        return record;
    return dueq_slice((const uint8_t *)key.data + ENTRY_RECORD_EXPIRY_FIXED,
                      key.size - ENTRY_RECORD_EXPIRY_FIXED);
}

/* ---- values */

enum {
    RECORD_VERSION = 1,
    RECORD_FIXED = 4 /* version, type, encoding, flags */
};
enum { RECORD_EXPIRES = 1, RECORD_NAMED = 2, RECORD_PACKED = 4, RECORD_FLAGS = 7 };

/* Writes the part of the record before name and value. Returns its size, bytes. */
static size_t write_head(uint8_t *bytes, const struct keys_entry *entry, bool named)
{
    uint8_t *at = bytes + RECORD_FIXED;

    bytes[0] = RECORD_VERSION;
    bytes[1] = (uint8_t)entry->type;
    bytes[2] = (uint8_t)entry->encoding;
    bytes[3] = (uint8_t)((entry->expires != DUEQ_NEVER ? RECORD_EXPIRES : 0) |
                         (named ? RECORD_NAMED : 0) | (entry->packed ? RECORD_PACKED : 0));
    if (entry->expires != DUEQ_NEVER) {
        bytes_write_u64(at, (uint64_t)entry->expires);
        at += 8;
    }
    at += bytes_write_number(at, entry->count);
    if (!entry->packed) {
        at += bytes_write_number(at, entry->object);
        bytes_write_u64(at, (uint64_t)entry->head);
        at += 8;
    }
    if (named)
        at += bytes_write_number(at, entry->name_size);
    return (size_t)(at - bytes);
}

static const uint8_t *read_number_of_8(const uint8_t *at, const uint8_t *end,
                                       int64_t *ret_number)
{
    if (at == NULL || end - at < 8)
        return NULL;
    *ret_number = (int64_t)bytes_read_u64(at);
    return at + 8;
}

/* Reads the name, from the record when the key is folded, else from the key. */
static const uint8_t *read_name(struct dueq_slice key, const uint8_t *at, const uint8_t *end,
                                bool named, struct dueq_slice *ret_name)
{
    uint64_t size;

    if (!named) {
        *ret_name = dueq_slice((const uint8_t *)key.data + ENTRY_RECORD_KEY_FIXED,
                               key.size - ENTRY_RECORD_KEY_FIXED);
        return at;
    }
    at = bytes_read_number(at, end, &size);
    if (at == NULL || size > (size_t)(end - at))
        return NULL;
    *ret_name = dueq_slice(at, size);
    return at + size;
}

bool entry_record_read(struct dueq_slice key, struct dueq_slice record,
                       struct entry_record *ret_record)
{
    const uint8_t *bytes = record.data, *at = bytes + RECORD_FIXED, *end = bytes + record.size;
    struct entry_record read = {.expires = DUEQ_NEVER};

    if (key.size < ENTRY_RECORD_KEY_FIXED || record.size < RECORD_FIXED ||
        bytes[0] != RECORD_VERSION || bytes[1] < KEYS_STRING || bytes[1] > KEYS_HASH ||
        bytes[2] > KEYS_SKIPLIST || bytes[3] > RECORD_FLAGS)
        return false;
    read.type = (enum keys_type)bytes[1];
    read.encoding = (enum keys_encoding)bytes[2];
    read.packed = bytes[3] & RECORD_PACKED;
    if (bytes[3] & RECORD_EXPIRES)
        at = read_number_of_8(at, end, &read.expires);
    at = bytes_read_number(at, end, &read.count);
    if (!read.packed) {
        at = bytes_read_number(at, end, &read.object);
        at = read_number_of_8(at, end, &read.head);
    }
    at = at == NULL ? NULL : read_name(key, at, end, bytes[3] & RECORD_NAMED, &read.name);
    if (at == NULL)
        return false;
    read.value = dueq_slice(at, (size_t)(end - at));
    *ret_record = read;
    return true;
}

void entry_record_load(struct keys_entry *entry, const struct entry_record *record)
{
    entry->type = record->type;
    entry->encoding = record->encoding;
    entry->packed = record->packed;
    entry->object = record->object;
    entry->count = record->count;
    entry->expires = record->expires;
    entry->head = record->head;
    entry->stored = true;
}

struct keys_entry *entry_record_open(const struct keys *keys, uint64_t physical,
                                     const struct entry_record *record)
{
    struct dueq_slice name = record->name;
    struct keys_entry *entry = calloc(1, sizeof(*entry) + name.size);

    if (entry == NULL)
        return NULL;
    entry_record_load(entry, record);
    entry->physical = physical;
    entry->hash = name_hash(keys, name);
    entry->name_size = name.size;
    if (name.size > 0)
        memcpy(entry->name, name.data, name.size);
    return entry;
}

void entry_record_put(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    uint8_t head[ENTRY_RECORD_HEAD_MAX];
    struct dueq_slice parts[3];
    struct kv_key key;
    size_t count = 1;

    entry_record_own_key(keys, entry, &key);
    parts[0] = dueq_slice(head, write_head(head, entry, key.folded));
    assert(parts[0].size <= sizeof(head));
    if (key.folded)
        parts[count++] = keys_entry_name(entry);
    if (value.size > 0)
        parts[count++] = value;
    kv_putv(keys->kv, kv_key_slice(&key), parts, count, !entry->stored);
    entry->stored = true;
}
