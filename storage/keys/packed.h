/* A short sequence of cells in one piece of memory: how small values stand in the record of
 * their key. A cell is a size (bytes_write_number) and that many bytes. Private to
 * storage/keys.
 */
#ifndef DUEQ_PACKED_H
#define DUEQ_PACKED_H

#include "storage/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum { PACKED_SIZE_LONG = 248 }; /* sizes below take one byte */

/* A zeroed one is empty. */
struct packed {
    uint8_t *bytes; /* NULL: nothing was ever put into it */
    size_t size, capacity;
};

void packed_release(struct packed *packed);
static inline struct dueq_slice packed_slice(const struct packed *packed)
{
    return dueq_slice(packed->bytes, packed->size);
}

/* Bytes that a cell takes whose content has that size. */
size_t packed_cell_size(size_t content);

/* Of a cell of any size. */
bool packed_read(struct dueq_slice cells, size_t *at, struct dueq_slice *ret_content);

/* The cell at *at, which moves behind it. False: there is none, or none that is whole. Small
 * ones without a call, as looking for one means passing many. */
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

/* Cells with these contents take the place of the bytes between two places of cells. The
 * contents may not lie in `packed`. False: out of memory, and nothing has changed. */
bool packed_splice(struct packed *packed, size_t from, size_t to,
                   const struct dueq_slice *contents, size_t count);

/* Takes over the bytes as they are. False: out of memory. */
bool packed_load(struct packed *packed, struct dueq_slice cells);

/* An integer of 64 bits as it is printed: no plus, no leading zeros, no -0. */
bool packed_is_integer(struct dueq_slice text);
/* Of two such: negative, 0 or positive, in the order of the numbers. */
int packed_compare_integers(struct dueq_slice left, struct dueq_slice right);

#endif
