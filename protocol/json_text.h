/* Writes values as JSON. Bytes that are UTF-8 and at most JSON_STRING_MAX are a string; others
 * an object, {"base64": "AP8="}, since JSON has no bytes. O(size). */
#ifndef DUEQ_JSON_TEXT_H
#define DUEQ_JSON_TEXT_H

#include "protocol/buffer.h"

enum { JSON_STRING_MAX = 256 * 1024 };

/* As RFC 3629 has it: no surrogates, nothing above U+10FFFF, no longer forms. */
bool json_is_utf8(const char *bytes, size_t size);

void json_write_bytes(struct buffer *out, const char *bytes, size_t size);
/* A string in any case: what is not ASCII is left out where the bytes are not UTF-8. For texts
 * for people. */
void json_write_text(struct buffer *out, const char *text, size_t size);
/* The digits of a part; all parts but the last have a size that 3 divides. */
void json_write_base64(struct buffer *out, const char *bytes, size_t size);

#endif
