/* Jobs of a dueq into the keys of a Redis. A group of jobs and the notes that they are there
 * are one transaction, so each job comes once, however often an export is cut off and run
 * again, and also if two of them run at once. */
#ifndef DUEQ_LAYOUT_EXPORT_H
#define DUEQ_LAYOUT_EXPORT_H

#include "tools/move/layout_shelves.h"

struct layout_export {
    struct move *move;
    struct layout_style style;
    int64_t window; /* ms for which notes stay; 0: until the end */
    struct shelf *shelves;
    struct seen jobs, members; /* those of this run; members of zsets */
    uint64_t found, written, there, claimed, left_out;
    const char *why; /* of the last one that was left out */
    struct dueq_slice topic;
    size_t group; /* jobs to be read at once */
};

/* Writes all jobs, or only counts them. False: a peer has failed. */
bool layout_export_write(struct layout_export *all);
/* Forgets which jobs are there, if they are not to be remembered. */
bool layout_export_end(struct layout_export *all);
/* Reads the keys and compares what the jobs are to be. False: a peer has failed. */
bool layout_export_verify(struct layout_export *all, uint64_t *ret_different);

#endif
