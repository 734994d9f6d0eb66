/* The segments that a restore can read, from archives, increments and journals: which there
 * are, and which of them, in which order, lead from one record to another. Private to
 * storage. */
#ifndef DUEQ_SEGMENT_LIST_H
#define DUEQ_SEGMENT_LIST_H

#include "storage/io.h"
#include "storage/kv/journal/history.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listed_segment {
    char *path;
    uint64_t number, first_lsn;
    struct history history;
    bool damaged; /* it has no sound header; what is said here is what its name says */
    bool whole;   /* it ends with its last record; else what follows the last sound one is no
                     damage: it comes from a journal */
};

/* A part of the way: records of one history, with these LSNs. */
struct history_part {
    uint64_t id, first_lsn, last_lsn;
};

struct segment_list {
    struct listed_segment *segments;
    size_t count, room;
    struct history_part *parts; /* segment_list_plan; in order */
    size_t part_count;
};

void segment_list_release(struct segment_list *list);

/* Adds the segments in a directory that belong to the store with that seed; others, and files
 * of which not even the name says that they do, are passed over. DUEQ_NOTFOUND: there is no
 * such directory. DUEQ_IO, DUEQ_NOMEM. Reads all headers. */
enum dueq_status segment_list_add(struct segment_list *list, const struct dueq_io *io,
                                  const char *dir, uint64_t seed, struct dueq_error *error);

/* Finds the way from record lsn of history `base` into the history `target`; 0: into the latest
 * one that can be reached: the one of the greatest epoch. DUEQ_NOTFOUND: `target` cannot be
 * reached. DUEQ_DUPLICATE: two are the latest: the error names them. DUEQ_NOMEM. */
enum dueq_status segment_list_plan(struct segment_list *list, uint64_t base, uint64_t lsn,
                                   uint64_t target, struct dueq_error *error);
/* The greatest epoch of all histories, reached or not. */
uint64_t segment_list_epoch(const struct segment_list *list);
/* The part that the record belongs to; NULL: after the way's end. */
const struct history_part *segment_list_part(const struct segment_list *list, uint64_t lsn);
/* The segment on the way that may contain the record. `after`: look for another copy than that
 * one. NULL: none. */
const struct listed_segment *segment_list_find(const struct segment_list *list, uint64_t lsn,
                                               const struct listed_segment *after);
/* The first segment on the way that begins after that LSN, damaged or not: something is missing
 * before it. NULL: none. */
const struct listed_segment *segment_list_next(const struct segment_list *list, uint64_t lsn);

#endif
