/* Records that have a place in a segment and are not written yet, one after the other: the
 * owner adds some while the sync thread writes those of another stage. No files here, and no
 * lock: the journal has one. */
#ifndef DUEQ_STAGE_H
#define DUEQ_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct segment_file;

/* libdueq-small has none: there the owner writes every record itself. */
#ifdef DUEQ_SMALL
enum { STAGE_IS_BUILT = 0 };
#else
enum { STAGE_IS_BUILT = 1 };
#endif

/* All zeros: empty. */
struct stage {
    uint8_t *bytes;
    size_t size, capacity;
    struct segment_file *segment; /* all records are of this one, */
    uint64_t offset;              /* from here on */
    uint64_t first;               /* LSN of the first record; 0: there is none */
};

void stage_release(struct stage *stage);

/* Room for so many more bytes. False: out of memory. Amortised O(1). */
bool stage_reserve(struct stage *stage, size_t space);

/* Copies the parts behind what is there. There is room (stage_reserve). */
void stage_add(struct stage *stage, const struct iovec *parts, int count);

/* After what it has was written. Keeps some memory for the next records. */
void stage_clear(struct stage *stage);

#endif
