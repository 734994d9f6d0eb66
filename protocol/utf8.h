/* Characters of UTF-8 in bytes that a client sent. */
#ifndef DUEQ_UTF8_H
#define DUEQ_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The size of the character at `bytes`, 1 to 4; 0: they begin none (cut off, too long for its
 * code point, a surrogate, or above the last one). left: bytes that may be read, 1 or more. */
size_t utf8_character(const uint8_t *bytes, size_t left);

#endif
