/* How long the jobs of a queue_model took: each time that was measured since the store was
 * opened. */
#ifndef DUEQ_QUEUE_MODEL_TIMES_H
#define DUEQ_QUEUE_MODEL_TIMES_H

#include "storage/dueq.h"

struct queue_model;

enum { MODEL_TIMES_MOST = 50000 };

struct model_time {
    int topic;
    enum dueq_span span;
    int64_t ms, at; /* at: on the queue's clock */
};

struct model_times {
    struct model_time list[MODEL_TIMES_MOST];
    size_t count;
};

void model_note_time(struct queue_model *model, int topic, enum dueq_span span, int64_t ms,
                     struct dueq_time time);
/* The topic is gone. */
void model_forget_times(struct queue_model *model, int topic);
/* As dueq_topic_latencies, but exact; since: on the queue's clock. */
void model_read_times(const struct queue_model *model, int topic, struct dueq_time time,
                      struct dueq_latencies *ret_latencies);

#endif
