/* The puts and deletes since the last commit, as the payload of a journal record. Private to
 * storage/kv. Encoding: FORMAT.md. */
#ifndef DUEQ_BATCH_H
#define DUEQ_BATCH_H

#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct large_value;

enum { BATCH_COPY_MAX = 16 * 1024 }; /* larger values are held, not copied */

/* A value that is written from where it lies. */
struct batch_reference {
    size_t at; /* bytes of the batch before it */
    struct large_value *value;
};

struct batch {
    uint8_t *bytes;
    size_t size, capacity;
    struct batch_reference *references;
    size_t reference_count, reference_capacity;
    size_t referred; /* bytes */
    struct iovec *parts;
};

void batch_release(struct batch *batch);
void batch_clear(struct batch *batch); /* keeps some memory */

static inline size_t batch_bytes(const struct batch *batch)
{
    return batch->size + batch->referred;
}

/* False: out of memory. Values of at most BATCH_COPY_MAX bytes. */
bool batch_put(struct batch *batch, struct dueq_slice key, const uint8_t *value, size_t size);
/* The value is held until the batch is cleared. */
bool batch_put_large(struct batch *batch, struct dueq_slice key, struct large_value *value);
bool batch_del(struct batch *batch, struct dueq_slice key);

/* The payload in pieces; valid until the next change. NULL: out of memory. */
struct iovec *batch_parts(struct batch *batch, int *ret_count);

/* One operation of a payload. */
struct batch_operation {
    bool put;
    struct dueq_slice key, value;
};
/* Takes the next operation off the payload; false: malformed. */
bool batch_read(const uint8_t **at, const uint8_t *end, struct batch_operation *ret_operation);

#endif
