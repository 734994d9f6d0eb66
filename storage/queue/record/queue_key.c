#include "storage/queue/record/queue_key.h"
#include "storage/bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct kv_key queue_key_topic(uint8_t table, uint64_t topic)
{
    struct kv_key key;

    kv_key_start(&key, table);
    kv_key_number(&key, topic);
    return key;
}

struct kv_key queue_key_job(uint8_t table, uint64_t topic, uint64_t seq)
{
    struct kv_key key = queue_key_topic(table, topic);

    kv_key_number(&key, seq);
    return key;
}

struct kv_key queue_key_id(uint64_t topic, struct dueq_slice id, uint64_t seed)
{
    struct kv_key key = queue_key_topic(TABLE_ID, topic);
    XXH128_canonical_t hash;

    if (id.size >= sizeof(hash.digest)) {
        XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(id.data, id.size, seed));
        id = dueq_slice(hash.digest, sizeof(hash.digest));
    }
    kv_key_name(&key, id, seed);
    return key;
}

struct kv_key queue_key_class(uint64_t topic, uint8_t class)
{
    struct kv_key key = queue_key_topic(TABLE_SCHEDULE, topic);

    kv_key_u8(&key, class);
    return key;
}

struct kv_key queue_key_lane(uint64_t topic, uint8_t priority, uint8_t clock)
{
    struct kv_key key = queue_key_class(topic, CLASS_PENDING);

    kv_key_u8(&key, priority);
    kv_key_u8(&key, clock);
    return key;
}

void queue_key_add_position(struct kv_key *key, int64_t due, uint64_t seq)
{
    kv_key_time(key, due);
    kv_key_number(key, seq);
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
