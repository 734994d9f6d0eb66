#include "storage/queue/queue.h"

/* A purge whose client has gone is not called any more. */
enum { PURGE_SEEN_MS = 1000 };

/* Of one call: what has fallen due is counted so far. */
enum { TOPIC_STEPS = 1000, ALL_STEPS = 5000 };

/* *budget is spent: there may be more to count or find. */
static enum dueq_status look_at_lane(struct queue *queue, struct topic *topic,
                                     struct lane *lane, struct dueq_time time, unsigned *budget,
                                     struct dueq_topic_stats *stats)
{
    uint64_t moved = 0;
    struct position first;
    enum dueq_status status = schedule_count(queue, topic, lane, time, budget, &moved);

    if (moved > 0)
        queue_signal(queue, topic);
    if (status == DUEQ_OK && *budget > 0)
        status = schedule_find_next_due(queue, topic, lane, budget);
    if (status != DUEQ_OK && status != DUEQ_NOTFOUND)
        return status;
    if (*budget > 0 && lane->next_due != DUEQ_NEVER) {
        int64_t next = queue_wall_of(queue, lane->clock, lane->next_due);

        stats->next_due = next < stats->next_due ? next : stats->next_due;
    }
    status = schedule_first(queue, topic, lane, time, budget, &first);
    if (status == DUEQ_OK &&
        schedule_lane_now(lane, time) - first.due > stats->oldest_ready_age)
        stats->oldest_ready_age = schedule_lane_now(lane, time) - first.due;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

/* The clocks are caught up with here, as far as the budget goes. */
static enum dueq_status look_at_topic(struct queue *queue, struct topic *topic,
                                      struct dueq_time time, unsigned *budget,
                                      struct dueq_topic_stats *stats)
{
    enum dueq_status status = DUEQ_OK;

    for (size_t i = 0; i < topic->lane_count && status == DUEQ_OK; i++)
        status = look_at_lane(queue, topic, &topic->lanes[i], time, budget, stats);
    stats->counting = *budget == 0;
    return status;
}

static void fill_in(struct dueq_topic_stats *stats, const struct job_counts *counts)
{
    for (int state = 0; state < DUEQ_STATES; state++)
        stats->counts[state] = job_count(counts, (enum dueq_state)state);
}

static void look_at_rate(struct queue *queue, struct topic *topic, int64_t now,
                         struct dueq_topic_stats *stats)
{
    struct rate rate = rates_read(settings_of(queue, topic), DUEQ_SET_RATE);
    struct bucket bucket = topic->bucket;
    int64_t next;

    stats->rated = rate.count > 0;
    if (!stats->rated)
        return;
    rates_settle(&rate, &bucket, now);
    next = rates_next(&rate, &bucket);
    stats->rate_left = rates_permits(&rate, &bucket, now);
    stats->rate_next = next <= now ? 0 : queue_wall_of(queue, CLOCK_QUEUE, next);
}

enum dueq_status queue_topic_stats(struct queue *queue, struct dueq_slice topic,
                                   struct dueq_time time, struct dueq_topic_stats *ret_stats)
{
    struct topic *found;
    struct dueq_topic_stats stats;
    struct job_counts counts;
    unsigned budget = TOPIC_STEPS;
    enum dueq_status status = topics_find(queue, topic, &found);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(queue, time);
    stats = found->totals;
    stats.bytes = found->bytes;
    stats.purging = found->purging && time.now - found->purged_at <= PURGE_SEEN_MS;
    stats.purged = found->purged;
    stats.paused_in = (found->paused & TOPIC_PAUSED_IN) != 0;
    stats.paused_out = (found->paused & TOPIC_PAUSED_OUT) != 0;
    if (found->paused != 0)
        stats.paused_until = found->paused_until == DUEQ_NEVER
                                 ? DUEQ_NEVER
                                 : queue_wall_of(queue, CLOCK_QUEUE, found->paused_until);
    look_at_rate(queue, found, time.now, &stats);
    stats.oldest_ready_age = 0;
    stats.next_due = DUEQ_NEVER;
    status = look_at_topic(queue, found, time, &budget, &stats);
    if (status != DUEQ_OK)
        return status;
    counts = topic_counts(found);
    fill_in(&stats, &counts);
    *ret_stats = stats;
    return DUEQ_OK;
}

enum dueq_status queue_topic_latencies(struct queue *queue, struct dueq_slice topic,
                                       struct dueq_time time,
                                       struct dueq_latencies *ret_latencies)
{
    struct topic *found;
    enum dueq_status status = topics_find(queue, topic, &found);

    if (status != DUEQ_OK)
        return status;
    time = queue_time(queue, time);
    latencies_read(queue, found, time.now, ret_latencies);
    if (ret_latencies->since != DUEQ_NEVER)
        ret_latencies->since = queue_wall_of(queue, CLOCK_QUEUE, ret_latencies->since);
    return DUEQ_OK;
}

/* ---- all topics */

static size_t take_names(struct topic *list, struct dueq_slice *ret_names, size_t most)
{
    struct topic *topic = list == NULL ? NULL : list->prev; /* the last */
    size_t count = 0;

    while (topic != NULL && count < most) {
        ret_names[count++] = topic_name(topic);
        topic = topic == list ? NULL : topic->prev;
    }
    return count;
}

/* A table that has shrunk may have long runs of empty buckets: so many at the most. */
size_t queue_recent_topics(const struct queue *queue, struct dueq_slice *ret_names, size_t most)
{
    size_t count = take_names(queue->awake, ret_names, most), buckets = queue->topics.buckets;

    count += take_names(queue->empty, ret_names + count, most - count);
    if (buckets > 4 * most + TOPIC_TABLE_LEAST)
        buckets = 4 * most + TOPIC_TABLE_LEAST;
    for (size_t bucket = 0; bucket < buckets && count < most; bucket++)
        for (struct topic_entry *entry = topic_table_bucket(&queue->topics, bucket);
             entry != NULL && count < most; entry = entry->next)
            if (entry->topic == NULL)
                ret_names[count++] = topic_entry_name(entry);
    return count;
}

static enum dueq_status look_at_all(struct queue *queue, struct dueq_time time,
                                    struct dueq_topic_stats *stats)
{
    unsigned budget = ALL_STEPS;
    enum dueq_status status = DUEQ_OK;

    stats->oldest_ready_age = 0;
    for (size_t bucket = 0; bucket < queue->topics.buckets; bucket++)
        for (struct topic_entry *entry = topic_table_bucket(&queue->topics, bucket);
             entry != NULL && status == DUEQ_OK && budget > 0; entry = entry->next) {
            struct topic *topic = entry->topic; /* to be looked at is no use */

            if (topic == NULL)
                status = topics_wake(queue, entry, &topic);
            if (status == DUEQ_OK)
                status = look_at_topic(queue, topic, time, &budget, stats);
        }
    return status;
}

enum dueq_status queue_total_stats(struct queue *queue, struct dueq_time time,
                                   struct dueq_topic_stats *ret_stats)
{
    struct dueq_topic_stats stats = queue->totals;
    enum dueq_status status = DUEQ_OK;

    time = queue_time(queue, time);
    stats.bytes = queue->bytes;
    stats.next_due = DUEQ_NEVER;
    stats.oldest_ready_age = DUEQ_DEFAULT;
    stats.counting = wheel_next(&queue->wheel) <= time.now;
    if (queue->topics.count <= DUEQ_TOPICS_AGED)
        status = look_at_all(queue, time, &stats);
    if (status != DUEQ_OK)
        return status;
    fill_in(&stats, &queue->jobs);
    *ret_stats = stats;
    return DUEQ_OK;
}
