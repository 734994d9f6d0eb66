/* Short lists are packed (list_packed.h). Others have a record for each element, at contiguous
 * indexes; the index of the head is in the key's entry. */
#include "storage/keys/list.h"

#include "storage/keys/index/entry_value.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/garbage/list_stub.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/list_packed.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

#include <stdlib.h>

static struct kv_key element_key(const struct keys_entry *entry, uint64_t index)
{
    return object_key_element(entry->object, entry->head + (int64_t)index);
}

static enum dueq_status read_element(struct keys *keys, const struct keys_entry *entry,
                                     uint64_t index, struct dueq_slice *ret_value)
{
    struct kv_key key;

    if (entry->packed)
        return list_packed_at(keys, entry, index, ret_value);
    key = element_key(entry, index);
    return kv_get(keys->kv, kv_key_slice(&key), ret_value);
}

/* The list is not packed. */
static void write_element(struct keys *keys, const struct keys_entry *entry, uint64_t index,
                          struct dueq_slice value, bool absent)
{
    struct kv_key key = element_key(entry, index);

    kv_put(keys->kv, kv_key_slice(&key), value, absent);
}

/* Copies the element to the scratch space, where it outlives the following change. */
static enum dueq_status keep_element(struct keys *keys, const struct keys_entry *entry,
                                     uint64_t index, struct dueq_slice *ret_value)
{
    struct dueq_slice value;
    enum dueq_status status = read_element(keys, entry, index, &value);

    if (status != DUEQ_OK)
        return status;
    value = keys_keep(keys, value);
    if (value.data == NULL)
        return DUEQ_NOMEM;
    *ret_value = value;
    return DUEQ_OK;
}

/* ---- the ends */

static enum dueq_status add_element(const struct keys_view *view, struct keys_entry *entry,
                                    enum list_end end, struct dueq_slice value)
{
    struct keys *keys = view->keys;
    uint64_t index = end == LIST_HEAD ? 0 : entry->count;
    enum dueq_status status = list_packed_unpack_for(keys, entry, value.size);
    bool taken;

    if (status == DUEQ_OK && entry->packed) {
        status = list_packed_splice(keys, entry, index, 0, &value);
    } else if (status == DUEQ_OK) {
        if (end == LIST_HEAD)
            entry->head--;
        status =
            list_stub_take_back(keys, entry->object, end, entry->head + (int64_t)index, &taken);
        if (status == DUEQ_OK)
            write_element(keys, entry, index, value, !taken);
        else if (end == LIST_HEAD)
            entry->head++;
    }
    if (status != DUEQ_OK) {
        key_index_drop_empty(keys, entry);
        return status;
    }
    entry->count++;
    key_index_changed(view, entry);
    return DUEQ_OK;
}

/* Removes elements at one end. The caller calls key_index_changed. */
static enum dueq_status cut_end(struct keys *keys, struct keys_entry *entry, enum list_end end,
                                uint64_t count)
{
    uint64_t first = end == LIST_HEAD ? 0 : entry->count - count;
    enum dueq_status status = DUEQ_OK;

    if (entry->packed)
        status = list_packed_splice(keys, entry, first, count, NULL);
    else
        list_stub_drop(keys, entry->object, end, entry->head + (int64_t)first, count);
    if (status != DUEQ_OK)
        return status;
    entry->count -= count;
    if (end == LIST_HEAD && !entry->packed)
        entry->head += (int64_t)count;
    return DUEQ_OK;
}

static uint64_t end_index(const struct keys_entry *entry, enum list_end end)
{
    return end == LIST_HEAD ? 0 : entry->count - 1;
}

enum dueq_status list_push(const struct keys_view *view, struct dueq_slice name,
                           enum list_end end, struct dueq_slice value)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_open(view, name, KEYS_LIST, &entry);

    return status == DUEQ_OK ? add_element(view, entry, end, value) : status;
}

enum dueq_status list_peek(const struct keys_view *view, struct dueq_slice name,
                           enum list_end end, struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_LIST, &entry);

    return status == DUEQ_OK ? read_element(view->keys, entry, end_index(entry, end), ret_value)
                             : status;
}

enum dueq_status list_pop(const struct keys_view *view, struct dueq_slice name,
                          enum list_end end)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_LIST, &entry);

    if (status == DUEQ_OK)
        status = cut_end(view->keys, entry, end, 1);
    if (status == DUEQ_OK)
        key_index_changed(view, entry);
    return status;
}

/* The element is added before it is removed, so that a list of one element that is moved to
 * itself is not deleted. */
enum dueq_status list_move(const struct keys_view *view, struct dueq_slice from,
                           enum list_end from_end, struct dueq_slice to, enum list_end to_end,
                           struct dueq_slice *ret_value)
{
    struct keys *keys = view->keys;
    struct keys_entry *source, *target;
    struct dueq_slice value;
    enum dueq_status status = key_index_find(view, from, KEYS_LIST, &source);

    if (status == DUEQ_OK)
        status = keep_element(keys, source, end_index(source, from_end), &value);
    if (status == DUEQ_OK)
        status = key_index_open(view, to, KEYS_LIST, &target);
    if (status == DUEQ_OK && source->packed)
        status = entry_value_edit(keys, source); /* so that the removal cannot fail */
    if (status == DUEQ_OK)
        status = add_element(view, target, to_end, value);
    if (status == DUEQ_OK)
        status = cut_end(keys, source, from_end, 1);
    if (status != DUEQ_OK)
        return status;
    key_index_changed(view, source);
    *ret_value = value;
    return DUEQ_OK;
}

/* ---- by index */

/* DUEQ_NOTFOUND when there is no such key or index. */
static enum dueq_status find_index(const struct keys_view *view, struct dueq_slice name,
                                   uint64_t index, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_LIST, &entry);

    if (status == DUEQ_OK && index >= entry->count)
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        *ret_entry = entry;
    return status;
}

enum dueq_status list_at(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                         struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    enum dueq_status status = find_index(view, name, index, &entry);

    return status == DUEQ_OK ? read_element(view->keys, entry, index, ret_value) : status;
}

enum dueq_status list_put(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                          struct dueq_slice value)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    enum dueq_status status = find_index(view, name, index, &entry);

    if (status == DUEQ_OK)
        status = list_packed_unpack_for(keys, entry, value.size);
    if (status == DUEQ_OK && entry->packed)
        status = list_packed_splice(keys, entry, index, 1, &value);
    else if (status == DUEQ_OK)
        write_element(keys, entry, index, value, false);
    if (status == DUEQ_OK)
        key_index_touched(view, entry);
    return status;
}

enum dueq_status list_each(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                           enum list_end towards, keys_element_fn fn, void *arg)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    struct kv_cursor *at;
    struct kv_key key;
    uint64_t left;
    enum dueq_status status = find_index(view, name, index, &entry);

    if (status != DUEQ_OK)
        return status;
    if (entry->packed)
        return list_packed_each(keys, entry, index, towards, fn, arg);
    at = keys_take_cursor(keys);
    if (at == NULL)
        return DUEQ_NOMEM;
    key = element_key(entry, index);
    left = towards == LIST_TAIL ? entry->count - index : index + 1;
    for (status = kv_cursor_seek(at, kv_key_slice(&key)); status == DUEQ_OK && left > 0;
         status = towards == LIST_TAIL ? kv_cursor_next(at) : kv_cursor_prev(at)) {
        left--;
        if (!fn(arg, kv_cursor_value(at), dueq_slice(NULL, 0)))
            break;
        if (left == 0)
            break;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
}

/* ---- in the middle */

static enum dueq_status copy_element(struct keys *keys, const struct keys_entry *entry,
                                     uint64_t from, uint64_t to)
{
    struct dueq_slice value;
    enum dueq_status status = keep_element(keys, entry, from, &value);

    if (status == DUEQ_OK)
        write_element(keys, entry, to, value, false);
    return status;
}

/* Adds an element at the nearer end and moves the elements between there and the index by one.
 * At the index a copy of a neighbour remains, which the caller overwrites. */
static enum dueq_status make_hole(const struct keys_view *view, struct keys_entry *entry,
                                  uint64_t index)
{
    struct keys *keys = view->keys;
    bool at_head = index < entry->count / 2;
    uint64_t last = entry->count;
    enum dueq_status status =
        add_element(view, entry, at_head ? LIST_HEAD : LIST_TAIL, dueq_slice(NULL, 0));

    if (at_head)
        for (uint64_t i = 0; i < index && status == DUEQ_OK; i++)
            status = copy_element(keys, entry, i + 1, i);
    else
        for (uint64_t i = last; i > index && status == DUEQ_OK; i--)
            status = copy_element(keys, entry, i - 1, i);
    return status;
}

static enum dueq_status insert_packed(const struct keys_view *view, struct keys_entry *entry,
                                      uint64_t index, struct dueq_slice value)
{
    enum dueq_status status = list_packed_splice(view->keys, entry, index, 0, &value);

    if (status != DUEQ_OK)
        return status;
    entry->count++;
    key_index_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status list_insert(const struct keys_view *view, struct dueq_slice name,
                             uint64_t index, struct dueq_slice value)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_LIST, &entry);

    if (status == DUEQ_OK && index > entry->count)
        return DUEQ_NOTFOUND;
    if (status == DUEQ_OK)
        status = list_packed_unpack_for(view->keys, entry, value.size);
    if (status == DUEQ_OK && entry->packed)
        return insert_packed(view, entry, index, value);
    if (status == DUEQ_OK)
        status = make_hole(view, entry, index);
    if (status == DUEQ_OK)
        write_element(view->keys, entry, index, value, false);
    return status;
}

enum dueq_status list_trim(const struct keys_view *view, struct dueq_slice name, uint64_t first,
                           uint64_t count)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    if (count == 0 || first >= entry->count) {
        key_index_remove(keys, entry, false);
        return DUEQ_OK;
    }
    if (count > entry->count - first)
        count = entry->count - first;
    status = cut_end(keys, entry, LIST_HEAD, first);
    if (status == DUEQ_OK)
        status = cut_end(keys, entry, LIST_TAIL, entry->count - count);
    if (status == DUEQ_OK)
        key_index_changed(view, entry);
    return status;
}

/* ---- removing what equals a value */

/* The indexes of equal elements, in the order of the search. */
struct matches {
    struct dueq_slice wanted;
    uint64_t limit, at;
    int step; /* 1 or -1, added to `at` for each element */
    uint64_t *indexes;
    size_t count, capacity;
    bool no_memory;
};

static bool add_match(struct matches *matches)
{
    if (matches->count == matches->capacity) {
        size_t capacity = matches->capacity == 0 ? 16 : matches->capacity * 2;
        uint64_t *grown = realloc(matches->indexes, capacity * sizeof(*grown));

        if (grown == NULL) {
            matches->no_memory = true;
            return false;
        }
        matches->indexes = grown;
        matches->capacity = capacity;
    }
    matches->indexes[matches->count++] = matches->at;
    return matches->count < matches->limit;
}

static bool match_element(void *arg, struct dueq_slice value, struct dueq_slice unused)
{
    struct matches *matches = arg;
    bool more = true;

    (void)unused;
    if (dueq_slice_equal(value, matches->wanted))
        more = add_match(matches);
    matches->at += (uint64_t)(int64_t)matches->step;
    return more;
}

static void reverse(struct matches *matches)
{
    for (size_t i = 0; i < matches->count / 2; i++) {
        uint64_t *other = &matches->indexes[matches->count - 1 - i], kept = *other;

        *other = matches->indexes[i];
        matches->indexes[i] = kept;
    }
}

/* Finds the two neighbouring matches whose elements between them stay where they are, so that
 * the fewest others move: those before move towards the tail, those after towards the head.
 * Returns the number of matches before these elements. */
static size_t still_point(const uint64_t *indexes, size_t matches, uint64_t size,
                          uint64_t *ret_moved)
{
    size_t best = 0;

    *ret_moved = UINT64_MAX;
    for (size_t before = 0; before <= matches; before++) {
        size_t after = matches - before;
        uint64_t moved = 0;

        if (before > 0)
            moved += indexes[before - 1] - (before - 1);
        if (after > 0)
            moved += size - indexes[before] - after;
        if (moved < *ret_moved) {
            *ret_moved = moved;
            best = before;
        }
    }
    return best;
}

uint64_t list_removal_moves(const uint64_t *indexes, size_t count, uint64_t size)
{
    uint64_t moved;

    still_point(indexes, count, size, &moved);
    return moved;
}

/* Moves the elements before the last of the first `count` matches towards the tail, onto those
 * matches. */
static enum dueq_status close_towards_tail(struct keys *keys, const struct keys_entry *entry,
                                           const uint64_t *indexes, size_t count)
{
    uint64_t to = count == 0 ? 0 : indexes[count - 1];
    enum dueq_status status = DUEQ_OK;

    for (uint64_t from = to; from > 0 && count > 0 && status == DUEQ_OK; from--)
        if (count > 1 && from - 1 == indexes[count - 2])
            count--;
        else
            status = copy_element(keys, entry, from - 1, to--);
    return status;
}

/* Moves the elements after the first of `count` matches towards the head, onto those
 * matches. */
static enum dueq_status close_towards_head(struct keys *keys, const struct keys_entry *entry,
                                           const uint64_t *indexes, size_t count)
{
    uint64_t to = count == 0 ? entry->count : indexes[0];
    enum dueq_status status = DUEQ_OK;
    size_t passed = 1;

    for (uint64_t from = to + 1; from < entry->count && status == DUEQ_OK; from++)
        if (passed < count && from == indexes[passed])
            passed++;
        else
            status = copy_element(keys, entry, from, to++);
    return status;
}

static enum dueq_status remove_indexes(const struct keys_view *view, struct keys_entry *entry,
                                       const uint64_t *indexes, size_t count)
{
    struct keys *keys = view->keys;
    uint64_t moved;
    size_t before = still_point(indexes, count, entry->count, &moved), after = count - before;
    enum dueq_status status = close_towards_tail(keys, entry, indexes, before);

    if (status == DUEQ_OK)
        status = close_towards_head(keys, entry, indexes + before, after);
    if (status != DUEQ_OK)
        return status;
    cut_end(keys, entry, LIST_HEAD, before);
    cut_end(keys, entry, LIST_TAIL, after);
    key_index_changed(view, entry);
    return DUEQ_OK;
}

static enum dueq_status remove_packed(const struct keys_view *view, struct keys_entry *entry,
                                      const uint64_t *indexes, size_t count)
{
    enum dueq_status status = list_packed_remove(view->keys, entry, indexes, count);

    if (status != DUEQ_OK)
        return status;
    entry->count -= count;
    key_index_changed(view, entry);
    return DUEQ_OK;
}

static enum dueq_status remove_some(const struct keys_view *view, struct keys_entry *entry,
                                    const uint64_t *indexes, size_t count)
{
    return entry->packed ? remove_packed(view, entry, indexes, count)
                         : remove_indexes(view, entry, indexes, count);
}

enum dueq_status list_remove_at(const struct keys_view *view, struct dueq_slice name,
                                const uint64_t *indexes, size_t count)
{
    struct keys_entry *entry;
    enum dueq_status status = find_index(view, name, indexes[count - 1], &entry);

    return status == DUEQ_OK ? remove_some(view, entry, indexes, count) : status;
}

static enum dueq_status remove_matches(const struct keys_view *view, struct keys_entry *entry,
                                       const struct matches *matches)
{
    if (matches->count < entry->count)
        return remove_some(view, entry, matches->indexes, matches->count);
    key_index_remove(view->keys, entry, false);
    return DUEQ_OK;
}

enum dueq_status list_remove_equal(const struct keys_view *view, struct dueq_slice name,
                                   struct dueq_slice value, enum list_end towards,
                                   uint64_t limit, uint64_t *ret_removed)
{
    struct matches matches = {value, limit, 0, towards == LIST_TAIL ? 1 : -1,
                              NULL,  0,     0, false};
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    matches.at = end_index(entry, towards == LIST_TAIL ? LIST_HEAD : LIST_TAIL);
    status = list_each(view, name, matches.at, towards, match_element, &matches);
    if (status == DUEQ_OK && matches.no_memory)
        status = DUEQ_NOMEM;
    if (towards == LIST_HEAD)
        reverse(&matches);
    if (status == DUEQ_OK && matches.count > 0)
        status = remove_matches(view, entry, &matches);
    if (status == DUEQ_OK)
        *ret_removed = matches.count;
    free(matches.indexes);
    return status;
}
