/* Drivers, one for each kind of queue server. A driver only encodes requests and decodes
 * replies; load.c has the sockets, the pace and the clocks. */
#ifndef DUEQ_DRIVER_H
#define DUEQ_DRIVER_H

#include "protocol/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_ID_SIZE = 36, BENCH_COUNT_MAX = 1000 };

struct bench_push {
    const char *topic;
    char id[BENCH_ID_SIZE + 1]; /* "": the server gives one; beanstalkd always does */
    const char *body;
    size_t body_size;
    int64_t delay; /* ms */
    int64_t now;   /* unix ms */
};

/* What the ack of a claimed job needs. */
struct bench_claimed {
    char id[64];
    int64_t token;
};

enum bench_outcome {
    BENCH_PARTIAL, /* the reply is incomplete */
    BENCH_DONE,
    BENCH_FAILED /* an error reply, or not a reply: ret->error says which */
};

struct bench_reply {
    size_t used;    /* bytes of the reply */
    size_t acked;   /* jobs acked */
    size_t claimed; /* jobs appended to `jobs` */
    bool empty;     /* of a claim: nothing is due */
    char error[200];
};

struct bench_driver {
    const char *name;
    const char *port;
    /* Request and reply of the preparation, which is sent once, on the first connection; NULL:
     * there is none. */
    void (*prepare)(struct buffer *out);
    /* Each appends requests and returns the number of replies to expect. */
    unsigned (*push)(struct buffer *out, const struct bench_push *push);
    /* All in one request with one reply, or NULL. */
    unsigned (*push_many)(struct buffer *out, const struct bench_push *pushes, unsigned count);
    unsigned (*claim)(struct buffer *out, const char *topic, unsigned count, int64_t now);
    unsigned (*ack)(struct buffer *out, const char *topic, const struct bench_claimed *jobs,
                    unsigned count);
    /* Acks `done` jobs and claims in one request, or NULL; the reply is that of a claim. */
    unsigned (*work)(struct buffer *out, const char *topic, unsigned count, int64_t now,
                     const struct bench_claimed *jobs, unsigned done);
    /* Reads one reply. jobs has room for BENCH_COUNT_MAX. */
    enum bench_outcome (*push_reply)(const char *data, size_t size, struct bench_reply *ret);
    enum bench_outcome (*claim_reply)(const char *data, size_t size, struct bench_claimed *jobs,
                                      struct bench_reply *ret);
    enum bench_outcome (*ack_reply)(const char *data, size_t size, struct bench_reply *ret);
};

extern const struct bench_driver bench_dueq;
extern const struct bench_driver bench_redis;
extern const struct bench_driver bench_beanstalkd;

#endif
