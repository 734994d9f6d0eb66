/* client-output-buffer-limit: how much output a client may leave unread, by its class. */
#ifndef DUEQ_OUTPUT_LIMITS_H
#define DUEQ_OUTPUT_LIMITS_H

#include "protocol/request.h"

#include <stdint.h>

enum client_class { CLIENT_NORMAL, CLIENT_REPLICA, CLIENT_PUBSUB, CLIENT_CLASSES };

struct output_limit {
    int64_t hard;    /* bytes at which the client is closed at once; 0: no limit */
    int64_t soft;    /* bytes; a client above it for `seconds` is closed; 0: no limit */
    int64_t seconds; /* 0: no soft limit */
};

struct output_limits {
    struct output_limit of[CLIENT_CLASSES];
};

/* Reads "class hard soft seconds" any number of times; other classes keep their limits. Returns
 * NULL, or Redis' error text, and then *limits has not changed. */
const char *output_limits_parse(struct output_limits *limits, const struct argument *values,
                                size_t count);

/* Writes all classes as CONFIG GET shows them, in at most `room` bytes with the zero. */
void output_limits_format(const struct output_limits *limits, char *text, size_t room);

#endif
