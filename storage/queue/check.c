/* The queue's self-check: what is counted equals what is there. For tests. */
#include "storage/queue/queue.h"

struct tally {
    uint64_t pending, ready;
};

struct audit {
    struct dueq *store;
    struct topic *topic;
    uint64_t jobs, entries, named, unique, lives, ttls; /* found */
    uint64_t claimed, dead;
    struct tally lanes[TOPIC_LANES_MAX]; /* as topic->lanes */
    const char *wrong;
};

static void blame(struct audit *audit, bool sound, const char *what)
{
    if (!sound && audit->wrong == NULL)
        audit->wrong = what;
}

static bool exists(struct audit *audit, struct kv_key key, struct place place)
{
    struct dueq_slice value;

    key_add_place(&key, place.due, place.seq);
    return kv_get(audit->store->kv, kv_key_slice(&key), &value) == DUEQ_OK;
}

/* ---- each job */

static void audit_pending(struct audit *audit, const struct job_state *state,
                          struct place place)
{
    struct topic *topic = audit->topic;
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct tally *tally;

    if (lane == NULL) {
        blame(audit, false, "a pending job has no lane");
        return;
    }
    tally = &audit->lanes[lane - topic->lanes];
    tally->pending++;
    blame(audit, !place_before(place, lane->head), "a job lies before its lane's head");
    if (!place_before(lane->counted, place))
        tally->ready++;
    else
        blame(audit, place.due >= lane->next_due, "a job is due before its lane's next");
    blame(audit, exists(audit, lane_key(topic->id, state->priority, state->clock), place),
          "a pending job is not in the schedule");
}

static void audit_state(struct audit *audit, const struct job_state *state, uint64_t seq)
{
    struct topic *topic = audit->topic;
    struct place place = {state->due, seq};

    switch (state->state) {
    case RECORD_PENDING:
        audit_pending(audit, state, place);
        break;
    case RECORD_CLAIMED:
        audit->claimed++;
        blame(audit, !place_before(place, topic->next_lease),
              "a lease ends before the topic's next");
        blame(audit, exists(audit, class_key(topic->id, CLASS_CLAIMED), place),
              "a claimed job is not in the schedule");
        break;
    case RECORD_DEAD:
        audit->dead++;
        blame(audit, state->expires == DUEQ_NEVER, "a dead job has a ttl");
        blame(audit, exists(audit, class_key(topic->id, CLASS_DEAD), place),
              "a dead job is not in the schedule");
        break;
    }
    blame(audit, state->token < (int64_t)topic->next_token, "a token comes from the future");
    if (state->expires != DUEQ_NEVER &&
        exists(audit, class_key(topic->id, CLASS_TTL), (struct place){state->expires, seq}))
        audit->lives++;
    else
        blame(audit, state->expires == DUEQ_NEVER || state->state == RECORD_CLAIMED,
              "a job's ttl is not in the schedule");
    blame(audit,
          !place_before((struct place){state->expires, seq}, topic->next_ttl) ||
              state->state == RECORD_CLAIMED,
          "a life ends before the topic's next");
}

/* Behind the table and the topic. */
static const uint8_t *rest_of(struct dueq_slice key)
{
    const uint8_t *at = key.data;
    uint64_t topic;

    return kv_read_number(at + 1, at + key.size, &topic);
}

/* 0: it is not the key of a job, which no job has. */
static uint64_t seq_of(struct dueq_slice key)
{
    const uint8_t *end = (const uint8_t *)key.data + key.size;
    uint64_t seq;

    return kv_read_number(rest_of(key), end, &seq) == end ? seq : 0;
}

static void at_body(struct audit *audit, struct dueq_slice key)
{
    uint64_t seq = seq_of(key);
    struct job job, found;

    if (job_load(audit->store, audit->topic, seq, &job) != DUEQ_OK) {
        blame(audit, false, "a job does not read");
        return;
    }
    audit->jobs++;
    blame(audit, seq < audit->topic->next_seq, "a seq comes from the future");
    audit_state(audit, &job.state, seq);
    if (job.body.id.size == 0)
        return;
    audit->named++;
    blame(audit,
          lookup_id(audit->store, audit->topic, job.body.id, &found) == DUEQ_OK &&
              found.seq == seq,
          "a job is not found by its id");
}

/* ---- each record */

/* Calls for every key of the table that belongs to the topic. */
static void walk(struct audit *audit, uint8_t table,
                 void (*fn)(struct audit *audit, struct dueq_slice key))
{
    struct kv_cursor *cursor = kv_cursor_new(audit->store->kv);
    struct kv_key prefix = topic_key(table, audit->topic->id);
    enum dueq_status status;

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

    blame(audit, job_load_body(audit->store, audit->topic, seq_of(key), &body) == DUEQ_OK,
          "a state has no body");
}

static void at_schedule(struct audit *audit, struct dueq_slice key)
{
    if (*rest_of(key) == CLASS_TTL)
        audit->ttls++;
    else
        audit->entries++;
}

static void at_unique(struct audit *audit, struct dueq_slice key)
{
    (void)key;
    audit->unique++;
}

/* ---- the topic */

static void audit_counts(struct audit *audit)
{
    const struct topic *topic = audit->topic;

    blame(audit, audit->entries == audit->jobs, "the schedule has an entry too many");
    blame(audit, audit->ttls == audit->lives, "the schedule has a ttl too many");
    blame(audit, audit->unique == audit->named, "the index of ids has an entry too many");
    blame(audit, topic->claimed == audit->claimed, "the count of claimed jobs is wrong");
    blame(audit, topic->dead == audit->dead, "the count of dead jobs is wrong");
    for (size_t i = 0; i < topic->lane_count; i++)
        blame(audit,
              topic->lanes[i].pending == audit->lanes[i].pending &&
                  topic->lanes[i].ready == audit->lanes[i].ready,
              "the counts of a lane are wrong");
}

/* The timer comes first, or at once. */
static bool in_time(const struct dueq *store, const struct topic *topic, int64_t event)
{
    return topic->next_event <= (event > store->now ? event : store->now);
}

static void audit_timer(struct audit *audit)
{
    const struct dueq *store = audit->store;
    const struct topic *topic = audit->topic;

    blame(audit,
          in_time(store, topic, topic->next_lease.due) &&
              in_time(store, topic, topic->next_ttl.due),
          "the topic's timer is late");
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        blame(audit,
              lane->pending == lane->ready || store->offset != store->timers_offset ||
                  in_time(store, topic, queue_clock_of(store, lane->clock, lane->next_due)),
              "the topic's timer is late for a lane");
    }
    blame(audit,
          topic->next_event == DUEQ_NEVER || wheel_timer_armed(&topic->timer) ||
              topic->next_event >= store->unarmed_until,
          "the topic's timer is not armed");
}

static const char *check_topic(struct dueq *store, struct topic *topic)
{
    struct audit audit = {.store = store, .topic = topic};

    walk(&audit, TABLE_STATE, at_state);
    walk(&audit, TABLE_BODY, at_body);
    walk(&audit, TABLE_SCHEDULE, at_schedule);
    walk(&audit, TABLE_UNIQUE, at_unique);
    audit_counts(&audit);
    audit_timer(&audit);
    return audit.wrong;
}

/* The sums of all topics are those of each. */
static bool sums_agree(const struct dueq *store)
{
    struct job_counts jobs = {0, 0, 0, 0}, counts;

    for (struct topic *topic = store->topics; topic != NULL; topic = topic->hh.next) {
        counts = topic_counts(topic);
        topic_add_counts(&jobs, &counts);
    }
    return jobs.pending == store->jobs.pending && jobs.ready == store->jobs.ready &&
           jobs.claimed == store->jobs.claimed && jobs.dead == store->jobs.dead;
}

const char *queue_check(struct dueq *store)
{
    const char *wrong = wheel_check(&store->wheel);
    struct topic *topic, *next;

    HASH_ITER(hh, store->topics, topic, next)
    {
        if (wrong == NULL)
            wrong = check_topic(store, topic);
    }
    return wrong != NULL || sums_agree(store) ? wrong : "the sums over topics are wrong";
}
