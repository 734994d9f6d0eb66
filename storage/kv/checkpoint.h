/* The checkpoint thread: merges a frozen memtable into LMDB, in transactions of bounded size,
 * and then recycles the journal segments that are no longer needed. In between it folds runs
 * (fold.h), and copies data.mdb when that is asked for. Private to storage/kv.
 *
 * Functions are called by the owner's thread. */
#ifndef DUEQ_CHECKPOINT_H
#define DUEQ_CHECKPOINT_H

#include "storage/kv/journal/journal.h"
#include "storage/kv/mark.h"
#include "storage/kv/memtable/memtable.h"

struct checkpoint;

/* Starts the thread. It calls notify when a checkpoint has ended or checkpoint_has_room has
 * changed. It tends the chunks of memtables. lmdb, journal, chunks (NULL: none) and io are the
 * caller's and must outlive the checkpoint.
 * DUEQ_NOMEM, or why the mark cannot be read. */
enum dueq_status checkpoint_new(struct lmdb_store *lmdb, struct journal *journal,
                                struct chunk_pool *chunks, const struct dueq_io *io,
                                void (*notify)(void *arg), void *notify_arg,
                                struct checkpoint **ret_checkpoint);
/* Ends the thread after its present transaction. NULL is fine. */
void checkpoint_free(struct checkpoint *checkpoint);

/* Starts a checkpoint; none may be running. mark->runs is not used. The caller keeps the table,
 * and does not change or free it until checkpoint_running is false. */
void checkpoint_start(struct checkpoint *checkpoint, const struct memtable *frozen,
                      const struct checkpoint_mark *mark);
/* Frees the table in the thread, before its next checkpoint: to free 500 MB takes 40 ms. The
 * table is not the caller's any more; it is called once after each checkpoint_start. */
void checkpoint_dispose(struct checkpoint *checkpoint, struct memtable *merged);
/* Wakes the thread to make the files that journal_wants_files asks for, when it has no
 * table. */
void checkpoint_wake(struct checkpoint *checkpoint);
bool checkpoint_running(const struct checkpoint *checkpoint);
/* Has the last checkpoint written records past its run, so that they are seen before it ends?
 */
bool checkpoint_went_past_run(const struct checkpoint *checkpoint);
/* While a checkpoint runs: a compaction that goes on before it gives up, and is tried again
 * later. */
void checkpoint_hurry(struct checkpoint *checkpoint);
/* Waits until the checkpoint has ended or failed for good, `usec` microseconds at the most. The
 * caller renews its snapshot between two waits: pages that its snapshot uses cannot be used
 * again. */
void checkpoint_wait(struct checkpoint *checkpoint, uint64_t usec);

/* Transactions committed so far: the owner renews its snapshot when the number has grown. */
uint64_t checkpoint_commits(const struct checkpoint *checkpoint);

/* DUEQ_OK, or why the thread failed, for good. Never DUEQ_FULL. */
enum dueq_status checkpoint_status(const struct checkpoint *checkpoint);
/* How often not even the smallest transaction had room. */
uint64_t checkpoint_refusals(const struct checkpoint *checkpoint);
/* False while the map or the disk is full; the thread tries again by itself. */
bool checkpoint_has_room(const struct checkpoint *checkpoint);
/* Has it been tried several times, although pages are free? They are not in a row then, as a
 * large value needs them: those that were counted for it have gone to small ones. In a copy all
 * free pages are in a row. False again when the thread makes one; if that is in vain, true
 * again after a quarter of an hour. */
bool checkpoint_is_cramped(const struct checkpoint *checkpoint);

struct checkpoint_stats {
    uint64_t count, usec_last, failures, lsn;
    struct dueq_spans took;             /* ms */
    uint64_t runs, run_records, folded; /* folded: records */
    struct lmdb_room room;              /* after the last checkpoint or copy, or before */
};
void checkpoint_get_stats(const struct checkpoint *checkpoint,
                          struct checkpoint_stats *ret_stats);

/* Starts a compaction, which comes before the next table, or between two tries of one that has
 * no room; none may be running. The caller has begun a promise (lmdb_store.h), and ends it when
 * the compaction has ended. */
void checkpoint_compact(struct checkpoint *checkpoint);

/* Of the running compaction, or of the last one. */
struct checkpoint_compaction {
    bool running;
    uint64_t ended;               /* how many have, also those that failed */
    enum dueq_status status;      /* of the last one. DUEQ_BUSY: it was not possible then */
    uint64_t usec, before, after; /* bytes of the file */
    uint64_t copied, used;        /* bytes of pages: how many of how many */
};
void checkpoint_get_compaction(const struct checkpoint *checkpoint,
                               struct checkpoint_compaction *ret_compaction);
/* As `ended`. O(1). */
uint64_t checkpoint_compactions(const struct checkpoint *checkpoint);

/* Asked after each transaction: DUEQ_OK, or the status with which the merge ends. */
typedef enum dueq_status (*checkpoint_asks_fn)(void *arg);

/* Merges in the caller's thread: for replay, before the checkpoint thread exists. DUEQ_FULL, or
 * a status of `asks`: LMDB contains a part of the table, and the old mark. O(table). */
enum dueq_status checkpoint_merge(struct lmdb_store *lmdb, const struct memtable *table,
                                  const struct checkpoint_mark *mark, checkpoint_asks_fn asks,
                                  void *arg);

#endif
