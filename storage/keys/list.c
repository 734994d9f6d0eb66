/* Lists: elements at contiguous indexes, the head's in the directory entry. */
#include "storage/keys/directory.h"

static struct kv_key element_key(const struct keys_entry *entry, uint64_t index)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_ELEMENT);
    kv_key_u64(&key, entry->object);
    kv_key_time(&key, entry->head + (int64_t)index);
    return key;
}

static enum dueq_status read_element(struct keys *keys, const struct keys_entry *entry,
                                     uint64_t index, struct dueq_slice *ret_value)
{
    struct kv_key key = element_key(entry, index);

    return kv_get(keys->kv, kv_key_slice(&key), ret_value);
}

static void write_element(struct keys *keys, const struct keys_entry *entry, uint64_t index,
                          struct dueq_slice value, bool absent)
{
    struct kv_key key = element_key(entry, index);

    kv_put(keys->kv, kv_key_slice(&key), value, absent);
}

static void erase_element(struct keys *keys, const struct keys_entry *entry, uint64_t index)
{
    struct kv_key key = element_key(entry, index);

    kv_del(keys->kv, kv_key_slice(&key));
}

enum dueq_status list_push(const struct keys_view *view, struct dueq_slice name,
                           enum list_end end, struct dueq_slice value)
{
    struct keys_entry *entry;
    enum dueq_status status = directory_open(view, name, KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    if (end == LIST_HEAD)
        entry->head--;
    write_element(keys_of(view), entry, end == LIST_HEAD ? 0 : entry->count, value, true);
    entry->count++;
    directory_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status list_pop(const struct keys_view *view, struct dueq_slice name,
                          enum list_end end, struct dueq_slice *ret_value)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    struct dueq_slice value;
    uint64_t index;
    enum dueq_status status = directory_find(view, name, KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    index = end == LIST_HEAD ? 0 : entry->count - 1;
    status = read_element(keys, entry, index, &value);
    if (status != DUEQ_OK)
        return status;
    *ret_value = keys_keep(keys, value);
    erase_element(keys, entry, index);
    entry->count--;
    if (end == LIST_HEAD)
        entry->head++;
    directory_changed(view, entry);
    return DUEQ_OK;
}

/* DUEQ_NOTFOUND when there is no such key or index. */
static enum dueq_status find_index(const struct keys_view *view, struct dueq_slice name,
                                   uint64_t index, struct keys_entry **ret_entry)
{
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, KEYS_LIST, &entry);

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

    return status == DUEQ_OK ? read_element(keys_of(view), entry, index, ret_value) : status;
}

enum dueq_status list_put(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                          struct dueq_slice value)
{
    struct keys_entry *entry;
    enum dueq_status status = find_index(view, name, index, &entry);

    if (status != DUEQ_OK)
        return status;
    write_element(keys_of(view), entry, index, value, false);
    directory_touched(view, entry);
    return DUEQ_OK;
}

/* Copies the element at one index over another; `absent`: nothing stands at `to`. */
static enum dueq_status copy_element(struct keys *keys, const struct keys_entry *entry,
                                     uint64_t from, uint64_t to, bool absent)
{
    struct dueq_slice value;
    enum dueq_status status = read_element(keys, entry, from, &value);

    if (status == DUEQ_OK)
        write_element(keys, entry, to, keys_keep(keys, value), absent);
    return status;
}

enum dueq_status list_insert(const struct keys_view *view, struct dueq_slice name,
                             uint64_t index, struct dueq_slice value)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    if (index > entry->count)
        return DUEQ_NOTFOUND;
    if (index < entry->count / 2) { /* the head's side moves down by one */
        entry->head--;
        for (uint64_t i = 0; i < index && status == DUEQ_OK; i++)
            status = copy_element(keys, entry, i + 1, i, i == 0);
    } else {
        for (uint64_t i = entry->count; i > index && status == DUEQ_OK; i--)
            status = copy_element(keys, entry, i - 1, i, i == entry->count);
    }
    write_element(keys, entry, index, value, false);
    entry->count++;
    directory_changed(view, entry);
    return status;
}

enum dueq_status list_remove(const struct keys_view *view, struct dueq_slice name,
                             uint64_t index)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    enum dueq_status status = find_index(view, name, index, &entry);

    if (status != DUEQ_OK)
        return status;
    if (index < entry->count / 2) {
        for (uint64_t i = index; i > 0 && status == DUEQ_OK; i--)
            status = copy_element(keys, entry, i - 1, i, false);
        erase_element(keys, entry, 0);
        entry->head++;
    } else {
        for (uint64_t i = index; i + 1 < entry->count && status == DUEQ_OK; i++)
            status = copy_element(keys, entry, i + 1, i, false);
        erase_element(keys, entry, entry->count - 1);
    }
    entry->count--;
    directory_changed(view, entry);
    return status;
}

enum dueq_status list_trim(const struct keys_view *view, struct dueq_slice name, uint64_t first,
                           uint64_t count)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, KEYS_LIST, &entry);

    if (status != DUEQ_OK)
        return status;
    if (count == 0 || first >= entry->count) {
        directory_remove(keys, entry, false);
        return DUEQ_OK;
    }
    if (count > entry->count - first)
        count = entry->count - first;
    for (uint64_t i = 0; i < first; i++)
        erase_element(keys, entry, i);
    for (uint64_t i = first + count; i < entry->count; i++)
        erase_element(keys, entry, i);
    entry->head += (int64_t)first;
    entry->count = count;
    directory_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status list_each(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                           enum list_end towards, keys_element_fn fn, void *arg)
{
    struct keys *keys = keys_of(view);
    struct keys_entry *entry;
    struct kv_cursor *at;
    struct kv_key key;
    uint64_t left;
    enum dueq_status status = find_index(view, name, index, &entry);

    if (status != DUEQ_OK)
        return status;
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
