#include "tools/client/columns.h"

#include "protocol/utf8.h"
#include "tools/client/client_call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2, WIDE = 1 << 20, LEAST_LAST = 16 };

/* ---- colours */

static bool paints(void)
{
    static int known = -1;
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

    if (known < 0)
        known = isatty(STDOUT_FILENO) && (none == NULL || none[0] == '\0') &&
                terminal != NULL && strcmp(terminal, "dumb") != 0;
    return known == 1;
}

const char *paint_begin(enum paint paint)
{
    static const char *const codes[] = {
        [PAINT_NONE] = "",         [PAINT_HEAD] = "\033[1m",  [PAINT_GOOD] = "\033[32m",
        [PAINT_BUSY] = "\033[33m", [PAINT_WAIT] = "\033[36m", [PAINT_BAD] = "\033[31m"};

    return paints() ? codes[paint] : "";
}

const char *paint_end(void)
{
    return paints() ? "\033[0m" : "";
}

enum paint paint_of_state(const char *state)
{
    static const struct {
        const char *state;
        enum paint paint;
    } known[] = {{"ready", PAINT_GOOD},
                 {"claimed", PAINT_BUSY},
                 {"delayed", PAINT_WAIT},
                 {"waiting", PAINT_WAIT},
                 {"dead", PAINT_BAD}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].state, state) == 0)
            return known[i].paint;
    return PAINT_NONE;
}

/* ---- bytes as text */

/* How many bytes from here on are one plain character; 0: the byte is to be escaped. */
static size_t plain_size(const char *bytes, size_t size, bool lines)
{
    unsigned char byte = (unsigned char)bytes[0];

    size_t character = utf8_character((const uint8_t *)bytes, size);

    if (byte < 0x80)
        return (byte >= 0x20 && byte != 0x7f) || (lines && (byte == '\n' || byte == '\t'));
    if (character == 2 && byte == 0xc2 && (unsigned char)bytes[1] < 0xa0)
        return 0; /* U+0080 to U+009F are controls */
    return character;
}

void columns_write_bytes(FILE *to, const char *bytes, size_t size, bool lines)
{
    for (size_t at = 0; at < size;) {
        size_t plain = plain_size(bytes + at, size - at, lines);

        if (plain > 0)
            fwrite(bytes + at, 1, plain, to);
        else if (bytes[at] == '\n')
            fputs("\\n", to);
        else
            fprintf(to, "\\x%02x", (unsigned char)bytes[at]);
        at += plain > 0 ? plain : 1;
    }
}

void columns_print_bytes(const char *bytes, size_t size, bool lines)
{
    columns_write_bytes(stdout, bytes, size, lines);
}

static char *as_text(const char *bytes, size_t size)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);

    if (memory != NULL) {
        columns_write_bytes(memory, bytes, size, false);
        fclose(memory);
    }
    return text != NULL ? text : client_allocate(NULL, 0);
}

static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* ---- columns */

static size_t terminal_width(void)
{
    struct winsize size;

    if (!isatty(STDOUT_FILENO))
        return WIDE;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void columns_add(struct columns *columns, const char *head, bool right)
{
    assert(columns->count < COLUMNS_MOST);
    columns->heads[columns->count] = head;
    columns->right[columns->count] = right;
    columns->widths[columns->count++] = width_of(head);
}

void columns_put(struct columns *columns, const char *bytes, size_t size, enum paint paint)
{
    size_t at = columns->cell_count++, column = at % (size_t)columns->count, width;

    if ((at & (at + 1)) == 0) { /* at the powers of two */
        columns->cells =
            client_allocate(columns->cells, 2 * (at + 1) * sizeof(*columns->cells));
        columns->paints =
            client_allocate(columns->paints, 2 * (at + 1) * sizeof(*columns->paints));
    }
    columns->cells[at] = as_text(bytes, size);
    columns->paints[at] = paint;
    width = width_of(columns->cells[at]);
    if (width > columns->widths[column])
        columns->widths[column] = width;
}

void columns_put_text(struct columns *columns, const char *text)
{
    columns_put(columns, text, strlen(text), PAINT_NONE);
}

void columns_put_number(struct columns *columns, int64_t number)
{
    char text[32];

    snprintf(text, sizeof(text), "%" PRId64, number);
    columns_put_text(columns, text);
}

/* Cuts a text to a number of characters, the last of which says so. */
static void cut(char *text, size_t width)
{
    size_t seen = 0;

    if (width_of(text) <= width)
        return;
    for (; *text != '\0'; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && ++seen == width) {
            text[0] = '>';
            text[1] = '\0';
            return;
        }
}

static void print_cell(const struct columns *columns, int column, char *text, enum paint paint)
{
    bool last = column == columns->count - 1;
    size_t width = columns->widths[column], used;

    if (last)
        cut(text, width);
    used = width_of(text);
    if (columns->right[column])
        printf("%*s", (int)(width > used ? width - used : 0), "");
    printf("%s%s%s", paint_begin(paint), text, paint_end());
    if (!last)
        printf("%*s", (int)((columns->right[column] || width < used ? 0 : width - used) + GAP),
               "");
    else
        putchar('\n');
}

/* The last column gets what the others leave of the terminal. */
static void limit_last(struct columns *columns)
{
    size_t room = terminal_width(), last = (size_t)columns->count - 1;

    for (size_t i = 0; i < last; i++)
        room -= columns->widths[i] + GAP < room ? columns->widths[i] + GAP : room;
    if (room < LEAST_LAST)
        room = LEAST_LAST;
    if (columns->widths[last] > room)
        columns->widths[last] = room;
}

void columns_print(struct columns *columns)
{
    limit_last(columns);
    for (int i = 0; i < columns->count && !columns->began && columns->cell_count > 0; i++) {
        char *head = strdup(columns->heads[i]);

        if (head != NULL)
            print_cell(columns, i, head, PAINT_HEAD);
        free(head);
    }
    columns->began = columns->began || columns->cell_count > 0;
    for (size_t i = 0; i < columns->cell_count; i++) {
        print_cell(columns, (int)(i % (size_t)columns->count), columns->cells[i],
                   columns->paints[i]);
        free(columns->cells[i]);
    }
    columns->cell_count = 0;
}

void columns_release(struct columns *columns)
{
    for (size_t i = 0; i < columns->cell_count; i++)
        free(columns->cells[i]);
    free(columns->cells);
    free(columns->paints);
    *columns = (struct columns){0};
}
