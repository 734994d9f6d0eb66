/* The puts and deletes since the last commit, as the payload of a journal record. Private to
 * storage/kv. Encoding: FORMAT.md. */
#ifndef DUEQ_STORAGE_BATCH_H
#define DUEQ_STORAGE_BATCH_H

#include "storage/slice.h"
#include "storage/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

enum { BATCH_COPY_MAX = 16 * 1024 }; /* larger values are referred to, not copied */

/* A value that is written from where it lies. */
struct batch_reference {
    size_t at; /* bytes of the batch before it */
    const uint8_t *data;
    size_t size;
    uint8_t *owned; /* a copy, when the original was about to change */
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

/* stored: the memtable's copy of the value, which stays until batch_detach names it. False: out
 * of memory. */
bool batch_put(struct batch *batch, struct dueq_slice key, const uint8_t *stored, size_t size);
bool batch_del(struct batch *batch, struct dueq_slice key);

/* The bytes at `stored` are about to change: keep a copy if the batch refers to them. */
bool batch_detach(struct batch *batch, const uint8_t *stored);

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
