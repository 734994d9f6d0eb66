/* Estimates of the bytes that a key takes, by a sample of its elements. */
#ifndef DUEQ_KEY_SIZE_H
#define DUEQ_KEY_SIZE_H

#include "storage/keys/keys.h"

enum { KEY_SIZE_SAMPLES = 5 }; /* elements, where nothing else is asked for */

/* Bytes on disk and in caches: name, value and what is kept for each. info: of the key, of
 * whose elements `seen` have `bytes` (a member of a sorted set 8 more, for its score); for a
 * string both are 0. O(1). */
int64_t key_size_estimate(struct dueq_slice name, const struct keys_info *info, uint64_t seen,
                          uint64_t bytes);

/* Bytes of the value alone, by KEY_SIZE_SAMPLES elements. */
uint64_t key_size_estimate_value(const struct keys_view *view, struct dueq_slice name,
                                 const struct keys_info *info);

#endif
