/* Runs a workload over many connections in one thread, and measures latencies. */
#ifndef DUEQ_LOAD_H
#define DUEQ_LOAD_H

#include "tools/bench/driver.h"
#include "tools/online/online_advice.h"

enum load_kind {
    LOAD_PUSH,  /* push `jobs` jobs */
    LOAD_CLAIM, /* claim `count` jobs and ack them, until `jobs` are acked or none is due */
    LOAD_WORK   /* the same with one request: it acks the jobs of the one before */
};

/* What was done since the last report. */
struct load_part {
    double at;      /* s since the start */
    double seconds; /* since the last report */
    uint64_t jobs;
    uint64_t latency_max; /* usec, of a request */
};

struct load {
    const struct bench_driver *driver;
    struct online_options where;
    const char *topic;
    enum load_kind kind;
    unsigned connections;
    unsigned pipeline; /* requests in flight on a connection that pushes */
    unsigned batch;    /* jobs that one request pushes; 1: a plain push */
    unsigned count;    /* jobs of one claim */
    uint64_t jobs;
    size_t body_size;
    int64_t delay_max; /* ms; delays are random, from 1 ms to this; 0: no delay */
    bool no_ids;       /* the server gives them */
    uint64_t seed;     /* of the random ids and delays */
    unsigned every;    /* s between two calls of: */
    void (*progress)(const struct load_part *part);
};

enum {
    LOAD_BUCKETS = 2048
}; /* of the histogram of latencies: 64 for each power of two of usec */

struct load_result {
    uint64_t jobs; /* pushed, or claimed and acked */
    uint64_t requests;
    double seconds;
    uint64_t latency[LOAD_BUCKETS]; /* of requests */
    uint64_t latency_max;           /* usec */
    const char *failed;             /* what has failed; NULL: nothing */
    char why[ONLINE_WHY];
    enum online_blame blame;
};

/* False: result->failed and ->why say what was wrong (no connection, an error reply, ...). */
bool load_run(const struct load *load, struct load_result *ret_result);

/* The latency, usec, that the given share (0 to 1) of the requests did not exceed. */
uint64_t load_percentile(const struct load_result *result, double share);

/* The least latency, usec, of those that a bucket counts. */
uint64_t load_bucket_value(unsigned bucket);

#endif
