#include "storage/keys/hash.h"

#include "storage/keys/index/member.h"

enum dueq_status hash_get(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field, struct dueq_slice *ret_value)
{
    return member_find(view, name, KEYS_HASH, field, ret_value);
}

enum dueq_status hash_set(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field, struct dueq_slice value, bool *ret_added)
{
    return member_set(view, name, KEYS_HASH, field, value, ret_added);
}

enum dueq_status hash_del(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field)
{
    return member_remove(view, name, KEYS_HASH, field);
}

enum dueq_status hash_each(const struct keys_view *view, struct dueq_slice name,
                           keys_element_fn fn, void *arg)
{
    uint64_t next;

    return member_scan_key(view, name, KEYS_HASH, 0, UINT64_MAX, fn, arg, &next);
}

enum dueq_status hash_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count, keys_element_fn fn, void *arg,
                           uint64_t *ret_cursor)
{
    return member_scan_key(view, name, KEYS_HASH, cursor, count, fn, arg, ret_cursor);
}

enum dueq_status hash_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct dueq_slice *ret_field,
                             struct dueq_slice *ret_value)
{
    return member_random_key(view, name, KEYS_HASH, random, ret_field, ret_value);
}
