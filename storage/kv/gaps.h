/* Gaps: where runs have nothing. A walk through the schedule starts at the head of a lane, and
 * then in most runs the next record of this lane is far away. Whole runs never gain records, so
 * what a search has found stays true: the next search of the lane need not search these runs.
 * They are in RAM only, and a fixed number: forgetting one costs a search. Private to
 * storage/kv. */
#ifndef DUEQ_GAPS_H
#define DUEQ_GAPS_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gap;

struct gaps {
    struct gap *space; /* NULL: none yet */
    size_t places;
};

/* A tenth of the memory of a memtable at most, 1.5 MiB at most. */
void gaps_init(struct gaps *gaps, size_t memtable_bytes);
void gaps_release(struct gaps *gaps);

/* True: the run has nothing from `key` on up to *ret_end, which lives until the next note.
 * *ret_end of size 0: nothing at all. O(1). */
bool gaps_find(const struct gaps *gaps, uint64_t run, struct dueq_slice key,
               struct dueq_slice *ret_end);

/* The run has nothing from `key` on up to `end`, or (size 0) nothing at all. O(1). */
void gaps_note(struct gaps *gaps, uint64_t run, struct dueq_slice key, struct dueq_slice end);

#endif
