/* The description of the API in OpenAPI 3, made from the table of routes. */
#ifndef DUEQ_OPENAPI_H
#define DUEQ_OPENAPI_H

#include "protocol/buffer.h"

#define OPENAPI_PATH "/v1/openapi.json"

/* dashboard_port: 0: the dashboard is off, and its paths are not there. */
void openapi_write(struct buffer *out, int dashboard_port);

#endif
