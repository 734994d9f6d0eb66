/* Elements gathered in memory: copied out of the store, found by their bytes, sorted bit by
 * bit. No call but a whole sort takes longer for there being many. A zeroed one is empty. */
#ifndef DUEQ_GATHERED_H
#define DUEQ_GATHERED_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct gathered_text {
    size_t size;
    char bytes[]; /* NUL behind */
};

struct gathered_item {
    union {
        struct gathered_item *next;     /* in the table, for gathered_find */
        const struct gathered_text *by; /* or what it is sorted by, the caller's */
    };
    double score;
    size_t size;
    char bytes[]; /* NUL behind */
};

struct gathered_slot {
    double score; /* the item's, from its sort on */
    struct gathered_item *item;
};

struct gathered {
    struct gathered_slot *slots; /* in the order in which they came, or were sorted */
    size_t count, capacity;
    struct gathered_chunk *chunks;
    size_t chunk_left;
    size_t memory; /* bytes, of all that it has allocated */
    struct gathered_item **places;
    size_t place_count, place_capacity;
    bool failed; /* out of memory: something is missing */
};

void gathered_release(struct gathered *gathered);

/* NULL: out of memory. `found`: it shall be found by gathered_find, which must not know it. */
struct gathered_item *gathered_add(struct gathered *gathered, struct dueq_slice bytes,
                                   double score, bool found);
struct gathered_item *gathered_find(const struct gathered *gathered, struct dueq_slice bytes);
/* A copy that lives as long as the items. NULL: out of memory. */
const struct gathered_text *gathered_keep(struct gathered *gathered, struct dueq_slice bytes);

static inline struct dueq_slice gathered_bytes(const struct gathered_item *item)
{
    return dueq_slice(item->bytes, item->size);
}

typedef int (*gathered_compare_fn)(const struct gathered_slot *a, const struct gathered_slot *b,
                                   const void *arg);

/* One sort; begins with compare and arg set, all else zero. Items that compare alike stay in
 * the order in which they came. After it gathered_find finds nothing any more. */
struct gathered_sort {
    gathered_compare_fn compare;
    const void *arg;
    struct gathered_slot *merged; /* where the runs of a pass are merged to */
    size_t width;                 /* of a run; 0: they are not all made yet */
    size_t from, left, right;     /* the pair being merged, and what is taken of either */
};

enum { GATHERED_WHOLE = 0x7fffffff }; /* a budget without bounds */
/* About `budget` comparisons. True: it is sorted, or gathered->failed. */
bool gathered_sort_step(struct gathered *gathered, struct gathered_sort *sort, unsigned budget);
void gathered_sort_release(struct gathered_sort *sort);

#endif
