/* Estimates of the bytes that a key takes, by a sample of its elements. */
#ifndef DUEQ_KEY_SIZE_H
#define DUEQ_KEY_SIZE_H

#include "storage/keys/keys.h"

enum { KEY_SIZE_SAMPLES = 5 }; /* elements, where nothing else is asked for */

/* Bytes on disk and in caches: name, value and what is kept for each. `samples`: elements to
 * read; 0: all of them. info: of the key. O(samples). */
int64_t key_size_estimate(const struct keys_view *view, struct dueq_slice name,
                          const struct keys_info *info, uint64_t samples);

/* Bytes of the value alone, by KEY_SIZE_SAMPLES elements. */
uint64_t key_size_estimate_value(const struct keys_view *view, struct dueq_slice name,
                                 const struct keys_info *info);

#endif
