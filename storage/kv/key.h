/* Builds keys of the space: a table byte, fixed-width big-endian numbers, and a name at the
 * end. Memory order of the bytes is the order of the numbers.
 *
 * A key has at most KV_KEY_MAX bytes; those of that very size are folded ones, and only those.
 * A name that does not fit below is folded: as many of its first bytes as leave room, then
 * XXH3-128 of the whole name, seeded per store. A folded key is marked (key->folded): the
 * caller keeps the whole name in the value and compares it on reading. Order among names that
 * share the kept prefix is that of the hash. */
#ifndef DUEQ_KEY_H
#define DUEQ_KEY_H

#include "storage/kv/kv.h"

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

void kv_key_start(struct kv_key *key, uint8_t table);
void kv_key_u8(struct kv_key *key, uint8_t number);
void kv_key_u64(struct kv_key *key, uint64_t number);    /* 8 bytes, big-endian */
void kv_key_number(struct kv_key *key, uint64_t number); /* as bytes_write_number */
void kv_key_time(struct kv_key *key, int64_t time); /* sign flipped: negative sorts first */
void kv_key_name(struct kv_key *key, struct dueq_slice name, uint64_t seed); /* last part */

void kv_key_copy(struct kv_key *key, struct dueq_slice bytes); /* of a whole key */
/* Makes it the least key behind: with a zero byte appended or, as none is longer than
 * KV_KEY_MAX, the next of that length. */
void kv_key_follow(struct kv_key *key);

uint64_t bytes_read_u64(const void *bytes);
int64_t bytes_read_time(const void *bytes);
void bytes_write_u64(void *bytes, uint64_t number);

/* A number in 1 to 9 bytes, whose order is that of the numbers: those below 248 as they are,
 * others behind a byte that says how many follow (248: one), big-endian without leading zeros.
 * Returns how many bytes were written. */
enum { BYTES_NUMBER_MAX = 9 };
size_t bytes_write_number(void *bytes, uint64_t number);
/* Behind the number; NULL: there is none that ends before `end`, or `at` is NULL. */
const uint8_t *bytes_read_number(const uint8_t *at, const uint8_t *end, uint64_t *ret_number);

#endif
