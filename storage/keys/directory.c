#include "storage/keys/directory.h"

#include <stdlib.h>
#include <utlist.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- names and records */

uint64_t keys_hash(const struct keys *keys, struct dueq_slice name)
{
    return XXH3_64bits_withSeed(name.data, name.size, keys->seed) >> 16;
}

void keys_key_hash(struct kv_key *key, uint64_t hash)
{
    for (int shift = 40; shift >= 0; shift -= 8)
        kv_key_u8(key, (uint8_t)(hash >> shift));
}

uint64_t keys_read_hash(const uint8_t *bytes)
{
    uint64_t hash = 0;

    for (int i = 0; i < KEYS_HASH_BYTES; i++)
        hash = hash << 8 | bytes[i];
    return hash;
}

void directory_key(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                   struct kv_key *ret_key)
{
    kv_key_start(ret_key, TABLE_DIRECTORY);
    kv_key_u64(ret_key, physical);
    keys_key_hash(ret_key, keys_hash(keys, name));
    if (name.size > 0)
        kv_key_name(ret_key, name, keys->seed);
}

static void expiry_key(const struct keys *keys, const struct keys_entry *entry,
                       struct kv_key *ret_key)
{
    kv_key_start(ret_key, TABLE_EXPIRY);
    kv_key_time(ret_key, entry->expires);
    kv_key_u64(ret_key, entry->physical);
    keys_key_hash(ret_key, keys_hash(keys, keys_entry_name(entry)));
    if (entry->name_size > 0)
        kv_key_name(ret_key, keys_entry_name(entry), keys->seed);
}

/* Behind the fixed part stands the whole name when the key is folded, or the value of a short
 * string, whose key never is. */
struct dueq_slice directory_record_name(struct dueq_slice key, size_t fixed,
                                        struct dueq_slice value, size_t value_fixed)
{
    if (key.size == KV_KEY_MAX)
        return dueq_slice((const uint8_t *)value.data + value_fixed, value.size - value_fixed);
    return dueq_slice((const uint8_t *)key.data + fixed, key.size - fixed);
}

static void put_record(struct keys *keys, struct keys_entry *entry, const struct kv_key *key,
                       struct dueq_slice tail)
{
    uint8_t fixed[DIRECTORY_VALUE_FIXED];
    struct dueq_slice parts[2] = {dueq_slice(fixed, sizeof(fixed)), tail};

    fixed[0] = (uint8_t)entry->type;
    kv_write_u64(fixed + 1, entry->object);
    kv_write_u64(fixed + 9, entry->count);
    kv_write_u64(fixed + 17, (uint64_t)entry->expires);
    kv_write_u64(fixed + 25, (uint64_t)entry->head);
    kv_putv(keys->kv, kv_key_slice(key), parts, tail.size > 0 ? 2 : 1, !entry->stored);
    entry->stored = true;
}

static void save_entry(struct keys *keys, struct keys_entry *entry)
{
    struct kv_key key;
    struct dueq_slice tail = {NULL, 0};

    directory_key(keys, entry->physical, keys_entry_name(entry), &key);
    if (key.folded)
        tail = keys_entry_name(entry);
    else if (directory_has_value(entry) && directory_read_value(keys, entry, &tail) == DUEQ_OK)
        tail = keys_keep(keys, tail);
    put_record(keys, entry, &key, tail);
}

/* ---- short strings, whose value is in the entry's own record */

bool directory_takes_value(const struct keys_entry *entry, struct dueq_slice value)
{
    return value.size <= KEYS_INLINE_MAX && entry->name_size <= KEYS_INLINE_NAME;
}

enum dueq_status directory_read_value(struct keys *keys, const struct keys_entry *entry,
                                      struct dueq_slice *ret_value)
{
    struct dueq_slice record;
    struct kv_key key;
    enum dueq_status status;

    directory_key(keys, entry->physical, keys_entry_name(entry), &key);
    status = kv_get(keys->kv, kv_key_slice(&key), &record);
    if (status == DUEQ_OK && record.size < DIRECTORY_VALUE_FIXED)
        return DUEQ_CORRUPT;
    if (status == DUEQ_OK)
        *ret_value = dueq_slice((const uint8_t *)record.data + DIRECTORY_VALUE_FIXED,
                                record.size - DIRECTORY_VALUE_FIXED);
    return status;
}

void directory_write_value(struct keys *keys, struct keys_entry *entry, struct dueq_slice value)
{
    struct kv_key key;

    directory_key(keys, entry->physical, keys_entry_name(entry), &key);
    put_record(keys, entry, &key, value);
    if (entry->dirty)
        DL_DELETE(keys->changed, entry);
    entry->dirty = false;
}

static void read_entry(struct keys_entry *entry, const uint8_t *record)
{
    entry->type = record[0];
    entry->object = kv_read_u64(record + 1);
    entry->count = kv_read_u64(record + 9);
    entry->expires = (int64_t)kv_read_u64(record + 17);
    entry->head = (int64_t)kv_read_u64(record + 25);
    entry->stored = true;
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

/* physical, name_size and name stand together in memory order only through this copy. */
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

/* The identity (physical, name) is kept behind the name, as uthash wants it in one piece. */
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

void directory_mark(struct keys *keys, struct keys_entry *entry)
{
    if (entry->dirty)
        return;
    entry->dirty = true;
    DL_APPEND(keys->changed, entry);
}

static void drop_entry(struct keys *keys, struct keys_entry *entry)
{
    if (entry->dirty)
        DL_DELETE(keys->changed, entry);
    HASH_DEL(keys->entries, entry);
    unlink_entry(keys, entry);
    free(entry);
}

static void trim_cache(struct keys *keys)
{
    while (HASH_COUNT(keys->entries) > KEYS_CACHE_MAX)
        drop_entry(keys, keys->oldest);
}

void directory_forget(struct keys *keys, uint64_t physical)
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
    struct keys *keys = keys_of(view);
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
    directory_key(keys, physical, name, &key);
    status = kv_get(keys->kv, kv_key_slice(&key), &record);
    if (status != DUEQ_OK)
        return status;
    if (record.size < DIRECTORY_VALUE_FIXED)
        return DUEQ_CORRUPT;
    entry = new_entry(keys, view->database, physical, name);
    if (entry == NULL)
        return DUEQ_NOMEM;
    read_entry(entry, record.data);
    *ret_entry = entry;
    return DUEQ_OK;
}

enum dueq_status directory_find(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status = find_any(view, name, &entry);

    if (status != DUEQ_OK)
        return status;
    if (entry->expires <= view->now)
        return DUEQ_NOTFOUND;
    if (wanted != KEYS_NONE && entry->type != wanted)
        return DUEQ_WRONGTYPE;
    *ret_entry = entry;
    return DUEQ_OK;
}

enum dueq_status directory_open(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type type, struct keys_entry **ret_entry)
{
    struct keys *keys = keys_of(view);
    struct keys_database *database = &keys->databases[view->database];
    struct keys_entry *entry;
    enum dueq_status status = find_any(view, name, &entry);

    if (status == DUEQ_OK && entry->expires <= view->now) {
        directory_remove(keys, entry, true);
        status = DUEQ_NOTFOUND;
    }
    if (status == DUEQ_OK && entry->type != type)
        return DUEQ_WRONGTYPE;
    if (status == DUEQ_NOTFOUND) {
        entry = new_entry(keys, view->database, database->physical, name);
        if (entry == NULL)
            return DUEQ_NOMEM;
        entry->type = type;
        entry->object = keys->next_object++;
        directory_mark(keys, entry);
        keys->counters_dirty = true;
        database->count++;
        database->dirty = true;
        if (!keys->making_way)
            changes_add(keys, view->database, name, CHANGE_CREATED);
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
    return NULL; /* flushed: its entries are forgotten, nobody asks */
}

void directory_touched(const struct keys_view *view, const struct keys_entry *entry)
{
    changes_add(keys_of(view), view->database, keys_entry_name(entry), CHANGE_VALUE);
}

void directory_changed(const struct keys_view *view, struct keys_entry *entry)
{
    if (entry->count == 0 && entry->type != KEYS_STRING) {
        directory_remove(keys_of(view), entry, false);
        return;
    }
    directory_mark(keys_of(view), entry);
    directory_touched(view, entry);
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

void directory_expire(struct keys *keys, struct keys_entry *entry, int64_t at)
{
    struct kv_key key;

    drop_expiry(keys, entry);
    directory_mark(keys, entry);
    if (at == DUEQ_NEVER)
        return;
    entry->expires = at;
    expiry_key(keys, entry, &key);
    kv_put(keys->kv, kv_key_slice(&key),
           key.folded ? keys_entry_name(entry) : dueq_slice(NULL, 0), true);
    keys_lower(&keys->expiry_first, &key);
    database_of(keys, entry->physical)->expiring++;
    database_of(keys, entry->physical)->dirty = true;
    if (at < keys->next_expiry)
        keys->next_expiry = at;
}

/* Takes the entry out of directory, expiry index and cache; the object stays. */
static void unlist(struct keys *keys, struct keys_entry *entry)
{
    struct keys_database *database = database_of(keys, entry->physical);
    struct kv_key key;

    drop_expiry(keys, entry);
    if (entry->stored) {
        directory_key(keys, entry->physical, keys_entry_name(entry), &key);
        kv_del(keys->kv, kv_key_slice(&key));
    }
    database->count--;
    database->dirty = true;
    drop_entry(keys, entry);
}

void directory_remove(struct keys *keys, struct keys_entry *entry, bool expired)
{
    reclaim_object(keys, entry->type, entry->object, entry->count);
    changes_add(keys, entry->logical, keys_entry_name(entry),
                expired ? CHANGE_EXPIRED : CHANGE_VALUE);
    unlist(keys, entry);
}

enum dueq_status directory_relink(struct keys *keys, struct keys_entry *from, unsigned database,
                                  struct dueq_slice name)
{
    struct keys_entry *to = new_entry(keys, database, keys->databases[database].physical, name);
    int64_t expires = from->expires;
    struct dueq_slice value = {NULL, 0};

    if (to == NULL)
        return DUEQ_NOMEM;
    if (directory_has_value(from) && directory_read_value(keys, from, &value) == DUEQ_OK)
        value = keys_keep(keys, value);
    to->type = from->type;
    to->object = from->object;
    to->count = from->count;
    to->head = from->head;
    directory_mark(keys, to);
    keys->databases[database].count++;
    keys->databases[database].dirty = true;
    changes_add(keys, from->logical, keys_entry_name(from), CHANGE_VALUE);
    changes_add(keys, database, name, CHANGE_CREATED);
    unlist(keys, from);
    if (directory_has_value(to))
        string_put(keys, to, value);
    if (expires != DUEQ_NEVER)
        directory_expire(keys, to, expires);
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

    kv_write_u64(record, database->physical);
    kv_write_u64(record + 8, database->count);
    kv_write_u64(record + 16, database->expiring);
    kv_put(keys->kv, kv_key_slice(&key), dueq_slice(record, sizeof(record)), false);
    database->dirty = false;
}

static void save_counters(struct keys *keys)
{
    struct kv_key key = counters_key();
    uint8_t record[16];

    kv_write_u64(record, keys->next_object);
    kv_write_u64(record + 8, keys->next_physical);
    kv_put(keys->kv, kv_key_slice(&key), dueq_slice(record, sizeof(record)), false);
    keys->counters_dirty = false;
}

void directory_save(struct keys *keys)
{
    while (keys->changed != NULL) {
        struct keys_entry *entry = keys->changed;

        save_entry(keys, entry);
        DL_DELETE(keys->changed, entry);
        entry->dirty = false;
    }
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
    database->physical = kv_read_u64(record.data);
    database->count = kv_read_u64((const uint8_t *)record.data + 8);
    database->expiring = kv_read_u64((const uint8_t *)record.data + 16);
    return DUEQ_OK;
}

enum dueq_status directory_load(struct keys *keys)
{
    struct kv_key key = counters_key();
    struct dueq_slice record;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    keys->next_object = 1;
    keys->next_physical = KEYS_DATABASES_MAX;
    if (status == DUEQ_OK && record.size == 16) {
        keys->next_object = kv_read_u64(record.data);
        keys->next_physical = kv_read_u64((const uint8_t *)record.data + 8);
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
