/* The archive: a thread that copies each full segment of the journal into another directory,
 * checked and synced, before the segment is used again. Private to storage/kv.
 *
 * A segment waits in the journal until it is in the archive. A slow or missing archive stalls
 * nobody; when more than max_lag bytes wait, or the store's own disk is full, the oldest ones
 * are given up, and the archive has a gap. */
#ifndef DUEQ_ARCHIVE_H
#define DUEQ_ARCHIVE_H

#include "storage/io.h"
#include "storage/stats.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>

struct archive;
struct journal;

struct archive_options {
    const struct dueq_io *io;
    const char
        *dir;      /* it must exist; it is not made, for it may be a disk that is not mounted */
    uint64_t seed; /* of the store */
    uint64_t disk_reserve; /* bytes that stay free on its disk */
    unsigned interval_ms;  /* so long, or twice that, records wait in a segment that is not
                              full; 0: for ever */
    /* From the thread: archive_wants_switch may have become true, or a segment is there. */
    void (*notify)(void *arg);
    void *notify_arg;
};

/* Starts the thread. The journal was opened with `archives`, and outlives it. DUEQ_NOMEM. */
enum dueq_status archive_new(const struct archive_options *options, struct journal *journal,
                             struct archive **ret_archive);
/* Ends the thread, which gives up the copy that it makes. NULL is fine. */
void archive_free(struct archive *archive);

/* True, once: records have waited for so long that the owner should end their segment. */
bool archive_wants_switch(struct archive *archive);
/* Its directory. */
const char *archive_dir(const struct archive *archive);
void archive_get_stats(const struct archive *archive, struct dueq_archive_stats *ret_stats);

#endif
