#include "storage/kv/key.h"

#include "storage/bytes.h"
#include "storage/xxh3.h"

#include <assert.h>

enum { FOLD_HASH = 16 };

void kv_key_number(struct kv_key *key, uint64_t number)
{
    assert(key->size + BYTES_NUMBER_MAX <= KV_KEY_MAX);
    key->size = (uint16_t)(key->size + bytes_write_number(key->bytes + key->size, number));
}

/* A name that would make a key of KV_KEY_MAX bytes is folded, too. So whole keys are shorter
 * than folded ones, and no name has the folded key of another name. */
void kv_key_name(struct kv_key *key, struct dueq_slice name, uint64_t seed)
{
    size_t room = (size_t)KV_KEY_MAX - key->size;
    XXH128_canonical_t hash;

    assert(room > FOLD_HASH);
    if (name.size < room) {
        if (name.size > 0)
            memcpy(key->bytes + key->size, name.data, name.size);
        key->size = (uint16_t)(key->size + name.size);
        return;
    }
    memcpy(key->bytes + key->size, name.data, room - FOLD_HASH);
    XXH128_canonicalFromHash(&hash, XXH3_128bits_withSeed(name.data, name.size, seed));
    memcpy(key->bytes + KV_KEY_MAX - FOLD_HASH, hash.digest, FOLD_HASH);
    key->size = KV_KEY_MAX;
    key->folded = true;
}

void kv_key_copy(struct kv_key *key, struct dueq_slice bytes)
{
    assert(bytes.size > 0 && bytes.size <= KV_KEY_MAX);
    memcpy(key->bytes, bytes.data, bytes.size);
    key->size = (uint16_t)bytes.size;
    key->folded = bytes.size == KV_KEY_MAX;
}

void kv_key_follow(struct kv_key *key)
{
    if (key->size < KV_KEY_MAX) {
        key->bytes[key->size++] = 0;
        return;
    }
    while (key->size > 0 && key->bytes[key->size - 1] == UINT8_MAX)
        key->size--;
    if (key->size == 0)
        key->size = KV_KEY_MAX; /* it is the last of all keys */
    else
        key->bytes[key->size - 1]++;
}
