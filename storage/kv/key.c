#include "storage/kv/key.h"

#include <assert.h>
#include <endian.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FOLD_HASH = 16, NUMBER_LONG = 248 };

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
    bytes_write_u64(key->bytes + key->size, number);
    key->size += 8;
}

void kv_key_number(struct kv_key *key, uint64_t number)
{
    key->size = (uint16_t)(key->size + bytes_write_number(key->bytes + key->size, number));
}

void kv_key_time(struct kv_key *key, int64_t time)
{
    kv_key_u64(key, (uint64_t)time ^ ((uint64_t)1 << 63));
}

/* A name that would just fit is folded too: whole keys stay shorter than folded ones, so that
 * nobody makes another's folded key by sending it as a name. */
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
        key->size = KV_KEY_MAX; /* it is the last of all */
    else
        key->bytes[key->size - 1]++;
}

uint64_t bytes_read_u64(const void *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return be64toh(number);
}

int64_t bytes_read_time(const void *bytes)
{
    return (int64_t)(bytes_read_u64(bytes) ^ ((uint64_t)1 << 63));
}

void bytes_write_u64(void *bytes, uint64_t number)
{
    number = htobe64(number);
    memcpy(bytes, &number, sizeof(number));
}

size_t bytes_write_number(void *bytes, uint64_t number)
{
    uint8_t *at = bytes, whole[8];
    size_t size;

    if (number < NUMBER_LONG) {
        *at = (uint8_t)number;
        return 1;
    }
    size = 8 - (size_t)__builtin_clzll(number) / 8;
    *at = (uint8_t)(NUMBER_LONG - 1 + size);
    bytes_write_u64(whole, number);
    memcpy(at + 1, whole + 8 - size, size);
    return 1 + size;
}

const uint8_t *bytes_read_number(const uint8_t *at, const uint8_t *end, uint64_t *ret_number)
{
    uint64_t number = 0;
    int size;

    if (at == NULL || at == end)
        return NULL;
    if (*at < NUMBER_LONG) {
        *ret_number = *at;
        return at + 1;
    }
    size = *at++ - (NUMBER_LONG - 1);
    if (end - at < size)
        return NULL;
    while (size-- > 0)
        number = number << 8 | *at++;
    *ret_number = number;
    return at;
}
