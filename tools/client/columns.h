/* Lines of aligned columns, for people. Bytes that would disturb a terminal are shown as \x1b.
 */
#ifndef DUEQ_COLUMNS_H
#define DUEQ_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { COLUMNS_MOST = 12 };

/* Colours only on a terminal, and not with NO_COLOR. */
enum paint { PAINT_NONE, PAINT_HEAD, PAINT_GOOD, PAINT_BUSY, PAINT_WAIT, PAINT_BAD };
const char *paint_begin(enum paint paint);
const char *paint_end(void);
enum paint paint_of_state(const char *state);

/* Writes bytes to standard output with those escaped that are not plain text; line feeds too,
 * unless `lines`. */
void columns_print_bytes(const char *bytes, size_t size, bool lines);
void columns_write_bytes(FILE *to, const char *bytes, size_t size, bool lines);

struct columns {
    int count;
    const char *heads[COLUMNS_MOST];
    bool right[COLUMNS_MOST]; /* numbers */
    size_t widths[COLUMNS_MOST];
    char **cells; /* row by row */
    enum paint *paints;
    size_t cell_count;
    bool began; /* the heads are printed */
};

/* A column, of COLUMNS_MOST; the last one may be as wide as the terminal lets it be. */
void columns_add(struct columns *columns, const char *head, bool right);
/* The next cell, from the left. */
void columns_put(struct columns *columns, const char *bytes, size_t size, enum paint paint);
void columns_put_text(struct columns *columns, const char *text);
void columns_put_number(struct columns *columns, int64_t number);
/* Prints what was put, with the heads once, and forgets it. */
void columns_print(struct columns *columns);
void columns_release(struct columns *columns);

#endif
