/* Builds keys of the space: a table byte, fixed-width big-endian numbers, and a name at the
 * end. Memory order of the bytes is the order of the numbers.
 *
 * A key has KV_KEY_MAX bytes at most. A name that does not fit below that is folded: the key
 * gets as many of its first bytes as leave room, then XXH3-128 of the whole name, seeded per
 * store. Folded keys, and only those, have exactly KV_KEY_MAX bytes. `folded` says so: the
 * caller keeps the whole name in the value and compares it on reading. Names that share the
 * kept prefix are in the order of their hashes. */
#ifndef DUEQ_KEY_H
#define DUEQ_KEY_H

#include "storage/bytes.h"
#include "storage/slice.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { KV_KEY_MAX = 511 }; /* bytes; the compiled-in limit of LMDB */

struct kv_key {
    uint8_t bytes[KV_KEY_MAX];
    uint16_t size;
    bool folded;
};

static inline struct dueq_slice kv_key_slice(const struct kv_key *key)
{
    return dueq_slice(key->bytes, key->size);
}

static inline bool kv_key_begins(struct dueq_slice key, const struct kv_key *head)
{
    return key.size >= head->size && memcmp(key.data, head->bytes, head->size) == 0;
}

static inline void kv_key_start(struct kv_key *key, uint8_t table)
{
    key->bytes[0] = table;
    key->size = 1;
    key->folded = false;
}

static inline void kv_key_u8(struct kv_key *key, uint8_t number)
{
    assert(key->size < KV_KEY_MAX);
    key->bytes[key->size++] = number;
}

/* 8 bytes, big-endian. */
static inline void kv_key_u64(struct kv_key *key, uint64_t number)
{
    assert(key->size + 8 <= KV_KEY_MAX);
    bytes_write_u64(key->bytes + key->size, number);
    key->size = (uint16_t)(key->size + 8);
}

/* 8 bytes; bytes_read_time. */
static inline void kv_key_time(struct kv_key *key, int64_t time)
{
    kv_key_u64(key, (uint64_t)time ^ ((uint64_t)1 << 63));
}

void kv_key_number(struct kv_key *key, uint64_t number); /* as bytes_write_number */
void kv_key_name(struct kv_key *key, struct dueq_slice name, uint64_t seed); /* the last part */

/* `bytes`: a whole key, KV_KEY_MAX bytes at most. */
void kv_key_copy(struct kv_key *key, struct dueq_slice bytes);
/* Changes the key to the least key after it: appends a zero byte or, since no key is longer
 * than KV_KEY_MAX, takes the next key of that length. The last key of all stays. */
void kv_key_follow(struct kv_key *key);

#endif
