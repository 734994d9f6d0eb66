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

/* The options of a job that are in effect: its own, else those of its topic, else the queue's
 * defaults. */
struct job_options {
    int64_t lease, retries, crashes;
    int64_t backoff, backoff_max, jitter;
    const int64_t *steps; /* of the job or of the settings */
    size_t step_count;
};

/* Is it dead or done? */
static inline bool job_has_ended(const struct job *job)
{
    return job->state.state == PHASE_DEAD || job->state.state == PHASE_DONE;
}

/* ---- records */

/* DUEQ_NOTFOUND: there is no such job. DUEQ_CORRUPT: a record is malformed. On failure *ret_job
 * holds nothing of use. */
enum dueq_status job_load(struct queue *queue, struct topic *topic, uint64_t seq,
                          struct job *ret_job);
enum dueq_status job_load_body(struct queue *queue, struct topic *topic, uint64_t seq,
                               struct job_body *ret_body);
/* DUEQ_NOTFOUND: the state is still that of the push. */
enum dueq_status job_load_state(struct queue *queue, struct topic *topic, uint64_t seq,
                                struct job_state *ret_state);
/* Writes the record of a body. table: TABLE_BODY or TABLE_FOLLOW. absent: see kv_put. Id and
 * body may lie in a record of another key. */
void job_put_body(struct queue *queue, struct topic *topic, uint8_t table, uint64_t seq,
                  const struct job_body *body, bool absent);
/* Writes the record of a state; afterwards its texts are in queue->state. */
void job_save_state(struct queue *queue, struct topic *topic, struct job *job);
/* Bytes of the job's body. Of *job the seq and the state are used. */
uint64_t job_bytes(struct queue *queue, struct topic *topic, const struct job *job);
/* Deletes all records of the job, and its id. Of the body only the id is used. */
void job_remove(struct queue *queue, struct topic *topic, const struct job *job);

/* The job's id, as callers know it. text: GIVEN_ID_SIZE bytes for one that the store gave. */
struct dueq_slice job_id(const struct job *job, char *text);
/* ---- states */

/* Gives the job a new state; its texts may point into the old one. Afterwards job->state is the
 * new state, with its texts in queue->state. On DUEQ_NOMEM nothing has changed. */
enum dueq_status job_reschedule(struct queue *queue, struct topic *topic, struct job *job,
                                struct job_state state, struct dueq_time time);

/* Puts another body, with its own due time, in the place of the job: the same id and seq, no
 * attempts so far. The id and body of `body` must not lie in the job's own record. On
 * DUEQ_NOMEM nothing has changed. */
enum dueq_status job_replace(struct queue *queue, struct topic *topic, struct job *job,
                             const struct job_body *body, struct dueq_time time);

/* A pending job gets another due time, and its ttl counts from that. A waiting one becomes
 * pending. On DUEQ_NOMEM nothing has changed. */
enum dueq_status job_set_due(struct queue *queue, struct topic *topic, struct job *job,
                             uint8_t clock, int64_t due, struct dueq_time time);
/* The claim of a cancelled job ends: it goes, or its follow-up takes its place. */
enum dueq_status job_end_cancelled(struct queue *queue, struct topic *topic, struct job *job,
                                   struct dueq_time time);
/* Keeps a body that takes the place of the claimed job when its claim ends; it replaces an
 * earlier one. The id and body of `body` lie in no record. On failure nothing has changed. */
enum dueq_status job_put_follow_up(struct queue *queue, struct topic *topic, struct job *job,
                                   const struct job_body *body, struct dueq_time time);
/* DUEQ_CORRUPT: the job has none. */
enum dueq_status job_load_follow_up(struct queue *queue, struct topic *topic, uint64_t seq,
                                    struct job_body *ret_body);
/* Removes the follow-up of a job that has one, and changes nothing else. */
void job_drop_follow_up(struct queue *queue, struct topic *topic, uint64_t seq);
/* The follow-up of a claimed job takes its place. */
enum dueq_status job_take_follow_up(struct queue *queue, struct topic *topic, struct job *job,
                                    struct dueq_time time);
/* The claimed job is done, and is kept until `until` on the queue's clock (later than now),
 * with its token. strip: without its body. */
enum dueq_status job_finish(struct queue *queue, struct topic *topic, struct job *job,
                            int64_t until, bool strip, struct dueq_time time);

/* Has the ttl run out? The ttl counts from the due time: when the wall clock was set back, the
 * end is first moved with it, and the new end is written. */
bool job_has_expired(struct queue *queue, struct topic *topic, struct job *job,
                     struct dueq_time time);
/* Adds the schedule's entry for the end of a ttl. */
void job_put_ttl(struct queue *queue, struct topic *topic, uint64_t seq, int64_t expires);

/* ---- options */

struct job_options job_options(struct queue *queue, struct topic *topic,
                               const struct job_body *body);
/* How long the job waits after one more failure, ms. */
int64_t job_backoff(struct queue *queue, struct topic *topic, const struct job *job);

#endif
