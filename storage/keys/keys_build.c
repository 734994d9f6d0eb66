/* The new object has a garbage record from the first slice on, which ticks skip while the build
 * lives (unfinished.h). The last slice deletes that record in the same batch that gives the
 * object its name. So after a crash, or when a build is freed early, the old value is unchanged
 * and the new object is erased. */
#include "storage/keys/keys_build.h"

#include "storage/bytes.h"
#include "storage/keys/garbage/discard.h"
#include "storage/keys/index/entry_value.h"
#include "storage/keys/record/garbage_record.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/index/member.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/state/unfinished.h"
#include "storage/keys/record/zset_order.h"
#include "storage/keys/keys.h"
#include "storage/keys/zset/zset_member.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>
#include <string.h>

enum { STEP_BYTES = 16384 }; /* a larger record counts as several */

struct keys_build {
    struct unfinished work;
    enum keys_type type;
    /* from nothing: the entry that the key will get, not in the index yet; else NULL */
    struct keys_entry *made;
    /* from a key that is no list: */
    const uint8_t *table; /* the present table; *table 0: all are copied */
    struct kv_key last;   /* the last key copied of that table; size 0: nothing yet */
    /* of a list: its elements are read from one end on, and put in the same order */
    struct list_edit edit;
    uint64_t taken, put, matched;
    uint8_t *value; /* owned: edit.value */
    size_t name_size;
    uint8_t name[]; /* of the source */
};

static struct kv_key object_garbage(const struct keys_build *build)
{
    return garbage_record_key(build->work.built, (uint8_t)build->type);
}

/* ---- life */

static bool keep_edit(struct keys_build *build, const struct list_edit *edit)
{
    build->edit = (struct list_edit){.towards = LIST_TAIL, .index = UINT64_MAX};
    if (edit == NULL)
        return true;
    build->edit = *edit;
    build->value = malloc(edit->value.size + 1);
    if (build->value == NULL)
        return false;
    if (edit->value.size > 0)
        memcpy(build->value, edit->value.data, edit->value.size);
    build->edit.value = dueq_slice(build->value, edit->value.size);
    return true;
}

/* A packed value is one record and needs no slices. */
static bool can_build(const struct keys_entry *entry)
{
    return entry->type != KEYS_STRING && !entry->packed;
}

bool keys_build_possible(const struct keys_view *view, struct dueq_slice name)
{
    struct keys_entry *entry;

    return key_index_find(view, name, KEYS_NONE, &entry) == DUEQ_OK && can_build(entry);
}

static void begin(struct keys_build *build, struct keys *keys, enum keys_type type,
                  uint64_t source)
{
    build->type = type;
    unfinished_begin(&build->work, keys, source, keys->next_object++);
    keys->counters_dirty = true;
    garbage_record_add(keys, build->work.built, (uint8_t)type);
}

enum dueq_status keys_build_new(const struct keys_view *view, struct dueq_slice name,
                                const struct list_edit *edit, struct keys_build **ret_build)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    struct keys_build *build;
    enum dueq_status status =
        key_index_find(view, name, edit == NULL ? KEYS_NONE : KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    if (!can_build(entry))
        return DUEQ_INVALID;
    build = calloc(1, sizeof(*build) + name.size);
    if (build == NULL || !keep_edit(build, edit)) {
        free(build);
        return DUEQ_NOMEM;
    }
    build->name_size = name.size;
    if (name.size > 0)
        memcpy(build->name, name.data, name.size);
    build->table = object_key_tables(entry->type);
    begin(build, keys, entry->type, entry->object);
    *ret_build = build;
    return DUEQ_OK;
}

enum dueq_status keys_build_empty(const struct keys_view *view, enum keys_type type,
                                  uint64_t expected, struct keys_build **ret_build)
{
    struct keys_build *build = calloc(1, sizeof(*build));

    if (build != NULL)
        build->made = calloc(1, sizeof(*build->made));
    if (build == NULL || build->made == NULL) {
        free(build);
        return DUEQ_NOMEM;
    }
    begin(build, view->keys, type, 0);
    build->edit = (struct list_edit){.towards = LIST_TAIL};
    build->made->type = type;
    build->made->encoding = key_index_large_encoding(type);
    if (type == KEYS_ZSET && expected > build->work.keys->limits.zset_entries)
        build->made->encoding = KEYS_SKIPLIST;
    build->made->object = build->work.built;
    build->made->expires = DUEQ_NEVER;
    *ret_build = build;
    return DUEQ_OK;
}

/* After it is out of the list of unfinished work, its object is garbage like any other. */
void keys_build_free(struct keys_build *build)
{
    struct keys *keys;

    if (build == NULL)
        return;
    keys = build->work.keys;
    unfinished_end(&build->work);
    if (keys != NULL)
        garbage_record_release(keys, build->work.built, build->type);
    free(build->value);
    free(build->made);
    free(build);
}

/* ---- slices */

/* DUEQ_NOTFOUND: the key has changed since the build began. */
static enum dueq_status find_source(const struct keys_build *build,
                                    const struct keys_view *view, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status;

    if (build->work.keys == NULL || build->work.stale)
        return DUEQ_NOTFOUND;
    status =
        key_index_find(view, dueq_slice(build->name, build->name_size), build->type, &entry);
    if (status == DUEQ_WRONGTYPE ||
        (status == DUEQ_OK && (entry->packed || entry->object != build->work.source)))
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        *ret_entry = entry;
    return status;
}

bool keys_build_is_sound(const struct keys_build *build, const struct keys_view *view)
{
    struct keys_entry *entry;

    if (build->made != NULL)
        return build->work.keys != NULL;
    return find_source(build, view, &entry) == DUEQ_OK;
}

void keys_build_insert_at(struct keys_build *build, uint64_t index)
{
    build->edit.index = index;
}

static unsigned cost_of(struct dueq_slice value, unsigned budget)
{
    size_t cost = 1 + value.size / STEP_BYTES;

    return cost < budget ? (unsigned)cost : budget;
}

static bool in_object(const struct kv_cursor *at, const struct kv_key *prefix)
{
    struct dueq_slice key = kv_cursor_key(at);

    return key.size >= prefix->size && memcmp(key.data, prefix->bytes, prefix->size) == 0;
}

/* Moves to the first record of the table that is not copied yet. */
static enum dueq_status seek_record(const struct keys_build *build, struct kv_cursor *at,
                                    const struct kv_key *prefix)
{
    const struct kv_key *from = build->last.size == 0 ? prefix : &build->last;
    enum dueq_status status = kv_cursor_seek(at, kv_key_slice(from));

    if (status == DUEQ_OK && build->last.size > 0 &&
        dueq_slice_equal(kv_cursor_key(at), kv_key_slice(&build->last)))
        status = kv_cursor_next(at);
    return status;
}

/* Copies the record at the cursor, unless it is deleted by a cut. */
static enum dueq_status copy_record(struct keys_build *build, const struct keys_entry *entry,
                                    struct cuts *cuts, const struct kv_cursor *at)
{
    struct dueq_slice key = kv_cursor_key(at);
    struct kv_key copy;
    enum dueq_status status = member_check_cut(cuts, entry, key, kv_cursor_value(at));

    memcpy(build->last.bytes, key.data, key.size);
    build->last.size = (uint16_t)key.size;
    if (status != DUEQ_OK || cuts->gone)
        return status;
    memcpy(copy.bytes, key.data, key.size);
    copy.size = (uint16_t)key.size;
    bytes_write_u64(copy.bytes + 1, build->work.built);
    kv_put(build->work.keys->kv, kv_key_slice(&copy), kv_cursor_value(at), true);
    return DUEQ_OK;
}

/* *budget 0: there may be more in the table. */
static enum dueq_status copy_table(struct keys_build *build, struct keys_entry *entry,
                                   struct kv_cursor *at, unsigned *budget)
{
    struct kv_key prefix = object_key_prefix(*build->table, build->work.source);
    enum dueq_status status = seek_record(build, at, &prefix);
    struct cuts cuts;

    cuts_begin(&cuts, build->work.keys, entry);
    while (status == DUEQ_OK && *budget > 0 && in_object(at, &prefix)) {
        *budget -= cost_of(kv_cursor_value(at), *budget);
        status = copy_record(build, entry, &cuts, at);
        if (status == DUEQ_OK)
            status = kv_cursor_next(at);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

static enum dueq_status copy_tables(struct keys_build *build, struct keys_entry *entry,
                                    unsigned budget)
{
    struct kv_cursor *at = keys_take_cursor(build->work.keys);
    enum dueq_status status = DUEQ_OK;

    if (at == NULL)
        return DUEQ_NOMEM;
    while (*build->table != 0 && budget > 0 && status == DUEQ_OK) {
        status = copy_table(build, entry, at, &budget);
        if (budget == 0)
            break;
        build->table++;
        build->last.size = 0;
    }
    keys_give_cursor(build->work.keys);
    return status;
}

/* ---- lists */

static void put_element(struct keys_build *build, struct dueq_slice value)
{
    bool towards_tail = build->edit.towards == LIST_TAIL;
    int64_t index = towards_tail ? (int64_t)build->put : -1 - (int64_t)build->put;
    struct kv_key key = object_key_element(build->work.built, index);

    kv_put(build->work.keys->kv, kv_key_slice(&key), value, true);
    build->put++;
}

static void take_element(struct keys_build *build, struct dueq_slice value)
{
    const struct list_edit *edit = &build->edit;

    if (edit->kind == LIST_INSERTED && build->taken == edit->index)
        put_element(build, edit->value);
    build->taken++;
    if (edit->kind == LIST_REMOVED && build->matched < edit->limit &&
        dueq_slice_equal(value, edit->value))
        build->matched++;
    else
        put_element(build, value);
}

/* An insertion at the tail. */
static void end_list(struct keys_build *build)
{
    if (build->edit.kind == LIST_INSERTED && build->edit.index == build->taken)
        put_element(build, build->edit.value);
}

static enum dueq_status copy_elements(struct keys_build *build, const struct keys_entry *entry,
                                      unsigned budget)
{
    bool towards_tail = build->edit.towards == LIST_TAIL;
    uint64_t index = towards_tail ? build->taken : entry->count - 1 - build->taken;
    struct kv_key key = object_key_element(entry->object, entry->head + (int64_t)index);
    struct kv_cursor *at = keys_take_cursor(build->work.keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    status = kv_cursor_seek(at, kv_key_slice(&key));
    while (status == DUEQ_OK && budget > 0) {
        budget -= cost_of(kv_cursor_value(at), budget);
        take_element(build, kv_cursor_value(at));
        if (build->taken == entry->count) {
            end_list(build);
            break;
        }
        status = towards_tail ? kv_cursor_next(at) : kv_cursor_prev(at);
    }
    keys_give_cursor(build->work.keys);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

enum dueq_status keys_build_step(struct keys_build *build, const struct keys_view *view,
                                 unsigned budget, bool *ret_finished)
{
    struct keys_entry *entry;
    enum dueq_status status = find_source(build, view, &entry);

    if (status != DUEQ_OK)
        return status;
    if (build->type != KEYS_LIST)
        status = copy_tables(build, entry, budget);
    else if (build->taken < entry->count)
        status = copy_elements(build, entry, budget);
    if (status == DUEQ_OK)
        *ret_finished =
            build->type == KEYS_LIST ? build->taken == entry->count : *build->table == 0;
    return status;
}

/* ---- the last step */

/* Deletes the garbage record, because the object has a name now. */
static void keep_object(struct keys_build *build)
{
    struct kv_key record = object_garbage(build);

    kv_del(build->work.keys->kv, kv_key_slice(&record));
    unfinished_end(&build->work);
}

/* Sets count and head of a list; other types have no ends. */
static void set_ends(const struct keys_build *build, struct keys_entry *entry)
{
    if (build->type != KEYS_LIST)
        return;
    entry->count = build->put;
    entry->head = build->edit.towards == LIST_TAIL ? 0 : -(int64_t)build->put;
}

enum dueq_status keys_build_copy(struct keys_build *build, const struct keys_view *view,
                                 unsigned to_database, struct dueq_slice to)
{
    struct keys *keys = view->keys;
    struct keys_view there = {view->keys, to_database, view->time};
    struct keys_entry *entry, *copy;
    enum dueq_status status = find_source(build, view, &entry);

    if (status == DUEQ_OK)
        status = key_index_make_free(&there, to);
    if (status == DUEQ_OK)
        status = key_index_open(&there, to, build->type, &copy);
    if (status == DUEQ_OK)
        status = entry_value_copy(keys, copy, entry);
    if (status != DUEQ_OK)
        return status;
    copy->object = build->work.built;
    set_ends(build, copy);
    if (entry->expires != DUEQ_NEVER)
        key_index_set_expiry(keys, copy, entry->expires);
    keep_object(build);
    key_index_changed(&there, copy);
    return DUEQ_OK;
}

enum dueq_status keys_build_replace(struct keys_build *build, const struct keys_view *view,
                                    uint64_t *ret_count)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    enum dueq_status status = find_source(build, view, &entry);
    uint64_t left = build->put;

    if (status != DUEQ_OK)
        return status;
    if (left > 0) {
        discard_object(keys, KEYS_LIST, entry->object, entry->count);
        entry->object = build->work.built;
        set_ends(build, entry);
        keep_object(build);
        key_index_changed(view, entry);
    } else {
        key_index_remove(keys, entry, false);
    }
    *ret_count = left;
    return DUEQ_OK;
}

/* ---- from nothing */

enum dueq_status keys_build_find(const struct keys_build *build, struct dueq_slice member,
                                 double *ret_score)
{
    struct dueq_slice value;
    enum dueq_status status = build->work.keys == NULL
                                  ? DUEQ_NOTFOUND
                                  : member_get(build->work.keys, build->made, member, &value);

    if (status == DUEQ_OK)
        *ret_score = build->type == KEYS_ZSET ? zset_order_read_score(value) : 1;
    return status;
}

enum dueq_status keys_build_put(struct keys_build *build, struct dueq_slice member,
                                double score, const double *old)
{
    enum dueq_status status;

    if (build->work.keys == NULL)
        return DUEQ_NOTFOUND;
    if (build->type == KEYS_ZSET)
        return zset_member_put(build->work.keys, build->made, member, score, old);
    status =
        member_put(build->work.keys, build->made, member, dueq_slice(NULL, 0), old == NULL);
    build->made->count += status == DUEQ_OK && old == NULL;
    return status;
}

enum dueq_status keys_build_push(struct keys_build *build, struct dueq_slice value)
{
    if (build->work.keys == NULL)
        return DUEQ_NOTFOUND;
    put_element(build, value);
    build->made->count = build->put;
    return DUEQ_OK;
}

enum dueq_status keys_build_store(struct keys_build *build, const struct keys_view *view,
                                  struct dueq_slice name, uint64_t *ret_count)
{
    struct keys *keys = build->work.keys;
    struct keys_entry *entry;
    enum dueq_status status;

    if (keys == NULL || build->made->count == 0)
        return DUEQ_NOTFOUND;
    status = keys_make_way(view, name);
    if (status == DUEQ_OK || status == DUEQ_NOTFOUND)
        status = key_index_open(view, name, build->type, &entry);
    if (status == DUEQ_OK)
        status = entry_value_copy(keys, entry, build->made);
    if (status != DUEQ_OK)
        return status;
    *ret_count = entry->count;
    keep_object(build);
    key_index_changed(view, entry);
    return DUEQ_OK;
}
