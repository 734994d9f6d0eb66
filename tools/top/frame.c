#include "tools/top/frame.h"

#include "protocol/utf8.h"
#include "tools/client/client_call.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

void frame_begin(struct frame *frame, int rows, int columns)
{
    *frame = (struct frame){.rows = rows, .columns = columns};
}

void frame_release(struct frame *frame)
{
    for (size_t i = 0; i < frame->count; i++)
        free(frame->pieces[i].text);
    free(frame->pieces);
    *frame = (struct frame){0};
}

/* The code point of a whole character of that size. */
static wchar_t code_point(const unsigned char *bytes, size_t size)
{
    static const unsigned char heads[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = bytes[0] & heads[size];

    for (size_t i = 1; i < size; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    return (wchar_t)code;
}

/* One character, or one escaped byte: its text (which has 5 bytes at most), the columns it
 * takes, and how many bytes it was. A character without a width of its own could hide what
 * stands beside it, or turn it round. */
static size_t next_symbol(const char *bytes, size_t size, char *text, int *ret_width)
{
    size_t character = utf8_character((const uint8_t *)bytes, size);
    unsigned char byte = (unsigned char)bytes[0];

    if (byte < 0x80)
        character = byte >= 0x20 && byte != 0x7f;
    *ret_width = byte < 0x80 ? 1
                 : character == 0
                     ? 0
                     : wcwidth(code_point((const unsigned char *)bytes, character));
    if (character > 0 && *ret_width > 0) {
        memcpy(text, bytes, character);
        text[character] = '\0';
        return character;
    }
    snprintf(text, 5, "\\x%02x", byte);
    *ret_width = 4;
    return 1;
}

/* The text of as many symbols as fit, in memory that the caller frees. */
static char *as_text(const char *bytes, size_t size, int width, int *ret_used)
{
    char *text = client_allocate(NULL, 5 * ((size_t)width + 1) + 1), symbol[8];
    size_t length = 0, cut_at = 0;
    int used = 0, cut_used = 0, symbol_width = 0;

    for (size_t at = 0; at < size;) {
        at += next_symbol(bytes + at, size - at, symbol, &symbol_width);
        if (used + symbol_width > width) {
            length = cut_at;
            text[length++] = '>';
            used = cut_used + 1;
            break;
        }
        memcpy(text + length, symbol, strlen(symbol));
        length += strlen(symbol);
        used += symbol_width;
        if (used < width) { /* there is room for '>' */
            cut_at = length;
            cut_used = used;
        }
    }
    text[length] = '\0';
    *ret_used = used;
    return text;
}

static void add_piece(struct frame *frame, struct frame_piece piece)
{
    if (frame->count == frame->room) {
        frame->room = frame->room == 0 ? 64 : 2 * frame->room;
        frame->pieces = client_allocate(frame->pieces, frame->room * sizeof(*frame->pieces));
    }
    frame->pieces[frame->count++] = piece;
}

static int limit_width(const struct frame *frame, int row, int column, int width)
{
    if (row < 0 || row >= frame->rows || column < 0 || column >= frame->columns)
        return 0;
    return width < frame->columns - column ? width : frame->columns - column;
}

int frame_put(struct frame *frame, int row, int column, int width, enum screen_style style,
              const char *bytes, size_t size)
{
    int used = 0;

    width = limit_width(frame, row, column, width);
    if (width > 0 && size > 0)
        add_piece(frame,
                  (struct frame_piece){row, column, style, as_text(bytes, size, width, &used)});
    return used;
}

int frame_put_text(struct frame *frame, int row, int column, int width, enum screen_style style,
                   const char *text)
{
    return frame_put(frame, row, column, width, style, text, strlen(text));
}

void frame_put_right(struct frame *frame, int row, int column, int width,
                     enum screen_style style, const char *text)
{
    int size = (int)strlen(text);

    frame_put_text(frame, row, size < width ? column + width - size : column, width, style,
                   text);
}

void frame_fill(struct frame *frame, int row, enum screen_style style)
{
    int width = limit_width(frame, row, 0, frame->columns);
    char *blanks;

    if (width <= 0)
        return;
    blanks = client_allocate(NULL, (size_t)width + 1);
    memset(blanks, ' ', (size_t)width);
    blanks[width] = '\0';
    add_piece(frame, (struct frame_piece){row, 0, style, blanks});
}
