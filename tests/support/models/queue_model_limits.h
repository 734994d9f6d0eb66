/* What the limits of topics say to changes of a queue_model. */
#ifndef DUEQ_QUEUE_MODEL_LIMITS_H
#define DUEQ_QUEUE_MODEL_LIMITS_H

#include "tests/support/models/queue_model.h"

/* What counts against the limits, or comes (less than 0: goes) in one step. */
struct model_amount {
    int64_t jobs, bytes;
};

/* What a step does to each job of the model; all zero at first. */
enum model_fate { MODEL_MAY_GO, MODEL_GOES, MODEL_STAYS };
struct model_fates {
    enum model_fate jobs[QUEUE_MODEL_JOBS];
};

/* Does the topic take a body of that size? */
bool model_takes_body(const struct queue_model *model, int topic, int64_t size);
/* Is there room for so much more, without a drop? A limit refuses only what grows. */
bool model_fits(const struct queue_model *model, int topic, const struct model_amount *added);
/* May so much be added? DUEQ_LIMIT: no. DUEQ_OK: yes, as soon as the jobs that are noted in
 * `fates` have gone; none of those that stay. */
enum dueq_status model_admit(const struct queue_model *model, int topic,
                             const struct model_amount *added, struct dueq_time time,
                             struct model_fates *fates);
/* Those jobs go. */
void model_drop_jobs(struct queue_model *model, const struct model_fates *fates);

#endif
