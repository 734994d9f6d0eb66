/* What happens to a job of a queue_model. Counts it in the totals of the topic. */
#ifndef DUEQ_QUEUE_MODEL_LIFE_H
#define DUEQ_QUEUE_MODEL_LIFE_H

#include "tests/support/models/queue_model.h"

/* What ack, nack and extend must answer; ack: dead and done jobs may be acked. */
enum dueq_status model_held(const struct model_job *job, int64_t token, bool ack);
/* The same for an ack that must be the first one. */
enum dueq_status model_first_held(const struct model_job *job, int64_t token);

/* The lease of the job has ended, and no call has noticed it yet. */
bool model_lease_over(const struct model_job *job, struct dueq_time time);
/* When the ttl ends, on the queue's clock. A wall clock that was set back makes it later. */
int64_t model_life_end(const struct model_job *job, struct dueq_time time);
bool model_life_over(const struct model_job *job, struct dueq_time time);
/* It is done, and is no longer kept. */
bool model_keeping_over(const struct model_job *job, struct dueq_time time);

/* Those who wait for its end are told. */
void model_end(struct queue_model *model, struct model_job *job, enum dueq_end end);
/* It is not there any more. */
void model_remove(struct queue_model *model, struct model_job *job, enum dueq_end end);

/* It waits as if it was pushed now, without attempts; seq and id stay. */
void model_begin(struct model_job *job, const struct model_content *content,
                 struct dueq_time time);
void model_set_due(struct model_job *job, bool wall, int64_t due, struct dueq_time time);
void model_claim(struct queue_model *model, struct model_job *job, const char *worker,
                 int64_t lease, struct dueq_time time);
void model_extend(struct model_job *job, int64_t lease, struct dueq_time time);
/* keep: DUEQ_DEFAULT, as dueq_done has it. result: NULL: none. */
void model_ack(struct queue_model *model, struct model_job *job, int64_t keep,
               const char *result, struct dueq_time time);
/* The claim of a cancelled job ends. */
void model_end_cancelled(struct queue_model *model, struct model_job *job,
                         struct dueq_time time);
/* It waits in another topic as if it was new there; its id is not looked at. */
void model_send(struct queue_model *model, struct model_job *job, int to, int64_t due,
                struct dueq_time time);
/* The ttl has ended. */
void model_lapse(struct queue_model *model, struct model_job *job, struct dueq_time time);
/* An outcome besides those of dueq_outcome: no worker has seen the job. */
enum { MODEL_UNSEEN = DUEQ_OUTCOMES };
/* No longer claimed: dead, removed, or pending at `due`. */
void model_give_back(struct queue_model *model, struct model_job *job, int64_t due, int outcome,
                     struct dueq_time time);
void model_end_lease(struct queue_model *model, struct model_job *job, struct dueq_time time);

/* ---- waiting for others */

/* The error of a job that is dead because another one was not done begins so. */
#define MODEL_AFTER_ERROR "after: "

/* A pushed job is to wait for another one; NULL: there is no such job. */
void model_await(struct model_job *job, const struct model_job *other);
/* When all of them are named. */
void model_begin_to_wait(struct model_job *job, struct dueq_time time);
/* The job waits no more; its due time is to be set. */
void model_begin_now(struct model_job *job);
/* Jobs whose others have ended go on or die. False: there were none. */
bool model_settle(struct queue_model *model, struct dueq_time time);

#endif
