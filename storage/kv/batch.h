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

enum { BATCH_COPY_MAX = 16 * 1024 }; /* bytes; larger values are referred to */

/* A value that is not copied into the batch. */
struct batch_reference {
    size_t at;                 /* how many of `bytes` come before it */
    struct large_value *value; /* held */
};

struct batch {
    uint8_t *bytes;
    size_t size, capacity;
    struct batch_reference *references;
    size_t reference_count, reference_capacity;
    size_t referred;     /* bytes of all references */
    struct iovec *parts; /* what batch_parts has returned */
};

void batch_release(struct batch *batch);
void batch_clear(struct batch *batch); /* empties it; keeps some memory for the next */

static inline size_t batch_bytes(const struct batch *batch)
{
    return batch->size + batch->referred;
}

/* Copies key and value; the value has BATCH_COPY_MAX bytes at most. False: out of memory. */
bool batch_put(struct batch *batch, struct dueq_slice key, const uint8_t *value, size_t size);
/* Holds the value until the batch is cleared. */
bool batch_put_large(struct batch *batch, struct dueq_slice key, struct large_value *value);
bool batch_del(struct batch *batch, struct dueq_slice key);

/* The payload in pieces; the batch's, valid until it changes. NULL: out of memory. */
struct iovec *batch_parts(struct batch *batch, int *ret_count);

/* One operation of a payload. */
struct batch_operation {
    bool put;
    struct dueq_slice key, value;
};
/* Reads the operation at *at and moves *at past it. The slices point into the payload. False:
 * the payload is malformed. */
bool batch_read(const uint8_t **at, const uint8_t *end, struct batch_operation *ret_operation);

#endif
