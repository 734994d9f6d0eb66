#include "storage/queue/queue.h"

enum dueq_status queue_get(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time, struct dueq_job *ret_job)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    if (status == DUEQ_OK)
        lookup_show(queue, found, &job, queue_time(queue, time), ret_job);
    return status;
}

enum dueq_status queue_del(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    queue_time(queue, time);
    if (status != DUEQ_OK)
        return status;
    QUEUE_COUNT(queue, found, deleted);
    job_remove(queue, found, &job);
    return DUEQ_OK;
}
