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
#include "storage/keys/large_copy.h"
#include "storage/keys/zset/zset_member.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEP_BYTES = 1024,    /* that are copied: a larger record counts as several */
    LARGE_BYTES = 1 << 20 /* from here on a record is copied in parts */
};

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
    bool inserted;
    struct large_copy large; /* of a record */
    size_t name_size;
    uint8_t name[]; /* of the source */
};

static struct kv_key object_garbage(const struct keys_build *build)
{
    return garbage_record_key(build->work.built, (uint8_t)build->type);
}

/* ---- life */

/* A packed value is one record and needs no slices. */
static bool can_build(const struct keys_entry *entry)
{
    return !entry->packed;
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

static const struct list_edit whole_list = {.towards = LIST_TAIL, .index = UINT64_MAX};

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
    if (build == NULL)
        return DUEQ_NOMEM;
    build->edit = edit != NULL ? *edit : whole_list;
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
    large_copy_release(&build->large);
    free(build->made);
    free(build);
}

size_t keys_build_holds(const struct keys_build *build)
{
    return build == NULL ? 0 : build->large.size;
}

/* ---- large records */

static void spend(unsigned *budget, size_t bytes)
{
    size_t cost = 1 + bytes / STEP_BYTES;

    *budget -= cost < *budget ? (unsigned)cost : *budget;
}

/* True: the record is put. False: the budget is spent on a part of it, or there is no memory:
 * not_put. */
static bool put_record(struct keys_build *build, const struct kv_key *key,
                       struct dueq_slice value, unsigned *budget)
{
    size_t most = (size_t)*budget * STEP_BYTES;

    if (value.size < LARGE_BYTES) {
        spend(budget, value.size);
        kv_put(build->work.keys->kv, kv_key_slice(key), value, true);
        return true;
    }
    spend(budget, value.size - build->large.at);
    if (!large_copy_part(&build->large, value, most))
        return false;
    large_copy_put(&build->large, build->work.keys->kv, key);
    return true;
}

static enum dueq_status not_put(const struct keys_build *build)
{
    return build->large.bytes == NULL ? DUEQ_NOMEM : DUEQ_OK;
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

/* What is read of the disk may be another 500 MB, which are checked in parts, as for commands.
 * DUEQ_BUSY: a part was checked. */
struct checking {
    struct kv *kv;
    bool begins; /* and not the caller */
};

static struct checking begin_checking(struct kv *kv)
{
    struct checking checking = {kv, !kv_in_slices(kv)};

    if (checking.begins)
        kv_begin_slices(kv);
    return checking;
}

static enum dueq_status end_checking(struct checking checking, enum dueq_status status)
{
    if (checking.begins)
        kv_end_slices(checking.kv);
    return status;
}

static enum dueq_status seek(struct keys_build *build, struct kv_cursor *at,
                             const struct kv_key *key)
{
    struct checking checking = begin_checking(build->work.keys->kv);

    return end_checking(checking, kv_cursor_seek(at, kv_key_slice(key)));
}

static enum dueq_status move_on(struct keys_build *build, struct kv_cursor *at,
                                bool towards_tail)
{
    struct checking checking = begin_checking(build->work.keys->kv);

    return end_checking(checking, towards_tail ? kv_cursor_next(at) : kv_cursor_prev(at));
}

/* What one step has read. DUEQ_BUSY: the next one reads on. */
static enum dueq_status end_reading(enum dueq_status status, unsigned *budget)
{
    if (status != DUEQ_BUSY)
        return status;
    *budget = 0;
    return DUEQ_OK;
}

static bool in_object(const struct kv_cursor *at, const struct kv_key *prefix)
{
    struct dueq_slice key = kv_cursor_key(at);

    return key.size >= prefix->size && memcmp(key.data, prefix->bytes, prefix->size) == 0;
}

/* Moves to the first record of the table that is not copied yet. */
static enum dueq_status seek_record(struct keys_build *build, struct kv_cursor *at,
                                    const struct kv_key *prefix)
{
    const struct kv_key *from = build->last.size == 0 ? prefix : &build->last;
    enum dueq_status status = seek(build, at, from);

    if (status == DUEQ_OK && build->last.size > 0 &&
        dueq_slice_equal(kv_cursor_key(at), kv_key_slice(&build->last)))
        status = move_on(build, at, true);
    return status;
}

/* Copies the record at the cursor, or a part of it, unless it is deleted by a cut. */
static enum dueq_status copy_record(struct keys_build *build, const struct keys_entry *entry,
                                    struct cuts *cuts, const struct kv_cursor *at,
                                    unsigned *budget)
{
    struct dueq_slice key = kv_cursor_key(at), value = kv_cursor_value(at);
    struct kv_key from, to;
    enum dueq_status status = member_check_cut(cuts, entry, key, value);

    if (status != DUEQ_OK)
        return status;
    kv_key_copy(&from, key);
    kv_key_copy(&to, key);
    bytes_write_u64(to.bytes + 1, build->work.built);
    if (cuts->gone)
        spend(budget, 0);
    else if (!put_record(build, &to, value, budget))
        return not_put(build);
    build->last = from;
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
        status = copy_record(build, entry, &cuts, at, budget);
        if (status == DUEQ_OK && *budget > 0)
            status = move_on(build, at, true);
    }
    return status == DUEQ_NOTFOUND ? DUEQ_OK : end_reading(status, budget);
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

/* ---- strings */

static enum dueq_status copy_string(struct keys_build *build, unsigned budget)
{
    struct kv *kv = build->work.keys->kv;
    struct kv_key from = object_key_prefix(*build->table, build->work.source);
    struct kv_key to = object_key_prefix(*build->table, build->work.built);
    struct checking checking = begin_checking(kv);
    struct dueq_slice value;
    enum dueq_status status = end_checking(checking, kv_get(kv, kv_key_slice(&from), &value));

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : end_reading(status, &budget);
    if (!put_record(build, &to, value, &budget))
        return not_put(build);
    build->table++;
    return DUEQ_OK;
}

/* ---- lists */

static struct kv_key next_key(const struct keys_build *build)
{
    bool towards_tail = build->edit.towards == LIST_TAIL;
    int64_t index = towards_tail ? (int64_t)build->put : -1 - (int64_t)build->put;

    return object_key_element(build->work.built, index);
}

/* As put_record. */
static bool put_element(struct keys_build *build, struct dueq_slice value, unsigned *budget)
{
    struct kv_key key = next_key(build);
    bool done = put_record(build, &key, value, budget);

    build->put += done;
    return done;
}

static bool inserts_now(const struct keys_build *build)
{
    return build->edit.kind == LIST_INSERTED && !build->inserted &&
           build->taken == build->edit.index;
}

static bool insert(struct keys_build *build, unsigned *budget)
{
    build->inserted = put_element(build, build->edit.value, budget);
    return build->inserted;
}

/* Of an element that is being copied, it is known that it stays. */
static bool is_removed(const struct keys_build *build, struct dueq_slice value)
{
    return build->edit.kind == LIST_REMOVED && build->large.bytes == NULL &&
           build->matched < build->edit.limit && dueq_slice_equal(value, build->edit.value);
}

/* Takes the element, or does a part of what comes before that. */
static enum dueq_status take_element(struct keys_build *build, struct dueq_slice value,
                                     unsigned *budget)
{
    if (inserts_now(build) && !insert(build, budget))
        return not_put(build);
    if (is_removed(build, value)) {
        build->matched++;
        spend(budget, value.size);
    } else if (!put_element(build, value, budget)) {
        return not_put(build);
    }
    build->taken++;
    return DUEQ_OK;
}

static enum dueq_status take_elements(struct keys_build *build, const struct keys_entry *entry,
                                      unsigned *budget)
{
    bool towards_tail = build->edit.towards == LIST_TAIL;
    uint64_t index = towards_tail ? build->taken : entry->count - 1 - build->taken;
    struct kv_key key = object_key_element(entry->object, entry->head + (int64_t)index);
    struct kv_cursor *at = keys_take_cursor(build->work.keys);
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    status = seek(build, at, &key);
    while (status == DUEQ_OK && *budget > 0) {
        status = take_element(build, kv_cursor_value(at), budget);
        if (status != DUEQ_OK || *budget == 0 || build->taken == entry->count)
            break;
        status = move_on(build, at, towards_tail);
    }
    keys_give_cursor(build->work.keys);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : end_reading(status, budget);
}

static enum dueq_status copy_elements(struct keys_build *build, const struct keys_entry *entry,
                                      unsigned budget)
{
    enum dueq_status status = DUEQ_OK;

    if (build->taken < entry->count)
        status = take_elements(build, entry, &budget);
    if (status == DUEQ_OK && build->taken == entry->count && inserts_now(build) &&
        !insert(build, &budget))
        return not_put(build);
    return status;
}

static bool is_complete(const struct keys_build *build, const struct keys_entry *entry)
{
    return build->type == KEYS_LIST ? build->taken == entry->count && !inserts_now(build)
                                    : *build->table == 0;
}

enum dueq_status keys_build_step(struct keys_build *build, const struct keys_view *view,
                                 unsigned budget, bool *ret_finished)
{
    struct keys_entry *entry;
    enum dueq_status status = find_source(build, view, &entry);

    if (status != DUEQ_OK)
        return status;
    if (build->type == KEYS_STRING)
        status = *build->table == 0 ? DUEQ_OK : copy_string(build, budget);
    else if (build->type == KEYS_LIST)
        status = copy_elements(build, entry, budget);
    else
        status = copy_tables(build, entry, budget);
    if (status == DUEQ_OK)
        *ret_finished = is_complete(build, entry);
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
    struct kv_key key;

    if (build->work.keys == NULL)
        return DUEQ_NOTFOUND;
    key = next_key(build);
    kv_put(build->work.keys->kv, kv_key_slice(&key), value, true);
    build->made->count = ++build->put;
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
