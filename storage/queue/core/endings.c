#include "storage/kv/kv.h"
#include "storage/queue/core/queue_state.h"
#include "storage/xxh3.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

struct job_name {
    uint64_t topic, seq;
};

struct dueq_watch {
    UT_hash_handle hh; /* until the end */
    struct job_name job;
    struct topic *topic; /* lives for as long as its job has not ended */
    enum dueq_end end;
    void *arg;
    struct dueq_watch *prev, *next; /* of the topic's; after the end of those that have ended */
};

/* Clients choose which jobs are watched: the hash is seeded. */
static unsigned hash_of(const struct queue *queue, const struct job_name *job)
{
    return (unsigned)XXH3_64bits_withSeed(job, sizeof(*job), kv_seed(queue->kv));
}

static struct dueq_watch *find(const struct queue *queue, const struct job_name *job)
{
    unsigned hash = hash_of(queue, job);
    struct dueq_watch *watch;

    HASH_FIND_BYHASHVALUE(hh, queue->endings.jobs, job, sizeof(*job), hash, watch);
    return watch;
}

enum dueq_status endings_add(struct queue *queue, struct topic *topic, uint64_t seq, void *arg,
                             struct dueq_watch **ret_watch)
{
    struct job_name job = {topic->id, seq};
    unsigned hash = hash_of(queue, &job);
    struct dueq_watch *watch;

    if (HASH_COUNT(queue->endings.jobs) >= DUEQ_WATCHES_MAX)
        return DUEQ_TOOBIG;
    if (find(queue, &job) != NULL)
        return DUEQ_DUPLICATE;
    watch = calloc(1, sizeof(*watch));
    if (watch == NULL)
        return DUEQ_NOMEM;
    watch->job = job;
    watch->topic = topic;
    watch->arg = arg;
    HASH_ADD_BYHASHVALUE(hh, queue->endings.jobs, job, sizeof(job), hash, watch);
    if (watch->hh.tbl == NULL) {
        free(watch);
        return DUEQ_NOMEM;
    }
    DL_APPEND(topic->watches, watch);
    *ret_watch = watch;
    return DUEQ_OK;
}

static void forget_job(struct queue *queue, struct dueq_watch *watch)
{
    assert(queue->endings.jobs != NULL && watch->topic->watches != NULL);
    HASH_DEL(queue->endings.jobs, watch);
    DL_DELETE(watch->topic->watches, watch);
}

void endings_remove(struct queue *queue, struct dueq_watch *watch)
{
    if (watch->end == DUEQ_END_NONE)
        forget_job(queue, watch);
    else
        DL_DELETE(queue->endings.ended, watch);
    free(watch);
}

static void end_watch(struct queue *queue, struct dueq_watch *watch, enum dueq_end end)
{
    forget_job(queue, watch);
    watch->end = end;
    DL_APPEND(queue->endings.ended, watch);
}

void endings_end(struct queue *queue, uint64_t topic, uint64_t seq, enum dueq_end end)
{
    struct job_name job = {topic, seq};
    struct dueq_watch *watch = find(queue, &job);

    if (watch != NULL)
        end_watch(queue, watch, end);
}

void endings_end_topic(struct queue *queue, struct topic *topic)
{
    while (topic->watches != NULL) {
        queue->endings.steps++;
        end_watch(queue, topic->watches, DUEQ_END_GONE);
    }
}

void endings_end_all(struct queue *queue)
{
    struct dueq_watch *watch, *next;

    HASH_ITER(hh, queue->endings.jobs, watch, next) {
        end_watch(queue, watch, DUEQ_END_GONE);
    }
}

bool endings_next(struct queue *queue, void **ret_arg, enum dueq_end *ret_end)
{
    struct dueq_watch *watch = queue->endings.ended;

    if (watch == NULL)
        return false;
    *ret_arg = watch->arg;
    *ret_end = watch->end;
    endings_remove(queue, watch);
    return true;
}

void endings_free(struct queue *queue)
{
    struct dueq_watch *watch, *next;

    endings_end_all(queue);
    DL_FOREACH_SAFE(queue->endings.ended, watch, next) {
        free(watch);
    }
}
