#include "server/process/log_json.h"

#include "protocol/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Returns the size of what was written. */
static size_t escape_byte(unsigned char byte, char *at)
{
    static const char letters[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *letter = byte == 0 ? NULL : strchr(letters, byte);

    if (letter != NULL) {
        at[0] = '\\';
        at[1] = names[letter - letters];
        return 2;
    }
    return (size_t)snprintf(at, 7, "\\u%04x", byte);
}

void log_json_escape(const char *text, size_t size, char *ret_escaped)
{
    const uint8_t *bytes = (const uint8_t *)text;
    char *to = ret_escaped;

    for (size_t at = 0; at < size;) {
        size_t character = utf8_character(bytes + at, size - at);

        if (character == 0) {
            memcpy(to, "\\ufffd", 6);
            to += 6;
        } else if (bytes[at] < ' ' || bytes[at] == 0x7f || bytes[at] == '"' ||
                   bytes[at] == '\\') {
            to += escape_byte(bytes[at], to);
        } else {
            memcpy(to, bytes + at, character);
            to += character;
        }
        at += character == 0 ? 1 : character;
    }
    *to = '\0';
}
