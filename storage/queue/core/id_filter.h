/* Answers "not present" for most ids that are absent, without a search: a blocked Bloom filter
 * (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007). The hash of
 * an id selects one cache line and a few bits in it. Private to storage/queue. */
#ifndef DUEQ_ID_FILTER_H
#define DUEQ_ID_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_filter {
    void *memory;    /* in which the words are, aligned to lines */
    uint64_t *words; /* NULL: there is no filter; any id may be present */
    uint64_t lines;
    uint64_t ids;      /* added since it was made */
    uint64_t capacity; /* up to so many ids at most 1 in 25 absent ids gets "maybe" */
};

/* Makes a filter for that many ids, of `least` to `most` bytes. False: out of memory. Does not
 * touch its memory: the kernel gives it page by page when ids are added. */
bool id_filter_init(struct id_filter *filter, uint64_t ids, size_t least, size_t most);
void id_filter_release(struct id_filter *filter);
/* The memory of one with so many lines. */
size_t id_filter_bytes(uint64_t lines);

/* hash: all 64 bits must be uniformly distributed. O(1). */
void id_filter_add(struct id_filter *filter, uint64_t hash);
/* Loads the line of the hash, of which the other two are about to read or write a part. */
void id_filter_expect(const struct id_filter *filter, uint64_t hash);
/* False: the id was never added. True: maybe it was. O(1). */
bool id_filter_may_have(const struct id_filter *filter, uint64_t hash);

#endif
