/* Eight bytes of a key as a number, so that a search reads and compares these instead of whole
 * keys. Private to storage. */
#ifndef DUEQ_KEY_HINT_H
#define DUEQ_KEY_HINT_H

#include "storage/slice.h"

#include <endian.h>
#include <stdint.h>

enum { KEY_HINT = 8 /* bytes */ };

/* Calls of memcpy and memcmp with sizes that the compiler does not know cost more than all else
 * here: so eight bytes are read at once wherever a key has them. */
static inline uint64_t key_eight_bytes(const uint8_t *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return number;
}

/* The eight bytes from `offset` on, zeros after the end of the key. Of keys that begin with the
 * same `offset` bytes, different hints are in the order of the keys; equal ones say nothing. */
static inline uint64_t key_hint(struct dueq_slice key, size_t offset)
{
    const uint8_t *bytes = key.data;
    uint64_t hint = 0;
    size_t left = key.size > offset ? key.size - offset : 0;

    if (left >= KEY_HINT)
        return be64toh(key_eight_bytes(bytes + offset));
    if (left == 0)
        return 0;
    if (key.size >= KEY_HINT) {
        hint = be64toh(key_eight_bytes(bytes + key.size - KEY_HINT));
    } else {
        for (size_t at = offset; at < key.size; at++)
            hint = hint << 8 | bytes[at];
    }
    return hint << (64 - 8 * left);
}

/* How many of their first bytes are the same, `limit` at most. */
static inline size_t key_common_prefix(struct dueq_slice a, struct dueq_slice b, size_t limit)
{
    const uint8_t *x = a.data, *y = b.data;
    size_t at = 0;

    if (a.size < limit)
        limit = a.size;
    if (b.size < limit)
        limit = b.size;
    for (; at + KEY_HINT <= limit; at += KEY_HINT) {
        uint64_t differ = be64toh(key_eight_bytes(x + at)) ^ be64toh(key_eight_bytes(y + at));

        if (differ != 0)
            return at + (size_t)__builtin_clzll(differ) / 8;
    }
    while (at < limit && x[at] == y[at])
        at++;
    return at;
}

#endif
