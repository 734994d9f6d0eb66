#include "storage/queue/queue.h"

/* Not every done job has one. */
static enum dueq_status load_result(struct queue *queue, const struct topic *topic,
                                    uint64_t seq, bool *ret_has, struct dueq_slice *ret_result)
{
    struct kv_key key;
    enum dueq_status status =
        kv_get(queue->kv, queue_key_job(&key, TABLE_RESULT, topic->id, seq), ret_result);

    *ret_has = status == DUEQ_OK;
    return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
}

enum dueq_status queue_get(struct queue *queue, struct dueq_slice topic, struct dueq_slice id,
                           struct dueq_time time, struct dueq_job *ret_job)
{
    struct topic *found;
    struct job job;
    struct dueq_slice result = {NULL, 0};
    bool has_result = false;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    if (status == DUEQ_OK && job.state.state == PHASE_DONE)
        status = load_result(queue, found, job.seq, &has_result, &result);
    if (status != DUEQ_OK)
        return status;
    lookup_show(queue, found, &job, queue_time(queue, time), ret_job);
    ret_job->has_result = has_result;
    ret_job->result = result;
    return DUEQ_OK;
}

enum dueq_status queue_watch_end(struct queue *queue, struct dueq_slice topic,
                                 struct dueq_slice id, void *arg, struct dueq_watch **ret_watch)
{
    struct topic *found;
    struct job job;
    enum dueq_status status = lookup_job(queue, topic, id, &found, &job);

    if (status != DUEQ_OK)
        return status;
    if (job_has_ended(&job))
        return DUEQ_WRONGSTATE;
    return endings_add(queue, found, job.seq, arg, ret_watch);
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
