/* When the last checkpoint ended and whether checkpoints succeed, for LASTSAVE and INFO. The
 * loop compares the store's counters once a second and before each answer: the store knows no
 * clock. */
#ifndef DUEQ_CHECKPOINT_WATCH_H
#define DUEQ_CHECKPOINT_WATCH_H

#include "storage/dueq.h"

struct checkpoint_watch {
    uint64_t count, failures; /* at the last update */
    int64_t last;             /* unix s; 0: none since the start */
    bool failing;             /* the last attempt has failed */
};

/* wall: unix ms. */
void checkpoint_watch_update(struct checkpoint_watch *watch, const struct dueq_stats *stats,
                             int64_t wall);

#endif
