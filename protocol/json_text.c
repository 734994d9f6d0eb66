#include "protocol/json_text.h"

#include <stdint.h>
#include <string.h>

/* ---- UTF-8 */

/* Bytes of the character; 0: it is none. */
static size_t character_size(const unsigned char *at, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80           ? 1
                  : (at[0] >> 5) == 0x06 ? 2
                  : (at[0] >> 4) == 0x0e ? 3
                  : (at[0] >> 3) == 0x1e ? 4
                                         : 0;
    uint32_t code;

    if (size <= 1 || size > left)
        return size > left ? 0 : size;
    code = at[0] & (0x7fU >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    return code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0
                                                                                      : size;
}

static bool is_ascii(const unsigned char *at)
{
    uint64_t eight;

    memcpy(&eight, at, sizeof(eight));
    return (eight & UINT64_C(0x8080808080808080)) == 0;
}

bool json_is_utf8(const char *bytes, size_t size)
{
    const unsigned char *at = (const unsigned char *)bytes;

    for (size_t i = 0; i < size;) {
        size_t step;

        if (size - i >= 8 && is_ascii(at + i)) {
            i += 8;
            continue;
        }
        step = character_size(at + i, size - i);
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

/* ---- strings */

static bool is_plain(char byte)
{
    return (unsigned char)byte >= ' ' && byte != '"' && byte != '\\';
}

static void write_escape(struct buffer *out, char byte)
{
    static const char digits[] = "0123456789abcdef", from[] = "\"\\\b\f\n\r\t",
                      to[] = "\"\\bfnrt";
    const char *at = byte == '\0' ? NULL : strchr(from, byte);
    char text[6] = {'\\', 'u', '0', '0', digits[(unsigned char)byte >> 4], digits[byte & 15]};

    if (at != NULL)
        text[1] = to[at - from];
    buffer_append(out, text, at != NULL ? 2 : sizeof(text));
}

static void write_escaped(struct buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t plain = 0;

        while (i + plain < size && is_plain(text[i + plain]))
            plain++;
        buffer_append(out, text + i, plain);
        i += plain;
        if (i < size)
            write_escape(out, text[i++]);
    }
}

void json_write_text(struct buffer *out, const char *text, size_t size)
{
    bool good = json_is_utf8(text, size);

    buffer_append(out, "\"", 1);
    if (good)
        write_escaped(out, text, size);
    for (size_t i = 0; !good && i < size; i++)
        if ((unsigned char)text[i] < 0x80)
            write_escaped(out, text + i, 1);
    buffer_append(out, "\"", 1);
}

/* ---- other bytes */

void json_write_base64(struct buffer *out, const char *bytes, size_t size)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = (size + 2) / 3 * 4;
    char *to = size == 0 ? NULL : buffer_reserve(out, length);

    if (to == NULL)
        return;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)bytes[i] << 16;

        if (i + 1 < size)
            bits |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
        if (i + 2 < size)
            bits |= (unsigned char)bytes[i + 2];
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = i + 1 < size ? digits[bits >> 6 & 63] : '=';
        *to++ = i + 2 < size ? digits[bits & 63] : '=';
    }
    buffer_commit(out, length);
}

void json_write_bytes(struct buffer *out, const char *bytes, size_t size)
{
    if (size <= JSON_STRING_MAX && json_is_utf8(bytes, size)) {
        buffer_append(out, "\"", 1);
        write_escaped(out, bytes, size);
        buffer_append(out, "\"", 1);
        return;
    }
    buffer_append(out, "{\"base64\":\"", 11);
    json_write_base64(out, bytes, size);
    buffer_append(out, "\"}", 2);
}
