#include "protocol/resp_writer.h"

#include "protocol/number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_MAX = 32 };

/* Writes a type byte, a number and CRLF; returns the size. */
static size_t write_header(char *text, char type, int64_t number)
{
    size_t size;

    text[0] = type;
    size = 1 + number_format_integer(text + 1, number);
    text[size++] = '\r';
    text[size++] = '\n';
    return size;
}

static void append_header(struct resp_writer *writer, char type, int64_t number)
{
    char *space = buffer_reserve(writer->out, HEADER_MAX);

    if (space != NULL)
        buffer_commit(writer->out, write_header(space, type, number));
}

static void append_text(struct resp_writer *writer, const char *text)
{
    buffer_append(writer->out, text, strlen(text));
}

/* Writes a line. CR and LF become spaces, because they would end the line. */
static void append_line(struct resp_writer *writer, char type, const char *text)
{
    size_t size = strlen(text);
    char *space = buffer_reserve(writer->out, size + 3);

    if (space == NULL)
        return;
    space[0] = type;
    for (size_t i = 0; i < size; i++)
        space[i + 1] = text[i] == '\r' || text[i] == '\n' ? ' ' : text[i];
    memcpy(space + size + 1, "\r\n", 2);
    buffer_commit(writer->out, size + 3);
}

void resp_simple(struct resp_writer *writer, const char *text)
{
    append_line(writer, '+', text);
}

void resp_error(struct resp_writer *writer, const char *text)
{
    append_line(writer, '-', text);
}

void resp_errorf(struct resp_writer *writer, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    resp_error(writer, text);
}

void resp_integer(struct resp_writer *writer, int64_t number)
{
    append_header(writer, ':', number);
}

static bool may_come_later(const struct resp_writer *writer, size_t size)
{
    return size >= RESP_LARGE_BULK && writer->lender != NULL &&
           buffer_has_room(writer->out, size + 4 * HEADER_MAX);
}

static void append_later(struct resp_writer *writer, const char *before,
                         const struct buffer_source *source, const char *after)
{
    append_header(writer, '$', (int64_t)(strlen(before) + source->size + strlen(after)));
    append_text(writer, before);
    buffer_append_later(writer->out, source);
    append_text(writer, after);
    append_text(writer, "\r\n");
}

bool resp_bulk_later_between(struct resp_writer *writer, const char *before,
                             const struct buffer_source *source, const char *after)
{
    if (!may_come_later(writer, strlen(before) + source->size + strlen(after)) ||
        source->size < RESP_LARGE_BULK)
        return false;
    append_later(writer, before, source, after);
    return true;
}

bool resp_bulk_later(struct resp_writer *writer, const struct buffer_source *source)
{
    return resp_bulk_later_between(writer, "", source, "");
}

/* False: nothing is written. */
static bool write_lent(struct resp_writer *writer, const void *data, size_t size)
{
    const struct resp_lender *lender = writer->lender;
    struct buffer_source source;

    if (!may_come_later(writer, size) || !lender->lend(lender->arg, data, size, &source))
        return false;
    append_later(writer, "", &source, "");
    return true;
}

void resp_bulk(struct resp_writer *writer, const void *data, size_t size)
{
    char *space;
    size_t head;

    if (write_lent(writer, data, size))
        return;
    space = buffer_reserve(writer->out, size + HEADER_MAX);
    if (space == NULL)
        return;
    head = write_header(space, '$', (int64_t)size);
    if (size > 0)
        memcpy(space + head, data, size);
    memcpy(space + head + size, "\r\n", 2);
    buffer_commit(writer->out, head + size + 2);
}

void resp_string(struct resp_writer *writer, const char *text)
{
    resp_bulk(writer, text, strlen(text));
}

void resp_bulk_integer(struct resp_writer *writer, int64_t number)
{
    char text[NUMBER_TEXT_MAX];

    resp_bulk(writer, text, number_format_integer(text, number));
}

void resp_bulk_double(struct resp_writer *writer, double number)
{
    char text[NUMBER_TEXT_MAX];

    resp_bulk(writer, text, number_format_double(text, number));
}

void resp_double(struct resp_writer *writer, double number)
{
    char text[NUMBER_TEXT_MAX];

    if (writer->version < 3) {
        resp_bulk_double(writer, number);
        return;
    }
    number_format_double(text, number);
    append_line(writer, ',', text);
}

void resp_boolean(struct resp_writer *writer, int truth)
{
    if (writer->version >= 3)
        append_text(writer, truth ? "#t\r\n" : "#f\r\n");
    else
        resp_integer(writer, truth != 0);
}

void resp_null(struct resp_writer *writer)
{
    append_text(writer, writer->version >= 3 ? "_\r\n" : "$-1\r\n");
}

void resp_null_array(struct resp_writer *writer)
{
    append_text(writer, writer->version >= 3 ? "_\r\n" : "*-1\r\n");
}

void resp_big_number(struct resp_writer *writer, const char *digits)
{
    if (writer->version >= 3)
        append_line(writer, '(', digits);
    else
        resp_string(writer, digits);
}

void resp_verbatim(struct resp_writer *writer, const char *format3, const void *data,
                   size_t size)
{
    if (writer->version < 3) {
        resp_bulk(writer, data, size);
        return;
    }
    append_header(writer, '=', (int64_t)size + 4);
    buffer_append(writer->out, format3, 3);
    append_text(writer, ":");
    buffer_append(writer->out, data, size);
    append_text(writer, "\r\n");
}

/* ---- headers */

/* Returns the type byte of an aggregate in this version of RESP, and adapts the count. */
static char aggregate_type(const struct resp_writer *writer, char type, uint64_t *count)
{
    if (writer->version >= 3)
        return type;
    if (type == '%')
        *count *= 2;
    return '*';
}

static void append_aggregate(struct resp_writer *writer, char type, uint64_t count)
{
    char shown = aggregate_type(writer, type, &count);

    append_header(writer, shown, (int64_t)count);
}

void resp_array(struct resp_writer *writer, uint64_t count)
{
    append_aggregate(writer, '*', count);
}

void resp_map(struct resp_writer *writer, uint64_t pairs)
{
    append_aggregate(writer, '%', pairs);
}

void resp_set(struct resp_writer *writer, uint64_t count)
{
    append_aggregate(writer, '~', count);
}

void resp_push(struct resp_writer *writer, uint64_t count)
{
    append_aggregate(writer, '>', count);
}

void resp_attribute(struct resp_writer *writer, uint64_t pairs)
{
    if (writer->version >= 3)
        append_header(writer, '|', (int64_t)pairs);
}

size_t resp_deferred(struct resp_writer *writer)
{
    return buffer_size(writer->out);
}

static void insert_aggregate(struct resp_writer *writer, size_t mark, char type, uint64_t count)
{
    char text[HEADER_MAX];
    char shown = aggregate_type(writer, type, &count);

    buffer_insert(writer->out, mark, text, write_header(text, shown, (int64_t)count));
}

void resp_deferred_array(struct resp_writer *writer, size_t mark, uint64_t count)
{
    insert_aggregate(writer, mark, '*', count);
}

void resp_deferred_map(struct resp_writer *writer, size_t mark, uint64_t pairs)
{
    insert_aggregate(writer, mark, '%', pairs);
}

void resp_deferred_set(struct resp_writer *writer, size_t mark, uint64_t count)
{
    insert_aggregate(writer, mark, '~', count);
}

void resp_deferred_scan(struct resp_writer *writer, size_t mark, const char *cursor,
                        uint64_t count)
{
    char head[160];
    int size = snprintf(head, sizeof(head), "*2\r\n$%zu\r\n%s\r\n*%" PRIu64 "\r\n",
                        strlen(cursor), cursor, count);

    buffer_insert(writer->out, mark, head, (size_t)size);
}

size_t resp_reserved(struct resp_writer *writer)
{
    size_t mark = buffer_size(writer->out);
    char *space = buffer_reserve(writer->out, HEADER_MAX);

    if (space == NULL)
        return mark;
    memset(space, '*', HEADER_MAX); /* the type byte of the array that follows */
    buffer_commit(writer->out, HEADER_MAX);
    return mark;
}

/* Puts a header of `size` bytes into the end of the room. */
static void place_header(struct resp_writer *writer, size_t mark, const char *text, size_t size)
{
    memcpy(buffer_content(writer->out) + mark + HEADER_MAX - size, text, size);
    buffer_cut(writer->out, mark, HEADER_MAX - size);
}

static void fill_reserved(struct resp_writer *writer, size_t mark, char type, uint64_t count)
{
    char text[HEADER_MAX];
    char shown = aggregate_type(writer, type, &count);

    if (!writer->out->overflowed)
        place_header(writer, mark, text, write_header(text, shown, (int64_t)count));
}

void resp_reserved_array(struct resp_writer *writer, size_t mark, uint64_t count)
{
    fill_reserved(writer, mark, '*', count);
}

void resp_reserved_map(struct resp_writer *writer, size_t mark, uint64_t pairs)
{
    fill_reserved(writer, mark, '%', pairs);
}

void resp_reserved_verbatim(struct resp_writer *writer, size_t mark, const char *format3)
{
    size_t content = buffer_size(writer->out) - mark - HEADER_MAX, size;
    bool is_verbatim = writer->version >= 3;
    char text[HEADER_MAX];

    append_text(writer, "\r\n");
    if (writer->out->overflowed)
        return;
    size = write_header(text, is_verbatim ? '=' : '$',
                        (int64_t)(is_verbatim ? content + 4 : content));
    if (is_verbatim) {
        memcpy(text + size, format3, 3);
        text[size + 3] = ':';
        size += 4;
    }
    place_header(writer, mark, text, size);
}
