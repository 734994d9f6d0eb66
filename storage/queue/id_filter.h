/* Tells of most ids that the store does not have that it does not, without a search: a blocked
 * Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters,
 * 2007). An id sets a few bits of one cache line, which its hash names. Private to
 * storage/queue. */
#ifndef DUEQ_ID_FILTER_H
#define DUEQ_ID_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_filter {
    uint64_t *words;   /* NULL: none, everything may be there */
    uint64_t lines;    /* a power of two */
    uint64_t ids;      /* added since it was made */
    uint64_t capacity; /* ids up to which at most one answer in 25 is a needless "maybe" */
};

/* Room for that many ids, but from `least` to `most` bytes. False: out of memory. */
bool id_filter_init(struct id_filter *filter, uint64_t ids, size_t least, size_t most);
void id_filter_release(struct id_filter *filter);

/* hash: all 64 bits as good as random. O(1). */
void id_filter_add(struct id_filter *filter, uint64_t hash);
/* False: it was never added. */
bool id_filter_may_have(const struct id_filter *filter, uint64_t hash);

#endif
