/* The mark: a record of LMDB that says how much LMDB contains. Private to storage/kv. */
#ifndef DUEQ_MARK_H
#define DUEQ_MARK_H

#include "storage/kv/journal/history.h"
#include "storage/kv/lmdb_store.h"
#include "storage/kv/runs.h"

/* The last transaction of a checkpoint writes it. */
struct checkpoint_mark {
    uint64_t lsn; /* LMDB contains every record up to this one */
    int64_t time; /* the greatest time of those records, unix ms */
    uint64_t seed;
    struct history history; /* of the store that wrote it */
    struct run_list runs;
};

/* Reads the value of the record. False: it is no sound mark. */
bool mark_decode(struct dueq_slice value, struct checkpoint_mark *ret_mark);
/* The owner's. DUEQ_NOTFOUND: data.mdb has no mark. DUEQ_CORRUPT, DUEQ_IO. */
enum dueq_status mark_read(struct lmdb_store *lmdb, struct checkpoint_mark *ret_mark);
/* Writes it as a part of a transaction. */
enum dueq_status mark_put(struct lmdb_txn *txn, const struct checkpoint_mark *mark);
/* Creates DIR/data.mdb with that mark if there is none. */
enum dueq_status mark_create(const char *dir, const struct dueq_io *io,
                             const struct checkpoint_mark *mark, struct dueq_error *error);
/* Writes the mark twice, so that both meta pages of LMDB lead to it, and syncs. Then the mark
 * is certainly on the disk, and losing the younger meta page loses nothing. On a full disk it
 * only syncs. */
enum dueq_status mark_rewrite(struct lmdb_store *lmdb, const struct checkpoint_mark *mark);

#endif
