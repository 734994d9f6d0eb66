/* The checkpointed level: data.mdb, an LMDB file. Only lmdb_*.c call LMDB, and translate
 * its errors; pages/ knows the format of its pages. Private to storage/kv.
 *
 * The owner reads through one snapshot, which it renews; the checkpoint thread writes. */
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
struct lmdb_hold;

/* Creates DIR/data.mdb with that one record if there is none, and syncs its name. The file is
 * made under another name, synced and renamed, so a power cut leaves no file or a complete one.
 * DUEQ_CORRUPT: it is a link that leads nowhere. */
enum dueq_status lmdb_store_create(const char *dir, const struct dueq_io *io,
                                   struct dueq_slice key, struct dueq_slice value,
                                   struct dueq_error *error);

/* Removes what a compaction has left that did not end.
 *
 * Syncs the file and drops it from the page cache first, so that what is read is on the disk: a
 * sync that failed earlier may have left pages that are only in the cache. DUEQ_CORRUPT,
 * DUEQ_IO, DUEQ_FULL, DUEQ_NOMEM. */
enum dueq_status lmdb_store_open(const char *dir, uint64_t map_bytes, const struct dueq_io *io,
                                 struct lmdb_store **ret_store, struct dueq_error *error);
void lmdb_store_close(struct lmdb_store *store); /* NULL is fine */

/* ---- the owner */

/* Renews the snapshot: reads then see all commits so far. Slices and cursor positions of the
 * old snapshot are void.
 *
 * This call and all reads check the pages that they use (pages/pages.h). DUEQ_CORRUPT: a page
 * is damaged; DUEQ_IO: it cannot be read; lmdb_error_text names it. */
enum dueq_status lmdb_renew(struct lmdb_store *store);
/* Grows with each renewal. */
uint64_t lmdb_generation(struct lmdb_store *store);

/* Until the owner reads again, its slices are void and the checkpoint thread may renew the
 * snapshot. Otherwise the snapshot of an owner that sleeps through a checkpoint would keep all
 * pages that the checkpoint frees, and the file would grow by them. */
void lmdb_release_snapshot(struct lmdb_store *store);

enum dueq_status lmdb_get(struct lmdb_store *store, struct dueq_slice key,
                          struct dueq_slice *ret_value);

/* The next lmdb_get of these keys need not wait for memory (pages/pages_prefetch.h). At most
 * LMDB_PREFETCH_MOST. */
enum { LMDB_PREFETCH_MOST = 32 };
void lmdb_prefetch(struct lmdb_store *store, const struct dueq_slice *keys, size_t count);

/* Limits what the owner's reads check of large values (pages_limit_checks). */
bool lmdb_limit_checks(struct lmdb_store *store, size_t *allowance);

/* Keeps what slices of this snapshot show until lmdb_let_go. Meanwhile the file grows by what
 * checkpoints free: hold it for a short time. NULL: the byte is in no page of the file, there
 * are too many holds, or no memory. */
struct lmdb_hold *lmdb_hold(struct lmdb_store *store, const void *byte);
void lmdb_let_go(struct lmdb_store *store, struct lmdb_hold *hold);

struct lmdb_cursor *lmdb_cursor_new(struct lmdb_store *store); /* NULL: out of memory */
void lmdb_cursor_free(struct lmdb_cursor *cursor);             /* NULL is fine */
/* The first seek after a renewal moves the cursor to the new snapshot. */
enum dueq_status lmdb_seek(struct lmdb_cursor *cursor, struct dueq_slice key); /* >= */
enum dueq_status lmdb_last(struct lmdb_cursor *cursor);
enum dueq_status lmdb_next(struct lmdb_cursor *cursor);
enum dueq_status lmdb_prev(struct lmdb_cursor *cursor);
/* As pages_skip: counts many records in one move. */
enum dueq_status lmdb_skip(struct lmdb_cursor *cursor, struct dueq_slice end,
                           uint64_t *ret_count);
struct dueq_slice lmdb_key(const struct lmdb_cursor *cursor);
struct dueq_slice lmdb_value(const struct lmdb_cursor *cursor);

/* ---- the checkpoint thread. DUEQ_FULL: the map or the disk is full; abort, try again
 * later. */

/* Call it after a commit: renews the snapshot if the owner has released it. */
void lmdb_renew_released(struct lmdb_store *store);

/* Pages; the smallest transactions need a third of them. */
enum { LMDB_SPARE = 64 };

enum dueq_status lmdb_begin(struct lmdb_store *store, struct lmdb_txn **ret_txn);
enum dueq_status lmdb_put(struct lmdb_txn *txn, struct dueq_slice key, struct dueq_slice value);
/* The same for a value given in parts. */
enum dueq_status lmdb_putv(struct lmdb_txn *txn, struct dueq_slice key,
                           const struct dueq_slice *parts, size_t count);
enum dueq_status lmdb_del(struct lmdb_txn *txn, struct dueq_slice key);
/* Did both keys belong to one leaf, and so all between, when the transaction began? `last` is
 * not the lesser one. False: no, or damage does not let it see that. */
bool lmdb_share_leaf(const struct lmdb_txn *txn, struct dueq_slice first,
                     struct dueq_slice last);
/* Before the commit of all but the smallest transaction. DUEQ_FULL: LMDB_SPARE pages would not
 * be left for the next one. What a transaction frees can be used after one more commit, so one
 * that takes all free pages but a few would be the last: the next has none to copy. */
enum dueq_status lmdb_leaves_spare(struct lmdb_txn *txn);
/* Frees txn, also on failure. A power cut may undo the last commit, as a whole, and only that
 * one. DUEQ_FULL: the commit has not happened (also when LMDB says EIO for a short write on a
 * full disk). DUEQ_IO, also when the disk was full during a sync: the page cache may then
 * contain what the disk does not, so nothing that is read may be believed. */
enum dueq_status lmdb_commit(struct lmdb_txn *txn);
/* Makes all commits durable. Never DUEQ_FULL: a sync that has failed must not be tried again,
 * because the kernel reports the failure only once. */
enum dueq_status lmdb_sync(struct lmdb_store *store);
/* From now on the pages that were read leave memory after each commit. For a device
 * with little memory: the system may keep them as cache, and they are read again. */
void lmdb_drop_after_commits(struct lmdb_store *store);
bool lmdb_drops(const struct lmdb_store *store); /* was that called? */
/* The same now, for what the owner has read. Pins the snapshot, as each read does. */
void lmdb_drop(struct lmdb_store *store);
void lmdb_abort(struct lmdb_txn *txn);

/* A cursor of the checkpoint thread: it shows the file as it was when the present transaction
 * began, and its slices live until that ends. NULL: out of memory. */
struct lmdb_cursor *lmdb_writer_cursor_new(struct lmdb_store *store);
/* Bytes of the pages of all records. O(1). */
uint64_t lmdb_tree_bytes(struct lmdb_store *store);
/* How many records there are. Any thread. O(1). */
uint64_t lmdb_records(struct lmdb_store *store);

/* ---- space */

/* The directory of the file with the pages: another one than that of the store when data.mdb is
 * a link. The room for it is that of its disk. */
const char *lmdb_place(const struct lmdb_store *store);

/* Bytes of data.mdb. */
struct lmdb_room {
    uint64_t file; /* its length, all of which has blocks on the disk */
    uint64_t end;  /* pages ever used */
    uint64_t used; /* the same without the free ones */
    uint64_t runs; /* free pages in long runs of consecutive ones */
};

/* Reads the free list: O(free). Allocates blocks for parts of the file that have none. The
 * checkpoint thread's, or the owner's while that does not run. */
void lmdb_get_room(struct lmdb_store *store, struct lmdb_room *ret_room);

/* Makes the file longer by `bytes` and allocates their blocks, so the first *ret_file bytes can
 * be written even on a full disk. DUEQ_FULL, DUEQ_IO: nothing has changed. The owner's. */
enum dueq_status lmdb_grow(struct lmdb_store *store, uint64_t bytes, uint64_t *ret_file);
/* The same later, by the checkpoint thread, because to allocate blocks may take the kernel
 * milliseconds. One request at a time; nobody is told of a failure. */
void lmdb_ask_growth(struct lmdb_store *store, uint64_t bytes);
/* Is such a request open? Any thread. */
bool lmdb_wants_growth(const struct lmdb_store *store);
/* Carries it out. The checkpoint thread's. */
void lmdb_grow_asked(struct lmdb_store *store);
/* The present length of the file as far as it has blocks. The owner's. O(1). */
uint64_t lmdb_allocated(struct lmdb_store *store);

/* ---- compaction: the checkpoint thread copies what is in use into a new file, which takes the
 * place of data.mdb. Reads go on in the file before until the owner renews its snapshot, and
 * what is held stays there. */

/* The owner's, before the thread begins: how many bytes the copy must have besides its pages,
 * for what the store has promised to take, and how many of the disk it leaves free, or ends
 * with DUEQ_FULL. lmdb_promise: so many, if that is more; until
 * lmdb_end_promise, which the owner calls when the compaction has ended. DUEQ_FULL, DUEQ_IO:
 * the disk has no room for that. O(1). */
void lmdb_begin_promise(struct lmdb_store *store, uint64_t bytes, uint64_t disk_reserve);
enum dueq_status lmdb_promise(struct lmdb_store *store, uint64_t bytes);
void lmdb_end_promise(struct lmdb_store *store);

/* The checkpoint thread's. Makes the copy, complete and synced, beside data.mdb. goes_on: as
 * pages_copy. On failure nothing has changed, and nothing is left of the copy. DUEQ_BUSY: gave
 * up, or lmdb_has_before. DUEQ_FULL, DUEQ_CORRUPT, DUEQ_IO, DUEQ_NOMEM. O(records). */
enum dueq_status lmdb_copy(struct lmdb_store *store, bool (*goes_on)(void *arg, uint64_t bytes),
                           void *arg);
/* After lmdb_copy: the copy becomes data.mdb. DUEQ_IO: it does not; *ret_lost: or it may come
 * to be after a restart, so nothing may be written to either file any more. */
enum dueq_status lmdb_take_copy(struct lmdb_store *store, bool *ret_lost);

/* Is the file before still there? Any thread. O(1). */
bool lmdb_has_before(const struct lmdb_store *store);
/* Does nobody read the file before any more? Any thread. The checkpoint thread then closes it,
 * which gives its blocks back. */
bool lmdb_has_unused(const struct lmdb_store *store);
void lmdb_close_unused(struct lmdb_store *store);

/* The last error of either thread, in words; lives as long as the store. */
const char *lmdb_error_text(const struct lmdb_store *store);

/* Only of the owner's reads: which page is damaged or could not be read, and how. "": none
 * since lmdb_forget_damage. */
const char *lmdb_damage(struct lmdb_store *store);
void lmdb_forget_damage(struct lmdb_store *store);

struct lmdb_census {
    uint64_t records, pages, free_pages, lost_pages; /* lost: neither used nor free */
};
/* Checks every page and value of the file. DUEQ_CORRUPT: lmdb_damage says where. O(file). */
enum dueq_status lmdb_check(struct lmdb_store *store, struct lmdb_census *ret_census);

#endif
