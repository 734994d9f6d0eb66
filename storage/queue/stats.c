#include "storage/queue/queue.h"

/* Exact, whatever the ticks have not come to yet: the clocks are caught up with here. */
static enum dueq_status look_at_lane(struct dueq *store, struct topic *topic, struct lane *lane,
                                     struct dueq_time time, struct dueq_topic_stats *stats)
{
    unsigned unlimited = UINT32_MAX;
    uint64_t moved = 0;
    struct place first;
    enum dueq_status status = schedule_count(store, topic, lane, time, &unlimited, &moved);

    if (moved > 0)
        queue_signal(store, topic);
    if (status == DUEQ_OK)
        status = schedule_find_next_due(store, topic, lane, NULL);
    if (status != DUEQ_OK)
        return status;
    if (lane->next_due != DUEQ_NEVER) {
        int64_t next = queue_wall_of(store, lane->clock, lane->next_due);

        stats->next_due = next < stats->next_due ? next : stats->next_due;
    }
    status = schedule_first(store, topic, lane, time, NULL, &first);
    if (status == DUEQ_OK && lane_now(lane, time) - first.due > stats->oldest_ready_age)
        stats->oldest_ready_age = lane_now(lane, time) - first.due;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status dueq_topic_stats(struct dueq *store, struct dueq_slice topic,
                                  struct dueq_time time, struct dueq_topic_stats *ret_stats)
{
    struct topic *found;
    struct dueq_topic_stats stats;
    enum dueq_status status = queue_find_topic(store, topic, &found);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(store, time);
    stats = found->totals;
    stats.oldest_ready_age = 0;
    stats.next_due = DUEQ_NEVER;
    for (size_t i = 0; i < found->lane_count && status == DUEQ_OK; i++)
        status = look_at_lane(store, found, &found->lanes[i], time, &stats);
    for (int state = 0; state < DUEQ_STATES; state++)
        stats.counts[state] = topic_count(found, (enum dueq_state)state);
    if (status == DUEQ_OK)
        *ret_stats = stats;
    return status;
}
