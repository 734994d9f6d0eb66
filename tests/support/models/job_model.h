/* What clients know of each job: only what the server has replied. A request without a reply
 * when the server ends may have been done or not; job_model_check accepts both and nothing
 * else, and then sets the model from what the server shows.
 *
 * A violation fails the running test. */
#ifndef DUEQ_JOB_MODEL_H
#define DUEQ_JOB_MODEL_H

#include "tests/support/client/client.h"
#include "tests/support/dice.h"

enum { MODEL_TOPICS = 5, MODEL_ID_MAX = 64 };

enum job_state { JOB_READY, JOB_DELAYED, JOB_CLAIMED, JOB_DEAD, JOB_GONE };

enum job_request {
    REQUEST_NONE,
    REQUEST_PUSH,
    REQUEST_CLAIM,
    REQUEST_ACK,
    REQUEST_NACK,
    REQUEST_EXTEND,
    REQUEST_DEL,
    REQUEST_GET
};

struct known_job {
    char id[MODEL_ID_MAX]; /* "": the server chooses one, which is not known yet */
    int topic;
    enum job_state state;     /* from the last reply; during a push: the state after it */
    enum job_state wanted;    /* during a nack: the state after it */
    enum job_request pending; /* sent, without a reply */
    bool loose;               /* a short lease or delay: the state changes without a request */
    int64_t token;            /* of the last claim replied */
    uint64_t token_at;        /* model clock of that reply */
    uint64_t gone_at;         /* model clock of the reply that made it JOB_GONE */
    size_t place;             /* index in `live` */
};

struct known_topic {
    char name[24];
    int64_t token;              /* greatest replied */
    char last_id[MODEL_ID_MAX]; /* greatest id the server gave */
    unsigned lost_claims;       /* jobs that claims without a reply may have claimed */
};

struct job_model {
    struct known_job *jobs; /* by serial number */
    size_t count, capacity;
    size_t *live; /* serials of those not JOB_GONE */
    size_t live_count;
    uint64_t clock; /* grows with each request and reply */
    struct known_topic topics[MODEL_TOPICS];
};

void job_model_init(struct job_model *model);
void job_model_release(struct job_model *model);

/* A new job, as a push sends it. Returns its serial number. */
size_t job_model_add(struct job_model *model, int topic, enum job_state state, const char *id);

void job_model_gone(struct job_model *model, size_t serial);

/* The body of a job: it begins with the serial number and depends on nothing else. The caller
 * frees it. */
char *job_model_body(size_t serial, size_t *ret_size);
/* The serial number of a body; fails the test when the body is not complete and correct. */
size_t job_model_serial(const struct job_model *model, const char *body, size_t size);

/* Compares a server that has just started with the model: every job by Q.GET, the counts by
 * Q.LEN and Q.STATS. Decides the requests without a reply. */
void job_model_check(struct job_model *model, redisContext *client);

#endif
