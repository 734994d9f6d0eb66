#include "storage/queue/core/topic_sweep.h"

#include "storage/queue/core/queue_state.h"

enum { BUCKETS_A_STEP = 8 };

void topic_sweep_begin(struct queue *queue)
{
    queue->sweep = (struct topic_sweep){.any = queue->topics.count > 0};
}

static void sweep_bucket(struct queue *queue, size_t bucket)
{
    for (struct topic_entry *entry = topic_table_bucket(&queue->topics, bucket); entry != NULL;
         entry = entry->next) {
        const struct topic *topic = entry->topic;
        uint8_t flags = topic != NULL ? topics_flags(topic) : entry->flags;

        if (flags != 0 || (topic != NULL && topic->unsaved)) /* a ring may begin */
            topics_event_at(queue, entry, queue->now);
    }
}

void topic_sweep_run(struct queue *queue, unsigned *budget)
{
    struct topic_sweep *sweep = &queue->sweep;

    if (sweep->buckets > queue->topics.buckets)
        sweep->next = 0;
    sweep->buckets = queue->topics.buckets;
    for (; sweep->any && *budget > 0; --*budget) {
        for (int i = 0; i < BUCKETS_A_STEP && sweep->next < sweep->buckets; i++)
            sweep_bucket(queue, sweep->next++);
        sweep->any = sweep->next < sweep->buckets;
    }
}
