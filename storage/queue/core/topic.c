#include "storage/queue/core/topic.h"

#include "storage/bytes.h"
#include "storage/queue/record/safe_time.h"

#include <stdlib.h>

struct topic *topic_new(uint64_t id)
{
    struct topic *topic = calloc(1, sizeof(*topic));

    if (topic == NULL)
        return NULL;
    topic->id = id;
    topic->next_seq = topic->next_token = 1;
    topic->first_turn.head.position.due = INT64_MIN;
    topic->first_permit = DUEQ_NEVER;
    topic->next_lease = topic->next_ttl = topic->next_done = topic->next_dead = POSITION_NEVER;
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
    struct job_counts counts = {.pending = topic->parked,
                                .ready = topic->parked,
                                .claimed = topic->claimed,
                                .dead = topic->dead,
                                .done = topic->done,
                                .waiting = topic->waiting};

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
    if (AFTERS_KNOWN)
        sum->waiting += counts->waiting;
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

enum {
    TOPIC_VERSION = 3,
    TOPIC_VERSION_AFTER = 4, /* of a topic with waiting jobs, or with jobs that those wait for
                              */
    FLAG_LOOKALIKES = 1,
    FLAG_BOUND = 2,                           /* of the first bound; the others follow */
    FLAG_GROUPS = FLAG_BOUND << TOPIC_BOUNDS, /* its numbers follow the bounds */
    FLAG_BUCKET = 2 * FLAG_GROUPS,            /* it follows those */
    FLAG_RING = 2 * FLAG_BUCKET,              /* likewise */
    FLAGS_KNOWN = ((1 + BUCKETS_KNOWN) * FLAG_BUCKET - 1) | FLAG_RING
};

enum { CLAIMED_NUMBER = 3 };

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

/* No entry of the class lies before: leases, ttls, done jobs, dead ones. */
static struct position *bound_of(struct topic *topic, int bound)
{
    struct position *const all[TOPIC_BOUNDS] = {&topic->next_lease, &topic->next_ttl,
                                                &topic->next_done, &topic->next_dead};

    return all[bound];
}

static void list_group_numbers(struct topic *topic, uint64_t **numbers)
{
    uint64_t *const all[TOPIC_GROUP_NUMBERS] = {&topic->groups, &topic->parked, &topic->turn,
                                                &topic->group_rules};

    memcpy(numbers, all, sizeof(all));
}

static uint8_t *write_groups(uint8_t *at, struct topic *topic)
{
    uint64_t *numbers[TOPIC_GROUP_NUMBERS];

    list_group_numbers(topic, numbers);
    for (int i = 0; i < TOPIC_GROUP_NUMBERS; i++)
        at = numbers_write(at, (int64_t)*numbers[i]);
    return at;
}

static uint8_t *write_bucket(uint8_t *at, const struct bucket *bucket)
{
    at = numbers_write(at, bucket->full);
    return numbers_write(at, bucket->part);
}

static void list_ring_numbers(struct topic *topic, uint64_t **numbers)
{
    uint64_t *const all[TOPIC_RING_NUMBERS] = {&topic->ring.begin, &topic->ring.first,
                                               &topic->ring.next};

    memcpy(numbers, all, sizeof(all));
}

static uint8_t *write_ring(uint8_t *at, struct topic *topic)
{
    uint64_t *numbers[TOPIC_RING_NUMBERS];

    list_ring_numbers(topic, numbers);
    for (int i = 0; i < TOPIC_RING_NUMBERS; i++)
        at = numbers_write(at, (int64_t)*numbers[i]);
    return at;
}

static uint8_t *write_lane(uint8_t *at, const struct lane *lane)
{
    int64_t due = lane->counted.due;

    *at++ = lane->priority;
    *at++ = lane->clock;
    at = numbers_write(at, (int64_t)lane->pending);
    at = numbers_write(at, (int64_t)lane->ready);
    at = numbers_write(at, due);
    at = numbers_write(at, (int64_t)(lane->counted.seq + 1)); /* most often UINT64_MAX */
    return lane->pending == lane->ready ? at
                                        : numbers_write(at, numbers_less(lane->next_due, due));
}

static bool has_after_numbers(const struct topic *topic)
{
    return AFTERS_KNOWN && topic->waiting + topic->awaited > 0;
}

size_t topic_write(struct topic *topic, uint8_t *bytes)
{
    uint8_t *at = bytes + 2;
    uint64_t *numbers[TOPIC_NUMBERS];

    bytes[0] = has_after_numbers(topic) ? TOPIC_VERSION_AFTER : TOPIC_VERSION;
    bytes[1] = topic->lookalikes ? FLAG_LOOKALIKES : 0;
    list_numbers(topic, numbers);
    for (int i = 0; i < TOPIC_NUMBERS; i++)
        at = numbers_write(at, (int64_t)*numbers[i]);
    for (int i = 0; i < TOPIC_BOUNDS; i++)
        if (bound_of(topic, i)->due != DUEQ_NEVER) {
            bytes[1] |= (uint8_t)(FLAG_BOUND << i);
            at = numbers_write(at, bound_of(topic, i)->due);
        }
    if (topic->groups > 0) {
        bytes[1] |= FLAG_GROUPS;
        at = write_groups(at, topic);
    } else {
        topic->turn = 0; /* without groups nobody's turn is known */
    }
    if (!bucket_is_full(&topic->bucket)) {
        bytes[1] |= FLAG_BUCKET;
        at = write_bucket(at, &topic->bucket);
    }
    if (topic->ring.next > 0) {
        bytes[1] |= FLAG_RING;
        at = write_ring(at, topic);
    }
    if (bytes[0] == TOPIC_VERSION_AFTER) {
        at = numbers_write(at, (int64_t)topic->waiting);
        at = numbers_write(at, (int64_t)topic->awaited);
    }
    at = numbers_write(at, (int64_t)topic->lane_count);
    for (size_t i = 0; i < topic->lane_count; i++)
        at = write_lane(at, &topic->lanes[i]);
    return (size_t)(at - bytes);
}

/* ---- reading. Where a lane begins is not in the record: the first search finds out. */

static enum dueq_status make_lanes(struct topic *topic, size_t count)
{
    struct lane *lanes = realloc(topic->lanes, (count + 1) * sizeof(*lanes));

    if (lanes == NULL)
        return DUEQ_NOMEM;
    topic->lanes = lanes;
    topic->lane_count = count;
    return DUEQ_OK;
}

static const uint8_t *read_lane(const uint8_t *at, const uint8_t *end, struct lane *lane)
{
    int64_t pending = 0, ready = 0, due = 0, seq = 0, later = 0;

    if (at == NULL || end - at < 2)
        return NULL;
    *lane = (struct lane){.priority = at[0], .clock = at[1], .head = {SAFE_TIME_MIN, 0}};
    at = numbers_read(at + 2, end, &pending);
    at = numbers_read(at, end, &ready);
    at = numbers_read(at, end, &due);
    at = numbers_read(at, end, &seq);
    if (pending != ready)
        at = numbers_read(at, end, &later);
    lane->pending = (uint64_t)pending;
    lane->ready = (uint64_t)ready;
    lane->counted = (struct position){due, (uint64_t)seq - 1};
    lane->next_due = pending == ready ? DUEQ_NEVER : numbers_add(due, later);
    return at;
}

static const uint8_t *read_numbers(struct topic *topic, const uint8_t *at, const uint8_t *end)
{
    uint64_t *numbers[TOPIC_NUMBERS];

    list_numbers(topic, numbers);
    for (int i = 0; i < TOPIC_NUMBERS; i++)
        at = numbers_read(at, end, (int64_t *)numbers[i]);
    return at;
}

static const uint8_t *read_bounds(struct topic *topic, uint8_t flags, const uint8_t *at,
                                  const uint8_t *end)
{
    for (int i = 0; i < TOPIC_BOUNDS; i++) {
        *bound_of(topic, i) = POSITION_NEVER;
        if (flags & FLAG_BOUND << i) {
            bound_of(topic, i)->seq = 0;
            at = numbers_read(at, end, &bound_of(topic, i)->due);
        }
    }
    return at;
}

static const uint8_t *read_groups(struct topic *topic, uint8_t flags, const uint8_t *at,
                                  const uint8_t *end)
{
    uint64_t *numbers[TOPIC_GROUP_NUMBERS];

    list_group_numbers(topic, numbers);
    for (int i = 0; i < TOPIC_GROUP_NUMBERS; i++) {
        *numbers[i] = 0;
        if (flags & FLAG_GROUPS)
            at = numbers_read(at, end, (int64_t *)numbers[i]);
    }
    return at;
}

static const uint8_t *read_bucket(struct topic *topic, uint8_t flags, const uint8_t *at,
                                  const uint8_t *end)
{
    topic->bucket = (struct bucket){0, 0};
    if (BUCKETS_KNOWN && (flags & FLAG_BUCKET)) {
        at = numbers_read(at, end, &topic->bucket.full);
        at = numbers_read(at, end, &topic->bucket.part);
    }
    return !BUCKETS_KNOWN || bucket_is_sound(&topic->bucket) ? at : NULL;
}

static bool is_ring(const struct ring *ring)
{
    return ring->begin <= ring->first && ring->first <= ring->next &&
           ring->next <= (uint64_t)SAFE_TIME_MAX;
}

static const uint8_t *read_ring(struct topic *topic, uint8_t flags, const uint8_t *at,
                                const uint8_t *end)
{
    uint64_t *numbers[TOPIC_RING_NUMBERS];

    topic->ring = (struct ring){0, 0, 0};
    if (!(flags & FLAG_RING))
        return at;
    list_ring_numbers(topic, numbers);
    for (int i = 0; i < TOPIC_RING_NUMBERS; i++)
        at = numbers_read(at, end, (int64_t *)numbers[i]);
    return is_ring(&topic->ring) ? at : NULL;
}

static const uint8_t *read_after_numbers(struct topic *topic, uint8_t version,
                                         const uint8_t *at, const uint8_t *end)
{
    int64_t waiting = 0, awaited = 0;

    if (AFTERS_KNOWN && version == TOPIC_VERSION_AFTER) {
        at = numbers_read(at, end, &waiting);
        at = numbers_read(at, end, &awaited);
    }
    if (AFTERS_KNOWN) {
        topic->waiting = (uint64_t)waiting;
        topic->awaited = (uint64_t)awaited;
    }
    return waiting < 0 || awaited < 0 ? NULL : at;
}

static enum dueq_status read_record(struct topic *topic, const uint8_t *at, const uint8_t *end)
{
    uint8_t version = at[0], flags = at[1];
    int64_t count = 0;

    topic->lookalikes = (flags & FLAG_LOOKALIKES) != 0;
    at = read_numbers(topic, at + 2, end);
    at = read_bounds(topic, flags, at, end);
    at = read_groups(topic, flags, at, end);
    at = read_bucket(topic, flags, at, end);
    at = read_ring(topic, flags, at, end);
    at = read_after_numbers(topic, version, at, end);
    at = numbers_read(at, end, &count);
    if (at == NULL || count < 0 || count > TOPIC_LANES_MAX || (flags & ~FLAGS_KNOWN) != 0)
        return DUEQ_CORRUPT;
    if (make_lanes(topic, (size_t)count) != DUEQ_OK)
        return DUEQ_NOMEM;
    for (size_t i = 0; i < topic->lane_count; i++)
        at = read_lane(at, end, &topic->lanes[i]);
    return at == end ? DUEQ_OK : DUEQ_CORRUPT;
}

/* ---- versions 1 and 2: numbers of 8 bytes, of which version 1 has fewer, and no bounds: those
 * are taken at their most cautious. */

enum { OLD_NUMBERS_1 = 13, OLD_LANE_SIZE = 2 + 4 * 8 };

/* 0: the version is not one of these. */
static size_t old_numbers(struct dueq_slice record)
{
    static const size_t numbers[TOPIC_VERSION] = {0, OLD_NUMBERS_1, TOPIC_NUMBERS};
    uint8_t version = record.size > 0 ? *(const uint8_t *)record.data : 0;

    return version < TOPIC_VERSION ? numbers[version] : 0;
}

/* The number of lanes in the record; SIZE_MAX: it is malformed. */
static size_t old_lanes(struct dueq_slice record)
{
    const uint8_t *bytes = record.data;
    size_t head = 4 + old_numbers(record) * 8, count;

    if (head == 4 || record.size < head)
        return SIZE_MAX;
    count = (size_t)bytes[2] << 8 | bytes[3];
    return record.size == head + count * OLD_LANE_SIZE ? count : SIZE_MAX;
}

static const uint8_t *read_old_lane(const uint8_t *at, struct lane *lane)
{
    *lane =
        (struct lane){.priority = at[0],
                      .clock = at[1],
                      .pending = bytes_read_u64(at + 2),
                      .ready = bytes_read_u64(at + 10),
                      .counted = {(int64_t)bytes_read_u64(at + 18), bytes_read_u64(at + 26)},
                      .head = {SAFE_TIME_MIN, 0},
                      .next_due = SAFE_TIME_MIN};
    return at + OLD_LANE_SIZE;
}

static void bound_old(struct topic *topic)
{
    const bool any[TOPIC_BOUNDS] = {topic->claimed > 0, true, topic->done > 0, topic->dead > 0};

    for (int i = 0; i < TOPIC_BOUNDS; i++)
        *bound_of(topic, i) = any[i] ? (struct position){SAFE_TIME_MIN, 0} : POSITION_NEVER;
}

static enum dueq_status read_old(struct topic *topic, struct dueq_slice record)
{
    const uint8_t *at = record.data;
    size_t count = old_lanes(record);
    uint64_t *numbers[TOPIC_NUMBERS];

    if (count == SIZE_MAX || count > TOPIC_LANES_MAX)
        return DUEQ_CORRUPT;
    if (make_lanes(topic, count) != DUEQ_OK)
        return DUEQ_NOMEM;
    topic->lookalikes = (at[1] & FLAG_LOOKALIKES) != 0;
    at += 4;
    list_numbers(topic, numbers);
    for (size_t i = 0; i < TOPIC_NUMBERS; i++)
        *numbers[i] = 0;
    for (size_t i = 0; i < old_numbers(record); i++, at += 8)
        *numbers[i] = bytes_read_u64(at);
    for (size_t i = 0; i < count; i++)
        at = read_old_lane(at, &topic->lanes[i]);
    bound_old(topic);
    topic->groups = topic->parked = topic->turn = topic->group_rules = 0;
    topic->bucket = (struct bucket){0, 0};
    topic->ring = (struct ring){0, 0, 0};
    if (AFTERS_KNOWN)
        topic->waiting = topic->awaited = 0;
    return DUEQ_OK;
}

/* ---- any version */

bool topic_record_is_old(struct dueq_slice record)
{
    return old_numbers(record) > 0;
}

bool topic_lacks_bytes(struct dueq_slice record)
{
    return old_numbers(record) == OLD_NUMBERS_1;
}

static bool is_present(struct dueq_slice record)
{
    uint8_t version = record.size > 2 ? *(const uint8_t *)record.data : 0;

    return version == TOPIC_VERSION || (AFTERS_KNOWN && version == TOPIC_VERSION_AFTER);
}

uint64_t topic_read_id(struct dueq_slice record)
{
    const uint8_t *bytes = record.data;
    int64_t id = 0;

    if (!is_present(record))
        return old_lanes(record) == SIZE_MAX ? 0 : bytes_read_u64(bytes + 4);
    return numbers_read(bytes + 2, bytes + record.size, &id) == NULL ? 0 : (uint64_t)id;
}

uint64_t topic_read_claimed(struct dueq_slice record)
{
    const uint8_t *bytes = record.data, *at = bytes + 2;
    int64_t number = 0;

    if (!is_present(record))
        return 1;
    for (int i = 0; i <= CLAIMED_NUMBER && at != NULL; i++)
        at = numbers_read(at, bytes + record.size, &number);
    return at == NULL ? 1 : (uint64_t)number;
}

enum dueq_status topic_read(struct topic *topic, struct dueq_slice record)
{
    const uint8_t *bytes = record.data;

    topic->first_permit = SAFE_TIME_MIN;
    return is_present(record) ? read_record(topic, bytes, bytes + record.size)
                              : read_old(topic, record);
}
