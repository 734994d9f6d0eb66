/* One job: loading it, and moving it from state to state. Private to storage/queue. */
#ifndef DUEQ_JOB_H
#define DUEQ_JOB_H

#include "storage/queue/core/topic.h"

struct queue;

/* The slices in it are valid until the next write to the key space. */
struct job {
    uint64_t seq;
    struct job_body body;
    struct job_state state;
    bool moved; /* the state has a record of its own: it is no longer that of the push */
};

/* DUEQ_NOTFOUND: there is no such job. DUEQ_CORRUPT: a record is malformed. */
enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job);
enum dueq_status job_load_body(struct queue *queue, struct topic *topic, uint64_t seq,
                               struct job_body *ret_body);
/* DUEQ_NOTFOUND: the state is still that of the push. */
enum dueq_status job_load_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                struct job_state *ret_state);
/* Deletes all records of the job. Of the body only the id is used. */
void job_remove(struct queue *queue, struct topic *topic, const struct job *job);

/* Gives the job a new state; state.error may point into the old one. Afterwards job->state is
 * the new state, with its error in queue->error. On DUEQ_NOMEM nothing has changed. */
enum dueq_status job_reschedule(struct queue *queue, struct topic *topic, struct job *job,
                                struct job_state state, struct dueq_time time);

/* Ends the claim of a job: it is dead when `final` is set or when its retries or its ttl are
 * used up, else pending with the due time `due`. error: size 0 keeps the last one. */
enum dueq_status job_give_back(struct queue *queue, struct topic *topic, struct job *job,
                               int64_t due, bool final, struct dueq_slice error,
                               struct dueq_time time, enum dueq_state *ret_state);

/* Has the ttl run out? The ttl counts from the due time: when the wall clock was set back, the
 * end is first moved with it, and the new end is written. */
bool job_has_expired(struct queue *queue, struct topic *topic, struct job *job,
                     struct dueq_time time);
/* Adds the schedule's entry for the end of a ttl. */
void job_put_ttl(struct queue *queue, struct topic *topic, uint64_t seq, int64_t expires);
/* Makes a job whose ttl has run out dead. */
void job_expire(struct queue *queue, struct topic *topic, struct job *job,
                struct dueq_time time);

/* How long the job waits after a failure, ms. */
int64_t job_backoff(const struct topic *topic, const struct job *job);

#endif
