/* Elements gathered in memory: copied out of the store, found by their bytes, sorted in steps.
 * Each call is O(1) in the number of elements, except a sort without a budget. A zeroed struct
 * is empty. */
#ifndef DUEQ_GATHERED_H
#define DUEQ_GATHERED_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct gathered_text {
    size_t size;
    char bytes[]; /* and a NUL */
};

struct gathered_item {
    union {
        struct gathered_item *next;     /* in the bucket, for gathered_find */
        const struct gathered_text *by; /* or the sort key; the caller owns it */
    };
    double score;
    size_t size;
    char bytes[]; /* and a NUL */
};

struct gathered_slot {
    double score; /* of the item, set by the caller's sort */
    struct gathered_item *item;
};

struct gathered {
    struct gathered_slot *slots; /* in order of arrival, or sorted */
    size_t count, capacity;
    struct gathered_chunk *chunks;
    size_t chunk_left;
    size_t memory;                  /* bytes of all allocations */
    struct gathered_item **buckets; /* the table of gathered_find */
    size_t bucket_count, bucket_capacity;
    bool failed; /* out of memory: an element is missing */
};

/* Frees at once what is small. The rest, which may be gigabytes, waits for gathered_free_one,
 * and its arrays for spent_free_some (spent.h). */
void gathered_release(struct gathered *gathered);
/* Frees one block of what was released, of whomever. False: there was none. */
bool gathered_free_one(void);
bool gathered_has_released(void);

/* Adds a copy. `found`: gathered_find will find it; it must not find these bytes already. NULL:
 * out of memory. */
struct gathered_item *gathered_add(struct gathered *gathered, struct dueq_slice bytes,
                                   double score, bool found);
struct gathered_item *gathered_find(const struct gathered *gathered, struct dueq_slice bytes);
/* A copy that is valid as long as the items. NULL: out of memory. */
const struct gathered_text *gathered_keep(struct gathered *gathered, struct dueq_slice bytes);

static inline struct dueq_slice gathered_bytes(const struct gathered_item *item)
{
    return dueq_slice(item->bytes, item->size);
}

typedef int (*gathered_compare_fn)(const struct gathered_slot *a, const struct gathered_slot *b,
                                   const void *arg);

/* One sort. The caller sets compare and arg; all other fields begin as zero. Items that compare
 * equal stay in order of arrival. gathered_find finds nothing after the sort has begun. */
struct gathered_sort {
    gathered_compare_fn compare;
    const void *arg;
    struct gathered_slot *merged; /* target of the runs that are merged */
    size_t capacity;              /* of merged */
    size_t width;                 /* of a run; 0: the first runs are being made */
    size_t from, left, right;     /* start of the present pair; items taken of each */
};

enum { GATHERED_WHOLE = 0x7fffffff }; /* a budget without bounds */
/* Goes on for about `budget` comparisons. True: all is sorted, or gathered->failed. */
bool gathered_sort_step(struct gathered *gathered, struct gathered_sort *sort, unsigned budget);
/* Its array may be large, too, and is freed as those of gathered_release. */
void gathered_sort_release(struct gathered_sort *sort);

#endif
