#include "storage/keys/state/name_hash.h"

#include "storage/keys/state/keys_internal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t name_hash(const struct keys *keys, struct dueq_slice name)
{
    return XXH3_64bits_withSeed(name.data, name.size, keys->seed) >> 16;
}

void name_hash_append(struct kv_key *key, uint64_t hash)
{
    for (int shift = 40; shift >= 0; shift -= 8)
        kv_key_u8(key, (uint8_t)(hash >> shift));
}

uint64_t name_hash_read(const uint8_t *bytes)
{
    uint64_t hash = 0;

    for (int i = 0; i < NAME_HASH_BYTES; i++)
        hash = hash << 8 | bytes[i];
    return hash;
}
