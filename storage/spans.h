/* Counts times into a histogram (stats.h). Private to the project. */
#ifndef DUEQ_SPANS_H
#define DUEQ_SPANS_H

#include "storage/stats.h"

/* Counts a time of `length` units. O(1). */
static inline void spans_note(struct dueq_spans *spans, uint64_t length)
{
    unsigned bucket = length <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(length - 1);

    spans->buckets[bucket < DUEQ_SPAN_BUCKETS ? bucket : DUEQ_SPAN_BUCKETS - 1]++;
    spans->count++;
    spans->sum += length;
}

#endif
