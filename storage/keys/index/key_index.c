#include "storage/keys/index/key_index.h"

#include "storage/bytes.h"
#include "storage/keys/index/reclaim.h"
#include "storage/keys/index/unfinished.h"
#include "storage/kv/kv.h"
#include "storage/kv/room.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- keys of records */

void key_index_key(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                   struct kv_key *ret_key)
{
    kv_key_start(ret_key, TABLE_KEY);
    kv_key_u64(ret_key, physical);
    name_hash_append(ret_key, name_hash(keys, name));
    if (name.size > 0)
        kv_key_name(ret_key, name, keys->seed);
}

static void expiry_key(const struct keys *keys, const struct keys_entry *entry,
                       struct kv_key *ret_key)
{
    kv_key_start(ret_key, TABLE_EXPIRY);
    kv_key_time(ret_key, entry->expires);
    kv_key_u64(ret_key, entry->physical);
    name_hash_append(ret_key, name_hash(keys, keys_entry_name(entry)));
    if (entry->name_size > 0)
        kv_key_name(ret_key, keys_entry_name(entry), keys->seed);
}

struct dueq_slice key_index_expiring_name(struct dueq_slice key, struct dueq_slice record)
{
    if (key.size == KV_KEY_MAX)
        return record;
    return dueq_slice((const uint8_t *)key.data + EXPIRY_KEY_FIXED,
                      key.size - EXPIRY_KEY_FIXED);
}

/* ---- records */

enum {
    RECORD_VERSION = 1,
    RECORD_FIXED = 4, /* version, type, encoding, flags */
    RECORD_HEAD_MAX = RECORD_FIXED + 8 + 2 * BYTES_NUMBER_MAX + 8 + BYTES_NUMBER_MAX
};
enum { RECORD_EXPIRES = 1, RECORD_NAMED = 2, RECORD_PACKED = 4 };

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
        *ret_name = dueq_slice((const uint8_t *)key.data + KEY_INDEX_KEY_FIXED,
                               key.size - KEY_INDEX_KEY_FIXED);
        return at;
    }
    at = bytes_read_number(at, end, &size);
    if (at == NULL || size > (size_t)(end - at))
        return NULL;
    *ret_name = dueq_slice(at, size);
    return at + size;
}

bool key_index_read_record(struct dueq_slice key, struct dueq_slice record,
                           struct key_index_record *ret_record)
{
    const uint8_t *bytes = record.data, *at = bytes + RECORD_FIXED, *end = bytes + record.size;
    struct key_index_record read = {.expires = DUEQ_NEVER};

    if (record.size < RECORD_FIXED || bytes[0] != RECORD_VERSION || bytes[1] < KEYS_STRING ||
        bytes[1] > KEYS_HASH || bytes[2] > KEYS_SKIPLIST)
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

static void put_record(struct keys *keys, struct keys_entry *entry, const struct kv_key *key,
                       struct dueq_slice value)
{
    uint8_t head[RECORD_HEAD_MAX];
    struct dueq_slice parts[3] = {dueq_slice(head, write_head(head, entry, key->folded))};
    size_t count = 1;

    if (key->folded)
        parts[count++] = keys_entry_name(entry);
    if (value.size > 0)
        parts[count++] = value;
    kv_putv(keys->kv, kv_key_slice(key), parts, count, !entry->stored);
    entry->stored = true;
}

/* ---- packed values */

static enum dueq_status stored_value(struct keys *keys, const struct keys_entry *entry,
                                     struct dueq_slice *ret_value)
{
    struct key_index_record read;
    struct dueq_slice record;
    struct kv_key key;
    enum dueq_status status;

    key_index_key(keys, entry->physical, keys_entry_name(entry), &key);
    status = kv_get(keys->kv, kv_key_slice(&key), &record);
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    if (!key_index_read_record(kv_key_slice(&key), record, &read) || !read.packed)
        return DUEQ_CORRUPT;
    *ret_value = read.value;
    return DUEQ_OK;
}

enum dueq_status key_index_value(struct keys *keys, const struct keys_entry *entry,
                                 struct dueq_slice *ret_value)
{
    if (entry->value.bytes == NULL && entry->stored)
        return stored_value(keys, entry, ret_value);
    *ret_value = packed_slice(&entry->value);
    return DUEQ_OK;
}

static void release_unsaved(struct keys *keys)
{
    assert(keys->unsaved > 0);
    keys->unsaved--;
    if (keys->unsaved == 0)
        keys->unsaved_bytes = 0;
}

static void drop_value(struct keys *keys, struct keys_entry *entry)
{
    if (entry->value.bytes == NULL)
        return;
    release_unsaved(keys);
    packed_release(&entry->value);
}

static enum dueq_status load_value(struct keys *keys, struct keys_entry *entry,
                                   struct dueq_slice value)
{
    if (!packed_load(&entry->value, value))
        return DUEQ_NOMEM;
    keys->unsaved++;
    keys->unsaved_bytes += value.size;
    return DUEQ_OK;
}

static void unmark(struct keys *keys, struct keys_entry *entry)
{
    if (entry->dirty)
        DL_DELETE(keys->changed, entry);
    entry->dirty = false;
    drop_value(keys, entry);
}

/* An entry that is packed, stored and without its value has nothing new in its record: its
 * value is loaded before any change (key_index_edit). */
static void save_entry(struct keys *keys, struct keys_entry *entry)
{
    struct kv_key key;

    key_index_key(keys, entry->physical, keys_entry_name(entry), &key);
    if (!entry->packed || !entry->stored || entry->value.bytes != NULL)
        put_record(keys, entry, &key, packed_slice(&entry->value));
    unmark(keys, entry);
}

static void save_entries(struct keys *keys)
{
    while (keys->changed != NULL)
        save_entry(keys, keys->changed);
}

/* Makes room for one more unsaved value. DUEQ_FULL does not count: commands that free space
 * change packed values, too, and commands that grow the store were refused before. */
static enum dueq_status admit_value(struct keys *keys)
{
    size_t coming = KEYS_PACKED_ORDER + KV_KEY_MAX + RECORD_HEAD_MAX;

    if (keys->unsaved >= KEYS_UNSAVED_MAX)
        save_entries(keys);
    coming += keys->unsaved_bytes + keys->unsaved * (KV_KEY_MAX + RECORD_HEAD_MAX);
    return kv_room(keys->kv, coming) == DUEQ_TOOBIG ? DUEQ_TOOBIG : DUEQ_OK;
}

enum dueq_status key_index_edit(struct keys *keys, struct keys_entry *entry)
{
    struct dueq_slice value = {NULL, 0};
    enum dueq_status status = DUEQ_OK;

    if (entry->value.bytes == NULL) {
        status = admit_value(keys);
        if (status == DUEQ_OK && entry->stored)
            status = stored_value(keys, entry, &value);
        if (status == DUEQ_OK)
            status = load_value(keys, entry, value);
    }
    if (status == DUEQ_OK)
        key_index_mark_dirty(keys, entry);
    return status;
}

void key_index_write_value(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    struct kv_key key;

    assert(!key_index_outgrows(entry, value.size));
    entry->packed = true;
    key_index_key(keys, entry->physical, keys_entry_name(entry), &key);
    put_record(keys, entry, &key, value);
    unmark(keys, entry);
}

enum dueq_status key_index_unpack(struct keys *keys, struct keys_entry *entry,
                                  struct packed *ret_value)
{
    enum dueq_status status = ret_value == NULL ? DUEQ_OK : key_index_edit(keys, entry);

    if (status != DUEQ_OK)
        return status;
    if (ret_value != NULL) {
        *ret_value = entry->value;
        entry->value = (struct packed){.bytes = NULL};
        release_unsaved(keys);
    }
    drop_value(keys, entry);
    entry->packed = false;
    entry->object = keys->next_object++;
    keys->counters_dirty = true;
    key_index_mark_dirty(keys, entry);
    return DUEQ_OK;
}

void key_index_pack(struct keys *keys, struct keys_entry *entry, struct packed *value)
{
    drop_value(keys, entry);
    entry->packed = true;
    entry->object = 0;
    entry->value = *value;
    *value = (struct packed){.bytes = NULL};
    keys->unsaved++;
    keys->unsaved_bytes += entry->value.size;
    key_index_mark_dirty(keys, entry);
}

bool key_index_outgrows(const struct keys_entry *entry, size_t size)
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

static bool read_entry(struct keys_entry *entry, struct dueq_slice key,
                       struct dueq_slice record)
{
    struct key_index_record read;

    if (!key_index_read_record(key, record, &read))
        return false;
    entry->type = read.type;
    entry->encoding = read.encoding;
    entry->packed = read.packed;
    entry->object = read.object;
    entry->count = read.count;
    entry->expires = read.expires;
    entry->head = read.head;
    entry->stored = true;
    return true;
}

/* ---- the cache of open entries */

static size_t identity_size(size_t name_size)
{
    return sizeof(uint64_t) + name_size;
}

static void link_newest(struct keys *keys, struct keys_entry *entry)
{
    entry->older = keys->newest;
    entry->newer = NULL;
    if (keys->newest != NULL)
        keys->newest->newer = entry;
    keys->newest = entry;
    if (keys->oldest == NULL)
        keys->oldest = entry;
}

static void unlink_entry(struct keys *keys, struct keys_entry *entry)
{
    if (entry->newer != NULL)
        entry->newer->older = entry->older;
    else
        keys->newest = entry->older;
    if (entry->older != NULL)
        entry->older->newer = entry->newer;
    else
        keys->oldest = entry->newer;
}

/* uthash wants the identity (physical, name) in one piece of memory. */
static size_t write_identity(uint8_t *bytes, uint64_t physical, struct dueq_slice name)
{
    memcpy(bytes, &physical, sizeof(physical));
    if (name.size > 0)
        memcpy(bytes + sizeof(physical), name.data, name.size);
    return identity_size(name.size);
}

static unsigned identity_hash(const struct keys *keys, uint64_t physical,
                              struct dueq_slice name)
{
    return (unsigned)XXH3_64bits_withSeed(name.data, name.size, keys->seed ^ physical);
}

static struct keys_entry *cached(struct keys *keys, uint64_t physical, struct dueq_slice name)
{
    unsigned hash = identity_hash(keys, physical, name);
    struct keys_entry *entry = NULL;
    uint8_t small[256], *identity = small;
    size_t size = identity_size(name.size);

    if (size > sizeof(small))
        identity = malloc(size);
    if (identity == NULL)
        return NULL;
    write_identity(identity, physical, name);
    HASH_FIND_BYHASHVALUE(hh, keys->entries, identity, size, hash, entry);
    if (identity != small)
        free(identity);
    return entry;
}

/* The identity is kept after the name in the same allocation. */
static struct keys_entry *new_entry(struct keys *keys, unsigned logical, uint64_t physical,
                                    struct dueq_slice name)
{
    size_t size = identity_size(name.size);
    struct keys_entry *entry = calloc(1, sizeof(*entry) + name.size + size);
    uint8_t *identity;

    if (entry == NULL)
        return NULL;
    entry->logical = (uint16_t)logical;
    entry->physical = physical;
    entry->expires = DUEQ_NEVER;
    entry->used = keys->access.effects & ACCESS_TOUCH ? keys->access.now : keys->access.closed;
    entry->name_size = name.size;
    if (name.size > 0)
        memcpy(entry->name, name.data, name.size);
    identity = entry->name + name.size;
    write_identity(identity, physical, name);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, keys->entries, identity, size,
                                identity_hash(keys, physical, name), entry);
    if (entry->hh.tbl == NULL) {
        free(entry);
        return NULL;
    }
    link_newest(keys, entry);
    return entry;
}

void key_index_mark_dirty(struct keys *keys, struct keys_entry *entry)
{
    if (entry->dirty)
        return;
    entry->dirty = true;
    DL_APPEND(keys->changed, entry);
}

static void drop_entry(struct keys *keys, struct keys_entry *entry)
{
    unmark(keys, entry);
    HASH_DEL(keys->entries, entry);
    unlink_entry(keys, entry);
    free(entry);
}

static void trim_cache(struct keys *keys)
{
    while (HASH_COUNT(keys->entries) > KEYS_CACHE_MAX) {
        if (keys->oldest->used > keys->access.closed)
            keys->access.closed = keys->oldest->used;
        drop_entry(keys, keys->oldest);
    }
}

void key_index_forget(struct keys *keys, uint64_t physical)
{
    struct keys_entry *entry = keys->newest;

    while (entry != NULL) {
        struct keys_entry *older = entry->older;

        if (entry->physical == physical)
            drop_entry(keys, entry);
        entry = older;
    }
}

/* ---- finding */

static enum dueq_status find_any(const struct keys_view *view, struct dueq_slice name,
                                 struct keys_entry **ret_entry)
{
    struct keys *keys = view->keys;
    uint64_t physical = keys->databases[view->database].physical;
    struct keys_entry *entry = cached(keys, physical, name);
    struct dueq_slice record;
    struct kv_key key;
    enum dueq_status status;

    if (entry != NULL) {
        if (entry != keys->newest) {
            unlink_entry(keys, entry);
            link_newest(keys, entry);
        }
        entry->logical = (uint16_t)view->database;
        *ret_entry = entry;
        return DUEQ_OK;
    }
    key_index_key(keys, physical, name, &key);
    status = kv_get(keys->kv, kv_key_slice(&key), &record);
    if (status != DUEQ_OK)
        return status;
    entry = new_entry(keys, view->database, physical, name);
    if (entry == NULL)
        return DUEQ_NOMEM;
    if (!read_entry(entry, kv_key_slice(&key), record)) {
        drop_entry(keys, entry);
        return DUEQ_CORRUPT;
    }
    *ret_entry = entry;
    return DUEQ_OK;
}

enum dueq_status key_index_find(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status = find_any(view, name, &entry);

    if (status == DUEQ_OK && expiry_is_over(entry->expires, view->time))
        status = DUEQ_NOTFOUND;
    if (status == DUEQ_NOTFOUND)
        access_miss(view->keys, name);
    if (status != DUEQ_OK)
        return status;
    access_hit(view->keys, entry);
    if (wanted != KEYS_NONE && entry->type != wanted)
        return DUEQ_WRONGTYPE;
    *ret_entry = entry;
    return DUEQ_OK;
}

/* The encoding of an empty value. */
static enum keys_encoding first_encoding(enum keys_type type)
{
    static const enum keys_encoding encodings[] = {
        [KEYS_NONE] = KEYS_RAW,   [KEYS_STRING] = KEYS_RAW,    [KEYS_LIST] = KEYS_QUICKLIST,
        [KEYS_SET] = KEYS_INTSET, [KEYS_ZSET] = KEYS_LISTPACK, [KEYS_HASH] = KEYS_LISTPACK,
    };
    return encodings[type];
}

enum keys_encoding key_index_large_encoding(enum keys_type type)
{
    return type == KEYS_SET || type == KEYS_HASH ? KEYS_HASHTABLE : first_encoding(type);
}

enum dueq_status key_index_open(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type type, struct keys_entry **ret_entry)
{
    struct keys *keys = view->keys;
    struct keys_database *database = &keys->databases[view->database];
    struct keys_entry *entry;
    enum dueq_status status = find_any(view, name, &entry);

    if (status == DUEQ_OK && expiry_is_over(entry->expires, view->time)) {
        key_index_remove(keys, entry, true);
        status = DUEQ_NOTFOUND;
    }
    if (status == DUEQ_OK)
        access_hit(keys, entry);
    if (status == DUEQ_OK && entry->type != type)
        return DUEQ_WRONGTYPE;
    if (status == DUEQ_NOTFOUND) {
        entry = new_entry(keys, view->database, database->physical, name);
        if (entry == NULL)
            return DUEQ_NOMEM;
        entry->type = type;
        entry->encoding = first_encoding(type);
        entry->packed = true;
        key_index_mark_dirty(keys, entry);
        database->count++;
        database->dirty = true;
        if (!keys->making_way)
            changes_record(keys, view->database, name, CHANGE_CREATED);
        keys->making_way = false;
        status = DUEQ_OK;
    }
    if (status == DUEQ_OK)
        *ret_entry = entry;
    return status;
}

/* ---- changing */

static struct keys_database *database_of(struct keys *keys, uint64_t physical)
{
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        if (keys->databases[i].physical == physical)
            return &keys->databases[i];
    return NULL; /* flushed: its entries are closed */
}

void key_index_touched(const struct keys_view *view, const struct keys_entry *entry)
{
    struct keys *keys = view->keys;

    if (keys->unfinished != NULL)
        unfinished_note_change(keys, entry->object);
    changes_record(keys, view->database, keys_entry_name(entry), CHANGE_VALUE);
}

void key_index_changed(const struct keys_view *view, struct keys_entry *entry)
{
    if (entry->count == 0 && entry->type != KEYS_STRING) {
        key_index_remove(view->keys, entry, false);
        return;
    }
    key_index_mark_dirty(view->keys, entry);
    key_index_touched(view, entry);
}

static void drop_expiry(struct keys *keys, struct keys_entry *entry)
{
    struct kv_key key;

    if (entry->expires == DUEQ_NEVER)
        return;
    expiry_key(keys, entry, &key);
    kv_del(keys->kv, kv_key_slice(&key));
    entry->expires = DUEQ_NEVER;
    database_of(keys, entry->physical)->expiring--;
    database_of(keys, entry->physical)->dirty = true;
}

void key_index_set_expiry(struct keys *keys, struct keys_entry *entry, int64_t at)
{
    struct kv_key key;

    drop_expiry(keys, entry);
    key_index_mark_dirty(keys, entry);
    if (at == DUEQ_NEVER)
        return;
    entry->expires = at;
    expiry_key(keys, entry, &key);
    kv_put(keys->kv, kv_key_slice(&key),
           key.folded ? keys_entry_name(entry) : dueq_slice(NULL, 0), true);
    keys_lower_bound(&keys->first_expiry[expiry_on_wall(at)], &key);
    database_of(keys, entry->physical)->expiring++;
    database_of(keys, entry->physical)->dirty = true;
    if (at < keys->next_expiry[expiry_on_wall(at)])
        keys->next_expiry[expiry_on_wall(at)] = at;
}

/* Removes the entry from the index, the expiry records and the cache; the object stays. */
static void unlist(struct keys *keys, struct keys_entry *entry)
{
    struct keys_database *database = database_of(keys, entry->physical);
    struct kv_key key;

    drop_expiry(keys, entry);
    if (entry->stored) {
        key_index_key(keys, entry->physical, keys_entry_name(entry), &key);
        kv_del(keys->kv, kv_key_slice(&key));
    }
    database->count--;
    database->dirty = true;
    drop_entry(keys, entry);
}

void key_index_drop_empty(struct keys *keys, struct keys_entry *entry)
{
    if (entry->count == 0)
        key_index_remove(keys, entry, false);
}

void key_index_remove(struct keys *keys, struct keys_entry *entry, bool expired)
{
    if (!entry->packed)
        reclaim_object(keys, entry->type, entry->object, entry->count);
    changes_record(keys, entry->logical, keys_entry_name(entry),
                   expired ? CHANGE_EXPIRED : CHANGE_VALUE);
    unlist(keys, entry);
}

enum dueq_status key_index_make_free(const struct keys_view *view, struct dueq_slice name)
{
    struct keys_view any_time = {view->keys, view->database, EXPIRY_LONG_AGO};
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(&any_time, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        key_index_remove(view->keys, entry, expiry_is_over(entry->expires, view->time));
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status key_index_take_value(struct keys *keys, struct keys_entry *to,
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
    status = admit_value(keys);
    if (status == DUEQ_OK)
        status = key_index_value(keys, from, &value);
    return status == DUEQ_OK ? load_value(keys, to, value) : status;
}

enum dueq_status key_index_relink(struct keys *keys, struct keys_entry *from, unsigned database,
                                  struct dueq_slice name)
{
    struct keys_entry *to = new_entry(keys, database, keys->databases[database].physical, name);
    int64_t expires = from->expires;
    enum dueq_status status = to == NULL ? DUEQ_NOMEM : key_index_take_value(keys, to, from);

    if (status != DUEQ_OK) {
        if (to != NULL)
            drop_entry(keys, to);
        return status;
    }
    key_index_mark_dirty(keys, to);
    keys->databases[database].count++;
    keys->databases[database].dirty = true;
    changes_record(keys, from->logical, keys_entry_name(from), CHANGE_VALUE);
    changes_record(keys, database, name, CHANGE_CREATED);
    unlist(keys, from);
    if (expires != DUEQ_NEVER)
        key_index_set_expiry(keys, to, expires);
    return DUEQ_OK;
}

/* ---- databases and counters */

static struct kv_key database_key(unsigned number)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_DATABASE);
    kv_key_u8(&key, (uint8_t)number);
    return key;
}

static struct kv_key counters_key(void)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_COUNTERS);
    return key;
}

static void save_database(struct keys *keys, unsigned number)
{
    struct keys_database *database = &keys->databases[number];
    struct kv_key key = database_key(number);
    uint8_t record[24];

    bytes_write_u64(record, database->physical);
    bytes_write_u64(record + 8, database->count);
    bytes_write_u64(record + 16, database->expiring);
    kv_put(keys->kv, kv_key_slice(&key), dueq_slice(record, sizeof(record)), false);
    database->dirty = false;
}

static void save_counters(struct keys *keys)
{
    struct kv_key key = counters_key();
    uint8_t record[16];

    bytes_write_u64(record, keys->next_object);
    bytes_write_u64(record + 8, keys->next_physical);
    kv_put(keys->kv, kv_key_slice(&key), dueq_slice(record, sizeof(record)), false);
    keys->counters_dirty = false;
}

void key_index_save(struct keys *keys)
{
    save_entries(keys);
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        if (keys->databases[i].dirty)
            save_database(keys, i);
    if (keys->counters_dirty)
        save_counters(keys);
    trim_cache(keys);
}

static enum dueq_status load_database(struct keys *keys, unsigned number)
{
    struct keys_database *database = &keys->databases[number];
    struct kv_key key = database_key(number);
    struct dueq_slice record;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    database->physical = number;
    if (status == DUEQ_NOTFOUND)
        return DUEQ_OK;
    if (status != DUEQ_OK)
        return status;
    if (record.size != 24)
        return DUEQ_CORRUPT;
    database->physical = bytes_read_u64(record.data);
    database->count = bytes_read_u64((const uint8_t *)record.data + 8);
    database->expiring = bytes_read_u64((const uint8_t *)record.data + 16);
    return DUEQ_OK;
}

enum dueq_status key_index_load(struct keys *keys)
{
    struct kv_key key = counters_key();
    struct dueq_slice record;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    keys->next_object = 1;
    keys->next_physical = KEYS_DATABASES_MAX;
    if (status == DUEQ_OK && record.size == 16) {
        keys->next_object = bytes_read_u64(record.data);
        keys->next_physical = bytes_read_u64((const uint8_t *)record.data + 8);
    } else if (status != DUEQ_NOTFOUND) {
        return status == DUEQ_OK ? DUEQ_CORRUPT : status;
    }
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++) {
        status = load_database(keys, i);
        if (status != DUEQ_OK)
            return status;
    }
    return DUEQ_OK;
}
