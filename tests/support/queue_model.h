/* A plain model of the queue: an array of jobs and the rules, with which the store is compared.
 * The caller says what happens to a job, and when. */
#ifndef DUEQ_QUEUE_MODEL_H
#define DUEQ_QUEUE_MODEL_H

#include "storage/dueq.h"

enum {
    QUEUE_MODEL_TOPICS = 3,
    QUEUE_MODEL_JOBS = 400,
    QUEUE_MODEL_RETRIES = 3,
    QUEUE_MODEL_CRASHES = 3
};

struct model_job {
    bool there; /* false: removed; its id is used in requests for a job that does not exist */
    uint8_t id[DUEQ_NAME_MAX];
    size_t id_size;
    int topic, priority;
    uint64_t seq; /* order of arrival */
    bool wall;    /* due is on the wall clock */
    bool token_valid;
    enum { MODEL_PENDING, MODEL_CLAIMED, MODEL_DEAD } state;
    int64_t failures, crashes;
    int64_t due, token, attempt, expires, ttl, pushed; /* ttl: only with expires */
    const char *error;
    char body[24];
};

struct model_topic {
    struct dueq_topic_stats totals; /* only the totals are used */
    int64_t last_token;
    uint8_t last_given[DUEQ_NAME_MAX]; /* the last id that the store gave */
    size_t last_given_size;
};

struct queue_model {
    struct model_job jobs[QUEUE_MODEL_JOBS];
    struct model_topic topics[QUEUE_MODEL_TOPICS];
    uint64_t seq;
};

static inline struct dueq_slice model_id(const struct model_job *job)
{
    return dueq_slice(job->id, job->id_size);
}

/* An unused element of `jobs`; NULL: there is none. */
struct model_job *model_free_job(struct queue_model *model);
/* The job with that id; NULL: none. */
struct model_job *model_find(struct queue_model *model, int topic, struct dueq_slice id);
/* The job that a claim must return; NULL: none. */
struct model_job *model_best(struct queue_model *model, int topic, struct dueq_time time);

enum dueq_state model_state(const struct model_job *job, struct dueq_time time);
/* When a wait of so many ms that begins now ends. */
int64_t model_after(struct dueq_time time, int64_t wait);

/* The due time on the wall clock, as callers see it. */
int64_t model_shown_due(const struct model_job *job, struct dueq_time time);
/* What ack, nack and extend must answer; ack: a dead job may be acked. */
enum dueq_status model_held(const struct model_job *job, int64_t token, bool ack);

/* The lease of the job has ended, and no call has noticed it yet. */
bool model_lease_over(const struct model_job *job, struct dueq_time time);
/* When the ttl ends, on the queue's clock. A wall clock that was set back makes it later. */
int64_t model_life_end(const struct model_job *job, struct dueq_time time);
bool model_life_over(const struct model_job *job, struct dueq_time time);

void model_die(struct queue_model *model, struct model_job *job, struct dueq_time time);
void model_lapse(struct queue_model *model, struct model_job *job, struct dueq_time time);
/* No longer claimed: dead, or pending at `due`. */
void model_give_back(struct queue_model *model, struct model_job *job, int64_t due,
                     enum dueq_outcome outcome, struct dueq_time time);
void model_end_lease(struct queue_model *model, struct model_job *job, struct dueq_time time);

/* The statistics that the store must return for the topic. */
void model_stats(const struct queue_model *model, int topic, struct dueq_time time,
                 struct dueq_topic_stats *ret_stats);
/* When the next change by time happens, on the queue's clock; DUEQ_NEVER: none. */
int64_t model_next_event(const struct queue_model *model, struct dueq_time time);

#endif
