/* Removes many jobs of a topic, a bounded part in each call. */
#include "storage/bytes.h"
#include "storage/glob.h"
#include "storage/kv/cursor.h"
#include "storage/queue/queue.h"

enum {
    REMOVE_STEPS = 4,     /* a job that is removed has some records */
    BYTES_READ = 4 * 1024 /* that are looked at in a step */
};

static bool is_wanted(const struct dueq_purge *purge, const struct dueq_job *job)
{
    if (job->state == DUEQ_CLAIMED ||
        (purge->state != DUEQ_DEFAULT && purge->state != (int)job->state))
        return false;
    return purge->match.data == NULL ||
           glob_match(purge->match.data, purge->match.size, job->id.data, job->id.size, false);
}

static void spend(unsigned *budget, uint64_t steps)
{
    *budget -= steps < *budget ? (unsigned)steps : *budget;
}

/* Jobs are found by sequence number, which they keep: one that was pushed before the beginning
 * is met once, whatever happens to it meanwhile. */
static enum dueq_status find_next(struct queue *queue, struct topic *topic, unsigned *budget,
                                  struct dueq_purge_progress *progress)
{
    struct kv_key prefix, key;
    struct dueq_slice found;
    const uint8_t *bytes;
    enum dueq_status status = kv_cursor_seek_within(
        queue->cursor, queue_key_job(&key, TABLE_BODY, topic->id, progress->next), budget);

    if (status != DUEQ_OK)
        return status;
    queue_key_topic(&prefix, TABLE_BODY, topic->id);
    found = kv_cursor_key(queue->cursor);
    if (!kv_key_begins(found, &prefix))
        return DUEQ_NOTFOUND;
    bytes = found.data;
    return bytes_read_number(bytes + prefix.size, bytes + found.size, &progress->next) == NULL
               ? DUEQ_CORRUPT
               : DUEQ_OK;
}

static enum dueq_status look(struct queue *queue, struct topic *topic,
                             const struct dueq_purge *purge, struct dueq_time time,
                             unsigned *budget, struct dueq_purge_progress *progress)
{
    struct dueq_job shown;
    struct job job;
    enum dueq_status status = job_load(queue, topic, progress->next, &job);

    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_CORRUPT : status;
    spend(budget, 1 + job.body.body.size / BYTES_READ);
    lookup_show(queue, topic, &job, time, &shown);
    if (!is_wanted(purge, &shown))
        return DUEQ_OK;
    spend(budget, REMOVE_STEPS - 1 + REMOVE_STEPS * shown.awaits);
    QUEUE_COUNT(queue, topic, deleted);
    job_remove(queue, topic, &job);
    progress->removed++;
    return DUEQ_OK;
}

static enum dueq_status step(struct queue *queue, struct topic *topic,
                             const struct dueq_purge *purge, struct dueq_time time,
                             unsigned *budget, struct dueq_purge_progress *progress)
{
    enum dueq_status status = find_next(queue, topic, budget, progress);

    if (status == DUEQ_NOTFOUND) {
        progress->is_over = *budget > 0;
        return DUEQ_OK;
    }
    if (status != DUEQ_OK)
        return status;
    progress->is_over = progress->next >= progress->end;
    if (!progress->is_over)
        status = look(queue, topic, purge, time, budget, progress);
    progress->next++;
    return status;
}

static void begin(const struct topic *topic, struct dueq_purge_progress *progress)
{
    if (progress->topic == 0) {
        progress->topic = topic->id;
        progress->end = topic->next_seq;
    }
}

static void note(struct topic *topic, const struct dueq_purge_progress *progress,
                 struct dueq_time time)
{
    topic->purged = progress->removed;
    topic->purged_at = time.now;
    topic->purging = !progress->is_over;
}

/* A topic that was dropped meanwhile has none of the jobs. */
enum dueq_status queue_purge(struct queue *queue, const struct dueq_purge *purge,
                             struct dueq_time time, unsigned budget,
                             struct dueq_purge_progress *progress)
{
    struct topic *topic;
    enum dueq_status status;

    if (!queue_valid_name(purge->topic) || purge->state < DUEQ_DEFAULT ||
        purge->state >= DUEQ_STATES || purge->state == DUEQ_CLAIMED)
        return DUEQ_INVALID;
    time = queue_time(queue, time);
    status = topics_find(queue, purge->topic, &topic);
    if (status == DUEQ_NOTFOUND)
        progress->is_over = true;
    if (status != DUEQ_OK)
        return status == DUEQ_NOTFOUND ? DUEQ_OK : status;
    begin(topic, progress);
    progress->is_over = progress->topic != topic->id;
    while (status == DUEQ_OK && !progress->is_over && budget > 0)
        status = step(queue, topic, purge, time, &budget, progress);
    if (progress->topic == topic->id)
        note(topic, progress, time);
    return status;
}
