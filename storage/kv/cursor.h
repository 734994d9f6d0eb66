/* A cursor: walks the keys of the space in order. It merges the active memtable, the frozen
 * memtable and LMDB.
 *
 * Its position is a key, so it survives every write, commit and checkpoint. Any number may be
 * open; all belong to the owner's thread and are freed before the store is closed. A move
 * answers DUEQ_OK, DUEQ_NOTFOUND (there is no such key; the position is lost) or the error of a
 * read. Cost: O(log n) for a seek, O(1) amortised for a step, and one step more for each
 * deleted record that the move meets and that dead_ranges.h does not know yet. In tables that
 * have runs (runs.h) a seek also searches those runs of which gaps.h does not know where their
 * next record is. */
#ifndef DUEQ_CURSOR_H
#define DUEQ_CURSOR_H

#include "storage/slice.h"
#include "storage/status.h"

#include <stdint.h>

struct kv;
struct kv_cursor;
struct kv_key;

struct kv_cursor *kv_cursor_new(struct kv *kv); /* NULL: out of memory */
void kv_cursor_free(struct kv_cursor *cursor);  /* NULL is fine */

enum dueq_status kv_cursor_seek(struct kv_cursor *cursor, struct dueq_slice key); /* >= key */
enum dueq_status kv_cursor_seek_last(struct kv_cursor *cursor,
                                     struct dueq_slice key); /* < key */
enum dueq_status kv_cursor_next(struct kv_cursor *cursor);
enum dueq_status kv_cursor_prev(struct kv_cursor *cursor);

/* The record that the last move found. The slices live until the cursor moves, and no longer
 * than those of kv_get. */
struct dueq_slice kv_cursor_key(const struct kv_cursor *cursor);
struct dueq_slice kv_cursor_value(const struct kv_cursor *cursor);

/* How many deleted records the last move stepped over. The store remembers the range, so that
 * no other move steps over them; the next checkpoint removes them. */
uint64_t kv_cursor_passed(const struct kv_cursor *cursor);

/* The same moves for callers that must not take long. One step of *budget pays for
 * KV_TOMBSTONES_A_STEP deleted records. When the budget ends among deleted records, the answer
 * is DUEQ_NOTFOUND, *budget is 0 and the position is lost; the same seek made again continues
 * where this one stopped. budget NULL: no limit. */
enum { KV_TOMBSTONES_A_STEP = 8 };
enum dueq_status kv_cursor_seek_within(struct kv_cursor *cursor, struct dueq_slice key,
                                       unsigned *budget);
enum dueq_status kv_cursor_seek_last_within(struct kv_cursor *cursor, struct dueq_slice key,
                                            unsigned *budget);
enum dueq_status kv_cursor_next_within(struct kv_cursor *cursor, unsigned *budget);

/* Counts the records from *from on that come before `end`, without looking at each: a step of
 * *budget pays for a page of LMDB, or for a record of a memtable or run. *count grows.
 * DUEQ_BUSY: the budget ended first; *from has moved to where to go on. Only for records with
 * small values. The cursor's position is lost. */
enum dueq_status kv_cursor_count(struct kv_cursor *cursor, struct kv_key *from,
                                 struct dueq_slice end, unsigned *budget, uint64_t *count);

#endif
