/* What /metrics says of single topics: of a bounded number, those used last. The others are
 * summed under the topic "\other", which is no name that metric_label_bytes can write. */
#ifndef DUEQ_TOPIC_METRICS_H
#define DUEQ_TOPIC_METRICS_H

#include "server/http/metrics.h"

struct topic_sample;

struct topic_metrics {
    struct topic_sample *samples;
    size_t count;  /* of samples */
    size_t looked; /* of these, have figures */
    size_t family; /* that is written next */
    size_t next;   /* its next sample */
};

/* Takes the names of up to `most` topics, O(most). False: out of memory. */
bool topic_metrics_take(struct topic_metrics *topics, struct dueq *store, size_t most);
/* Does a part of the work, of some 100 us: looks at topics, then writes families. True: there
 * is more to do. The store may have been closed since; then figures are left out. */
bool topic_metrics_step(struct topic_metrics *topics, const struct metrics *metrics,
                        struct metric_text *text);
void topic_metrics_release(struct topic_metrics *topics);

#endif
