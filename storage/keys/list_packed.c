#include "storage/keys/list_packed.h"

#include "storage/keys/index/entry_value.h"
#include "storage/keys/record/object_key.h"
#include "storage/kv/kv.h"

/* The offset after so many cells. */
static size_t skip(struct dueq_slice cells, size_t at, uint64_t count)
{
    struct dueq_slice content;

    while (count-- > 0 && packed_next(cells, &at, &content))
        continue;
    return at;
}

enum dueq_status list_packed_at(struct keys *keys, const struct keys_entry *entry,
                                uint64_t index, struct dueq_slice *ret_value)
{
    struct dueq_slice cells;
    enum dueq_status status = entry_value_get(keys, entry, &cells);
    size_t at;

    if (status != DUEQ_OK)
        return status;
    at = skip(cells, 0, index);
    return packed_next(cells, &at, ret_value) ? DUEQ_OK : DUEQ_CORRUPT;
}

enum dueq_status list_packed_splice(struct keys *keys, struct keys_entry *entry, uint64_t index,
                                    uint64_t removed, const struct dueq_slice *value)
{
    enum dueq_status status = entry_value_edit(keys, entry);
    struct dueq_slice cells;
    size_t from, to;

    if (status != DUEQ_OK)
        return status;
    cells = packed_slice(&entry->value);
    from = skip(cells, 0, index);
    to = skip(cells, from, removed);
    return packed_splice(&entry->value, from, to, value, value != NULL) ? DUEQ_OK : DUEQ_NOMEM;
}

/* In one pass, from the head. */
enum dueq_status list_packed_remove(struct keys *keys, struct keys_entry *entry,
                                    const uint64_t *indexes, size_t count)
{
    enum dueq_status status = entry_value_edit(keys, entry);
    size_t from = 0, to = 0, passed = 0;
    struct dueq_slice content;

    if (status != DUEQ_OK)
        return status;
    for (uint64_t index = 0;
         passed < count && packed_next(packed_slice(&entry->value), &to, &content); index++) {
        if (index == indexes[passed]) {
            packed_splice(&entry->value, from, to, NULL, 0);
            passed++;
            to = from;
        }
        from = to;
    }
    return DUEQ_OK;
}

static void each_forward(struct dueq_slice cells, size_t at, keys_element_fn fn, void *arg)
{
    struct dueq_slice content;

    while (packed_next(cells, &at, &content) && fn(arg, content, dueq_slice(NULL, 0)))
        continue;
}

/* A cell has at least 1 byte, which limits their number. */
static enum dueq_status each_backward(struct dueq_slice cells, uint64_t index,
                                      keys_element_fn fn, void *arg)
{
    uint16_t starts[KEYS_PACKED_LIST];
    struct dueq_slice content;
    size_t from = 0, to = 0, count = 0;

    if (cells.size > KEYS_PACKED_LIST)
        return DUEQ_CORRUPT;
    for (; count <= index && packed_next(cells, &to, &content); from = to)
        starts[count++] = (uint16_t)from;
    while (count-- > 0) {
        size_t at = starts[count];

        if (!packed_next(cells, &at, &content) || !fn(arg, content, dueq_slice(NULL, 0)))
            break;
    }
    return DUEQ_OK;
}

enum dueq_status list_packed_each(struct keys *keys, const struct keys_entry *entry,
                                  uint64_t index, enum list_end towards, keys_element_fn fn,
                                  void *arg)
{
    struct dueq_slice cells;
    enum dueq_status status = entry_value_get(keys, entry, &cells);

    if (status != DUEQ_OK)
        return status;
    if (towards == LIST_HEAD)
        return each_backward(cells, index, fn, arg);
    each_forward(cells, skip(cells, 0, index), fn, arg);
    return DUEQ_OK;
}

static enum dueq_status unpack(struct keys *keys, struct keys_entry *entry)
{
    struct dueq_slice content;
    struct packed cells;
    enum dueq_status status = entry_value_unpack(keys, entry, &cells);
    size_t at = 0;

    if (status != DUEQ_OK)
        return status;
    entry->head = 0;
    for (int64_t index = 0; packed_next(packed_slice(&cells), &at, &content); index++) {
        struct kv_key key = object_key_element(entry->object, index);

        kv_put(keys->kv, kv_key_slice(&key), content, true);
    }
    packed_release(&cells);
    return DUEQ_OK;
}

enum dueq_status list_packed_unpack_for(struct keys *keys, struct keys_entry *entry,
                                        size_t size)
{
    struct dueq_slice cells;
    enum dueq_status status;

    if (!entry->packed)
        return DUEQ_OK;
    status = entry_value_get(keys, entry, &cells);
    if (status == DUEQ_OK && (entry->count >= keys->limits.list_entries ||
                              entry_value_outgrows(entry, cells.size + packed_cell_size(size))))
        status = unpack(keys, entry);
    return status;
}
