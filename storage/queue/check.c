/* The queue's self-check: what is counted equals what is there. For tests. */
#include "storage/queue/queue.h"

#include <stdlib.h>

struct audit {
    struct queue *queue;
    struct topic *topic;
    uint64_t jobs, entries, named, unique;
    uint64_t counts[3]; /* by enum record_state */
    const char *wrong;
};

static bool exists(struct queue *queue, const struct kv_key *key)
{
    struct dueq_slice value;

    return kv_get(queue->kv, kv_key_slice(key), &value) == DUEQ_OK;
}

static void audit_job(struct audit *audit, uint64_t seq)
{
    struct kv_key key;
    struct job job;

    if (job_load(audit->queue, audit->topic, seq, &job) != DUEQ_OK) {
        audit->wrong = "a state has no body, or does not read";
        return;
    }
    audit->jobs++;
    audit->named += job.body.id.size > 0;
    audit->counts[job.state.state]++;
    if (job.state.state == RECORD_PENDING)
        key = lane_key(audit->topic->id, job.state.priority, job.state.clock);
    else
        key = class_key(audit->topic->id,
                        job.state.state == RECORD_CLAIMED ? CLASS_CLAIMED : CLASS_DEAD);
    key_add_place(&key, job.state.due, seq);
    if (!exists(audit->queue, &key))
        audit->wrong = "a job is not in the schedule";
}

/* Calls for every key of the table that belongs to the topic. */
static void walk(struct audit *audit, uint8_t table,
                 void (*fn)(struct audit *audit, struct dueq_slice key))
{
    struct kv_cursor *cursor = kv_cursor_new(audit->queue->kv);
    struct kv_key prefix;
    enum dueq_status status;

    kv_key_start(&prefix, table);
    kv_key_u64(&prefix, audit->topic->id);
    for (status = kv_cursor_seek(cursor, kv_key_slice(&prefix));
         status == DUEQ_OK && audit->wrong == NULL; status = kv_cursor_next(cursor)) {
        struct dueq_slice key = kv_cursor_key(cursor);

        if (key.size < prefix.size || memcmp(key.data, prefix.bytes, prefix.size) != 0)
            break;
        fn(audit, key);
    }
    kv_cursor_free(cursor);
}

static void at_state(struct audit *audit, struct dueq_slice key)
{
    audit_job(audit, kv_read_u64((const uint8_t *)key.data + 9));
}

static void at_schedule(struct audit *audit, struct dueq_slice key)
{
    audit->entries += ((const uint8_t *)key.data)[9] != CLASS_TTL;
}

static void at_unique(struct audit *audit, struct dueq_slice key)
{
    (void)key;
    audit->unique++;
}

static const char *check_lanes(const struct topic *topic, uint64_t pending)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < topic->lane_count; i++) {
        sum += topic->lanes[i].pending;
        if (topic->lanes[i].ready > topic->lanes[i].pending)
            return "more jobs are ready than there are";
    }
    return sum == pending ? NULL : "the lanes' counts are wrong";
}

static const char *check_topic(struct queue *queue, struct topic *topic)
{
    struct audit audit = {.queue = queue, .topic = topic};

    walk(&audit, TABLE_STATE, at_state);
    walk(&audit, TABLE_SCHEDULE, at_schedule);
    walk(&audit, TABLE_UNIQUE, at_unique);
    if (audit.wrong != NULL)
        return audit.wrong;
    if (audit.entries != audit.jobs)
        return "the schedule has an entry too many";
    if (audit.unique != audit.named)
        return "the index of ids is wrong";
    if (topic->claimed != audit.counts[RECORD_CLAIMED] ||
        topic->dead != audit.counts[RECORD_DEAD])
        return "the topic's counts are wrong";
    return check_lanes(topic, audit.counts[RECORD_PENDING]);
}

const char *queue_check(struct queue *queue)
{
    struct topic *topic, *next;

    HASH_ITER(hh, queue->topics, topic, next)
    {
        const char *wrong = check_topic(queue, topic);

        if (wrong != NULL)
            return wrong;
    }
    return wheel_check(&queue->wheel);
}
