#include "storage/queue/core/topic.h"

#include "storage/bytes.h"

#include <stdlib.h>

enum { TOPIC_VERSION = 2, FLAG_LOOKALIKES = 1 };

struct topic *topic_new(struct dueq_slice name, uint64_t id)
{
    struct topic *topic = calloc(1, sizeof(*topic) + name.size + 1);

    if (topic == NULL)
        return NULL;
    topic->id = id;
    topic->next_seq = topic->next_token = 1;
    topic->next_lease = topic->next_ttl = topic->next_done = topic->next_dead = POSITION_NEVER;
    topic->next_event = DUEQ_NEVER;
    topic->name_size = name.size;
    memcpy(topic->name, name.data, name.size);
    return topic;
}

void topic_free(struct topic *topic)
{
    if (topic == NULL)
        return;
    free(topic->lanes);
    free(topic->settings);
    free(topic);
}

/* ---- lanes */

/* The index of the lane, or of the first behind where it would be. */
static size_t lane_index(const struct topic *topic, uint8_t priority, uint8_t clock)
{
    size_t at = 0;

    while (at < topic->lane_count &&
           (topic->lanes[at].priority < priority ||
            (topic->lanes[at].priority == priority && topic->lanes[at].clock < clock)))
        at++;
    return at;
}

static struct lane *lane_at(struct topic *topic, size_t at, uint8_t priority, uint8_t clock)
{
    if (at == topic->lane_count || topic->lanes[at].priority != priority ||
        topic->lanes[at].clock != clock)
        return NULL;
    return &topic->lanes[at];
}

struct lane *topic_find_lane(struct topic *topic, uint8_t priority, uint8_t clock)
{
    return lane_at(topic, lane_index(topic, priority, clock), priority, clock);
}

struct lane *topic_lane(struct topic *topic, uint8_t priority, uint8_t clock,
                        struct dueq_time time)
{
    size_t at = lane_index(topic, priority, clock);
    struct lane *lane = lane_at(topic, at, priority, clock), *lanes;

    if (lane != NULL)
        return lane;
    lanes = realloc(topic->lanes, (topic->lane_count + 1) * sizeof(*lanes));
    if (lanes == NULL)
        return NULL;
    topic->lanes = lanes;
    memmove(lanes + at + 1, lanes + at, (topic->lane_count - at) * sizeof(*lanes));
    topic->lane_count++;
    lanes[at] =
        (struct lane){.priority = priority,
                      .clock = clock,
                      .counted = {clock == CLOCK_QUEUE ? time.now : time.wall, UINT64_MAX},
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

struct job_counts topic_counts(const struct topic *topic)
{
    struct job_counts counts = {
        .claimed = topic->claimed, .dead = topic->dead, .done = topic->done};

    for (size_t i = 0; i < topic->lane_count; i++) {
        counts.pending += topic->lanes[i].pending;
        counts.ready += topic->lanes[i].ready;
    }
    return counts;
}

void topic_add_counts(struct job_counts *sum, const struct job_counts *counts)
{
    sum->pending += counts->pending;
    sum->ready += counts->ready;
    sum->claimed += counts->claimed;
    sum->dead += counts->dead;
    sum->done += counts->done;
}

void topic_add_totals(struct dueq_topic_stats *sum, const struct dueq_topic_stats *totals)
{
    sum->pushed += totals->pushed;
    sum->claimed += totals->claimed;
    sum->acked += totals->acked;
    sum->nacked += totals->nacked;
    sum->deleted += totals->deleted;
    sum->leases_expired += totals->leases_expired;
    sum->jobs_expired += totals->jobs_expired;
    sum->dead += totals->dead;
    sum->cancelled += totals->cancelled;
    sum->dead_removed += totals->dead_removed;
    sum->dropped += totals->dropped;
}

/* ---- the record */

/* The numbers at the head of the record, in order. */
static void list_numbers(struct topic *topic, uint64_t **numbers)
{
    struct dueq_topic_stats *totals = &topic->totals;
    uint64_t *const all[TOPIC_NUMBERS] = {&topic->id,
                                          &topic->next_seq,
                                          &topic->next_token,
                                          &topic->claimed,
                                          &topic->dead,
                                          &totals->pushed,
                                          &totals->claimed,
                                          &totals->acked,
                                          &totals->nacked,
                                          &totals->deleted,
                                          &totals->leases_expired,
                                          &totals->jobs_expired,
                                          &totals->dead,
                                          &topic->done,
                                          &topic->bytes,
                                          &totals->cancelled,
                                          &totals->dead_removed,
                                          &totals->dropped,
                                          &topic->paused,
                                          (uint64_t *)&topic->paused_until};

    memcpy(numbers, all, sizeof(all));
}

static uint8_t *write_lane(uint8_t *at, const struct lane *lane)
{
    *at++ = lane->priority;
    *at++ = lane->clock;
    bytes_write_u64(at, lane->pending);
    bytes_write_u64(at + 8, lane->ready);
    bytes_write_u64(at + 16, (uint64_t)lane->counted.due);
    bytes_write_u64(at + 24, lane->counted.seq);
    return at + 32;
}

/* What is not on disk is taken at its most cautious: the first look finds out. */
static const uint8_t *read_lane(const uint8_t *at, struct lane *lane)
{
    *lane =
        (struct lane){.priority = at[0],
                      .clock = at[1],
                      .pending = bytes_read_u64(at + 2),
                      .ready = bytes_read_u64(at + 10),
                      .counted = {(int64_t)bytes_read_u64(at + 18), bytes_read_u64(at + 26)},
                      .head = {SAFE_TIME_MIN, 0},
                      .next_due = SAFE_TIME_MIN};
    return at + TOPIC_LANE_SIZE;
}

size_t topic_write(struct topic *topic, uint8_t *bytes)
{
    uint8_t *at = bytes;
    uint64_t *numbers[TOPIC_NUMBERS];

    *at++ = TOPIC_VERSION;
    *at++ = topic->lookalikes ? FLAG_LOOKALIKES : 0;
    *at++ = (uint8_t)(topic->lane_count >> 8);
    *at++ = (uint8_t)topic->lane_count;
    list_numbers(topic, numbers);
    for (size_t i = 0; i < TOPIC_NUMBERS; i++, at += 8)
        bytes_write_u64(at, *numbers[i]);
    for (size_t i = 0; i < topic->lane_count; i++)
        at = write_lane(at, &topic->lanes[i]);
    return (size_t)(at - bytes);
}

/* 0: the version is not known. */
static size_t count_numbers(struct dueq_slice record)
{
    static const size_t numbers[TOPIC_VERSION + 1] = {0, TOPIC_NUMBERS_1, TOPIC_NUMBERS};
    uint8_t version = record.size > 0 ? *(const uint8_t *)record.data : 0;

    return version <= TOPIC_VERSION ? numbers[version] : 0;
}

bool topic_lacks_bytes(struct dueq_slice record)
{
    return count_numbers(record) < TOPIC_NUMBERS;
}

/* The number of lanes in the record; SIZE_MAX: it is malformed. */
static size_t count_lanes(struct dueq_slice record)
{
    const uint8_t *bytes = record.data;
    size_t head = 4 + count_numbers(record) * 8, count;

    if (head == 4 || record.size < head)
        return SIZE_MAX;
    count = (size_t)bytes[2] << 8 | bytes[3];
    return record.size == head + count * TOPIC_LANE_SIZE ? count : SIZE_MAX;
}

uint64_t topic_read_id(struct dueq_slice record)
{
    return count_lanes(record) == SIZE_MAX ? 0
                                           : bytes_read_u64((const uint8_t *)record.data + 4);
}

struct topic *topic_read(struct dueq_slice name, struct dueq_slice record)
{
    const uint8_t *at = record.data;
    size_t lane_count = count_lanes(record);
    uint64_t *numbers[TOPIC_NUMBERS];
    struct topic *topic;

    if (lane_count == SIZE_MAX)
        return NULL;
    topic = topic_new(name, 0);
    if (topic == NULL)
        return NULL;
    topic->lanes = calloc(lane_count + 1, sizeof(*topic->lanes));
    if (topic->lanes == NULL) {
        topic_free(topic);
        return NULL;
    }
    topic->lane_count = lane_count;
    topic->lookalikes = (at[1] & FLAG_LOOKALIKES) != 0;
    at += 4;
    list_numbers(topic, numbers);
    for (size_t i = 0; i < count_numbers(record); i++, at += 8)
        *numbers[i] = bytes_read_u64(at);
    for (size_t i = 0; i < lane_count; i++)
        at = read_lane(at, &topic->lanes[i]);
    topic->next_lease =
        topic->claimed > 0 ? (struct position){SAFE_TIME_MIN, 0} : POSITION_NEVER;
    topic->next_ttl = (struct position){SAFE_TIME_MIN, 0};
    topic->next_dead = topic->dead > 0 ? (struct position){SAFE_TIME_MIN, 0} : POSITION_NEVER;
    topic->next_done = topic->done > 0 ? (struct position){SAFE_TIME_MIN, 0} : POSITION_NEVER;
    return topic;
}
