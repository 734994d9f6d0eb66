/* Short lists: a cell for each element, in the value that stands in the key's record. Private
 * to storage/keys. Places are indexes from the head and within the list. */
#ifndef DUEQ_LIST_PACKED_H
#define DUEQ_LIST_PACKED_H

#include "storage/keys/key_index.h"

enum dueq_status list_packed_at(struct keys *keys, const struct keys_entry *entry,
                                uint64_t index, struct dueq_slice *ret_value);
/* `removed` elements from index on give way to the value, if there is one (else NULL), which
 * does not lie in the list. The count is the caller's. On failure nothing has changed. */
enum dueq_status list_packed_splice(struct keys *keys, struct keys_entry *entry, uint64_t index,
                                    uint64_t removed, const struct dueq_slice *value);
/* Takes out the elements at these ascending indexes. */
enum dueq_status list_packed_remove(struct keys *keys, struct keys_entry *entry,
                                    const uint64_t *indexes, size_t count);
/* Like list_each. */
enum dueq_status list_packed_each(struct keys *keys, const struct keys_entry *entry,
                                  uint64_t index, enum list_end towards, keys_element_fn fn,
                                  void *arg);

/* Puts the elements into records of their own when the list with another one of that size,
 * bytes, would be too large or have too many. */
enum dueq_status list_packed_unpack_for(struct keys *keys, struct keys_entry *entry,
                                        size_t size);

#endif
