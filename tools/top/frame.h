/* What is to stand on a screen of a given size: pieces of text with a style. It knows no
 * terminal. */
#ifndef DUEQ_FRAME_H
#define DUEQ_FRAME_H

#include "tools/terminal/screen.h"

#include <stddef.h>

struct frame_piece {
    int row, column;
    enum screen_style style;
    char *text;
};

struct frame {
    int rows, columns;
    struct frame_piece *pieces; /* in the order in which they came */
    size_t count, room;
};

void frame_begin(struct frame *frame, int rows, int columns);
void frame_release(struct frame *frame);

/* Writes bytes from a column on, in at most `width` columns; '>' ends what was cut. What is no
 * printable character of the locale stands there as \x1b. Nothing is written outside of the
 * frame. Returns the columns that it took. */
int frame_put(struct frame *frame, int row, int column, int width, enum screen_style style,
              const char *bytes, size_t size);
int frame_put_text(struct frame *frame, int row, int column, int width, enum screen_style style,
                   const char *text);
/* The same, at the right end of these columns. */
void frame_put_right(struct frame *frame, int row, int column, int width,
                     enum screen_style style, const char *text);
/* A row full of blanks in that style. */
void frame_fill(struct frame *frame, int row, enum screen_style style);

#endif
