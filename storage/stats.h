/* Figures about a store, for operators. Installed beside dueq.h. Later versions may add fields
 * at the end. */
#ifndef DUEQ_STATS_H
#define DUEQ_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dueq_stats {
    uint64_t lsn, synced_lsn, checkpoint_lsn;
    uint64_t journal_bytes;         /* live: what a crash now would replay */
    uint64_t journal_segments;      /* files, spare ones included */
    uint64_t journal_written_bytes; /* since open */
    uint64_t syncs;                 /* since open */
    uint64_t sync_usec_total, sync_usec_max;
    uint64_t replayed_records;               /* at open */
    uint64_t cut_bytes;                      /* torn tail cut at open */
    size_t memtable_bytes, memtable_entries; /* active; bytes: held of the system's memory */
    size_t frozen_bytes;                     /* of the one being merged into LMDB, likewise */
    size_t mapped_bytes;                     /* of both: what is no part of malloc's heap */
    uint64_t checkpoints, checkpoint_usec_last, checkpoint_failures;
    bool checkpoint_running;
    uint64_t map_bytes, map_used_bytes;
    uint64_t data_file_bytes; /* of data.mdb, free pages and what is set aside included */
    uint64_t disk_free_bytes;
    uint64_t stalls, stall_usec_total; /* commits that waited for a checkpoint */
    uint64_t tombstones_passed;        /* by cursors, since open */
    bool full;
};

#endif
