#include "storage/keys/member.h"

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
