/* The buckets of permits of a queue_model. Rates of the walk give a permit each so many whole
 * ms. */
#ifndef DUEQ_QUEUE_MODEL_RATE_H
#define DUEQ_QUEUE_MODEL_RATE_H

#include "tests/support/models/queue_model.h"

/* Do claims of the topic, or of its groups, have a rate? */
bool model_has_rate(const struct queue_model *model, int topic);
bool model_has_group_rate(const struct queue_model *model, int topic);
/* A number that changes when one of the rates of any topic does. */
uint64_t model_rates(const struct queue_model *model);
/* Do the rates of its topic and its group let the job be claimed? */
bool model_has_permit(const struct queue_model *model, const struct model_job *job,
                      struct dueq_time time);
void model_take_permit(struct queue_model *model, const struct model_job *job,
                       struct dueq_time time);
/* The rates have changed: no bucket lacks more than all of its permits. */
void model_settle_buckets(struct queue_model *model, struct dueq_time time);
/* Is a bucket of the topic or of one of its groups not full? */
bool model_has_bucket(const struct queue_model *model, int topic, struct dueq_time time);
void model_fill_buckets(struct queue_model *model, int topic);

#endif
