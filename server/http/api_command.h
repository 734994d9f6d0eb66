/* A request of the API becomes the request of RESP that it stands for. Knows no connection. */
#ifndef DUEQ_API_COMMAND_H
#define DUEQ_API_COMMAND_H

#include "protocol/buffer.h"
#include "protocol/http_head.h"
#include "server/http/api_routes.h"

#include <jansson.h>

enum {
    API_WAIT_MAX_MS = 10 * 60 * 1000, /* of a request that waits */
    API_JSON_MAX = 256 * 1024,        /* bytes of JSON in a request: a millisecond or two */
    API_JOBS_MAX = 1000,
    API_AFTER_MAX = 10000
};

struct api_error {
    char text[200]; /* "ERR ..." */
};

/* The bytes of a request are `head`, the raw body, if it is sent so, and `tail`. */
struct api_command {
    struct buffer head, tail;
    size_t count;    /* arguments */
    bool has_raw;    /* the raw body's place was found */
    int64_t wait_ms; /* it may wait that long; 0: it does not wait */
};

/* The parameters of a query. NULL: error. The caller owns it: json_decref. */
json_t *api_read_query(struct http_part query, struct api_error *error);
/* Adds those of a JSON body. False: error. */
bool api_read_json(json_t *params, const char *bytes, size_t size, struct api_error *error);

/* raw: bytes of a raw body, which is the parameter `body`; -1: there is none. params: its texts
 * may change. False: error; the command is to be released in any case. */
bool api_command_build(const struct route *route, const struct route_values *values,
                       json_t *params, int64_t raw, struct api_command *ret_command,
                       struct api_error *error);
void api_command_release(struct api_command *command);

#endif
