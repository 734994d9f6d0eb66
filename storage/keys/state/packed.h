/* A short sequence of cells in one piece of memory, the form of a small value in the record of
 * its key. A cell is a size (bytes_write_number) and that many bytes. Private to
 * storage/keys. */
#ifndef DUEQ_PACKED_H
#define DUEQ_PACKED_H

#include "storage/bytes.h"
#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { PACKED_SIZE_LONG = 248 }; /* sizes below take one byte */

/* A zeroed one is empty. */
struct packed {
    uint8_t *bytes; /* NULL: never used */
    size_t size, capacity;
};

void packed_release(struct packed *packed);
static inline struct dueq_slice packed_slice(const struct packed *packed)
{
    return dueq_slice(packed->bytes, packed->size);
}

/* The size of a cell, bytes, whose content has that size. */
size_t packed_cell_size(size_t content);

/* As packed_next, which calls it for large cells. */
bool packed_read(struct dueq_slice cells, size_t *at, struct dueq_slice *ret_content);

/* Reads the cell at *at and advances *at to the next one. False: there is none, or it is not
 * complete. Inline for small cells, because a search passes many of them. */
static inline bool packed_next(struct dueq_slice cells, size_t *at,
                               struct dueq_slice *ret_content)
{
    const uint8_t *bytes;

    if (*at >= cells.size)
        return false;
    bytes = (const uint8_t *)cells.data + *at;
    if (*bytes >= PACKED_SIZE_LONG || *bytes >= cells.size - *at)
        return packed_read(cells, at, ret_content);
    *ret_content = dueq_slice(bytes + 1, *bytes);
    *at += 1 + (size_t)*bytes;
    return true;
}

/* Replaces the bytes from `from` to before `to`, which are both at the start of a cell or at
 * the end, by cells with these contents. The contents must not point into `packed`. False: out
 * of memory, and nothing has changed. */
bool packed_splice(struct packed *packed, size_t from, size_t to,
                   const struct dueq_slice *contents, size_t count);

/* Copies the cells. False: out of memory. */
bool packed_load(struct packed *packed, struct dueq_slice cells);

/* Is it a 64-bit integer in its canonical form: no plus, no leading zeros, no -0? */
bool packed_is_integer(struct dueq_slice text);
/* Compares two such integers: negative, 0 or positive, by their values. */
int packed_compare_integers(struct dueq_slice left, struct dueq_slice right);

#endif
