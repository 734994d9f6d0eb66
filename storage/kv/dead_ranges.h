/* Stretches of the key space in which nothing lives. Private to storage/kv.
 *
 * A deleted record that lies in a lower level is hidden by a tombstone until the next
 * checkpoint, and a cursor has to step over it. A cursor that stepped over many remembers the
 * gap, and every other goes around it: so each tombstone costs one step, not one a search. A
 * put splits the gap that it falls into, a delete between two that it parts joins them. In RAM
 * only, bounded: what is forgotten costs time and nothing else. */
#ifndef DUEQ_DEAD_RANGES_H
#define DUEQ_DEAD_RANGES_H

#include "storage/kv/key.h"

enum {
    DEAD_RANGES_MAX = 1024, /* kept; beyond, those that nobody went around lately make room */
    DEAD_RANGE_WORTH = 16   /* tombstones from which on a gap is remembered */
};

struct gap {
    struct kv_key from, to; /* nothing lives at `from` or behind it, before `to` */
    bool used;              /* since the hand came by last */
};

struct gaps {
    struct gap *space;  /* DEAD_RANGES_MAX of them */
    struct gap **order; /* all of the space; the first `count` by key, no two overlap or meet */
    unsigned count;
    unsigned hand; /* where the next to make room is looked for */
};

/* Takes 1 MiB of address space; pages are touched as gaps are noted. False: out of memory. */
bool dead_ranges_init(struct gaps *gaps);
void dead_ranges_release(struct gaps *gaps);

/* The gap that a search stands before: the one that holds `key` (forward), or the place just
 * below it (backward). NULL: none. Lives until the next note, put or delete. O(log n). */
const struct gap *dead_ranges_find(struct gaps *gaps, struct dueq_slice key, bool backward);

/* Nothing lives from `from` on to before `to`. */
void dead_ranges_add(struct gaps *gaps, const struct kv_key *from, const struct kv_key *to);

/* What they do to gaps that are there. O(log n), and nothing when there are none. */
void dead_ranges_split(struct gaps *gaps, struct dueq_slice key); /* a record is put there */
void dead_ranges_join(struct gaps *gaps, struct dueq_slice key); /* a record is deleted there */

static inline void dead_ranges_put(struct gaps *gaps, struct dueq_slice key)
{
    if (gaps->count > 0)
        dead_ranges_split(gaps, key);
}

static inline void dead_ranges_del(struct gaps *gaps, struct dueq_slice key)
{
    if (gaps->count > 0)
        dead_ranges_join(gaps, key);
}

#endif
