/* Folds runs into the tables: moves their records there, in the order of keys and in
 * transactions of bounded size. After each transaction the store contains the same as before,
 * so a fold can stop anywhere, and needs no record of where it is: what is moved is no longer
 * in the runs. Private to storage/kv; for the thread that writes. */
#ifndef DUEQ_FOLD_H
#define DUEQ_FOLD_H

#include "storage/kv/mark.h"

struct fold;

struct fold *fold_new(struct lmdb_store *lmdb); /* NULL: out of memory */
void fold_free(struct fold *fold);              /* NULL is fine */

/* How many runs there are when a fold should begin. A fold changes most pages of the tables, so
 * the larger they are, the more runs it should have. table: bytes of a memtable. */
unsigned fold_from(struct lmdb_store *lmdb, size_t table);

/* Moves up to `limit` records of the runs before `end`, in one transaction. When these runs
 * are empty it writes the mark without them, and *mark->runs.first is `end`. *ret_moved: how
 * many. On failure nothing has changed. */
enum dueq_status fold_step(struct fold *fold, struct checkpoint_mark *mark, uint64_t end,
                           size_t limit, size_t *ret_moved);

#endif
