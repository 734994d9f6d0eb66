/* Hashes. O(log n) a field. Iteration of a KEYS_LISTPACK is in order of insertion, of other
 * hashes in the order of a hash of the field. */
#ifndef DUEQ_HASH_H
#define DUEQ_HASH_H

#include "storage/keys/state/keys_types.h"

enum dueq_status hash_get(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field, struct dueq_slice *ret_value);
enum dueq_status hash_set(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field, struct dueq_slice value, bool *ret_added);
enum dueq_status hash_del(const struct keys_view *view, struct dueq_slice name,
                          struct dueq_slice field);
/* fn must not change the store. */
enum dueq_status hash_each(const struct keys_view *view, struct dueq_slice name,
                           keys_element_fn fn, void *arg);
/* As keys_scan, over the fields. */
enum dueq_status hash_scan(const struct keys_view *view, struct dueq_slice name,
                           uint64_t cursor, uint64_t count, keys_element_fn fn, void *arg,
                           uint64_t *ret_cursor);
/* The slices live until the next call. */
enum dueq_status hash_random(const struct keys_view *view, struct dueq_slice name,
                             uint64_t random, struct dueq_slice *ret_field,
                             struct dueq_slice *ret_value);

#endif
