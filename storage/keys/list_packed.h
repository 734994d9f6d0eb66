/* Short lists: a cell for each element, in the key's own record. Private to storage/keys.
 * Indexes count from the head and are less than the list's count. */
#ifndef DUEQ_LIST_PACKED_H
#define DUEQ_LIST_PACKED_H

#include "storage/keys/state/keys_internal.h"

enum dueq_status list_packed_at(struct keys *keys, const struct keys_entry *entry,
                                uint64_t index, struct dueq_slice *ret_value);
/* Replaces `removed` elements from index on by the value; NULL: by nothing. The value must not
 * point into the list. The caller updates the count. On failure nothing has changed. */
enum dueq_status list_packed_splice(struct keys *keys, struct keys_entry *entry, uint64_t index,
                                    uint64_t removed, const struct dueq_slice *value);
/* Removes the elements at these ascending indexes. The caller updates the count. */
enum dueq_status list_packed_remove(struct keys *keys, struct keys_entry *entry,
                                    const uint64_t *indexes, size_t count);
/* As list_each. */
enum dueq_status list_packed_each(struct keys *keys, const struct keys_entry *entry,
                                  uint64_t index, enum list_end towards, keys_element_fn fn,
                                  void *arg);

/* Gives the elements records of their own when the list would be too large to be packed with
 * one more element of that size, bytes. Nothing for a list that is not packed. */
enum dueq_status list_packed_unpack_for(struct keys *keys, struct keys_entry *entry,
                                        size_t size);

#endif
