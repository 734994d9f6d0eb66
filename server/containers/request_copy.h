/* A request that outlives its reader: arguments and bytes in one block. */
#ifndef DUEQ_REQUEST_COPY_H
#define DUEQ_REQUEST_COPY_H

#include "protocol/request.h"

/* Bytes that a copy takes. */
size_t request_copy_size(const struct request *request);

/* Makes it at `space`, aligned as a pointer is; lives as long as that does. */
struct request request_copy(const struct request *request, void *space);

#endif
