/* The checkpoint thread: merges a frozen memtable into LMDB, in transactions of bounded size,
 * then recycles the journal below. Private to storage/kv. */
#ifndef DUEQ_CHECKPOINT_H
#define DUEQ_CHECKPOINT_H

#include "storage/kv/journal/journal.h"
#include "storage/kv/lmdb_store.h"
#include "storage/kv/memtable/memtable.h"

struct checkpoint;

/* What LMDB says of itself: stored with the last transaction of a checkpoint. */
struct checkpoint_mark {
    uint64_t lsn; /* LMDB holds every record up to this one */
    int64_t time; /* the greatest time of those records */
    uint64_t seed;
};
enum dueq_status checkpoint_read_mark(struct lmdb_store *lmdb,
                                      struct checkpoint_mark *ret_mark);
/* Makes a new DIR/data.mdb with that mark when there is none. */
enum dueq_status checkpoint_create(const char *dir, const struct dueq_io *io,
                                   const struct checkpoint_mark *mark,
                                   struct dueq_error *error);
/* Writes the mark again until both of LMDB's meta pages lead to it, as far as there is room,
 * and syncs: whatever the disk held before, it holds this mark now, and losing the younger of
 * the meta pages loses nothing. */
enum dueq_status checkpoint_rewrite_mark(struct lmdb_store *lmdb,
                                         const struct checkpoint_mark *mark);

/* notify: from the thread, when a checkpoint ended or room changed. */
enum dueq_status checkpoint_new(struct lmdb_store *lmdb, struct journal *journal,
                                const struct dueq_io *io, void (*notify)(void *arg),
                                void *notify_arg, struct checkpoint **ret_checkpoint);
void checkpoint_free(
    struct checkpoint *checkpoint); /* stops within a transaction; NULL is fine */

/* Hands over a frozen table, which is only read until checkpoint_running is false. */
void checkpoint_start(struct checkpoint *checkpoint, const struct memtable *frozen,
                      const struct checkpoint_mark *mark);
/* The journal wants files: it looks after them when it has nothing else to do. */
void checkpoint_wake(struct checkpoint *checkpoint);
bool checkpoint_running(const struct checkpoint *checkpoint);
/* Waits for the end, or a failure for good, but not longer than that. The caller renews its
 * snapshot in between: the pages that it holds cannot be used again. */
void checkpoint_wait(struct checkpoint *checkpoint, uint64_t usec);

/* Transactions committed so far: the owner renews its snapshot when this has grown. */
uint64_t checkpoint_commits(const struct checkpoint *checkpoint);

/* DUEQ_OK, or why it failed, for good. */
enum dueq_status checkpoint_status(const struct checkpoint *checkpoint);
/* False while map or disk refuse: it tries again by itself. */
bool checkpoint_has_room(const struct checkpoint *checkpoint);

struct checkpoint_stats {
    uint64_t count, usec_last, failures, lsn;
    struct lmdb_room room; /* when the last one ended */
};
void checkpoint_get_stats(const struct checkpoint *checkpoint,
                          struct checkpoint_stats *ret_stats);

/* Merges in the owner's thread: for replay, before there is another. DUEQ_FULL: LMDB holds a
 * part, and the old mark. */
enum dueq_status checkpoint_merge(struct lmdb_store *lmdb, const struct memtable *table,
                                  const struct checkpoint_mark *mark);

#endif
