/* Writes replies, each exactly as Redis 7.0 encodes it, for RESP2 or RESP3. What RESP2 has no
 * type for is written as Redis does there (a map as a flat array of twice the length, a double
 * as a bulk string, null as $-1 or *-1, a boolean as :1 or :0, ...). */
#ifndef DUEQ_RESP_WRITER_H
#define DUEQ_RESP_WRITER_H

#include "protocol/buffer.h"

#include <stdint.h>

enum { RESP_LARGE_BULK = 1024 * 1024 };

/* Asked for each bulk of RESP_LARGE_BULK and more: can its bytes be copied later? True: then
 * *ret_source says who keeps them until then. */
struct resp_lender {
    bool (*lend)(void *arg, const void *data, size_t size, struct buffer_source *ret_source);
    void *arg;
};

struct resp_writer {
    struct buffer *out;
    int version;                      /* 2 or 3 */
    const struct resp_lender *lender; /* NULL: all bytes are copied at once */
};

void resp_simple(struct resp_writer *writer, const char *text); /* +OK */
/* text begins with the error's code ("ERR ", "STALE "); CR and LF become spaces. */
void resp_error(struct resp_writer *writer, const char *text);
void resp_errorf(struct resp_writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void resp_integer(struct resp_writer *writer, int64_t number);
void resp_bulk(struct resp_writer *writer, const void *data, size_t size);
/* The same of bytes that are copied later: what buffer_append_later says of the source. False:
 * it is short, or the writer copies all at once; nothing is written, the source is the
 * caller's.
 */
bool resp_bulk_later(struct resp_writer *writer, const struct buffer_source *source);
/* The same of a bulk in which these bytes are between two texts. */
bool resp_bulk_later_between(struct resp_writer *writer, const char *before,
                             const struct buffer_source *source, const char *after);
void resp_string(struct resp_writer *writer, const char *text); /* bulk of a C string */
void resp_bulk_integer(struct resp_writer *writer, int64_t number);
void resp_double(struct resp_writer *writer, double number);
void resp_bulk_double(struct resp_writer *writer, double number); /* a bulk in RESP3 too */
void resp_boolean(struct resp_writer *writer, int truth);
void resp_null(struct resp_writer *writer);       /* $-1 or _ */
void resp_null_array(struct resp_writer *writer); /* *-1 or _ */
void resp_big_number(struct resp_writer *writer, const char *digits);
void resp_verbatim(struct resp_writer *writer, const char *format3, const void *data,
                   size_t size);

/* Headers: the elements follow. */
void resp_array(struct resp_writer *writer, uint64_t count);
void resp_map(struct resp_writer *writer, uint64_t pairs);
void resp_set(struct resp_writer *writer, uint64_t count);
void resp_push(struct resp_writer *writer, uint64_t count);      /* RESP2: array */
void resp_attribute(struct resp_writer *writer, uint64_t pairs); /* RESP3 only; else nothing */

/* Headers whose count is known only afterwards:
 *     size_t mark = resp_deferred(writer);
 *     ...elements...
 *     resp_deferred_array(writer, mark, n);
 * mark is an offset into the content: nothing may be consumed from the buffer in between. The
 * elements are moved to make room for the header. */
size_t resp_deferred(struct resp_writer *writer);
void resp_deferred_array(struct resp_writer *writer, size_t mark, uint64_t count);
void resp_deferred_map(struct resp_writer *writer, size_t mark, uint64_t pairs);
void resp_deferred_set(struct resp_writer *writer, size_t mark, uint64_t count);
/* As SCAN replies: an array of a cursor (less than 64 bytes) and of the array of elements. */
void resp_deferred_scan(struct resp_writer *writer, size_t mark, const char *cursor,
                        uint64_t count);

/* The same for many elements: room is reserved first, and the content before the mark moves
 * instead of the elements. */
size_t resp_reserved(struct resp_writer *writer);
void resp_reserved_array(struct resp_writer *writer, size_t mark, uint64_t count);
void resp_reserved_map(struct resp_writer *writer, size_t mark, uint64_t pairs);
/* As resp_verbatim: the text is all that has been written since. */
void resp_reserved_verbatim(struct resp_writer *writer, size_t mark, const char *format3);

#endif
