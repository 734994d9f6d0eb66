/* Folds runs: moves their records into the tables, or into one run that takes their place. It
 * does so in the order of keys and in transactions of bounded size. After each transaction the
 * store contains the same as before, so a fold can stop anywhere, and needs no record of where
 * it is: what is moved is no longer in the runs. Private to storage/kv; for the thread that
 * writes. */
#ifndef DUEQ_FOLD_H
#define DUEQ_FOLD_H

#include "storage/kv/mark.h"

enum { FOLD_LEAST = 1 }; /* records of the smallest transaction, when the map is nearly full */

struct fold;

struct fold *fold_new(struct lmdb_store *lmdb); /* NULL: out of memory */
void fold_free(struct fold *fold);              /* NULL is fine */

/* Begins to fold the runs of the list from number `from` on, before number `end`. level: of the
 * run that takes their place; 0: the tables take them, and `from` is 0. */
void fold_begin(struct fold *fold, const struct run_list *runs, unsigned from, unsigned end,
                unsigned level);
/* Begins to fold all runs into the tables, if it is time: a fold changes most of their pages,
 * so there must be many records for it. table: bytes of a memtable. Returns whether it has
 * begun. */
bool fold_tables_if_due(struct fold *fold, const struct run_list *runs, size_t table);
/* Begins to fold runs of one level into a run of the next one, if there are enough of them from
 * number `from` of the list on. Returns whether it has begun. */
bool fold_level_if_due(struct fold *fold, const struct run_list *runs, unsigned from);
/* A run that has taken records stays; it has no filter. */
void fold_cancel(struct fold *fold);

bool fold_is_running(const struct fold *fold);
/* That of fold_begin. */
unsigned fold_level(const struct fold *fold);
/* How many records a transaction should move, for the memory that its pages take. */
size_t fold_records(const struct fold *fold, const struct run_list *runs);
/* Is there a place for a run yet to be taken? */
bool fold_needs_place(const struct fold *fold);
/* Where in the list the runs end that are being folded; 0: none are. */
unsigned fold_end(const struct fold *fold, const struct run_list *runs);

/* Moves up to `limit` records in one transaction; the last one ends the fold and writes the
 * mark. *ret_moved: how many. A fold that needs a place when there is none ends, with nothing
 * moved. On failure nothing has changed. */
enum dueq_status fold_step(struct fold *fold, struct checkpoint_mark *mark, size_t limit,
                           size_t *ret_moved);

#endif
