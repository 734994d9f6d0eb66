/* client-output-buffer-limit: how much unread output a client may have, by its class. */
#ifndef DUEQ_OUTPUT_LIMITS_H
#define DUEQ_OUTPUT_LIMITS_H

#include "protocol/request.h"

#include <stdint.h>

enum client_class { CLIENT_NORMAL, CLIENT_REPLICA, CLIENT_PUBSUB, CLIENT_CLASSES };

struct output_limit {
    int64_t hard;    /* bytes at which a client is closed; 0: none */
    int64_t soft;    /* bytes at which it is closed after so many ... */
    int64_t seconds; /* ... of being above; 0: none */
};

struct output_limits {
    struct output_limit of[CLIENT_CLASSES];
};

/* Takes "class hard soft seconds" any number of times; classes not named keep what they have.
 * NULL, or the error in Redis' words with *limits untouched. */
const char *output_limits_parse(struct output_limits *limits, const struct argument *words,
                                size_t count);

/* Writes all classes the way CONFIG GET shows them. */
void output_limits_format(const struct output_limits *limits, char *text, size_t room);

#endif
