/* What the limits of topics say to the pushes into a queue_model. */
#ifndef DUEQ_QUEUE_MODEL_LIMITS_H
#define DUEQ_QUEUE_MODEL_LIMITS_H

#include "tests/support/models/queue_model.h"

/* What counts against the limits, or is about to. */
struct model_amount {
    int64_t jobs, bytes;
};

/* Does the topic take a body of that size? */
bool model_takes_body(const struct queue_model *model, int topic, int64_t size);
/* May so much be added? DUEQ_LIMIT: no. DUEQ_OK: yes, as soon as the jobs that are noted in
 * `drops`, one bool a job of the model, have gone. */
enum dueq_status model_admit(const struct queue_model *model, int topic,
                             const struct model_amount *added, struct dueq_time time,
                             bool *drops);
/* Those jobs go. */
void model_drop_jobs(struct queue_model *model, const bool *drops);

#endif
