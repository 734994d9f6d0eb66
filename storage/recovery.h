/* Restores a store from a backup, and from the journal segments that were archived since
 * (dueq_options.archive_dir), to a moment in time. Not installed. */
#ifndef DUEQ_RECOVERY_H
#define DUEQ_RECOVERY_H

#include "storage/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dueq_recovery {
    const char *backup; /* the directory of a backup, of an increment, or of a stopped server */
    const char *dir;    /* is made; or it is empty. Meanwhile there is DIR.partial */
    const char *const *archives; /* directories with segments, journals too */
    size_t archive_count;
    uint64_t to_lsn;  /* the last record; UINT64_MAX: all */
    int64_t to_time;  /* no record after this time, unix ms of the server's wall clock;
                         INT64_MAX:  all. A record of this ms is in */
    uint64_t history; /* id; 0: the latest (segment_list.h) */
    void (*on_progress)(void *arg, uint64_t records); /* NULL: nobody asks */
    void *arg;
    /* filled in, as far as it comes */
    uint64_t base_lsn, lsn, records, segments;
    int64_t base_time, time; /* wall clock of the last record: of the backup, of the result */
    bool moment_reached; /* a later record was seen, or to_lsn: else segments ended before */
};

/* With DUEQ_OK, *recovery->dir is complete, checked and synced: a store that starts there
 * begins a history of its own. Else it is as before, and error says why: DUEQ_INVALID: the
 * moment is before the backup, or the directory is not empty. DUEQ_NOTFOUND: there is no such
 * backup, archive or history. DUEQ_DUPLICATE: it is not clear which history is meant.
 * DUEQ_CORRUPT: the backup is damaged, or a segment is damaged or missing before the moment;
 * lsn and time say how far a restore can come. DUEQ_LOCKED, DUEQ_FORMAT, DUEQ_FULL, DUEQ_IO,
 * DUEQ_NOMEM. O(backup + segments). */
enum dueq_status recovery_run(struct dueq_recovery *recovery, struct dueq_error *error);

#endif
