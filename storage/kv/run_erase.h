/* Deletes what LMDB has of one run, its filter included. Private to storage/kv; for the thread
 * that writes. */
#ifndef DUEQ_RUN_ERASE_H
#define DUEQ_RUN_ERASE_H

#include "storage/kv/lmdb_store.h"
#include "storage/kv/runs.h"

/* Deletes up to `limit` records. cursor: any of the writer's. *ret_done: nothing is left. */
enum dueq_status run_erase(struct lmdb_txn *txn, struct lmdb_cursor *cursor,
                           const struct run_key *run, size_t limit, bool *ret_done);

#endif
