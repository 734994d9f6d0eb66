/* Numbers as bytes, for keys, values and files. All encodings are big-endian, so that memory
 * order of the bytes is the order of the numbers. Every function is O(1). */
#ifndef DUEQ_BYTES_H
#define DUEQ_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 8 bytes; `bytes` needs no alignment. */
static inline uint64_t bytes_read_u64(const void *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return be64toh(number);
}

static inline void bytes_write_u64(void *bytes, uint64_t number)
{
    number = htobe64(number);
    memcpy(bytes, &number, sizeof(number));
}

/* A time in 8 bytes, its sign bit inverted: negative times sort first. kv_key_time writes
 * it. */
static inline int64_t bytes_read_time(const void *bytes)
{
    return (int64_t)(bytes_read_u64(bytes) ^ ((uint64_t)1 << 63));
}

/* A number in 1 to 9 bytes, of which the order is that of the numbers: below 248 one byte, the
 * number itself; from 248 on a byte that says how many bytes follow (248: one, 255: eight),
 * then the number without leading zeros. Returns how many bytes were written. */
enum { BYTES_NUMBER_MAX = 9 };
size_t bytes_write_number(void *bytes, uint64_t number);

/* Reads such a number and returns the first byte after it. NULL: the number does not end before
 * `end`, or `at` is NULL; *ret_number is then untouched. */
const uint8_t *bytes_read_number(const uint8_t *at, const uint8_t *end, uint64_t *ret_number);

#endif
