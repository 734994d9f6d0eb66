/* A copy of a request in one block, which outlives the reader's buffers. */
#ifndef DUEQ_REQUEST_COPY_H
#define DUEQ_REQUEST_COPY_H

#include "protocol/request.h"

#include <stdint.h>

/* Bytes of memory that a copy needs. */
size_t request_copy_size(const struct request *request);

/* Copies to `space`, which is aligned for a pointer and has request_copy_size bytes. The copy
 * is valid as long as `space`. */
struct request request_copy(const struct request *request, void *space);

/* The same, but arguments that begin at one of these addresses are not copied: the copy refers
 * to them where they are. O(arguments * kept_count). */
size_t request_copy_size_but(const struct request *request, const uint8_t *const *kept,
                             size_t kept_count);
struct request request_copy_but(const struct request *request, void *space,
                                const uint8_t *const *kept, size_t kept_count);

#endif
