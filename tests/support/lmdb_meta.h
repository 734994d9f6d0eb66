/* What a power cut may do to LMDB: the last commit is undone when its meta page was written but
 * not synced. A program that uses this has its pwrite and fdatasync watched for that; its
 * stores are named data.mdb, one at a time. */
#ifndef DUEQ_TESTS_LMDB_META_H
#define DUEQ_TESTS_LMDB_META_H

#include <stdbool.h>

/* Undoes the last commit to DIR/data.mdb, which must be closed. False: it is durable. */
bool lmdb_meta_undo(const char *dir);

#endif
