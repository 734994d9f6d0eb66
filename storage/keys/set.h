/* Sets. O(log n) a member. Iteration of a KEYS_INTSET is in the order of the numbers, of other
 * sets in the order of a hash of the member. */
#ifndef DUEQ_SET_H
#define DUEQ_SET_H

#include "storage/keys/state/keys_types.h"

enum dueq_status set_add(const struct keys_view *view, struct dueq_slice name,
                         struct dueq_slice member, bool *ret_added);
enum dueq_status set_remove(const struct keys_view *view, struct dueq_slice name,
                            struct dueq_slice member);
/* DUEQ_OK: the set has the member. DUEQ_NOTFOUND: it does not, or there is no such key. */
enum dueq_status set_has(const struct keys_view *view, struct dueq_slice name,
                         struct dueq_slice member);
/* The value that fn gets is empty. fn must not change the store. */
enum dueq_status set_each(const struct keys_view *view, struct dueq_slice name,
                          keys_element_fn fn, void *arg);
/* As keys_scan, over the members. */
enum dueq_status set_scan(const struct keys_view *view, struct dueq_slice name, uint64_t cursor,
                          uint64_t count, keys_element_fn fn, void *arg, uint64_t *ret_cursor);
/* *ret_member lives until the next call. */
enum dueq_status set_random(const struct keys_view *view, struct dueq_slice name,
                            uint64_t random, struct dueq_slice *ret_member);
/* Gives the set the encoding that a new set of the same members would have: a KEYS_HASHTABLE
 * that contains few members, all integers, becomes a KEYS_INTSET. */
enum dueq_status set_remake(const struct keys_view *view, struct dueq_slice name);

#endif
