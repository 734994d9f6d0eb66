#include "storage/keys/index/key_index.h"

#include "storage/keys/index/databases.h"
#include "storage/keys/garbage/discard.h"
#include "storage/keys/record/entry_record.h"
#include "storage/keys/index/entry_value.h"
#include "storage/keys/index/open_entries.h"
#include "storage/keys/state/unfinished.h"
#include "storage/keys/index/unsaved.h"
#include "storage/kv/kv.h"

#include <assert.h>

/* ---- finding */

/* A key to find. */
struct sought {
    struct dueq_slice name;
    uint64_t hash;
    struct dueq_slice value; /* packed, of an entry that was not open; data NULL: not known */
};

static struct sought sought(const struct keys *keys, struct dueq_slice name)
{
    return (struct sought){.name = name, .hash = name_hash(keys, name)};
}

/* Opens the key's entry, which is not open. */
static enum dueq_status open_stored(const struct keys_view *view, struct sought *sought,
                                    struct keys_entry **ret_entry)
{
    struct keys *keys = view->keys;
    uint64_t physical = keys->databases[view->database].physical;
    struct entry_record read;
    struct dueq_slice record;
    struct kv_key key;
    enum dueq_status status;

    entry_record_key(keys, physical, sought->name, sought->hash, &key);
    status = kv_get(keys->kv, kv_key_slice(&key), &record);
    if (status != DUEQ_OK)
        return status;
    if (!entry_record_read(kv_key_slice(&key), record, &read))
        return DUEQ_CORRUPT;
    *ret_entry = open_entries_add(keys, view->database, physical, sought->name, sought->hash);
    if (*ret_entry == NULL)
        return DUEQ_NOMEM;
    entry_record_load(*ret_entry, &read);
    if (read.packed)
        sought->value = read.value;
    return DUEQ_OK;
}

static enum dueq_status find_any(const struct keys_view *view, struct sought *sought,
                                 struct keys_entry **ret_entry)
{
    struct keys *keys = view->keys;
    uint64_t physical = keys->databases[view->database].physical;
    enum dueq_status status =
        open_entries_find(keys, physical, sought->name, sought->hash, ret_entry);

    if (status == DUEQ_NOTFOUND)
        return open_stored(view, sought, ret_entry);
    if (status == DUEQ_OK)
        (*ret_entry)->logical = (uint16_t)view->database;
    return status;
}

static enum dueq_status find(const struct keys_view *view, struct sought *sought,
                             enum keys_type wanted, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status = find_any(view, sought, &entry);

    if (status == DUEQ_OK && expiry_is_over(entry->expires, view->time))
        status = DUEQ_NOTFOUND;
    if (status == DUEQ_NOTFOUND)
        access_miss(view->keys, sought->hash);
    if (status != DUEQ_OK)
        return status;
    access_hit(view->keys, entry);
    if (wanted != KEYS_NONE && entry->type != wanted)
        return DUEQ_WRONGTYPE;
    *ret_entry = entry;
    return DUEQ_OK;
}

enum dueq_status key_index_find(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry)
{
    struct sought key = sought(view->keys, name);

    return find(view, &key, wanted, ret_entry);
}

/* A long name would have to be hashed twice. */
static bool is_to_fetch(const struct keys *keys, uint64_t physical, struct dueq_slice name,
                        uint64_t *ret_hash)
{
    if (name.size > KV_KEY_MAX)
        return false;
    *ret_hash = name_hash(keys, name);
    return !open_entries_contain(keys, physical, name, *ret_hash);
}

bool key_index_prefetch(const struct keys_view *view, const struct dueq_slice *names,
                        size_t count)
{
    const struct keys *keys = view->keys;
    uint64_t physical = keys->databases[view->database].physical, hash;
    struct dueq_slice slices[KEYS_PREFETCH_MOST];
    struct kv_key records[KEYS_PREFETCH_MOST];
    size_t found = 0;

    static_assert(KEYS_PREFETCH_MOST <= (int)KV_PREFETCH_MOST, "");
    assert(count <= KEYS_PREFETCH_MOST);
    if (count < 2)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_to_fetch(keys, physical, names[i], &hash)) {
            entry_record_key(keys, physical, names[i], hash, &records[found]);
            slices[found] = kv_key_slice(&records[found]);
            found++;
        }
    if (found > 1)
        kv_prefetch(keys->kv, slices, found);
    return found > 1;
}

enum dueq_status key_index_read(const struct keys_view *view, struct dueq_slice name,
                                enum keys_type wanted, struct keys_entry **ret_entry,
                                struct dueq_slice *ret_value)
{
    struct sought key = sought(view->keys, name);
    enum dueq_status status = find(view, &key, wanted, ret_entry);

    if (status != DUEQ_OK || !(*ret_entry)->packed)
        return status;
    if (key.value.data == NULL)
        return entry_value_get(view->keys, *ret_entry, ret_value);
    *ret_value = key.value;
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
    struct sought key = sought(keys, name);
    struct keys_entry *entry;
    enum dueq_status status = find_any(view, &key, &entry);

    if (status == DUEQ_OK && expiry_is_over(entry->expires, view->time)) {
        key_index_remove(keys, entry, true);
        status = DUEQ_NOTFOUND;
    }
    if (status == DUEQ_OK)
        access_hit(keys, entry);
    if (status == DUEQ_OK && entry->type != type)
        return DUEQ_WRONGTYPE;
    if (status == DUEQ_NOTFOUND) {
        entry = open_entries_add(keys, view->database, database->physical, name, key.hash);
        if (entry == NULL)
            return DUEQ_NOMEM;
        entry->type = type;
        entry->encoding = first_encoding(type);
        entry->packed = true;
        unsaved_mark(keys, entry);
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
    unsaved_mark(view->keys, entry);
    key_index_touched(view, entry);
}

static void drop_expiry(struct keys *keys, struct keys_entry *entry)
{
    struct kv_key key;

    if (entry->expires == DUEQ_NEVER)
        return;
    entry_record_expiry_key(keys, entry, &key);
    kv_del(keys->kv, kv_key_slice(&key));
    entry->expires = DUEQ_NEVER;
    databases_find(keys, entry->physical)->expiring--;
    databases_find(keys, entry->physical)->dirty = true;
}

void key_index_set_expiry(struct keys *keys, struct keys_entry *entry, int64_t at)
{
    struct kv_key key;

    drop_expiry(keys, entry);
    unsaved_mark(keys, entry);
    if (at == DUEQ_NEVER)
        return;
    entry->expires = at;
    entry_record_expiry_key(keys, entry, &key);
    kv_put(keys->kv, kv_key_slice(&key),
           key.folded ? keys_entry_name(entry) : dueq_slice(NULL, 0), true);
    keys_lower_bound(&keys->first_expiry[expiry_on_wall(at)], &key);
    databases_find(keys, entry->physical)->expiring++;
    databases_find(keys, entry->physical)->dirty = true;
    if (at < keys->next_expiry[expiry_on_wall(at)])
        keys->next_expiry[expiry_on_wall(at)] = at;
}

/* Removes the entry from the index, the expiry records and the cache; the object stays. */
static void unlist(struct keys *keys, struct keys_entry *entry)
{
    struct keys_database *database = databases_find(keys, entry->physical);
    struct kv_key key;

    drop_expiry(keys, entry);
    if (entry->stored) {
        entry_record_own_key(keys, entry, &key);
        kv_del(keys->kv, kv_key_slice(&key));
    }
    database->count--;
    database->dirty = true;
    open_entries_close(keys, entry);
}

void key_index_drop_empty(struct keys *keys, struct keys_entry *entry)
{
    if (entry->count == 0)
        key_index_remove(keys, entry, false);
}

void key_index_remove(struct keys *keys, struct keys_entry *entry, bool expired)
{
    if (!entry->packed)
        discard_object(keys, entry->type, entry->object, entry->count);
    changes_record(keys, entry->logical, keys_entry_name(entry),
                   expired ? CHANGE_EXPIRED : CHANGE_VALUE);
    unlist(keys, entry);
}

enum dueq_status key_index_make_way(const struct keys_view *view, struct dueq_slice name)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        key_index_remove(view->keys, entry, false);
    view->keys->making_way = status == DUEQ_OK;
    return status;
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

enum dueq_status key_index_relink(struct keys *keys, struct keys_entry *from, unsigned database,
                                  struct dueq_slice name)
{
    struct keys_entry *to = open_entries_add(keys, database, keys->databases[database].physical,
                                             name, name_hash(keys, name));
    int64_t expires = from->expires;
    enum dueq_status status = to == NULL ? DUEQ_NOMEM : entry_value_copy(keys, to, from);

    if (status != DUEQ_OK) {
        if (to != NULL)
            open_entries_close(keys, to);
        return status;
    }
    unsaved_mark(keys, to);
    keys->databases[database].count++;
    keys->databases[database].dirty = true;
    changes_record(keys, from->logical, keys_entry_name(from), CHANGE_VALUE);
    changes_record(keys, database, name, CHANGE_CREATED);
    unlist(keys, from);
    if (expires != DUEQ_NEVER)
        key_index_set_expiry(keys, to, expires);
    return DUEQ_OK;
}

void key_index_save(struct keys *keys)
{
    unsaved_save_all(keys);
    databases_save(keys);
    open_entries_trim(keys);
}
