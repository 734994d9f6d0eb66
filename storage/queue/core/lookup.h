/* Finds jobs by id, and shows them as callers see them. All answer DUEQ_NOTFOUND when there is
 * no such job. Private to storage/queue. */
#ifndef DUEQ_LOOKUP_H
#define DUEQ_LOOKUP_H

#include "storage/queue/core/job.h"

/* Only by an id that the store gave. */
enum dueq_status lookup_given(struct queue *queue, struct topic *topic, struct dueq_slice id,
                              struct job *ret_job);
/* Only by a caller's id, and by the index alone: the body is not compared. */
enum dueq_status lookup_seq(struct queue *queue, struct topic *topic, struct dueq_slice id,
                            uint64_t *ret_seq);
enum dueq_status lookup_id(struct queue *queue, struct topic *topic, struct dueq_slice id,
                           struct job *ret_job);
/* Checks both names first: DUEQ_INVALID. */
enum dueq_status lookup_job(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                            struct topic **ret_topic, struct job *ret_job);
/* The slices of *ret_job are those of the job. */
void lookup_show(struct queue *queue, struct topic *topic, const struct job *job,
                 struct dueq_time time, struct dueq_job *ret_job);

#endif
