/* The queue's self-check: what is counted equals what is there. For tests. */
#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/queue/queue.h"

struct tally {
    uint64_t pending, ready;
};

struct audit {
    struct queue *queue;
    struct topic *topic;
    uint64_t jobs, entries, named, ids, ttls_of_jobs, ttl_entries; /* found */
    uint64_t claimed, dead, done, bytes;
    struct tally lanes[TOPIC_LANES_MAX]; /* as topic->lanes */
    const char *wrong;
};

static void blame(struct audit *audit, bool sound, const char *what)
{
    if (!sound && audit->wrong == NULL)
        audit->wrong = what;
}

static bool exists(struct audit *audit, struct kv_key *prefix, struct position position)
{
    struct dueq_slice value;

    return kv_get(audit->queue->kv, queue_key_add_position(prefix, position.due, position.seq),
                  &value) == DUEQ_OK;
}

static bool exists_in_class(struct audit *audit, uint8_t class, struct position position)
{
    struct kv_key key;

    queue_key_class(&key, audit->topic->id, class);
    return exists(audit, &key, position);
}

/* ---- each job */

static void audit_pending(struct audit *audit, const struct job_state *state,
                          struct position position)
{
    struct topic *topic = audit->topic;
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct kv_key key;
    struct tally *tally;

    if (lane == NULL) {
        blame(audit, false, "a pending job has no lane");
        return;
    }
    tally = &audit->lanes[lane - topic->lanes];
    tally->pending++;
    blame(audit, !position_before(position, lane->head), "a job lies before its lane's head");
    if (!position_before(lane->counted, position))
        tally->ready++;
    else
        blame(audit, position.due >= lane->next_due, "a job is due before its lane's next");
    queue_key_lane(&key, topic->id, state->priority, state->clock);
    blame(audit, exists(audit, &key, position), "a pending job is not in the schedule");
}

static void audit_state(struct audit *audit, const struct job_state *state, uint64_t seq)
{
    struct topic *topic = audit->topic;
    struct position position = {state->due, seq};

    switch (state->state) {
    case PHASE_PENDING:
        audit_pending(audit, state, position);
        break;
    case PHASE_CLAIMED:
        audit->claimed++;
        blame(audit, !position_before(position, topic->next_lease),
              "a lease ends before the topic's next");
        blame(audit, exists_in_class(audit, CLASS_CLAIMED, position),
              "a claimed job is not in the schedule");
        break;
    case PHASE_DEAD:
        audit->dead++;
        blame(audit, state->expires == DUEQ_NEVER, "a dead job has a ttl");
        blame(audit, !position_before(position, topic->next_dead),
              "a dead job died before the topic's first");
        blame(audit, exists_in_class(audit, CLASS_DEAD, position),
              "a dead job is not in the schedule");
        break;
    case PHASE_DONE:
        audit->done++;
        position.due = state->expires;
        blame(audit, !position_before(position, topic->next_done),
              "a done job is to be removed before the topic's next");
        blame(audit, exists_in_class(audit, CLASS_DONE, position),
              "a done job is not in the schedule");
        return;
    }
    blame(audit, state->token < (int64_t)topic->next_token, "a token comes from the future");
    if (state->expires != DUEQ_NEVER &&
        exists_in_class(audit, CLASS_TTL, (struct position){state->expires, seq}))
        audit->ttls_of_jobs++;
    else
        blame(audit, state->expires == DUEQ_NEVER || state->state == PHASE_CLAIMED,
              "a job's ttl is not in the schedule");
    blame(audit,
          !position_before((struct position){state->expires, seq}, topic->next_ttl) ||
              state->state == PHASE_CLAIMED,
          "a life ends before the topic's next");
}

/* Behind the table and the topic. */
static const uint8_t *suffix_of(struct dueq_slice key)
{
    const uint8_t *at = key.data;
    uint64_t topic;

    return bytes_read_number(at + 1, at + key.size, &topic);
}

/* 0: it is not the key of a job, which no job has. */
static uint64_t seq_of(struct dueq_slice key)
{
    const uint8_t *end = (const uint8_t *)key.data + key.size;
    uint64_t seq;

    return bytes_read_number(suffix_of(key), end, &seq) == end ? seq : 0;
}

static void at_body(struct audit *audit, struct dueq_slice key)
{
    uint64_t seq = seq_of(key);
    struct job job, found;

    if (job_load(audit->queue, audit->topic, seq, &job) != DUEQ_OK) {
        blame(audit, false, "a job does not read");
        return;
    }
    audit->jobs++;
    blame(audit, seq < audit->topic->next_seq, "a seq comes from the future");
    audit_state(audit, &job.state, seq);
    audit->bytes += job.body.body.size;
    blame(audit, job.state.size < 0 || (uint64_t)job.state.size == job.body.body.size,
          "a state has another size than its body");
    if (job.body.id.size == 0)
        return;
    audit->named++;
    blame(audit,
          lookup_id(audit->queue, audit->topic, job.body.id, &found) == DUEQ_OK &&
              found.seq == seq,
          "a job is not found by its id");
}

/* ---- each record */

/* Calls for every key of the table that belongs to the topic. */
static void walk(struct audit *audit, uint8_t table,
                 void (*fn)(struct audit *audit, struct dueq_slice key))
{
    struct kv_cursor *cursor = kv_cursor_new(audit->queue->kv);
    struct kv_key prefix;
    enum dueq_status status;

    queue_key_topic(&prefix, table, audit->topic->id);
    for (status = kv_cursor_seek(cursor, kv_key_slice(&prefix)); status == DUEQ_OK;
         status = kv_cursor_next(cursor)) {
        struct dueq_slice key = kv_cursor_key(cursor);

        if (!kv_key_begins(key, &prefix))
            break;
        fn(audit, key);
    }
    kv_cursor_free(cursor);
}

static void at_state(struct audit *audit, struct dueq_slice key)
{
    struct job_body body;

    blame(audit, job_load_body(audit->queue, audit->topic, seq_of(key), &body) == DUEQ_OK,
          "a state has no body");
}

static void at_schedule(struct audit *audit, struct dueq_slice key)
{
    if (*suffix_of(key) == CLASS_TTL)
        audit->ttl_entries++;
    else
        audit->entries++;
}

static void at_follow_up(struct audit *audit, struct dueq_slice key)
{
    struct kv_key full;
    struct dueq_slice record;
    struct job_state state;
    struct job_body body;

    kv_key_copy(&full, key);
    if (kv_get(audit->queue->kv, kv_key_slice(&full), &record) != DUEQ_OK ||
        !job_record_read_body(record, &body)) {
        blame(audit, false, "a follow-up does not read");
        return;
    }
    audit->bytes += body.body.size;
    blame(audit,
          job_load_state(audit->queue, audit->topic, seq_of(key), &state) == DUEQ_OK &&
              state.followed && state.state == PHASE_CLAIMED,
          "a follow-up has no claimed job");
}

static void at_result(struct audit *audit, struct dueq_slice key)
{
    struct job_state state;

    blame(audit,
          job_load_state(audit->queue, audit->topic, seq_of(key), &state) == DUEQ_OK &&
              state.state == PHASE_DONE,
          "a result has no done job");
}

static void check_id(struct audit *audit, struct dueq_slice key)
{
    (void)key;
    audit->ids++;
}

/* ---- the topic */

static void audit_counts(struct audit *audit)
{
    const struct topic *topic = audit->topic;

    blame(audit, audit->entries == audit->jobs, "the schedule has an entry too many");
    blame(audit, audit->ttl_entries == audit->ttls_of_jobs, "the schedule has a ttl too many");
    blame(audit, audit->ids == audit->named, "the index of ids has an entry too many");
    blame(audit, topic->claimed == audit->claimed, "the count of claimed jobs is wrong");
    blame(audit, topic->dead == audit->dead, "the count of dead jobs is wrong");
    blame(audit, topic->done == audit->done, "the count of done jobs is wrong");
    blame(audit, topic->bytes == audit->bytes, "the bytes of the bodies are wrong");
    for (size_t i = 0; i < topic->lane_count; i++)
        blame(audit,
              topic->lanes[i].pending == audit->lanes[i].pending &&
                  topic->lanes[i].ready == audit->lanes[i].ready,
              "the counts of a lane are wrong");
}

/* The timer comes first, or at once. */
static bool in_time(const struct queue *queue, const struct topic *topic, int64_t event)
{
    return queue_next_event(topic) <= (event > queue->now ? event : queue->now);
}

static void audit_timer(struct audit *audit)
{
    struct queue *queue = audit->queue;
    struct topic *topic = audit->topic;

    blame(audit,
          in_time(queue, topic, topic->next_lease.due) &&
              in_time(queue, topic, topic->next_ttl.due) &&
              (queue->sweep.any || in_time(queue, topic, schedule_dead_end(queue, topic))),
          "the topic's timer is late");
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        blame(audit,
              lane->pending == lane->ready || queue->sweep.any ||
                  queue->offset != queue->timers_offset ||
                  in_time(queue, topic, queue_clock_of(queue, lane->clock, lane->next_due)),
              "the topic's timer is late for a lane");
    }
}

static const char *check_topic(struct queue *queue, struct topic *topic)
{
    struct audit audit = {.queue = queue, .topic = topic};

    walk(&audit, TABLE_STATE, at_state);
    walk(&audit, TABLE_BODY, at_body);
    walk(&audit, TABLE_SCHEDULE, at_schedule);
    walk(&audit, TABLE_FOLLOW, at_follow_up);
    walk(&audit, TABLE_RESULT, at_result);
    walk(&audit, TABLE_ID, check_id);
    audit_counts(&audit);
    audit_timer(&audit);
    return audit.wrong;
}

/* ---- all topics */

struct sums {
    struct job_counts jobs;
    uint64_t bytes;
};

static const char *check_entry(struct queue *queue, struct topic_entry *entry,
                               struct sums *sums)
{
    struct job_counts counts;
    struct topic *topic;

    if (topics_wake(queue, entry, &topic) != DUEQ_OK)
        return "a topic cannot be read";
    counts = topic_counts(topic);
    topic_add_counts(&sums->jobs, &counts);
    sums->bytes += topic->bytes;
    return check_topic(queue, topic);
}

static bool sums_agree(const struct queue *queue, const struct sums *sums)
{
    return sums->jobs.pending == queue->jobs.pending && sums->jobs.ready == queue->jobs.ready &&
           sums->jobs.claimed == queue->jobs.claimed && sums->jobs.dead == queue->jobs.dead &&
           sums->jobs.done == queue->jobs.done && sums->bytes == queue->bytes;
}

const char *queue_check(struct queue *queue)
{
    const char *wrong = wheel_check(&queue->wheel);
    struct sums sums = {.bytes = 0};
    size_t count = 0;

    for (size_t bucket = 0; bucket < queue->topics.buckets; bucket++)
        for (struct topic_entry *entry = topic_table_bucket(&queue->topics, bucket);
             entry != NULL && wrong == NULL; entry = entry->next, count++)
            wrong = check_entry(queue, entry, &sums);
    if (wrong == NULL && count != queue->topics.count)
        wrong = "the number of topics is wrong";
    return wrong != NULL || sums_agree(queue, &sums) ? wrong : "the sums over topics are wrong";
}
