/* Reading a journal back: where it ends, and whether that end is honest. Private to storage/kv.
 */
#ifndef DUEQ_JOURNAL_REPLAY_H
#define DUEQ_JOURNAL_REPLAY_H

#include "storage/kv/journal/journal.h"
#include "storage/kv/journal/journal_files.h"

/* Reads the listed segments in order, hands records above `after` to fn, cuts a torn tail off
 * the directory. *ret_segments: the live ones that remain, oldest first, closed. */
enum dueq_status journal_replay(struct journal_files *files,
                                const struct journal_listing *listing, uint64_t salt,
                                uint64_t after, journal_replay_fn fn, void *arg,
                                struct segment_file **ret_segments,
                                struct journal_replay *ret_replay, struct dueq_error *error);

#endif
