/* The inside of struct kv. Private to storage/kv. */
#ifndef DUEQ_KV_INTERNAL_H
#define DUEQ_KV_INTERNAL_H

#include "storage/kv/archive.h"
#include "storage/kv/backup.h"
#include "storage/kv/batch.h"
#include "storage/kv/checkpoint.h"
#include "storage/kv/compaction.h"
#include "storage/kv/cursor.h"
#include "storage/kv/dead_ranges.h"
#include "storage/kv/gaps.h"
#include "storage/kv/kv.h"
#include "storage/kv/pressure.h"
#include "storage/kv/room_state.h"
#include "storage/kv/run_filter.h"

#include <stdatomic.h>

/* What the store can do now. */
enum kv_state {
    KV_SOUND,
    KV_FULL,  /* accepts what drains it and refuses growth, until there is room again */
    KV_FAILED /* for good: every call returns the reason, and nothing changes any more */
};

struct kv {
    struct dueq_options options;
    const struct dueq_io *io;
    char *dir;
    int lock_fd;
    struct lmdb_store *lmdb;
    struct journal *journal;
    struct checkpoint *checkpoint;
    struct archive *archive;          /* NULL: there is none */
    struct memtable *active, *frozen; /* frozen: NULL, or being merged into LMDB */
    struct chunk_pool *chunks;        /* of both */
    uint64_t levels;                  /* grows when `active` or `frozen` changes */
    struct run_list runs;             /* of the LMDB snapshot of generation runs_seen */
    uint64_t runs_seen;
    uint64_t frozen_run;                  /* runs.next when `frozen` was frozen; 0: not known */
    struct gaps gaps;                     /* of runs */
    struct run_filter filters[RUNS_MOST]; /* as the runs are in the list */
    size_t filters_most;                  /* bytes of those that are kept */
    uint64_t commits_seen; /* checkpoint_commits at the last renewal of the snapshot */
    uint64_t vain_commits; /* commits_seen when a wait for a segment was last in vain */
    struct dead_ranges dead_ranges; /* of the merged view */
    struct batch batch;
    unsigned asks; /* what the batch asks for: sum of enum asks */
    struct dueq_loan *loans;
    size_t loan_count;
    uint64_t lsn;
    int64_t time_floor;
    uint64_t seed;
    struct history history; /* of what is committed now */
    uint64_t since_freeze;  /* journal bytes committed since the last freeze */
    uint64_t frozen_at;     /* monotonic usec of the last freeze */
    uint64_t merge_usec;    /* from the last freeze whose checkpoint has ended to that end */
    struct kv_paced paced;  /* what kv_growth_pause has counted */
    bool large_waits;       /* kv_is_busy has answered true since the last kv_maintain */
    uint64_t passed_then;   /* tombstones_passed at the last freeze */
    bool replay_full;       /* LMDB has no room for what is replayed, so it stays in memory */
    uint64_t segment_seen;  /* journal_segment when the checkpoint thread was last woken */
    unsigned early_ends; /* segments that ended before they were full since the last freeze */
    unsigned idle_turns;
    struct room_state room;
    struct kv_compaction compaction;
    struct kv_backup backup;
    enum kv_state state;
    enum dueq_status status; /* KV_FAILED: why */
    char failure[320];
    _Atomic(bool) noticed; /* set by the threads: kv_notice has something to do */
    size_t
        check_left; /* bytes of large values that may be checked in slices until kv_maintain */
    bool in_slices; /* kv_begin_slices was called, and nothing has changed since */
    struct dueq_progress progress; /* of the opening */
    struct dueq_stats stats;       /* only the counters that kv.c itself keeps */
};

/* Called by the threads. arg: the struct kv. */
void kv_on_notice(void *arg);
/* Reads the status of both threads; when one has failed, the store has failed. */
void kv_notice(struct kv *kv);

/* Every function that reads or writes calls it first. O(1). */
static inline bool kv_failed(struct kv *kv)
{
    if (atomic_load_explicit(&kv->noticed, memory_order_relaxed))
        kv_notice(kv);
    return kv->state == KV_FAILED;
}

/* Makes kv->runs those of the present LMDB snapshot. DUEQ_CORRUPT, DUEQ_IO. O(1). */
enum dueq_status kv_see_runs(struct kv *kv);
/* What a checkpoint of the store as it is now writes into LMDB, without its runs. */
struct checkpoint_mark kv_mark(const struct kv *kv);
/* Freezes the active memtable and starts its checkpoint. No-op if a checkpoint still runs,
 * nothing has changed, or there is a batch: LMDB must only get what is in the journal. */
void kv_freeze(struct kv *kv);

#endif
