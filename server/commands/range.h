/* Ranges of indexes as Redis has them: both ends included, negative ones count from the end. */
#ifndef DUEQ_RANGE_H
#define DUEQ_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Cuts start and stop to the `count` elements that exist. False: the range is empty and the
 * results are not set. */
bool range_clamp(int64_t start, int64_t stop, uint64_t count, uint64_t *ret_first,
                 uint64_t *ret_count);

/* The same for the bytes of a string: a stop before the first byte means the first byte. */
bool range_clamp_string(int64_t start, int64_t stop, uint64_t count, uint64_t *ret_first,
                        uint64_t *ret_count);

#endif
