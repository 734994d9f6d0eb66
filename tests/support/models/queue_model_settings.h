/* The scopes of a queue_model, and the options of its jobs that are in effect. */
#ifndef DUEQ_QUEUE_MODEL_SETTINGS_H
#define DUEQ_QUEUE_MODEL_SETTINGS_H

#include "tests/support/models/queue_model.h"

/* The name or pattern of a scope. */
struct dueq_slice model_scope_name(int scope);
/* The scope that decides a setting (or DUEQ_SETTINGS: the dead-letter topic); -1: none. */
int model_scope_of(const struct queue_model *model, int topic, unsigned setting);
/* What the scopes say; `otherwise` when none does. */
int64_t model_setting(const struct queue_model *model, int topic, enum dueq_setting setting,
                      int64_t otherwise);

/* Where its dead jobs go; -1: they stay. */
int model_dead_topic(const struct queue_model *model, int topic);

struct model_options {
    int64_t lease, retries, crashes, backoff, backoff_max, jitter;
    const int64_t *steps;
    size_t step_count;
};
struct model_options model_options(const struct queue_model *model,
                                   const struct model_job *job);
/* The shortest and the longest time that the job waits after one more failure, ms. */
void model_backoff(const struct model_options *options, int64_t failures, int64_t *ret_least,
                   int64_t *ret_most);

#endif
