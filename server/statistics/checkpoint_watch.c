#include "server/statistics/checkpoint_watch.h"

/* A store that was reopened counts from 0. */
void checkpoint_watch_update(struct checkpoint_watch *watch, const struct dueq_stats *stats,
                             int64_t wall)
{
    if (stats->checkpoints > watch->count) {
        watch->last = wall / 1000;
        watch->failing = false;
    } else if (stats->checkpoint_failures > watch->failures) {
        watch->failing = true;
    }
    watch->count = stats->checkpoints;
    watch->failures = stats->checkpoint_failures;
}
