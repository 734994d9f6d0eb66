#include "protocol/utf8.h"

/* The bytes that a character of UTF-8 has by its first one. *ret_least: the least code point
 * that needs so many. 0: no character begins so. */
static size_t character_size(uint8_t first, uint32_t *ret_least)
{
    if (first < 0x80) {
        *ret_least = 0;
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        *ret_least = 0x80;
        return 2;
    }
    if (first >= 0xe0 && first < 0xf0) {
        *ret_least = 0x800;
        return 3;
    }
    *ret_least = 0x10000;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

size_t utf8_character(const uint8_t *bytes, size_t left)
{
    uint32_t least, point;
    size_t size = character_size(bytes[0], &least);

    if (size <= 1 || size > left)
        return size > left ? 0 : size;
    point = bytes[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (bytes[i] & 0x3fu);
    }
    return point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : size;
}
