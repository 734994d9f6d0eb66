#include "storage/queue/topic.h"

#include <stdlib.h>

enum {
    TOPIC_VERSION = 1,
    TOTALS = 8,
    HEAD_SIZE = 1 + 5 * 8 + TOTALS * 8 + 2,
    LANE_SIZE = 2 + 4 * 8
};

struct topic *topic_new(struct dueq_slice name, uint64_t id)
{
    struct topic *topic = calloc(1, sizeof(*topic) + name.size + 1);

    if (topic == NULL)
        return NULL;
    topic->id = id;
    topic->next_seq = topic->next_token = 1;
    topic->next_lease = topic->next_ttl = topic->next_event = DUEQ_NEVER;
    topic->name_size = name.size;
    memcpy(topic->name, name.data, name.size);
    return topic;
}

void topic_free(struct topic *topic)
{
    if (topic == NULL)
        return;
    free(topic->lanes);
    free(topic);
}

/* ---- lanes */

static bool lane_before(const struct lane *lane, uint8_t priority, uint8_t clock)
{
    return lane->priority < priority || (lane->priority == priority && lane->clock < clock);
}

struct lane *topic_lane(struct topic *topic, uint8_t priority, uint8_t clock,
                        const struct dueq_time *time)
{
    struct lane *lanes;
    size_t at = 0;

    while (at < topic->lane_count && lane_before(&topic->lanes[at], priority, clock))
        at++;
    if (at < topic->lane_count && topic->lanes[at].priority == priority &&
        topic->lanes[at].clock == clock)
        return &topic->lanes[at];
    lanes = realloc(topic->lanes, (topic->lane_count + 1) * sizeof(*lanes));
    if (lanes == NULL)
        return NULL;
    topic->lanes = lanes;
    memmove(lanes + at + 1, lanes + at, (topic->lane_count - at) * sizeof(*lanes));
    topic->lane_count++;
    lanes[at] =
        (struct lane){.priority = priority,
                      .clock = clock,
                      .counted = {clock == CLOCK_QUEUE ? time->now : time->wall, UINT64_MAX},
                      .head = {INT64_MAX, UINT64_MAX},
                      .next_due = DUEQ_NEVER};
    return &lanes[at];
}

void topic_drop_empty_lanes(struct topic *topic)
{
    size_t kept = 0;

    for (size_t i = 0; i < topic->lane_count; i++)
        if (topic->lanes[i].pending > 0)
            topic->lanes[kept++] = topic->lanes[i];
    topic->lane_count = kept;
}

uint64_t topic_count(const struct topic *topic, enum dueq_state state)
{
    uint64_t count = 0;

    if (state == DUEQ_CLAIMED)
        return topic->claimed;
    if (state == DUEQ_DEAD)
        return topic->dead;
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        count += state == DUEQ_READY ? lane->ready : lane->pending - lane->ready;
    }
    return count;
}

/* ---- the record */

static uint64_t *total_at(struct dueq_topic_stats *totals, int i)
{
    uint64_t *const all[TOTALS] = {&totals->pushed, &totals->claimed, &totals->acked,
                                   &totals->nacked, &totals->deleted, &totals->expired,
                                   &totals->lapsed, &totals->dead};

    return all[i];
}

static uint8_t *put_u64(uint8_t *at, uint64_t number)
{
    kv_write_u64(at, number);
    return at + 8;
}

size_t topic_write(const struct topic *topic, uint8_t **ret_bytes)
{
    struct dueq_topic_stats totals = topic->totals;
    size_t size = HEAD_SIZE + topic->lane_count * LANE_SIZE;
    uint8_t *bytes = malloc(size), *at = bytes;

    if (bytes == NULL)
        return 0;
    *at++ = TOPIC_VERSION;
    at = put_u64(at, topic->id);
    at = put_u64(at, topic->next_seq);
    at = put_u64(at, topic->next_token);
    at = put_u64(at, topic->claimed);
    at = put_u64(at, topic->dead);
    for (int i = 0; i < TOTALS; i++)
        at = put_u64(at, *total_at(&totals, i));
    *at++ = (uint8_t)(topic->lane_count >> 8);
    *at++ = (uint8_t)topic->lane_count;
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        *at++ = lane->priority;
        *at++ = lane->clock;
        at = put_u64(at, lane->pending);
        at = put_u64(at, lane->ready);
        at = put_u64(at, (uint64_t)lane->counted.due);
        at = put_u64(at, lane->counted.seq);
    }
    *ret_bytes = bytes;
    return size;
}

/* What is not on disk is taken at its most cautious: the first look finds out. */
static void read_lane(struct lane *lane, const uint8_t *at)
{
    *lane = (struct lane){.priority = at[0],
                          .clock = at[1],
                          .pending = kv_read_u64(at + 2),
                          .ready = kv_read_u64(at + 10),
                          .counted = {(int64_t)kv_read_u64(at + 18), kv_read_u64(at + 26)},
                          .head = {INT64_MIN, 0},
                          .next_due = INT64_MIN};
}

struct topic *topic_read(struct dueq_slice name, struct dueq_slice record)
{
    const uint8_t *bytes = record.data;
    struct topic *topic;
    size_t lanes;

    if (record.size < HEAD_SIZE || bytes[0] != TOPIC_VERSION)
        return NULL;
    lanes = (size_t)bytes[HEAD_SIZE - 2] << 8 | bytes[HEAD_SIZE - 1];
    if (record.size != HEAD_SIZE + lanes * LANE_SIZE)
        return NULL;
    topic = topic_new(name, kv_read_u64(bytes + 1));
    if (topic == NULL)
        return NULL;
    topic->next_seq = kv_read_u64(bytes + 9);
    topic->next_token = kv_read_u64(bytes + 17);
    topic->claimed = kv_read_u64(bytes + 25);
    topic->dead = kv_read_u64(bytes + 33);
    for (int i = 0; i < TOTALS; i++)
        *total_at(&topic->totals, i) = kv_read_u64(bytes + 41 + 8 * i);
    topic->lanes = calloc(lanes + 1, sizeof(*topic->lanes));
    if (topic->lanes == NULL) {
        topic_free(topic);
        return NULL;
    }
    topic->lane_count = lanes;
    for (size_t i = 0; i < lanes; i++)
        read_lane(&topic->lanes[i], bytes + HEAD_SIZE + i * LANE_SIZE);
    topic->next_lease = topic->claimed > 0 ? INT64_MIN : DUEQ_NEVER;
    topic->next_ttl = INT64_MIN;
    return topic;
}
