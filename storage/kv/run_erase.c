#include "storage/kv/run_erase.h"

enum dueq_status run_erase(struct lmdb_txn *txn, struct lmdb_cursor *cursor,
                           const struct run_key *run, size_t limit, bool *ret_done)
{
    enum dueq_status status = lmdb_seek(cursor, run_key_head(run));

    *ret_done = false;
    for (size_t i = 0; status == DUEQ_OK && run_key_has_head(run, lmdb_key(cursor)); i++) {
        if (i == limit)
            return DUEQ_OK;
        status = lmdb_del(txn, lmdb_key(cursor));
        if (status == DUEQ_OK)
            status = lmdb_next(cursor);
    }
    *ret_done = status == DUEQ_OK || status == DUEQ_NOTFOUND;
    return *ret_done ? DUEQ_OK : status;
}
