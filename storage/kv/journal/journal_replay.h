/* Reads a journal back: finds where it ends, and whether it ends in a torn record or in damage.
 * Private to storage/kv/journal. */
#ifndef DUEQ_JOURNAL_REPLAY_H
#define DUEQ_JOURNAL_REPLAY_H

#include "storage/kv/journal/journal.h"
#include "storage/kv/journal/journal_files.h"

/* Reads the listed segments in order, passes records above `after` to fn, and removes a torn
 * tail from the directory. *ret_segments: the live segments that remain, oldest first, closed;
 * the caller's. Statuses: those of journal_open. */
enum dueq_status journal_replay(struct journal_files *files,
                                const struct journal_listing *listing, uint64_t salt,
                                uint64_t after, journal_replay_fn fn, void *arg,
                                struct segment_file **ret_segments,
                                struct journal_replay *ret_replay, struct dueq_error *error);

#endif
