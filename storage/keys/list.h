/* Lists. Indexes are 0 .. count - 1 from the head. Both ends and any index: O(log n). An insert
 * moves the elements of the shorter side; a removal moves all elements but those in the largest
 * distance between two of the removed. */
#ifndef DUEQ_LIST_H
#define DUEQ_LIST_H

#include "storage/keys/state/keys_types.h"

/* Creates the list if it is absent. */
enum dueq_status list_push(const struct keys_view *view, struct dueq_slice name,
                           enum list_end end, struct dueq_slice value);
/* The element that list_pop would remove. *ret_value lives until the next change.
 * DUEQ_NOTFOUND: there is no such list. */
enum dueq_status list_peek(const struct keys_view *view, struct dueq_slice name,
                           enum list_end end, struct dueq_slice *ret_value);
enum dueq_status list_pop(const struct keys_view *view, struct dueq_slice name,
                          enum list_end end);
/* Moves the element at one end of a list to an end of another list, or of the same.
 * DUEQ_WRONGTYPE: one of the two keys is no list. *ret_value lives until the next change. */
enum dueq_status list_move(const struct keys_view *view, struct dueq_slice from,
                           enum list_end from_end, struct dueq_slice to, enum list_end to_end,
                           struct dueq_slice *ret_value);

/* ---- by index. DUEQ_NOTFOUND: no such key, or no such index */

enum dueq_status list_at(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                         struct dueq_slice *ret_value);
enum dueq_status list_put(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                          struct dueq_slice value);
/* Inserts before the index; the count as index: at the tail. */
enum dueq_status list_insert(const struct keys_view *view, struct dueq_slice name,
                             uint64_t index, struct dueq_slice value);
/* Calls fn for the elements from `index` on, in that direction. The second slice is empty. fn
 * must not change the store. */
enum dueq_status list_each(const struct keys_view *view, struct dueq_slice name, uint64_t index,
                           enum list_end towards, keys_element_fn fn, void *arg);

/* ---- removing */

/* Removes the first `limit` elements that equal the value, searched in that direction. */
enum dueq_status list_remove_equal(const struct keys_view *view, struct dueq_slice name,
                                   struct dueq_slice value, enum list_end towards,
                                   uint64_t limit, uint64_t *ret_removed);
/* Removes the elements at these indexes: ascending, no index twice, at least one, and not all
 * elements of the list. */
enum dueq_status list_remove_at(const struct keys_view *view, struct dueq_slice name,
                                const uint64_t *indexes, size_t count);
/* The number of elements that list_remove_at moves, in a list of `size` elements. */
uint64_t list_removal_moves(const uint64_t *indexes, size_t count, uint64_t size);
/* Keeps `count` elements from `first` on; 0: deletes the list. */
enum dueq_status list_trim(const struct keys_view *view, struct dueq_slice name, uint64_t first,
                           uint64_t count);

#endif
