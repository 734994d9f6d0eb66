#include "storage/keys/index/member.h"

#include "storage/bytes.h"
#include "storage/keys/index/entry_value.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/state/name_hash.h"
#include "storage/keys/record/object_key.h"
#include "storage/keys/index/unsaved.h"
#include "storage/keys/record/zset_order.h"
#include "storage/kv/cursor.h"
#include "storage/kv/kv.h"

enum { MEMBER_PLAIN = 0, MEMBER_FOLDED = 1 };
enum { FOLDED_HEAD = 1 + 8 /* bytes of a record before the name */ };

static struct kv_key start_key(const struct keys_entry *entry, uint64_t hash)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_MEMBER);
    kv_key_u64(&key, entry->object);
    name_hash_append(&key, hash);
    return key;
}

static struct kv_key member_key(const struct keys *keys, const struct keys_entry *entry,
                                struct dueq_slice name)
{
    struct kv_key key = start_key(entry, name_hash(keys, name));

    if (name.size > 0)
        kv_key_name(&key, name, keys->seed);
    return key;
}

static bool read_folded(struct dueq_slice record, struct dueq_slice *ret_name,
                        struct dueq_slice *ret_value)
{
    const uint8_t *bytes = record.data;
    uint64_t name_size = record.size < FOLDED_HEAD ? 0 : bytes_read_u64(bytes + 1);

    if (record.size < FOLDED_HEAD || name_size > record.size - FOLDED_HEAD)
        return false;
    *ret_name = dueq_slice(bytes + FOLDED_HEAD, name_size);
    *ret_value =
        dueq_slice(bytes + FOLDED_HEAD + name_size, record.size - FOLDED_HEAD - name_size);
    return true;
}

bool member_read(enum keys_type type, struct dueq_slice key, struct dueq_slice record,
                 struct dueq_slice *ret_name, struct dueq_slice *ret_value)
{
    const uint8_t *bytes = record.data;

    if (record.size == 0 || key.size < MEMBER_KEY_FIXED || bytes[0] > MEMBER_FOLDED)
        return false;
    *ret_name =
        dueq_slice((const uint8_t *)key.data + MEMBER_KEY_FIXED, key.size - MEMBER_KEY_FIXED);
    *ret_value = dueq_slice(bytes + 1, record.size - 1);
    if (bytes[0] == MEMBER_FOLDED && !read_folded(record, ret_name, ret_value))
        return false;
    return type != KEYS_ZSET || ret_value->size == ZSET_ORDER_SCORE;
}

enum dueq_status member_get_record(struct keys *keys, const struct keys_entry *entry,
                                   struct dueq_slice name, struct dueq_slice *ret_value)
{
    struct kv_key key = member_key(keys, entry, name);
    struct dueq_slice record, whole;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    if (status == DUEQ_OK &&
        !member_read(entry->type, kv_key_slice(&key), record, &whole, ret_value))
        status = DUEQ_CORRUPT;
    return status;
}

/* A sorted set's member is deleted when its entry of the order is. */
static enum dueq_status check_order(struct cuts *cuts, const struct keys_entry *entry,
                                    struct dueq_slice name, struct dueq_slice value)
{
    struct kv_key key = zset_order_key(cuts->keys, entry, zset_order_read_score(value), name);

    return cuts_check(cuts, kv_key_slice(&key));
}

enum dueq_status member_check_cut(struct cuts *cuts, const struct keys_entry *entry,
                                  struct dueq_slice key, struct dueq_slice record)
{
    struct dueq_slice name, value;

    if (!cuts->any || entry->type == KEYS_SET || *(const uint8_t *)key.data != TABLE_MEMBER)
        return cuts_check(cuts, key);
    if (!member_read(entry->type, key, record, &name, &value))
        return DUEQ_CORRUPT;
    return check_order(cuts, entry, name, value);
}

bool member_is_sound(const struct keys *keys, const struct keys_entry *entry,
                     struct dueq_slice key, struct dueq_slice record)
{
    struct dueq_slice name, value;
    struct kv_key own;

    if (!member_read(entry->type, key, record, &name, &value) ||
        (key.size == KV_KEY_MAX) != (*(const uint8_t *)record.data == 1))
        return false;
    own = object_key_prefix(TABLE_MEMBER, entry->object);
    name_hash_append(&own, name_hash(keys, name));
    if (name.size > 0)
        kv_key_name(&own, name, keys->seed);
    return dueq_slice_equal(kv_key_slice(&own), key);
}

static enum dueq_status get_present(struct keys *keys, struct keys_entry *entry,
                                    struct dueq_slice name, struct dueq_slice *ret_value)
{
    struct kv_key key;
    struct cuts cuts;
    enum dueq_status status = member_get_record(keys, entry, name, ret_value);

    if (status != DUEQ_OK || !cuts_exist(keys, entry))
        return status;
    cuts_begin(&cuts, keys, entry);
    if (entry->type == KEYS_ZSET) {
        status = check_order(&cuts, entry, name, *ret_value);
    } else {
        key = member_key(keys, entry, name);
        status = cuts_check(&cuts, kv_key_slice(&key));
    }
    return status == DUEQ_OK && cuts.gone ? DUEQ_NOTFOUND : status;
}

static void put_record(struct keys *keys, const struct keys_entry *entry,
                       struct dueq_slice name, struct dueq_slice value, bool absent)
{
    struct kv_key key = member_key(keys, entry, name);
    uint8_t head[FOLDED_HEAD] = {key.folded ? MEMBER_FOLDED : MEMBER_PLAIN};
    struct dueq_slice parts[3];
    size_t count = 0;

    parts[count++] = dueq_slice(head, key.folded ? FOLDED_HEAD : 1);
    if (key.folded) {
        bytes_write_u64(head + 1, name.size);
        parts[count++] = name;
    }
    parts[count++] = value;
    kv_putv(keys->kv, kv_key_slice(&key), parts, count, absent);
}

/* ---- packed */

bool member_next_packed(enum keys_type type, struct dueq_slice cells, size_t *at,
                        struct dueq_slice *ret_name, struct dueq_slice *ret_value)
{
    *ret_value = dueq_slice(NULL, 0);
    if (!packed_next(cells, at, ret_name))
        return false;
    if (type == KEYS_SET)
        return true;
    return packed_next(cells, at, ret_value) &&
           (type != KEYS_ZSET || ret_value->size == ZSET_ORDER_SCORE);
}

/* Where a member is among the cells, or would be. */
struct cell_range {
    size_t from, to; /* bytes; equal: the member is absent */
    struct dueq_slice value;
};

static struct cell_range find_cells(enum keys_type type, struct dueq_slice cells,
                                    struct dueq_slice name)
{
    struct dueq_slice here, value;
    size_t from = 0, to = 0;

    for (; member_next_packed(type, cells, &to, &here, &value); from = to)
        if (dueq_slice_equal(here, name))
            return (struct cell_range){from, to, value};
    return (struct cell_range){cells.size, cells.size, {NULL, 0}};
}

/* Is the member (left) after the other one in their order? */
static bool is_after(const struct keys_entry *entry, struct dueq_slice left,
                     struct dueq_slice left_value, struct dueq_slice right,
                     struct dueq_slice right_value)
{
    double left_score, right_score;

    if (entry->type == KEYS_SET)
        return packed_compare_integers(left, right) > 0;
    left_score = zset_order_read_score(left_value);
    right_score = zset_order_read_score(right_value);
    if (left_score != right_score)
        return left_score > right_score;
    return dueq_slice_compare(left, right) > 0;
}

static bool is_sorted(const struct keys_entry *entry, struct dueq_slice name)
{
    return entry->type == KEYS_ZSET ||
           (entry->encoding == KEYS_INTSET && packed_is_integer(name));
}

/* The offset at which an absent member is to be inserted. */
static size_t cell_offset(const struct keys_entry *entry, struct dueq_slice name,
                          struct dueq_slice value)
{
    struct dueq_slice cells = packed_slice(&entry->value), here, here_value;
    size_t from = 0, to = 0;

    if (!is_sorted(entry, name))
        return cells.size;
    for (; member_next_packed(entry->type, cells, &to, &here, &here_value); from = to)
        if (!is_after(entry, name, value, here, here_value))
            break;
    return from;
}

static size_t cells_size(enum keys_type type, struct dueq_slice name, struct dueq_slice value)
{
    return packed_cell_size(name.size) + (type == KEYS_SET ? 0 : packed_cell_size(value.size));
}

/* A sorted set's member is removed first, as its position may change. The second splice cannot
 * fail then: it needs no more bytes than were freed. */
static enum dueq_status put_packed(struct keys *keys, struct keys_entry *entry,
                                   struct dueq_slice name, struct dueq_slice value)
{
    struct dueq_slice contents[2] = {name, value};
    enum dueq_status status = entry_value_edit(keys, entry);
    struct cell_range found;

    if (status != DUEQ_OK)
        return status;
    found = find_cells(entry->type, packed_slice(&entry->value), name);
    if (entry->type == KEYS_ZSET && found.to > found.from) {
        packed_splice(&entry->value, found.from, found.to, NULL, 0);
        found.to = found.from;
    }
    if (found.to == found.from)
        found.from = found.to = cell_offset(entry, name, value);
    return packed_splice(&entry->value, found.from, found.to, contents,
                         entry->type == KEYS_SET ? 1 : 2)
               ? DUEQ_OK
               : DUEQ_NOMEM;
}

/* Gives each packed member records of its own. */
static enum dueq_status unpack(struct keys *keys, struct keys_entry *entry)
{
    struct dueq_slice name, value;
    struct packed cells;
    enum dueq_status status = entry_value_unpack(keys, entry, &cells);
    size_t at = 0;

    if (status != DUEQ_OK)
        return status;
    if (entry->type != KEYS_ZSET)
        entry->encoding = KEYS_HASHTABLE;
    while (member_next_packed(entry->type, packed_slice(&cells), &at, &name, &value)) {
        put_record(keys, entry, name, value, true);
        if (entry->type == KEYS_ZSET)
            zset_order_put(keys, entry, zset_order_read_score(value), name, true);
    }
    packed_release(&cells);
    return DUEQ_OK;
}

static enum dueq_status unpack_if_too_large(struct keys *keys, struct keys_entry *entry,
                                            struct dueq_slice name, struct dueq_slice value)
{
    struct dueq_slice cells;
    enum dueq_status status = entry_value_get(keys, entry, &cells);
    struct cell_range found;
    size_t size;

    if (status != DUEQ_OK)
        return status;
    size = cells.size + cells_size(entry->type, name, value);
    if (!entry_value_outgrows(entry, size))
        return DUEQ_OK;
    found = find_cells(entry->type, cells, name);
    return entry_value_outgrows(entry, size - (found.to - found.from)) ? unpack(keys, entry)
                                                                       : DUEQ_OK;
}

/* ---- packed or not */

enum dueq_status member_get(struct keys *keys, struct keys_entry *entry, struct dueq_slice name,
                            struct dueq_slice *ret_value)
{
    struct dueq_slice cells;
    struct cell_range found;
    enum dueq_status status;

    if (!entry->packed)
        return get_present(keys, entry, name, ret_value);
    status = entry_value_get(keys, entry, &cells);
    if (status != DUEQ_OK)
        return status;
    found = find_cells(entry->type, cells, name);
    if (found.from == found.to)
        return DUEQ_NOTFOUND;
    *ret_value = found.value;
    return DUEQ_OK;
}

/* Sets *absent to false when a cut may have left a record of the member on disk. */
static enum dueq_status split_cuts(struct keys *keys, struct keys_entry *entry,
                                   struct dueq_slice name, bool *absent)
{
    struct kv_key key;
    bool none_left;
    enum dueq_status status;

    if (!cuts_exist(keys, entry))
        return DUEQ_OK;
    if (entry->type == KEYS_ZSET) {
        *absent = false;
        return DUEQ_OK;
    }
    key = member_key(keys, entry, name);
    status = cuts_split(keys, entry, &key, &none_left);
    *absent = *absent && none_left;
    return status;
}

enum dueq_status member_put(struct keys *keys, struct keys_entry *entry, struct dueq_slice name,
                            struct dueq_slice value, bool absent)
{
    enum dueq_status status =
        entry->packed ? unpack_if_too_large(keys, entry, name, value) : DUEQ_OK;

    if (status != DUEQ_OK)
        return status;
    if (entry->packed)
        return put_packed(keys, entry, name, value);
    status = split_cuts(keys, entry, name, &absent);
    if (status == DUEQ_OK)
        put_record(keys, entry, name, value, absent);
    return status;
}

enum dueq_status member_del(struct keys *keys, struct keys_entry *entry, struct dueq_slice name)
{
    struct kv_key key;
    struct cell_range found;
    enum dueq_status status;

    if (!entry->packed) {
        key = member_key(keys, entry, name);
        kv_del(keys->kv, kv_key_slice(&key));
        return DUEQ_OK;
    }
    status = entry_value_edit(keys, entry);
    if (status != DUEQ_OK)
        return status;
    found = find_cells(entry->type, packed_slice(&entry->value), name);
    packed_splice(&entry->value, found.from, found.to, NULL, 0);
    return DUEQ_OK;
}

static enum dueq_status scan_packed(struct keys *keys, const struct keys_entry *entry,
                                    keys_element_fn fn, void *arg)
{
    struct dueq_slice cells, name, value;
    enum dueq_status status = entry_value_get(keys, entry, &cells);

    for (size_t at = 0; status == DUEQ_OK && at < cells.size;) {
        if (!member_next_packed(entry->type, cells, &at, &name, &value))
            status = DUEQ_CORRUPT;
        else if (!fn(arg, name, value))
            break;
    }
    return status;
}

/* In a set the cut is a range of members, which is skipped at once. */
static enum dueq_status scan_next(struct kv_cursor *at, const struct keys_entry *entry,
                                  const struct cuts *cuts)
{
    return cuts->gone && entry->type == KEYS_SET ? kv_cursor_seek(at, kv_key_slice(&cuts->to))
                                                 : kv_cursor_next(at);
}

enum dueq_status member_scan(struct keys *keys, struct keys_entry *entry, uint64_t cursor,
                             uint64_t count, keys_element_fn fn, void *arg,
                             uint64_t *ret_cursor)
{
    struct kv_key from = start_key(entry, cursor);
    struct dueq_slice key, name, value;
    uint64_t seen = 0, hash = cursor;
    enum dueq_status status;
    struct kv_cursor *at;
    struct cuts cuts;

    *ret_cursor = 0;
    if (entry->packed)
        return scan_packed(keys, entry, fn, arg);
    at = keys_take_cursor(keys);
    if (at == NULL)
        return DUEQ_NOMEM;
    cuts_begin(&cuts, keys, entry);
    for (status = kv_cursor_seek(at, kv_key_slice(&from)); status == DUEQ_OK;
         status = scan_next(at, entry, &cuts)) {
        uint64_t here;

        key = kv_cursor_key(at);
        if (key.size < MEMBER_KEY_FIXED || memcmp(key.data, from.bytes, 9) != 0)
            break;
        here = name_hash_read((const uint8_t *)key.data + 9);
        if (seen >= count && here != hash) {
            *ret_cursor = here;
            break;
        }
        hash = here;
        seen++;
        status = DUEQ_CORRUPT;
        if (member_read(entry->type, key, kv_cursor_value(at), &name, &value))
            status = member_check_cut(&cuts, entry, key, kv_cursor_value(at));
        if (status != DUEQ_OK || (!cuts.gone && !fn(arg, name, value)))
            break;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* ---- random members */

struct pick {
    struct keys *keys;
    uint64_t skip;
    struct dueq_slice name, value;
    bool found;
};

/* Copies name and value to the scratch space, one after the other. */
static bool take(void *arg, struct dueq_slice name, struct dueq_slice value)
{
    struct pick *pick = arg;
    uint8_t *bytes;

    if (pick->skip > 0) {
        pick->skip--;
        return true;
    }
    bytes = keys_reserve(pick->keys, name.size + value.size);
    if (bytes == NULL)
        return false;
    if (name.size > 0)
        memcpy(bytes, name.data, name.size);
    if (value.size > 0)
        memcpy(bytes + name.size, value.data, value.size);
    pick->name = dueq_slice(bytes, name.size);
    pick->value = dueq_slice(bytes + name.size, value.size);
    pick->found = true;
    return false;
}

enum dueq_status member_random(struct keys *keys, struct keys_entry *entry, uint64_t random,
                               struct dueq_slice *ret_name, struct dueq_slice *ret_value)
{
    struct pick pick = {.keys = keys};
    uint64_t next, start = random >> 16;
    enum dueq_status status;

    if (entry->count == 0)
        return DUEQ_CORRUPT;
    if (entry->packed || entry->count <= MEMBER_SCAN_WHOLE) {
        pick.skip = random % entry->count;
        start = 0;
    } else {
        pick.skip = cuts_exist(keys, entry) ? 0 : random % 16;
    }
    status = member_scan(keys, entry, start, UINT64_MAX, take, &pick, &next);
    if (status == DUEQ_OK && !pick.found)
        status = member_scan(keys, entry, 0, UINT64_MAX, take, &pick, &next);
    if (status != DUEQ_OK)
        return status;
    if (!pick.found)
        return DUEQ_NOTFOUND;
    *ret_name = pick.name;
    *ret_value = pick.value;
    return DUEQ_OK;
}

/* ---- by the key's name */

enum dueq_status member_find(const struct keys_view *view, struct dueq_slice name,
                             enum keys_type type, struct dueq_slice member,
                             struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, type, &entry);

    return status == DUEQ_OK ? member_get(view->keys, entry, member, ret_value) : status;
}

/* Is a hash or set, to which this member was added, beyond the limits of its compact
 * encoding? */
static bool is_past_limits(const struct keys_limits *limits, const struct keys_entry *entry,
                           struct dueq_slice member, struct dueq_slice value)
{
    if (entry->encoding == KEYS_INTSET)
        return entry->count > limits->intset_entries || !packed_is_integer(member);
    return entry->encoding == KEYS_LISTPACK &&
           (entry->count > limits->hash_entries || member.size > limits->hash_value ||
            value.size > limits->hash_value);
}

static void update_encoding(struct keys *keys, struct keys_entry *entry,
                            struct dueq_slice member, struct dueq_slice value)
{
    if (!is_past_limits(&keys->limits, entry, member, value))
        return;
    entry->encoding = KEYS_HASHTABLE;
    unsaved_mark(keys, entry);
}

enum dueq_status member_set(const struct keys_view *view, struct dueq_slice name,
                            enum keys_type type, struct dueq_slice member,
                            struct dueq_slice value, bool *ret_added)
{
    struct keys *keys = view->keys;
    struct keys_entry *entry;
    struct dueq_slice old;
    enum dueq_status status = key_index_open(view, name, type, &entry), found;
    bool added;

    if (status != DUEQ_OK)
        return status;
    found = entry->count == 0 ? DUEQ_NOTFOUND : member_get(keys, entry, member, &old);
    if (found != DUEQ_OK && found != DUEQ_NOTFOUND)
        return found;
    added = found == DUEQ_NOTFOUND;
    if (added || type != KEYS_SET)
        status = member_put(keys, entry, member, value, added);
    if (status != DUEQ_OK) {
        key_index_drop_empty(keys, entry);
        return status;
    }
    *ret_added = added;
    if (!added && type == KEYS_SET)
        return DUEQ_OK;
    entry->count += added;
    update_encoding(keys, entry, member, value);
    if (added)
        key_index_changed(view, entry);
    else
        key_index_touched(view, entry);
    return DUEQ_OK;
}

enum dueq_status member_remove(const struct keys_view *view, struct dueq_slice name,
                               enum keys_type type, struct dueq_slice member)
{
    struct keys_entry *entry;
    struct dueq_slice value;
    enum dueq_status status = key_index_find(view, name, type, &entry);

    if (status == DUEQ_OK)
        status = member_get(view->keys, entry, member, &value);
    if (status != DUEQ_OK)
        return status;
    status = member_del(view->keys, entry, member);
    if (status != DUEQ_OK)
        return status;
    entry->count--;
    key_index_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status member_scan_key(const struct keys_view *view, struct dueq_slice name,
                                 enum keys_type type, uint64_t cursor, uint64_t count,
                                 keys_element_fn fn, void *arg, uint64_t *ret_cursor)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, type, &entry);

    if (status != DUEQ_OK)
        return status;
    if (entry->count <= MEMBER_SCAN_WHOLE) { /* whatever the cursor is */
        cursor = 0;
        count = UINT64_MAX;
    }
    return member_scan(view->keys, entry, cursor, count, fn, arg, ret_cursor);
}

enum dueq_status member_random_key(const struct keys_view *view, struct dueq_slice name,
                                   enum keys_type type, uint64_t random,
                                   struct dueq_slice *ret_member, struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    enum dueq_status status = key_index_find(view, name, type, &entry);

    return status == DUEQ_OK ? member_random(view->keys, entry, random, ret_member, ret_value)
                             : status;
}
