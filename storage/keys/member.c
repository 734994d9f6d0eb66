#include "storage/keys/member.h"

enum { MEMBER_PLAIN = 0, MEMBER_FOLDED = 1 };

static struct kv_key start_key(const struct keys_entry *entry, uint64_t hash)
{
    struct kv_key key;

    kv_key_start(&key, TABLE_MEMBER);
    kv_key_u64(&key, entry->object);
    keys_key_hash(&key, hash);
    return key;
}

static struct kv_key member_key(const struct keys *keys, const struct keys_entry *entry,
                                struct dueq_slice name)
{
    struct kv_key key = start_key(entry, keys_hash(keys, name));

    if (name.size > 0)
        kv_key_name(&key, name, keys->seed);
    return key;
}

void member_read(struct dueq_slice key, struct dueq_slice record, struct dueq_slice *ret_name,
                 struct dueq_slice *ret_value)
{
    const uint8_t *bytes = record.data;
    uint64_t name_size;

    if (bytes[0] == MEMBER_PLAIN) {
        *ret_name = dueq_slice((const uint8_t *)key.data + MEMBER_KEY_FIXED,
                               key.size - MEMBER_KEY_FIXED);
        *ret_value = dueq_slice(bytes + 1, record.size - 1);
        return;
    }
    name_size = kv_read_u64(bytes + 1);
    *ret_name = dueq_slice(bytes + 9, name_size);
    *ret_value = dueq_slice(bytes + 9 + name_size, record.size - 9 - name_size);
}

enum dueq_status member_get(struct keys *keys, const struct keys_entry *entry,
                            struct dueq_slice name, struct dueq_slice *ret_value)
{
    struct kv_key key = member_key(keys, entry, name);
    struct dueq_slice record, whole;
    enum dueq_status status = kv_get(keys->kv, kv_key_slice(&key), &record);

    if (status == DUEQ_OK)
        member_read(kv_key_slice(&key), record, &whole, ret_value);
    return status;
}

void member_put(struct keys *keys, const struct keys_entry *entry, struct dueq_slice name,
                struct dueq_slice value, bool absent)
{
    struct kv_key key = member_key(keys, entry, name);
    uint8_t head[9] = {key.folded ? MEMBER_FOLDED : MEMBER_PLAIN};
    struct dueq_slice parts[3];
    size_t count = 0;

    parts[count++] = dueq_slice(head, key.folded ? 9 : 1);
    if (key.folded) {
        kv_write_u64(head + 1, name.size);
        parts[count++] = name;
    }
    parts[count++] = value;
    kv_putv(keys->kv, kv_key_slice(&key), parts, count, absent);
}

void member_del(struct keys *keys, const struct keys_entry *entry, struct dueq_slice name)
{
    struct kv_key key = member_key(keys, entry, name);

    kv_del(keys->kv, kv_key_slice(&key));
}

enum dueq_status member_scan(struct keys *keys, const struct keys_entry *entry, uint64_t cursor,
                             uint64_t count, keys_element_fn fn, void *arg,
                             uint64_t *ret_cursor)
{
    struct kv_cursor *at = keys_take_cursor(keys);
    struct kv_key from = start_key(entry, cursor);
    struct dueq_slice key, name, value;
    uint64_t seen = 0, hash = cursor;
    enum dueq_status status;

    if (at == NULL)
        return DUEQ_NOMEM;
    *ret_cursor = 0;
    for (status = kv_cursor_seek(at, kv_key_slice(&from)); status == DUEQ_OK;
         status = kv_cursor_next(at)) {
        uint64_t here;

        key = kv_cursor_key(at);
        if (key.size < MEMBER_KEY_FIXED || memcmp(key.data, from.bytes, 9) != 0)
            break;
        here = keys_read_hash((const uint8_t *)key.data + 9);
        if (seen >= count && here != hash) {
            *ret_cursor = here;
            break;
        }
        hash = here;
        seen++;
        member_read(key, kv_cursor_value(at), &name, &value);
        if (!fn(arg, name, value))
            break;
    }
    keys_give_cursor(keys);
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* ---- chance */

struct pick {
    struct keys *keys;
    uint64_t skip;
    struct dueq_slice name, value;
    bool found;
};

/* Name and value are kept one behind the other. */
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

enum dueq_status member_random(struct keys *keys, const struct keys_entry *entry,
                               uint64_t random, struct dueq_slice *ret_name,
                               struct dueq_slice *ret_value)
{
    struct pick pick = {.keys = keys};
    uint64_t next, start = random >> 16;
    enum dueq_status status;

    if (entry->count <= MEMBER_SCAN_WHOLE) {
        pick.skip = random % entry->count;
        start = 0;
    } else {
        pick.skip = random % 16;
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
    enum dueq_status status = directory_find(view, name, type, &entry);

    return status == DUEQ_OK ? member_get(keys_of(view), entry, member, ret_value) : status;
}

enum dueq_status member_set(const struct keys_view *view, struct dueq_slice name,
                            enum keys_type type, struct dueq_slice member,
                            struct dueq_slice value, bool *ret_added)
{
    struct keys_entry *entry;
    struct dueq_slice old;
    enum dueq_status status = directory_open(view, name, type, &entry), found;

    if (status != DUEQ_OK)
        return status;
    found = entry->count == 0 ? DUEQ_NOTFOUND : member_get(keys_of(view), entry, member, &old);
    if (found != DUEQ_OK && found != DUEQ_NOTFOUND)
        return found;
    *ret_added = found == DUEQ_NOTFOUND;
    if (!*ret_added && type == KEYS_SET)
        return DUEQ_OK;
    member_put(keys_of(view), entry, member, value, *ret_added);
    if (!*ret_added) {
        directory_touched(view, entry);
        return DUEQ_OK;
    }
    entry->count++;
    directory_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status member_remove(const struct keys_view *view, struct dueq_slice name,
                               enum keys_type type, struct dueq_slice member)
{
    struct keys_entry *entry;
    struct dueq_slice value;
    enum dueq_status status = directory_find(view, name, type, &entry);

    if (status == DUEQ_OK)
        status = member_get(keys_of(view), entry, member, &value);
    if (status != DUEQ_OK)
        return status;
    member_del(keys_of(view), entry, member);
    entry->count--;
    directory_changed(view, entry);
    return DUEQ_OK;
}

enum dueq_status member_scan_key(const struct keys_view *view, struct dueq_slice name,
                                 enum keys_type type, uint64_t cursor, uint64_t count,
                                 keys_element_fn fn, void *arg, uint64_t *ret_cursor)
{
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, type, &entry);

    if (status != DUEQ_OK)
        return status;
    if (entry->count <= MEMBER_SCAN_WHOLE) { /* wherever the cursor comes from */
        cursor = 0;
        count = UINT64_MAX;
    }
    return member_scan(keys_of(view), entry, cursor, count, fn, arg, ret_cursor);
}

enum dueq_status member_random_key(const struct keys_view *view, struct dueq_slice name,
                                   enum keys_type type, uint64_t random,
                                   struct dueq_slice *ret_member, struct dueq_slice *ret_value)
{
    struct keys_entry *entry;
    enum dueq_status status = directory_find(view, name, type, &entry);

    return status == DUEQ_OK
               ? member_random(keys_of(view), entry, random, ret_member, ret_value)
               : status;
}
