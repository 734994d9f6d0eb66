#include "storage/kv/key.h"

#include <endian.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FOLD_HASH = 16 };

void kv_key_start(struct kv_key *key, uint8_t table)
{
    key->bytes[0] = table;
    key->size = 1;
    key->folded = false;
}

void kv_key_u8(struct kv_key *key, uint8_t number)
{
    key->bytes[key->size++] = number;
}

void kv_key_u64(struct kv_key *key, uint64_t number)
{
    kv_write_u64(key->bytes + key->size, number);
    key->size += 8;
}

void kv_key_time(struct kv_key *key, int64_t time)
{
    kv_key_u64(key, (uint64_t)time ^ ((uint64_t)1 << 63));
}

void kv_key_name(struct kv_key *key, struct dueq_slice name, uint64_t seed)
{
    size_t room = (size_t)KV_KEY_MAX - key->size, kept = name.size;
    XXH128_canonical_t hash;

    if (name.size > room) {
        kept = room - FOLD_HASH;
        XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(name.data, name.size, seed));
        memcpy(key->bytes + key->size + kept, hash.digest, FOLD_HASH);
        key->folded = true;
    }
    if (kept > 0)
        memcpy(key->bytes + key->size, name.data, kept);
    key->size = (uint16_t)(key->folded ? KV_KEY_MAX : key->size + kept);
}

uint64_t kv_read_u64(const void *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return be64toh(number);
}

int64_t kv_read_time(const void *bytes)
{
    return (int64_t)(kv_read_u64(bytes) ^ ((uint64_t)1 << 63));
}

void kv_write_u64(void *bytes, uint64_t number)
{
    number = htobe64(number);
    memcpy(bytes, &number, sizeof(number));
}
