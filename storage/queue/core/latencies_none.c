/* No latencies of single topics, for `make libdueq-small`: in place of latencies.c and
 * histogram.c. Nothing is counted; those of all topics are (dueq_get_spans). */
#include "storage/queue/core/latencies.h"

#include "storage/types.h"

void latencies_note(struct queue *queue, struct topic *topic, enum dueq_span span, int64_t ms,
                    int64_t now)
{
    (void)queue;
    (void)topic;
    (void)span;
    (void)ms;
    (void)now;
}

void latencies_read(struct queue *queue, struct topic *topic, int64_t now,
                    struct dueq_latencies *ret_latencies)
{
    (void)queue;
    (void)topic;
    (void)now;
    *ret_latencies = (struct dueq_latencies){.since = DUEQ_NEVER};
}

void latencies_rest(struct topic *topic)
{
    (void)topic;
}

void latencies_drop(struct queue *queue, struct topic *topic)
{
    (void)queue;
    (void)topic;
}

void latencies_release(struct queue *queue)
{
    (void)queue;
}
