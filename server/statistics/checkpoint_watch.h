/* When the last checkpoint ended and whether they succeed, for LASTSAVE and INFO: the store
 * knows no clock, so its counters are looked at once a second, and when somebody asks. */
#ifndef DUEQ_CHECKPOINT_WATCH_H
#define DUEQ_CHECKPOINT_WATCH_H

#include "storage/kv/kv.h"

struct checkpoint_watch {
    uint64_t count, failures; /* as they were at the last look */
    int64_t last;             /* unix s; 0: none since the start */
    bool failing;             /* what is tried now does not succeed */
};

/* wall: unix ms. */
void checkpoint_watch_update(struct checkpoint_watch *watch, const struct dueq_stats *stats,
                             int64_t wall);

#endif
