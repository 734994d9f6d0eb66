#include "storage/bytes.h"

#include <string.h>

enum { NUMBER_LONG = 248 }; /* a first byte from here on is a length */

size_t bytes_write_number(void *bytes, uint64_t number)
{
    uint8_t *at = bytes;
    size_t size;

    if (number < NUMBER_LONG) {
        *at = (uint8_t)number;
        return 1;
    }
    size = 8 - (size_t)__builtin_clzll(number) / 8;
    *at = (uint8_t)(NUMBER_LONG - 1 + size);
    for (size_t i = size; i > 0; i--, number >>= 8)
        at[i] = (uint8_t)number;
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
