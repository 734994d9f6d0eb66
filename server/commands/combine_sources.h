/* The keys that a combination (combine.h) reads, which may be a million: they are read, and
 * ordered, a slice at a time. */
#ifndef DUEQ_COMBINE_SOURCES_H
#define DUEQ_COMBINE_SOURCES_H

#include "server/dispatch/context.h"
#include "storage/keys/keys.h"

struct combine_source {
    size_t argument;     /* its name */
    enum keys_type type; /* KEYS_NONE: there is no such key */
    uint64_t count;
    double weight; /* of unions and intersections of sorted sets; else 1 */
};

struct combine_sources {
    struct combine_source *items; /* owned */
    size_t count;
    size_t first; /* argument */
    size_t made;  /* items that are more than memory */

    /* of those that are read */
    size_t read;
    size_t smallest;
    uint64_t members; /* of all together */
    bool integers;    /* every one is a set of integers */

    size_t heaped, ordered; /* combine_sources_order */
};

/* Makes sources of `count` arguments from `first` on; none is read yet. DUEQ_NOMEM. */
enum dueq_status combine_sources_init(struct combine_sources *sources, size_t first,
                                      size_t count);
void combine_sources_release(struct combine_sources *sources);

/* Reads `most` sources at most: each is a set, a key of `type`, or none. DUEQ_WRONGTYPE, or an
 * error of the store. */
enum dueq_status combine_sources_read(struct combine_sources *sources,
                                      const struct context *context, enum keys_type type,
                                      size_t most);
/* They are to be read again, as they may have changed. Weights stay. */
void combine_sources_forget(struct combine_sources *sources);

/* Moves the smallest to the front, and so on, as Redis does: the order of additions changes the
 * last digits of scores. About `most` steps of O(log count). True: all are in order. A heap
 * sort (Williams, 1964), as that needs no memory and stops anywhere. */
bool combine_sources_order(struct combine_sources *sources, size_t most);

#endif
