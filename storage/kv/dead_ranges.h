/* Dead ranges: ranges of the key space that contain no record, only tombstones or nothing.
 * Private to storage/kv.
 *
 * A tombstone hides a deleted record of a lower level until the next checkpoint, and a cursor
 * has to step over it. A cursor that has stepped over many adds the range here, and every other
 * cursor goes around the range: so each tombstone costs one step, not one step per search. A
 * put into a range splits it; a delete between two ranges joins them. They are in RAM only, and
 * limited in number: forgetting a range only costs time. */
#ifndef DUEQ_DEAD_RANGES_H
#define DUEQ_DEAD_RANGES_H

#include "storage/kv/key.h"

enum {
    DEAD_RANGES_MAX = 1024, /* above, a range that no search has used lately is dropped */
    DEAD_RANGE_WORTH = 16   /* tombstones that make a range worth adding */
};

struct dead_range {
    struct kv_key from, to; /* no record is at `from` or after it, before `to` */
    bool used;              /* by a search, since the hand was last at it */
};

struct dead_ranges {
    struct dead_range *space;  /* DEAD_RANGES_MAX of them */
    struct dead_range **order; /* all of the space; the first `count` are in use, sorted by key,
                                  no two overlap or meet */
    unsigned count;
    unsigned hand; /* index at which the search for a range to drop continues (the CLOCK
                      algorithm) */
};

/* Takes 1 MiB of address space, of which pages are used as ranges are added. False: out of
 * memory. */
bool dead_ranges_init(struct dead_ranges *ranges);
void dead_ranges_release(struct dead_ranges *ranges);

/* The range that a search for `key` can skip: the one that contains `key` (forward), or the one
 * that contains the position just below it (backward). NULL: none. Lives until the next add,
 * put or del. O(log n). */
const struct dead_range *dead_ranges_find(struct dead_ranges *ranges, struct dueq_slice key,
                                          bool backward);

/* There is no record from `from` to before `to`. No effect unless from < to. O(ranges). */
void dead_ranges_add(struct dead_ranges *ranges, const struct kv_key *from,
                     const struct kv_key *to);

/* Call dead_ranges_put when a record is put at `key`, dead_ranges_del when one is deleted.
 * O(log n) when no range changes, O(1) when there are none. */
void dead_ranges_split(struct dead_ranges *ranges, struct dueq_slice key);
void dead_ranges_join(struct dead_ranges *ranges, struct dueq_slice key);

static inline void dead_ranges_put(struct dead_ranges *ranges, struct dueq_slice key)
{
    if (ranges->count > 0)
        dead_ranges_split(ranges, key);
}

static inline void dead_ranges_del(struct dead_ranges *ranges, struct dueq_slice key)
{
    if (ranges->count > 0)
        dead_ranges_join(ranges, key);
}

#endif
