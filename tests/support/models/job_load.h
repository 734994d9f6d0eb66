/* Several clients that push, claim, ack, nack, extend and delete at random, pipelined, with a
 * job_model of all replies. Every reply is checked against it: no job is claimed twice, tokens
 * grow, a removed job does not come back, no duplicate is accepted.
 *
 * All clients run in one thread. It sends the requests of all connections before it reads
 * replies, so that the server has them together. */
#ifndef DUEQ_JOB_LOAD_H
#define DUEQ_JOB_LOAD_H

#include "tests/support/models/job_model.h"

enum { LOAD_CLIENTS = 8, LOAD_PIPELINE = 24 };

/* A request that has no reply yet. */
struct load_request {
    enum job_request kind;
    size_t serial; /* of its job; not for claims */
    int topic;
    uint64_t sent;  /* model clock */
    int64_t token;  /* the one sent; of a claim: the greatest of its topic known at that time */
    unsigned count; /* most jobs a claim may bring */
    bool loose;     /* of claims: the lease is short */
    bool duplicate; /* of pushes: must be refused */
    char floor_id[MODEL_ID_MAX]; /* of pushes: the server's id must be greater */
};

struct load_client {
    redisContext *connection; /* NULL: lost */
    struct load_request queue[LOAD_PIPELINE];
    size_t first, pending;
};

struct job_load {
    struct job_model *model;
    struct dice *dice;
    struct load_client clients[LOAD_CLIENTS];
    size_t population; /* about as many jobs live */
    bool refusals;     /* -FULL and -MISCONF are no failure */
    uint64_t replies, refused_pushes, refused_others;
};

void job_load_open(struct job_load *load, const struct server_process *server);

/* Sends a pipeline on each connection and reads some of the replies. False: the server has
 * ended. */
bool job_load_step(struct job_load *load);

/* Reads the remaining replies, up to the end of each connection when the server has ended; a
 * request without a reply stays pending in the model. Closes the connections. */
void job_load_finish(struct job_load *load);

#endif
