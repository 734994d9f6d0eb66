#include "storage/keys/keys.h"

#include "storage/bytes.h"
#include "storage/keys/index/databases.h"
#include "storage/keys/record/entry_record.h"
#include "storage/keys/index/entry_value.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/index/member.h"
#include "storage/keys/index/open_entries.h"
#include "storage/keys/state/unfinished.h"
#include "storage/keys/string.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>

static const struct keys_limits default_limits = {512, 64, 512, 128, 64, UINT64_MAX};

const char *keys_type_name(enum keys_type type)
{
    static const char *const names[] = {"none", "string", "list", "set", "zset", "hash"};

    return names[type];
}

const char *keys_encoding_name(enum keys_encoding encoding)
{
    static const char *const names[] = {"raw",    "int",      "embstr",    "quicklist",
                                        "intset", "listpack", "hashtable", "skiplist"};

    return names[encoding];
}

/* ---- life */

enum dueq_status keys_new(struct kv *kv, struct keys **ret_keys)
{
    struct keys *keys = calloc(1, sizeof(*keys));
    enum dueq_status status;

    if (keys == NULL)
        return DUEQ_NOMEM;
    keys->kv = kv;
    keys->seed = kv_seed(kv);
    keys->limits = default_limits;
    keys->garbage = true;
    kv_key_start(&keys->garbage_first, TABLE_RECLAIM);
    keys->next_expiry[0] = INT64_MIN; /* unknown until the first tick */
    keys->next_expiry[1] = EXPIRY_WALL;
    for (int clock = 0; clock < 2; clock++) {
        kv_key_start(&keys->first_expiry[clock], TABLE_EXPIRY);
        kv_key_time(&keys->first_expiry[clock], keys->next_expiry[clock]);
    }
    status = databases_load(keys);
    if (status != DUEQ_OK) {
        keys_free(keys);
        return status;
    }
    *ret_keys = keys;
    return DUEQ_OK;
}

void keys_free(struct keys *keys)
{
    if (keys == NULL)
        return;
    unfinished_forget_all(keys);
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        open_entries_close_all(keys, keys->databases[i].physical);
    for (size_t i = 0; i < sizeof(keys->cursors) / sizeof(keys->cursors[0]); i++)
        kv_cursor_free(keys->cursors[i]);
    free(keys->changes.bytes);
    free(keys->scratch);
    free(keys);
}

void keys_set_limits(struct keys *keys, const struct keys_limits *limits)
{
    keys->limits = *limits;
}

void keys_save(struct keys *keys)
{
    key_index_save(keys);
}

/* ---- one key */

enum dueq_status keys_find(const struct keys_view *view, struct dueq_slice name,
                           struct keys_info *ret_info)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        *ret_info = (struct keys_info){entry->type, entry->count, entry->expires,
                                       entry->encoding, entry->packed};
    return status;
}

bool keys_prefetch(const struct keys_view *view, const struct dueq_slice *names, size_t count)
{
    return key_index_prefetch(view, names, count);
}

enum dueq_status keys_info(const struct keys_view *view, struct dueq_slice name,
                           struct keys_info *ret_info)
{
    struct dueq_slice value;
    enum dueq_status status = keys_find(view, name, ret_info);

    if (status != DUEQ_OK || ret_info->type != KEYS_STRING)
        return status;
    status = string_get(view, name, &value);
    ret_info->count = value.size;
    return status;
}

enum dueq_status keys_del(const struct keys_view *view, struct dueq_slice name)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        key_index_remove(view->keys, entry, false);
    return status;
}

enum dueq_status keys_make_way(const struct keys_view *view, struct dueq_slice name)
{
    return key_index_make_way(view, name);
}

enum dueq_status keys_last_used(const struct keys_view *view, struct dueq_slice name,
                                int64_t *ret_time)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_NONE, &entry);

    if (status == DUEQ_OK)
        *ret_time = entry->used;
    return status;
}

enum dueq_status keys_expire(const struct keys_view *view, struct dueq_slice name,
                             int64_t expiry)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_NONE, &entry);

    if (status != DUEQ_OK)
        return status;
    if (expiry_is_due(expiry, view->time)) {
        key_index_remove(keys, entry, false);
        return DUEQ_OK;
    }
    if (entry->packed)
        status = entry_value_edit(keys, entry);
    if (status != DUEQ_OK)
        return status;
    key_index_set_expiry(keys, entry, expiry);
    key_index_touched(view, entry);
    return DUEQ_OK;
}

enum dueq_status keys_rename(const struct keys_view *view, struct dueq_slice from,
                             struct dueq_slice to)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, from, KEYS_NONE, &entry);

    if (status != DUEQ_OK)
        return status;
    if (dueq_slice_equal(from, to)) {
        key_index_touched(view, entry);
        return DUEQ_OK;
    }
    status = key_index_make_free(view, to);
    return status == DUEQ_OK ? key_index_relink(view->keys, entry, view->database, to) : status;
}

enum dueq_status keys_move(const struct keys_view *view, struct dueq_slice name,
                           unsigned to_database)
{
    struct keys_view there = {view->keys, to_database, view->time};
    struct keys_entry *entry, *taken;
    enum dueq_status status = key_index_find(&there, name, KEYS_NONE, &taken);

    if (status == DUEQ_OK)
        return DUEQ_DUPLICATE;
    if (status != DUEQ_NOTFOUND)
        return status;
    status = key_index_find(view, name, KEYS_NONE, &entry);
    if (status != DUEQ_OK)
        return status;
    status = key_index_make_free(&there, name);
    return status == DUEQ_OK ? key_index_relink(view->keys, entry, to_database, name) : status;
}

/* ---- copies */

static enum dueq_status copy_here(struct keys *keys, const struct keys_entry *entry,
                                  struct cuts *cuts, const struct kv_cursor *at, uint64_t to)
{
    struct dueq_slice here = kv_cursor_key(at);
    enum dueq_status status = member_check_cut(cuts, entry, here, kv_cursor_value(at));
    struct kv_key key;

    if (status != DUEQ_OK || cuts->gone)
        return status;
    kv_key_copy(&key, here);
    bytes_write_u64(key.bytes + 1, to);
    kv_put(keys->kv, kv_key_slice(&key), kv_cursor_value(at), true);
    return DUEQ_OK;
}

/* Copies up to `count` records of the object in one table, from `first` on, to another
 * object. */
static enum dueq_status copy_records(struct keys *keys, struct keys_entry *entry,
                                     const struct kv_key *first, uint64_t count, uint64_t to)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    struct kv_key prefix = object_key_prefix(first->bytes[0], entry->object);
    struct cuts cuts;
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    cuts_begin(&cuts, keys, entry);
    for (status = kv_cursor_seek(at, kv_key_slice(first)); status == DUEQ_OK && count > 0;
         status = kv_cursor_next(at), count--) {
        if (!kv_key_begins(kv_cursor_key(at), &prefix))
            break;
        status = copy_here(keys, entry, &cuts, at, to);
        if (status != DUEQ_OK)
            break;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* Of a list, copies only the elements between its ends: outside may be elements that were cut
 * off. */
static enum dueq_status copy_object(struct keys *keys, struct keys_entry *from, uint64_t to)
{
    enum dueq_status status = DUEQ_OK;
    struct kv_key first;

    if (from->type == KEYS_LIST) {
        first = object_key_element(from->object, from->head);
        return copy_records(keys, from, &first, from->count, to);
    }
    for (const uint8_t *table = object_key_tables(from->type); *table != 0 && status == DUEQ_OK;
         table++) {
        first = object_key_prefix(*table, from->object);
        status = copy_records(keys, from, &first, UINT64_MAX, to);
    }
    return status;
}

/* The copy gets records of its own. */
static enum dueq_status copy_value(struct keys *keys, struct keys_entry *from,
                                   struct keys_entry *to)
{
    enum dueq_status status = entry_value_copy(keys, to, from);

    if (status != DUEQ_OK || from->packed)
        return status;
    status = entry_value_unpack(keys, to, NULL);
    return status == DUEQ_OK ? copy_object(keys, from, to->object) : status;
}

enum dueq_status keys_copy(const struct keys_view *view, struct dueq_slice from,
                           unsigned to_database, struct dueq_slice to)
{
    struct keys *keys = view->keys;
    struct keys_view there = {view->keys, to_database, view->time};
    struct keys_entry *entry, *copy;
    enum dueq_status status = key_index_find(view, from, KEYS_NONE, &entry);

    if (status != DUEQ_OK)
        return status;
    if (view->database == to_database && dueq_slice_equal(from, to))
        return DUEQ_OK;
    status = key_index_make_free(&there, to);
    if (status == DUEQ_OK)
        status = key_index_open(&there, to, entry->type, &copy);
    if (status != DUEQ_OK)
        return status;
    if (entry->expires != DUEQ_NEVER)
        key_index_set_expiry(keys, copy, entry->expires);
    status = copy_value(keys, entry, copy);
    if (status == DUEQ_OK)
        key_index_changed(&there, copy);
    else
        key_index_remove(keys, copy, false); /* no copy is better than a part of one */
    return status;
}

/* ---- databases */

uint64_t keys_count(const struct keys *keys, unsigned database)
{
    return keys->databases[database].count;
}

uint64_t keys_expiring(const struct keys *keys, unsigned database)
{
    return keys->databases[database].expiring;
}

static void flush_database(struct keys *keys, unsigned number)
{
    struct keys_database *database = &keys->databases[number];

    changes_record(keys, number, dueq_slice(NULL, 0), CHANGE_FLUSHED);
    if (database->count == 0)
        return;
    key_index_save(keys);
    open_entries_close_all(keys, database->physical);
    garbage_record_add(keys, database->physical, GARBAGE_DATABASE);
    *database = (struct keys_database){.physical = keys->next_physical++, .dirty = true};
    keys->counters_dirty = true;
}

enum dueq_status keys_flush(struct keys *keys, unsigned database)
{
    flush_database(keys, database);
    return DUEQ_OK;
}

void keys_flush_all(struct keys *keys)
{
    for (unsigned i = 0; i < KEYS_DATABASES_MAX; i++)
        flush_database(keys, i);
}

enum dueq_status keys_swap(struct keys *keys, unsigned a, unsigned b)
{
    struct keys_database swapped = keys->databases[a];

    keys->databases[a] = keys->databases[b];
    keys->databases[b] = swapped;
    keys->databases[a].dirty = keys->databases[b].dirty = true;
    changes_record(keys, a, dueq_slice(NULL, 0), CHANGE_FLUSHED);
    changes_record(keys, b, dueq_slice(NULL, 0), CHANGE_FLUSHED);
    return DUEQ_OK;
}

/* ---- iteration */

static struct kv_key scan_key(const struct keys *keys, unsigned database, uint64_t hash)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_KEY);
    kv_key_u64(&key, keys->databases[database].physical);
    name_hash_append(&key, hash);
    return key;
}

static bool in_database(const struct kv_cursor *cursor, const struct kv_key *from)
{
    struct dueq_slice key = kv_cursor_key(cursor);

    return key.size >= ENTRY_RECORD_KEY_FIXED && memcmp(key.data, from->bytes, 9) == 0;
}

/* Calls fn for the record at the cursor, unless it has expired. */
static enum dueq_status hand_out(const struct keys_view *view, const struct kv_cursor *cursor,
                                 keys_fn fn, void *arg, bool *ret_more)
{
    struct entry_record record;
    struct keys_info info;

    *ret_more = true;
    if (!entry_record_read(kv_cursor_key(cursor), kv_cursor_value(cursor), &record))
        return DUEQ_CORRUPT;
    if (expiry_is_over(record.expires, view->time))
        return DUEQ_OK;
    info = (struct keys_info){record.type, record.count, record.expires, record.encoding,
                              record.packed};
    *ret_more = fn(arg, record.name, &info);
    return DUEQ_OK;
}

enum dueq_status keys_scan(const struct keys_view *view, uint64_t cursor, uint64_t count,
                           keys_fn fn, void *arg, uint64_t *ret_cursor)
{
    struct keys *keys = view->keys;
    struct kv_cursor *at = keys_take_cursor(keys);
    struct kv_key from = scan_key(keys, view->database, cursor);
    uint64_t seen = 0, hash = cursor;
    enum dueq_status status;
    bool more;

    if (at == NULL)
        return DUEQ_NOMEM;
    key_index_save(keys);
    *ret_cursor = 0;
    for (status = kv_cursor_seek(at, kv_key_slice(&from)); status == DUEQ_OK;
         status = kv_cursor_next(at)) {
        uint64_t here;

        if (!in_database(at, &from))
            break;
        here = name_hash_read((const uint8_t *)kv_cursor_key(at).data + 9);
        if (seen >= count && here != hash) {
            *ret_cursor = here;
            break;
        }
        hash = here;
        seen++;
        status = hand_out(view, at, fn, arg, &more);
        if (status != DUEQ_OK || !more)
            break;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

struct first_name {
    struct keys *keys;
    struct dueq_slice name;
    bool found;
};

static bool take_name(void *arg, struct dueq_slice name, const struct keys_info *info)
{
    struct first_name *first = arg;

    (void)info;
    first->name = keys_keep(first->keys, name);
    first->found = true;
    return false;
}

enum dueq_status keys_random(const struct keys_view *view, uint64_t random,
                             struct dueq_slice *ret_name)
{
    struct first_name first = {.keys = view->keys};
    uint64_t next;
    enum dueq_status status =
        keys_scan(view, random >> 16, UINT64_MAX, take_name, &first, &next);

    if (status == DUEQ_OK && !first.found)
        status = keys_scan(view, 0, UINT64_MAX, take_name, &first, &next);
    if (status == DUEQ_OK && !first.found)
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        *ret_name = first.name;
    return status;
}
