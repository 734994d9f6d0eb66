/* Writes a memtable into LMDB, in transactions of bounded size. Private to storage/kv; for the
 * thread that writes. */
#ifndef DUEQ_MERGE_H
#define DUEQ_MERGE_H

#include "storage/kv/mark.h"
#include "storage/kv/memtable/memtable.h"
#include "storage/kv/run_filter.h"

#include <stdatomic.h>

enum {
#ifdef DUEQ_SMALL
    MERGE_PASSES_RUN = 0, /* small code rather than few writes */
#else
    MERGE_PASSES_RUN = 1,
#endif
    MERGE_OPERATIONS = 4096, /* of a transaction; a random one dirties two or three pages */
    MERGE_LEAST = 1          /* of the smallest one, when the map is nearly full */
};

/* An older run, as a tombstone finds it. */
struct merge_probe {
    struct lmdb_cursor *cursor;
    struct run_key run;
    bool sought, there;
    struct dueq_slice key; /* the run has no other from the last one sought up to it */
};

/* A walk through a table. A transaction copies each page that it changes. If there is no room
 * for the copies, smaller transactions follow, each of which can use pages that earlier ones
 * have freed. */
struct merge {
    struct lmdb_store *lmdb;
    struct memtable_cursor at;
    bool more;     /* there is something left to do */
    size_t limit;  /* operations of a transaction at most */
    size_t in_run; /* records written into the run */
    struct checkpoint_mark mark;
    bool frugal;  /* room is scarce: every tombstone is carried out at once, and takes none */
    bool refused; /* there was none */
    bool to_run, cleared; /* the table's run; what a crash may have left of it is removed */
    _Atomic(bool)
        past_run; /* any thread: nevertheless the tables may have some of its records */
    struct run_key run;
    struct run_filter filter;
    unsigned filter_put; /* chunks */
    struct merge_probe probes[RUNS_MOST];
    unsigned probe_count;
};

/* mark: of the checkpoint, with the runs that there are now, fewer than RUNS_MOST. DUEQ_NOMEM.
 */
enum dueq_status merge_init(struct merge *merge, struct lmdb_store *lmdb,
                            const struct memtable *table, const struct checkpoint_mark *mark);
void merge_release(struct merge *merge);

/* Runs one transaction; the last one writes the mark, which merge->mark is from then on. The
 * walk advances after the commit. DUEQ_FULL: try again, with fewer operations. */
enum dueq_status merge_step(struct merge *merge);

#endif
