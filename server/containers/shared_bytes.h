/* Large bytes that several replies or messages contain: each output copies them in later turns
 * (buffer_append_later), and the last one to let go of them frees them. Only for the loop. */
#ifndef DUEQ_SHARED_BYTES_H
#define DUEQ_SHARED_BYTES_H

#include "protocol/resp_writer.h"

struct shared_bytes;

/* Refers to `size` bytes at `data`, which the caller keeps until shared_bytes_own. The caller
 * holds them. NULL: out of memory. O(1). */
struct shared_bytes *shared_bytes_new(const void *data, size_t size);
/* Takes over the memory of `size` bytes that malloc has made and that contains the bytes. */
void shared_bytes_own(struct shared_bytes *shared, void *memory, size_t size);
/* The same of a buffer, which is empty then; its content is the bytes. */
void shared_bytes_own_buffer(struct shared_bytes *shared, struct buffer *buffer);

void shared_bytes_hold(struct shared_bytes *shared);
void shared_bytes_let_go(struct shared_bytes *shared); /* NULL: no-op */
/* How often they are held: by outputs that are yet to copy them, among others. */
size_t shared_bytes_holders(const struct shared_bytes *shared);

/* Writes a bulk, which copies the bytes later if it can. */
void shared_bytes_write(struct shared_bytes *shared, struct resp_writer *writer);
/* Writes the bytes as they are, likewise. */
void shared_bytes_write_plain(struct shared_bytes *shared, struct resp_writer *writer);

#endif
