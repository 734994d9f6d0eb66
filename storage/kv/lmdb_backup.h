/* A copy of data.mdb as it was at one time, which a thread of its own makes while the store
 * goes on. Meanwhile data.mdb grows by what checkpoints free. Private to storage/kv. */
#ifndef DUEQ_LMDB_BACKUP_H
#define DUEQ_LMDB_BACKUP_H

#include "storage/kv/lmdb_store.h"

struct lmdb_backup;

/* The owner's: holds the present state of the file. Call it while no table is being merged,
 * since of such a table the file may have a part. DUEQ_NOMEM, DUEQ_IO, DUEQ_CORRUPT. O(1). */
enum dueq_status lmdb_backup_new(struct lmdb_store *store, struct lmdb_backup **ret_backup);
/* The owner's, when no thread uses it any more. NULL is fine. */
void lmdb_backup_free(struct lmdb_store *store, struct lmdb_backup *backup);

/* Bytes that the copy has. */
uint64_t lmdb_backup_size(const struct lmdb_backup *backup);
/* Any one thread: makes the file `path`, syncs it, reads it again and checks every page.
 * goes_on: called with the bytes copied so far, for each MiB of the copy, and while that is
 * read again; false: give up, DUEQ_BUSY. DUEQ_FULL, DUEQ_CORRUPT, DUEQ_IO, DUEQ_NOMEM: a part
 * of the file may be there. O(records). */
enum dueq_status lmdb_backup_write(struct lmdb_backup *backup, const char *path,
                                   bool (*goes_on)(void *arg, uint64_t bytes), void *arg);

#endif
