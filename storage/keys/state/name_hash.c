#include "storage/keys/state/name_hash.h"

#include "storage/keys/state/keys_internal.h"
#include "storage/xxh3.h"

uint64_t name_hash(const struct keys *keys, struct dueq_slice name)
{
    return XXH3_64bits_withSeed(name.data, name.size, keys->seed) >> 16;
}

void name_hash_append(struct kv_key *key, uint64_t hash)
{
    assert(key->size + sizeof(hash) <= KV_KEY_MAX);
    bytes_write_u64(key->bytes + key->size, hash << 16); /* and two zeros, which do not count */
    key->size = (uint16_t)(key->size + NAME_HASH_BYTES);
}

uint64_t name_hash_read(const uint8_t *bytes)
{
    uint64_t hash = 0;

    for (int i = 0; i < NAME_HASH_BYTES; i++)
        hash = hash << 8 | bytes[i];
    return hash;
}
