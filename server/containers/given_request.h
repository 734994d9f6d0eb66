/* Memory of a request that a reader has given away. */
#ifndef DUEQ_GIVEN_REQUEST_H
#define DUEQ_GIVEN_REQUEST_H

#include "protocol/resp_reader.h"

size_t given_request_bytes(const struct resp_given *given);
/* Frees it, later when that takes long. */
void given_request_release(struct resp_given *given);
/* The same, and the malloc'ed `given` itself; NULL is fine. */
void given_request_free(struct resp_given *given);

#endif
