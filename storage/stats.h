/* Statistics of a store, for operators. Installed beside dueq.h. Later versions may add fields
 * at the end. Sizes are bytes, times us; "since open": since the store was opened. */
#ifndef DUEQ_STATS_H
#define DUEQ_STATS_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DUEQ_SPAN_BUCKETS = 28 };

/* How many times of what length. The unit is ms, unless a field says otherwise. */
struct dueq_spans {
    uint64_t buckets[DUEQ_SPAN_BUCKETS]; /* [i]: of more than 2^(i-1), and of 2^i units at most;
                                            [0] from 0 on, the last one without an end */
    uint64_t count, sum;                 /* sum: units */
};

/* The archive of journal segments; all since open. */
struct dueq_archive_stats {
    bool on;
    enum dueq_status status;            /* of the last try; DUEQ_OK before the first */
    int error;                          /* DUEQ_IO: errno */
    uint64_t segments, bytes, last_lsn; /* copied */
    uint64_t failures;                  /* tries that failed; most are made again */
    uint64_t gaps;    /* places at which segments were given up: a restore cannot pass them */
    uint64_t damaged; /* files in it that were found to be, and were written anew */
    /* Now. Bytes: of files in the journal, each of which is as long as a segment, however few
     * records it has. */
    uint64_t waiting_segments, waiting_bytes;
};

struct dueq_stats {
    uint64_t lsn, synced_lsn, checkpoint_lsn;
    uint64_t journal_bytes;    /* of live segments; a start after a crash would replay them */
    uint64_t journal_segments; /* files, spares included */
    uint64_t journal_written_bytes; /* since open */
    uint64_t syncs;                 /* since open */
    uint64_t sync_usec_total, sync_usec_max;
    uint64_t replayed_records;               /* by the opening */
    uint64_t cut_bytes;                      /* torn tail that the opening cut off */
    size_t memtable_bytes, memtable_entries; /* active; bytes taken from the system */
    size_t frozen_bytes; /* of the memtable that a checkpoint merges into LMDB; 0: none runs */
    size_t mapped_bytes; /* of both memtables, outside of malloc's heap */
    uint64_t checkpoints, checkpoint_usec_last, checkpoint_failures;
    bool checkpoint_running;
    uint64_t map_bytes, map_used_bytes;
    uint64_t data_file_bytes; /* size of data.mdb, free pages and reserved blocks included */
    uint64_t disk_free_bytes; /* of data.mdb's disk, or the journal's, which has less */
    uint64_t stalls, stall_usec_total; /* commits that waited for a checkpoint */
    uint64_t tombstones_passed; /* deleted records that cursors stepped over, since open */
    bool full;
    uint64_t runs;           /* of data.mdb, which are not folded into its tables yet */
    uint64_t folded_records; /* since open */
    /* data.mdb: dueq_compact. Of the running one, or else of the last one, unless it says
     * since open. */
    bool compaction_running;
    uint64_t compactions, compaction_failures; /* since open */
    /* Of the last one; DUEQ_OK before the first. DUEQ_BUSY: it has given way to a checkpoint,
     * and is no failure. */
    enum dueq_status compaction_status;
    uint64_t compaction_copied_bytes, compaction_used_bytes;  /* so many of so many */
    uint64_t compaction_before_bytes, compaction_after_bytes; /* of the file */
    uint64_t compaction_usec_last;
    uint64_t compaction_returned_bytes; /* to the disk, since open */
    size_t run_filter_bytes;            /* of memory; see runs */
    bool backup_running;                /* dueq_backup; or it is asked for */
    uint64_t backups, backup_failures;  /* since open */
    enum dueq_status backup_status;     /* of the last one; DUEQ_OK before the first */
    /* Of the last one that succeeded; 0: none has. copied: of the running one. */
    uint64_t backup_lsn, backup_bytes, backup_usec_last, backup_copied_bytes;
    struct dueq_spans sync_spans;       /* us: syncs of the journal, since open */
    struct dueq_spans checkpoint_spans; /* checkpoints that were made, since open */
    struct dueq_archive_stats archive;
    uint64_t rate_refusals; /* claims that found no permit of their topic's rate, since open */
    uint64_t rate_releases; /* groups whose permits came back, since open */
};

/* How many jobs took how long, since open. */
enum dueq_span {
    DUEQ_SPAN_WAIT, /* from the due time, or the push when that was later, to the claim */
    DUEQ_SPAN_RUN,  /* from the claim to the ack, within the lease */
    DUEQ_SPAN_LATE, /* from the due time of a delayed job to the tick or call that saw it due */
    DUEQ_SPANS
};

/* How long the jobs of one topic took: dueq_topic_latencies. There DUEQ_SPAN_LATE is from when
 * a job was due and a claim waited for it (dueq_claim.waits_since) to when that claim got it.
 */
enum dueq_window {
    DUEQ_WINDOW_MINUTE,    /* the last 60 to 70 s */
    DUEQ_WINDOW_5_MINUTES, /* the last 5 to 6 minutes */
    DUEQ_WINDOW_ALL,
    DUEQ_WINDOWS
};

/* ms. So many of the times were not longer: half of them, 99 %, 99.9 %, all. The first three
 * are at most 1/16 too long, the last one is exact. Without any time all are 0. */
struct dueq_quantiles {
    uint64_t count;
    int64_t p50, p99, p999, max;
};

struct dueq_latencies {
    int64_t since; /* unix ms: when the first time was counted; DUEQ_NEVER: none was */
    struct dueq_quantiles times[DUEQ_SPANS][DUEQ_WINDOWS];
};

#endif
