/* The checkpointed level, in LMDB: the only file that knows it. Errors are translated here,
 * once. Private to storage/kv.
 *
 * The owner reads through one snapshot that it renews; the checkpoint thread writes. */
#ifndef DUEQ_LMDB_STORE_H
#define DUEQ_LMDB_STORE_H

#include "storage/io.h"
#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct lmdb_store;
struct lmdb_cursor;
struct lmdb_txn;

/* Makes DIR/data.mdb with that one record when there is none: beside, synced, renamed, so that
 * a power cut at any moment leaves none or a whole one. */
enum dueq_status lmdb_store_create(const char *dir, const struct dueq_io *io,
                                   struct dueq_slice key, struct dueq_slice value,
                                   struct dueq_error *error);

/* What is read is what the disk has: the file is synced and dropped from the page cache first,
 * where a sync that failed may have left pages that are nowhere else. */
enum dueq_status lmdb_store_open(const char *dir, uint64_t map_bytes, const struct dueq_io *io,
                                 struct lmdb_store **ret_store, struct dueq_error *error);
void lmdb_store_close(struct lmdb_store *store); /* NULL is fine */

/* ---- the owner */

/* Sees what was committed since. Slices and cursor positions of the old snapshot are void.
 *
 * What is read is looked at first: whatever the disk has done to the file ends in DUEQ_CORRUPT,
 * or DUEQ_IO when it cannot be read, and lmdb_error_text names the page (lmdb_pages.h). */
enum dueq_status lmdb_renew(struct lmdb_store *store);
/* Grows with each renewal. */
uint64_t lmdb_generation(struct lmdb_store *store);

/* Until the owner reads again: its slices are void, and the snapshot is the checkpoint
 * thread's to renew. An owner that sleeps through a checkpoint would else hold all the pages
 * that its transactions free, and the file would grow by them. */
void lmdb_release_snapshot(struct lmdb_store *store);

enum dueq_status lmdb_get(struct lmdb_store *store, struct dueq_slice key,
                          struct dueq_slice *ret_value);

struct lmdb_cursor *lmdb_cursor_new(struct lmdb_store *store); /* NULL: out of memory */
void lmdb_cursor_free(struct lmdb_cursor *cursor);
/* A cursor of an older generation takes up the new snapshot with the next seek. */
enum dueq_status lmdb_seek(struct lmdb_cursor *cursor, struct dueq_slice key); /* >= */
enum dueq_status lmdb_last(struct lmdb_cursor *cursor);
enum dueq_status lmdb_next(struct lmdb_cursor *cursor);
enum dueq_status lmdb_prev(struct lmdb_cursor *cursor);
struct dueq_slice lmdb_key(const struct lmdb_cursor *cursor);
struct dueq_slice lmdb_value(const struct lmdb_cursor *cursor);

/* ---- the checkpoint thread. DUEQ_FULL: the map or the disk is; abort and try again later. */

/* After a commit: renews the snapshot if the owner rests. */
void lmdb_renew_released(struct lmdb_store *store);

enum dueq_status lmdb_begin(struct lmdb_store *store, struct lmdb_txn **ret_txn);
enum dueq_status lmdb_put(struct lmdb_txn *txn, struct dueq_slice key, struct dueq_slice value);
enum dueq_status lmdb_del(struct lmdb_txn *txn, struct dueq_slice key);
/* txn is gone, also on failure. A power cut may undo the last commit, and only it, as a whole.
 * DUEQ_FULL: nothing was written that counts; also when a write was short, which LMDB calls
 * EIO, and the disk is full. DUEQ_IO also when the disk was full during a sync: what it has
 * lost is in memory still, so nothing that is read may be believed. */
enum dueq_status lmdb_commit(struct lmdb_txn *txn);
/* All commits are durable afterwards; also after lmdb_store_open. Never DUEQ_FULL: a sync that
 * failed once does not fail again, and must not be tried again. */
enum dueq_status lmdb_sync(struct lmdb_store *store);
void lmdb_abort(struct lmdb_txn *txn);

/* ---- space */

/* Bytes of data.mdb. */
struct lmdb_room {
    uint64_t file; /* its length, all of which has blocks on the disk */
    uint64_t end;  /* pages ever used */
    uint64_t used; /* the same, less the free ones */
    uint64_t runs; /* free pages of which many lie one behind the other */
};

/* Reads the free list: O(free). Fills what is not yet on the disk. Any thread. */
void lmdb_get_room(struct lmdb_store *store, struct lmdb_room *ret_room);

/* Makes the file so much longer, with blocks: what is within *ret_file can be written whatever
 * happens to the disk. DUEQ_FULL, DUEQ_IO: nothing has changed. Any thread. */
enum dueq_status lmdb_grow(struct lmdb_store *store, uint64_t bytes, uint64_t *ret_file);

/* The last error in words, of either thread; lives as long as the store. */
const char *lmdb_error_text(const struct lmdb_store *store);

/* Of the owner's reads alone: which page was damaged or could not be read, and how. "": none
 * since it was forgotten. */
const char *lmdb_damage(struct lmdb_store *store);
void lmdb_forget_damage(struct lmdb_store *store);

struct lmdb_census {
    uint64_t records, pages, free_pages, lost_pages; /* lost: neither used nor free */
};
/* Looks at every page and value of the file. DUEQ_CORRUPT: lmdb_damage. */
enum dueq_status lmdb_check(struct lmdb_store *store, struct lmdb_census *ret_census);

#endif
