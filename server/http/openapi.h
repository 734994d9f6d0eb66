/* The description of the API in OpenAPI 3, made from the table of routes. */
#ifndef DUEQ_OPENAPI_H
#define DUEQ_OPENAPI_H

#include "protocol/buffer.h"

#define OPENAPI_PATH "/v1/openapi.json"

void openapi_write(struct buffer *out);

#endif
