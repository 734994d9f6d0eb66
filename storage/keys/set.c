#include "storage/keys/set.h"

#include "storage/keys/index/entry_value.h"
#include "storage/keys/index/key_index.h"
#include "storage/keys/index/member.h"

enum dueq_status set_add(const struct keys_view *view, struct dueq_slice name,
                         struct dueq_slice member, bool *ret_added)
{
    return member_set(view, name, KEYS_SET, member, dueq_slice(NULL, 0), ret_added);
}

enum dueq_status set_remove(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member)
{
    return member_remove(view, name, KEYS_SET, member);
}

enum dueq_status set_has(const struct keys_view *view, struct dueq_slice name,
                         struct dueq_slice member)
{
    struct dueq_slice value;

    return member_find(view, name, KEYS_SET, member, &value);
}

enum dueq_status set_each(const struct keys_view *view, struct dueq_slice name,
                          keys_element_fn fn, void *arg)
{
    uint64_t next;

    return member_scan_key(view, name, KEYS_SET, 0, UINT64_MAX, fn, arg, &next);
}

enum dueq_status set_scan(const struct keys_view *view, struct dueq_slice name, uint64_t cursor,
                          uint64_t count, keys_element_fn fn, void *arg, uint64_t *ret_cursor)
{
    return member_scan_key(view, name, KEYS_SET, cursor, count, fn, arg, ret_cursor);
}

enum dueq_status set_random(const struct keys_view *view, struct dueq_slice name,
                            uint64_t random, struct dueq_slice *ret_member)
{
    struct dueq_slice value;

    return member_random_key(view, name, KEYS_SET, random, ret_member, &value);
}

/* ---- a new encoding */

/* Collects the integers of a set, in order. */
struct remaking {
    const struct keys_limits *limits;
    struct packed cells;
    uint64_t count;
    bool compact, no_memory;
};

static size_t cell_offset(struct dueq_slice cells, struct dueq_slice member)
{
    struct dueq_slice here;
    size_t from = 0;

    for (size_t to = 0; packed_next(cells, &to, &here); from = to)
        if (packed_compare_integers(member, here) < 0)
            break;
    return from;
}

static bool take_integer(void *arg, struct dueq_slice member, struct dueq_slice unused)
{
    struct remaking *remaking = arg;
    size_t offset;

    (void)unused;
    remaking->compact =
        packed_is_integer(member) && ++remaking->count <= remaking->limits->intset_entries &&
        remaking->cells.size + packed_cell_size(member.size) <= KEYS_PACKED_ORDER;
    if (!remaking->compact)
        return false;
    offset = cell_offset(packed_slice(&remaking->cells), member);
    remaking->no_memory = !packed_splice(&remaking->cells, offset, offset, &member, 1);
    return !remaking->no_memory;
}

static void erase_members(struct keys *keys, struct keys_entry *entry, struct dueq_slice cells)
{
    struct dueq_slice member;

    for (size_t at = 0; packed_next(cells, &at, &member);)
        member_del(keys, entry, member);
}

enum dueq_status set_remake(const struct keys_view *view, struct dueq_slice name)
{
    struct keys *keys = view->keys;
    struct remaking remaking = {.limits = &keys->limits};
    struct keys_entry *entry;
    uint64_t next;
    enum dueq_status status = key_index_find(view, name, KEYS_SET, &entry);

    if (status != DUEQ_OK || entry->encoding == KEYS_INTSET)
        return status;
    status = member_scan(keys, entry, 0, UINT64_MAX, take_integer, &remaking, &next);
    if (status == DUEQ_OK && remaking.no_memory)
        status = DUEQ_NOMEM;
    if (status == DUEQ_OK && remaking.compact) {
        if (!entry->packed)
            erase_members(keys, entry, packed_slice(&remaking.cells));
        entry_value_pack(keys, entry, &remaking.cells);
        entry->encoding = KEYS_INTSET;
    }
    packed_release(&remaking.cells);
    return status;
}
