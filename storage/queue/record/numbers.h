/* Numbers in records: seven bits a byte, the least first; signed ones zigzag. */
#ifndef DUEQ_NUMBERS_H
#define DUEQ_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBERS_MAX = 10 }; /* bytes of one number */

static inline uint8_t *numbers_write(uint8_t *at, int64_t number)
{
    uint64_t left = ((uint64_t)number << 1) ^ (number < 0 ? UINT64_MAX : 0);

    while (left >= 0x80) {
        *at++ = (uint8_t)(left | 0x80);
        left >>= 7;
    }
    *at++ = (uint8_t)left;
    return at;
}

/* Returns where the next begins; NULL: the record ends too early. at: NULL is fine. */
static inline const uint8_t *numbers_read(const uint8_t *at, const uint8_t *end,
                                          int64_t *ret_number)
{
    uint64_t number = 0;

    for (unsigned shift = 0; at != NULL && at < end && shift < 64; shift += 7) {
        uint8_t byte = *at++;

        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_number = (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
            return at;
        }
    }
    return NULL;
}

/* A damaged record may hold anything: wraps, and does not overflow. */
static inline int64_t numbers_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t numbers_less(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
