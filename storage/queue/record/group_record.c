#include "storage/queue/record/group_record.h"

#include "storage/queue/record/queue_key.h"

/* The second has a bucket that is not full, the first has none. */
enum { VERSION = 1, VERSION_BUCKET = 2 };

static uint8_t *write_bucket(uint8_t *at, const struct group_record *record)
{
    at = numbers_write(at, record->bucket.full);
    at = numbers_write(at, record->bucket.part);
    return group_waits_for_time(record) ? numbers_write(at, record->at) : at;
}

size_t group_record_write(uint8_t *bytes, const struct group_record *record)
{
    bool has_bucket = !bucket_is_full(&record->bucket);
    uint8_t *at = bytes;

    *at++ = has_bucket ? VERSION_BUCKET : VERSION;
    *at++ = record->order;
    at = numbers_write(at, (int64_t)record->running);
    at = numbers_write(at, (int64_t)record->parked);
    at = numbers_write(at, (int64_t)record->holds);
    at = numbers_write(at, (int64_t)record->turn);
    if (has_bucket)
        at = write_bucket(at, record);
    if (record->parked > 0) {
        *at++ = record->head.rank;
        *at++ = record->head.priority;
        at = numbers_write(at, record->head.position.due);
        at = numbers_write(at, (int64_t)record->head.position.seq);
    }
    return (size_t)(at - bytes);
}

static const uint8_t *read_head(const uint8_t *at, const uint8_t *end,
                                struct group_record *ret_record)
{
    int64_t seq = 0;

    if (at == NULL || end - at < 2)
        return NULL;
    ret_record->head.rank = at[0];
    ret_record->head.priority = at[1];
    at = numbers_read(at + 2, end, &ret_record->head.position.due);
    at = numbers_read(at, end, &seq);
    ret_record->head.position.seq = (uint64_t)seq;
    return at;
}

static const uint8_t *read_bucket(const uint8_t *at, const uint8_t *end,
                                  struct group_record *ret_record)
{
    at = numbers_read(at, end, &ret_record->bucket.full);
    at = numbers_read(at, end, &ret_record->bucket.part);
    if (group_waits_for_time(ret_record))
        at = numbers_read(at, end, &ret_record->at);
    return at != NULL && bucket_is_sound(&ret_record->bucket) &&
                   !bucket_is_full(&ret_record->bucket)
               ? at
               : NULL;
}

bool group_record_read(struct dueq_slice bytes, struct group_record *ret_record)
{
    const uint8_t *at = bytes.data, *end = at + bytes.size;
    int64_t running = 0, parked = 0, holds = 0, turn = 0;
    bool has_bucket;

    *ret_record = (struct group_record){.running = 0};
    if (bytes.size < 2 || at[0] < VERSION || at[0] > VERSION + BUCKETS_KNOWN ||
        at[1] > (at[0] == VERSION ? GROUP_BY_TURN : GROUP_BY_PERMIT))
        return false;
    has_bucket = BUCKETS_KNOWN && at[0] == VERSION_BUCKET;
    ret_record->order = at[1];
    at = numbers_read(at + 2, end, &running);
    at = numbers_read(at, end, &parked);
    at = numbers_read(at, end, &holds);
    at = numbers_read(at, end, &turn);
    ret_record->running = (uint64_t)running;
    ret_record->parked = (uint64_t)parked;
    ret_record->holds = (uint64_t)holds;
    ret_record->turn = (uint64_t)turn;
    if (has_bucket)
        at = read_bucket(at, end, ret_record);
    if (parked > 0)
        at = read_head(at, end, ret_record);
    return at == end && running >= 0 && parked >= 0 && holds >= 0 && turn >= 0 &&
           (parked > 0 || !group_can_run(ret_record));
}

struct dueq_slice group_turn_key(struct kv_key *key, uint64_t topic, uint64_t group,
                                 const struct group_record *record)
{
    queue_key_topic(key, TABLE_TURN, topic);
    kv_key_u8(key, record->order);
    if (record->order == GROUP_BY_PLACE) {
        kv_key_u8(key, record->head.priority);
        queue_key_add_position(key, record->head.position.due, record->head.position.seq);
    } else if (group_waits_for_time(record)) {
        kv_key_time(key, record->at);
    } else {
        kv_key_u64(key, record->turn);
    }
    kv_key_u64(key, group);
    return kv_key_slice(key);
}

static const uint8_t *read_order(const uint8_t *at, const uint8_t *end,
                                 struct group_record *ret_record)
{
    if (ret_record->order == GROUP_BY_PLACE) {
        if (end - at < 9)
            return NULL;
        ret_record->head.priority = at[0];
        ret_record->head.position.due = bytes_read_time(at + 1);
        return bytes_read_number(at + 9, end, &ret_record->head.position.seq);
    }
    if (end - at < 8)
        return NULL;
    if (group_waits_for_time(ret_record))
        ret_record->at = bytes_read_time(at);
    else
        ret_record->turn = bytes_read_u64(at);
    return at + 8;
}

bool group_turn_read(struct dueq_slice key, uint64_t *ret_group,
                     struct group_record *ret_record)
{
    const uint8_t *bytes = key.data, *end = bytes + key.size;
    uint64_t topic;
    const uint8_t *at = bytes_read_number(bytes + 1, end, &topic);

    *ret_record = (struct group_record){.running = 0};
    if (at == NULL || at == end || *at < GROUP_BY_PLACE || *at > GROUP_BY_TURN + BUCKETS_KNOWN)
        return false;
    ret_record->order = *at;
    at = read_order(at + 1, end, ret_record);
    if (at == NULL || end - at != 8)
        return false;
    *ret_group = bytes_read_u64(at);
    return true;
}

struct dueq_slice group_parked_key(struct kv_key *key, uint64_t topic, uint64_t group,
                                   struct group_place place)
{
    queue_key_parked(key, topic, group);
    kv_key_u8(key, place.rank);
    kv_key_u8(key, place.priority);
    return queue_key_add_position(key, place.position.due, place.position.seq);
}

bool group_parked_read(struct dueq_slice key, size_t head, struct group_place *ret_place)
{
    const uint8_t *at = (const uint8_t *)key.data + head;

    if (key.size < head + 2)
        return false;
    ret_place->rank = at[0];
    ret_place->priority = at[1];
    return queue_key_read_position(key, head + 2, &ret_place->position.due,
                                   &ret_place->position.seq);
}
