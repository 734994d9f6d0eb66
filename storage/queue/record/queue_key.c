#include "storage/queue/record/queue_key.h"
#include "storage/bytes.h"
#include "storage/xxh3.h"

struct dueq_slice queue_key_topic(struct kv_key *key, uint8_t table, uint64_t topic)
{
    kv_key_start(key, table);
    kv_key_number(key, topic);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_job(struct kv_key *key, uint8_t table, uint64_t topic, uint64_t seq)
{
    queue_key_topic(key, table, topic);
    kv_key_number(key, seq);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_edge(struct kv_key *key, uint8_t table, uint64_t topic,
                                 uint64_t seq, uint64_t other_topic, uint64_t other_seq)
{
    queue_key_job(key, table, topic, seq);
    kv_key_number(key, other_topic);
    kv_key_number(key, other_seq);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_id(struct kv_key *key, uint64_t topic, struct dueq_slice id,
                               uint64_t seed)
{
    XXH128_canonical_t hash;

    if (id.size >= sizeof(hash.digest)) {
        XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(id.data, id.size, seed));
        id = dueq_slice(hash.digest, sizeof(hash.digest));
    }
    queue_key_topic(key, TABLE_ID, topic);
    kv_key_name(key, id, seed);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_class(struct kv_key *key, uint64_t topic, uint8_t class)
{
    queue_key_topic(key, TABLE_SCHEDULE, topic);
    kv_key_u8(key, class);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_lane(struct kv_key *key, uint64_t topic, uint8_t priority,
                                 uint8_t clock)
{
    queue_key_class(key, topic, CLASS_PENDING);
    kv_key_u8(key, priority);
    kv_key_u8(key, clock);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_parked(struct kv_key *key, uint64_t topic, uint64_t group)
{
    queue_key_class(key, topic, CLASS_PARKED);
    kv_key_u64(key, group);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_group(struct kv_key *key, uint64_t topic, uint64_t group)
{
    queue_key_topic(key, TABLE_GROUP, topic);
    kv_key_u64(key, group);
    return kv_key_slice(key);
}

struct dueq_slice queue_key_add_position(struct kv_key *key, int64_t due, uint64_t seq)
{
    kv_key_time(key, due);
    kv_key_number(key, seq);
    return kv_key_slice(key);
}

bool queue_key_read_position(struct dueq_slice key, size_t head, int64_t *ret_due,
                             uint64_t *ret_seq)
{
    const uint8_t *at = (const uint8_t *)key.data + head, *end = at + key.size - head;

    if (key.size < head + 8)
        return false;
    *ret_due = bytes_read_time(at);
    return bytes_read_number(at + 8, end, ret_seq) == end;
}
