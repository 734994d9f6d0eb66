/* The queue's self-check: what is counted equals what is there. For tests and dueq_verify. */
#include "storage/bytes.h"
#include "storage/queue/cron_entries.h"
#include "storage/queue/queue.h"
#include "storage/verify.h"
#include "storage/xxh3.h"

#include <inttypes.h>

struct tally {
    uint64_t pending, ready;
};

struct audit {
    struct queue *queue;
    struct topic *topic;
    struct findings *findings;
    uint64_t seq;    /* of the job that is looked at; 0: none */
    bool unreadable; /* so that nothing is known of the counts */
    uint64_t jobs, entries, named, ids, ttls_of_jobs, ttl_entries; /* found */
    uint64_t claimed, dead, done, bytes, waiting, dependents;
    uint64_t waiter, listed_edges; /* whose edges are walked, and what it has so far */
    uint64_t edges, edges_of_jobs; /* records of TABLE_AWAITED, and what states say of them */
    struct tally lanes[TOPIC_LANES_MAX]; /* as topic->lanes */
    /* Sums over jobs, less those over the records of their groups: counts, and counts times a
     * hash of the group. All are 0 when each group has what its record says. */
    uint64_t running, running_hash, holds, holds_hash;
    uint64_t parked, groups, turns, awaited; /* awaited: turns that groups have */
    uint64_t group, listed;                  /* whose list is walked, and what it has so far */
};

/* ---- what is wrong, and where */

static void blame_topic(struct audit *audit, bool sound, const char *what)
{
    char name[FINDINGS_QUOTED_MAX];

    if (!sound)
        findings_add(audit->findings, what, "topic %s",
                     findings_quote(name, topic_name(audit->topic)));
}

/* The job's id, when its body can be read: what callers know it by. */
static void blame(struct audit *audit, bool sound, const char *what)
{
    struct job job = {.seq = audit->seq};
    char topic[FINDINGS_QUOTED_MAX], id[FINDINGS_QUOTED_MAX], given[GIVEN_ID_SIZE];

    if (sound)
        return;
    findings_quote(topic, topic_name(audit->topic));
    if (job_load_body(audit->queue, audit->topic, audit->seq, &job.body) == DUEQ_OK)
        findings_add(audit->findings, what, "topic %s, job %s (seq %" PRIu64 ")", topic,
                     findings_quote(id, job_id(&job, given)), audit->seq);
    else
        findings_add(audit->findings, what, "topic %s, seq %" PRIu64, topic, audit->seq);
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

static uint64_t hash_of(uint64_t group)
{
    return XXH3_64bits(&group, sizeof(group));
}

static void audit_group(struct audit *audit, const struct job_state *state)
{
    if (state->group == 0) {
        blame(audit, !state->holds, "a job without a group holds it");
        return;
    }
    if (state->state == PHASE_CLAIMED) {
        audit->running++;
        audit->running_hash += hash_of(state->group);
    }
    if (state->holds) {
        audit->holds++;
        audit->holds_hash += hash_of(state->group);
    }
}

static void audit_pending(struct audit *audit, const struct job_state *state,
                          struct position position)
{
    struct topic *topic = audit->topic;
    struct lane *lane = topic_find_lane(topic, state->priority, state->clock);
    struct kv_key key;
    struct tally *tally;

    if (groups_has(audit->queue, topic, state, position.seq)) {
        audit->parked++;
        return;
    }
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

static void audit_waiting(struct audit *audit, const struct job_state *state,
                          struct position position)
{
    audit->waiting++;
    audit->edges_of_jobs += state->awaits;
    blame(audit, state->awaits > 0 && state->expires == DUEQ_NEVER,
          "a waiting job waits for nothing, or has a ttl");
    blame(audit, exists_in_class(audit, CLASS_WAITING, position),
          "a waiting job is not in the schedule");
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
    case PHASE_WAITING:
        if (AFTERS_KNOWN)
            audit_waiting(audit, state, position);
        break;
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

/* After the table and the topic. */
static const uint8_t *suffix_of(struct dueq_slice key)
{
    const uint8_t *at = key.data;
    uint64_t topic;

    return bytes_read_number(at + 1, at + key.size, &topic);
}

/* The class of an entry of the schedule; 0: the key ends before it. */
static uint8_t class_of(struct dueq_slice key)
{
    const uint8_t *suffix = suffix_of(key);

    return suffix == (const uint8_t *)key.data + key.size ? 0 : *suffix;
}

/* 0: it is not the key of a job, which no job has. */
static uint64_t seq_of(struct dueq_slice key)
{
    const uint8_t *end = (const uint8_t *)key.data + key.size;
    uint64_t seq;

    return bytes_read_number(suffix_of(key), end, &seq) == end ? seq : 0;
}

static void audit_id(struct audit *audit, const struct job *job)
{
    struct job found;

    if (job->body.id.size == 0)
        return;
    audit->named++;
    blame(audit,
          lookup_id(audit->queue, audit->topic, job->body.id, &found) == DUEQ_OK &&
              found.seq == job->seq,
          "a job is not found by its id");
}

static bool at_body(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct job job;

    (void)value;
    audit->seq = seq_of(key);
    if (job_load(audit->queue, audit->topic, audit->seq, &job) != DUEQ_OK) {
        audit->unreadable = true;
        blame(audit, false, "a job does not read");
        return true;
    }
    audit->jobs++;
    blame(audit, audit->seq < audit->topic->next_seq, "a seq comes from the future");
    audit_state(audit, &job.state, audit->seq);
    audit_group(audit, &job.state);
    blame(audit, job.state.group == job.body.group_id,
          "a state has another group than its body");
    audit->bytes += job.body.body.size;
    blame(audit, job.state.size < 0 || (uint64_t)job.state.size == job.body.body.size,
          "a state has another size than its body");
    audit_id(audit, &job);
    return true;
}

/* ---- each record */

/* Calls for every key of the table that belongs to the topic. */
static void walk(struct audit *audit, uint8_t table, findings_fn fn)
{
    struct kv_key prefix;

    queue_key_topic(&prefix, table, audit->topic->id);
    if (!findings_walk(audit->findings, audit->queue->kv, &prefix, fn, audit))
        audit->unreadable = true;
    audit->seq = 0;
}

static bool at_state(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct job_body body;

    (void)value;
    audit->seq = seq_of(key);
    blame(audit, job_load_body(audit->queue, audit->topic, audit->seq, &body) == DUEQ_OK,
          "a state has no body");
    return true;
}

static bool at_schedule(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;

    (void)value;
    if (class_of(key) == CLASS_TTL)
        audit->ttl_entries++;
    else
        audit->entries++;
    return true;
}

static bool at_follow_up(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct job_state state;
    struct job_body body;

    audit->seq = seq_of(key);
    if (!job_record_read_body(value, &body)) {
        blame(audit, false, "a follow-up does not read");
        return true;
    }
    audit->bytes += body.body.size;
    blame(audit,
          job_load_state(audit->queue, audit->topic, audit->seq, &state) == DUEQ_OK &&
              state.followed && state.state == PHASE_CLAIMED,
          "a follow-up has no claimed job");
    return true;
}

static bool at_result(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct job_state state;

    (void)value;
    audit->seq = seq_of(key);
    blame(audit,
          job_load_state(audit->queue, audit->topic, audit->seq, &state) == DUEQ_OK &&
              state.state == PHASE_DONE,
          "a result has no done job");
    return true;
}

/* ---- groups */

/* All entries of a list come one after the other. */
static void end_list(struct audit *audit)
{
    struct group_record record = {.running = 0};

    if (audit->listed == 0)
        return;
    if (groups_get(audit->queue, audit->topic, audit->group, &record) != DUEQ_OK ||
        record.parked != audit->listed)
        blame_topic(audit, false, "a group has another number of parked jobs");
    audit->listed = 0;
}

static bool at_parked(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *suffix = suffix_of(key);
    size_t head = (size_t)(suffix - (const uint8_t *)key.data) + 9;
    struct group_record record;
    struct group_place place;
    uint64_t group;

    (void)value;
    if (key.size < head || !group_parked_read(key, head, &place)) {
        blame_topic(audit, false, "an entry of a group does not read");
        return true;
    }
    group = bytes_read_u64(suffix + 1);
    if (group != audit->group)
        end_list(audit);
    audit->group = group;
    audit->listed++;
    audit->seq = place.position.seq;
    blame(audit,
          groups_get(audit->queue, audit->topic, group, &record) == DUEQ_OK &&
              !group_place_before(place, record.head),
          "a job lies before its group's head");
    return true;
}

static bool has_turn(struct audit *audit, uint64_t group, const struct group_record *record)
{
    struct kv_key key;
    struct dueq_slice value;

    return kv_get(audit->queue->kv, group_turn_key(&key, audit->topic->id, group, record),
                  &value) == DUEQ_OK;
}

static bool at_group(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *suffix = suffix_of(key);
    struct group_record record;
    uint64_t group;

    audit->groups++;
    if (suffix + 8 != (const uint8_t *)key.data + key.size ||
        !group_record_read(value, &record)) {
        audit->unreadable = true;
        blame_topic(audit, false, "a group does not read");
        return true;
    }
    group = bytes_read_u64(suffix);
    audit->running -= record.running;
    audit->running_hash -= record.running * hash_of(group);
    audit->holds -= record.holds;
    audit->holds_hash -= record.holds * hash_of(group);
    audit->parked -= record.parked;
    blame_topic(audit,
                record.running + record.holds + record.parked > 0 ||
                    !bucket_is_full(&record.bucket),
                "a group has a record and no job");
    blame_topic(audit, groups_agree(audit->queue, audit->topic, group, &record),
                "a group has another turn than its settings give it");
    if (record.order == GROUP_WAITS)
        return true;
    audit->awaited++;
    blame_topic(audit, has_turn(audit, group, &record), "a group's turn is missing");
    return true;
}

/* The timer comes first, or at once. */
static bool in_time(const struct queue *queue, const struct topic *topic, int64_t event)
{
    return queue_next_event(topic) <= (event > queue->now ? event : queue->now);
}

/* One that waits for a permit is looked at then. */
static bool at_turn(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct group_record turn;
    uint64_t group;

    (void)value;
    audit->turns++;
    if (group_turn_read(key, &group, &turn) && group_waits_for_time(&turn))
        blame_topic(audit,
                    audit->topic->first_permit <= turn.at &&
                        in_time(audit->queue, audit->topic, turn.at),
                    "the topic's timer is late for a group");
    return true;
}

static bool at_event(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const char *flaw = rings_flaw(audit->topic, seq_of(key), value);

    blame_topic(audit, flaw == NULL, flaw);
    return true;
}

/* ---- jobs that wait for others */

/* All edges of a job come one after the other. */
static void end_edges(struct audit *audit)
{
    struct job_state state;

    if (audit->waiter == 0)
        return;
    audit->seq = audit->waiter;
    blame(audit,
          job_load_state(audit->queue, audit->topic, audit->waiter, &state) == DUEQ_OK &&
              state.state == PHASE_WAITING && state.awaits == audit->listed_edges,
          "a job waits for another number of jobs than its state says");
    audit->waiter = audit->listed_edges = 0;
}

/* Is it waited for rightly? When the other job is there, the edge has its other end. */
static bool edge_is_sound(struct audit *audit, const struct after_edge *edge,
                          struct dueq_slice name)
{
    struct kv_key key;
    struct dueq_slice value;
    struct job_body body;
    struct topic *of;

    if (kv_get(audit->queue->kv,
               queue_key_edge(&key, TABLE_DEPENDENT, edge->topic, edge->seq, edge->waiter_topic,
                              edge->waiter_seq),
               &value) == DUEQ_OK)
        return dueq_slice_equal(value, topic_name(audit->topic));
    return topics_find(audit->queue, name, &of) == DUEQ_NOTFOUND || of->id != edge->topic ||
           job_load_body(audit->queue, of, edge->seq, &body) == DUEQ_NOTFOUND;
}

static bool at_awaited(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct after_edge edge;

    if (!afters_read_awaited(key, &edge) || edge.waiter_seq == 0) {
        blame_topic(audit, false, "an edge of a waiting job does not read");
        return true;
    }
    if (edge.waiter_seq != audit->waiter)
        end_edges(audit);
    audit->seq = audit->waiter = edge.waiter_seq;
    audit->listed_edges++;
    audit->edges++;
    blame(audit, edge_is_sound(audit, &edge, value), "an edge has one end only");
    return true;
}

/* The job that waits may be gone with its topic; else the edge has its other end. */
static bool at_dependent(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    struct after_edge edge;
    struct topic *waiter;
    struct job_body body;

    audit->dependents++;
    if (!afters_read_dependent(key, &edge)) {
        blame_topic(audit, false, "an edge to a waiting job does not read");
        return true;
    }
    audit->seq = edge.seq;
    if (topics_find(audit->queue, value, &waiter) == DUEQ_OK && waiter->id == edge.waiter_topic)
        blame(audit, afters_has(audit->queue, &edge), "an edge has one end only");
    blame(audit,
          job_load_body(audit->queue, audit->topic, edge.seq, &body) == DUEQ_OK ||
              afters_has_end(audit->queue, edge.topic, edge.seq),
          "a job is waited for that is not there");
    return true;
}

static bool at_id(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;

    (void)key;
    (void)value;
    audit->ids++;
    return true;
}

/* ---- entries that no job has: looked for only when there are more entries than jobs, because
 * this reads each job once more */

/* Does an entry of the schedule of that class belong to the state? The jobs have said what
 * their entries are, so the position alone is compared. */
static bool entry_fits(const struct job_state *state, uint8_t class, struct position at)
{
    static const enum job_phase phases[] = {PHASE_PENDING, PHASE_CLAIMED, PHASE_DEAD,
                                            PHASE_DONE,    PHASE_PENDING, PHASE_WAITING};
    static const uint8_t classes[] = {CLASS_PENDING, CLASS_CLAIMED, CLASS_DEAD,
                                      CLASS_DONE,    CLASS_PARKED,  CLASS_WAITING};

    if (class == CLASS_TTL)
        return state->expires == at.due && state->state != PHASE_DONE;
    for (size_t i = 0; i < sizeof(classes); i++)
        if (class == classes[i])
            return state->state == phases[i] &&
                   (class == CLASS_DONE ? state->expires : state->due) == at.due;
    return false;
}

/* Bytes of a class, and of what comes before the position. */
static size_t class_head(uint8_t class)
{
    if (class == CLASS_PARKED)
        return 1 + 8 + 2;
    return class == CLASS_PENDING ? 3 : 1;
}

static bool fits_in_place(struct audit *audit, const struct job *job, const uint8_t *suffix)
{
    if (*suffix == CLASS_PARKED)
        return bytes_read_u64(suffix + 1) == job->state.group &&
               suffix[9] == !job->state.holds && suffix[10] == job->state.priority;
    if (*suffix == CLASS_PENDING)
        return suffix[1] == job->state.priority && suffix[2] == job->state.clock &&
               !groups_has(audit->queue, audit->topic, &job->state, job->seq);
    return true;
}

static bool blame_entry(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *suffix = suffix_of(key);
    uint8_t class = class_of(key);
    size_t head = (size_t)(suffix - (const uint8_t *)key.data) + class_head(class);
    struct position at;
    struct job job;

    (void)value;
    audit->seq = 0;
    if (class == 0 || !queue_key_read_position(key, head, &at.due, &at.seq)) {
        blame(audit, false, "an entry of the schedule does not read");
        return true;
    }
    audit->seq = at.seq;
    blame(audit,
          job_load(audit->queue, audit->topic, at.seq, &job) == DUEQ_OK &&
              entry_fits(&job.state, class, at) && fits_in_place(audit, &job, suffix),
          "an entry of the schedule belongs to no job");
    return true;
}

static bool blame_id(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct audit *audit = arg;
    const uint8_t *bytes = value.data, *end = bytes + value.size;
    struct id_index_key own;
    struct job_body body;

    if (bytes_read_number(bytes, end, &audit->seq) != end)
        audit->seq = 0;
    if (job_load_body(audit->queue, audit->topic, audit->seq, &body) == DUEQ_OK &&
        body.id.size > 0) {
        id_index_key(&audit->queue->ids, audit->topic->id, body.id, &own);
        if (dueq_slice_equal(kv_key_slice(&own.key), key))
            return true;
    }
    blame(audit, false, "an id of the index belongs to no job");
    return true;
}

/* ---- the topic */

static void audit_edge_counts(struct audit *audit)
{
    const struct topic *topic = audit->topic;

    blame_topic(audit, topic->waiting == audit->waiting, "the count of waiting jobs is wrong");
    blame_topic(audit, topic->awaited == audit->dependents,
                "the count of edges to waiting jobs is wrong");
    blame_topic(audit, audit->edges == audit->edges_of_jobs,
                "waiting jobs have other edges than their states say");
}

static void audit_counts(struct audit *audit)
{
    const struct topic *topic = audit->topic;

    blame_topic(audit, audit->entries == audit->jobs, "the schedule has an entry too many");
    blame_topic(audit, audit->ttl_entries == audit->ttls_of_jobs,
                "the schedule has a ttl too many");
    blame_topic(audit, audit->ids == audit->named, "the index of ids has an entry too many");
    blame_topic(audit, topic->claimed == audit->claimed, "the count of claimed jobs is wrong");
    blame_topic(audit, topic->dead == audit->dead, "the count of dead jobs is wrong");
    blame_topic(audit, topic->done == audit->done, "the count of done jobs is wrong");
    if (AFTERS_KNOWN)
        audit_edge_counts(audit);
    blame_topic(audit,
                audit->running == 0 && audit->running_hash == 0 && audit->holds == 0 &&
                    audit->holds_hash == 0 && audit->parked == 0,
                "groups do not have the jobs that their records say");
    blame_topic(audit, topic->groups == audit->groups, "the number of groups is wrong");
    blame_topic(audit, audit->turns == audit->awaited, "the turns have an entry too many");
    blame_topic(audit, topic->bytes == audit->bytes, "the bytes of the bodies are wrong");
    for (size_t i = 0; i < topic->lane_count; i++)
        blame_topic(audit,
                    topic->lanes[i].pending == audit->lanes[i].pending &&
                        topic->lanes[i].ready == audit->lanes[i].ready,
                    "the counts of a lane are wrong");
}

static void audit_timer(struct audit *audit)
{
    struct queue *queue = audit->queue;
    struct topic *topic = audit->topic;

    blame_topic(
        audit,
        in_time(queue, topic, topic->next_lease.due) &&
            in_time(queue, topic, topic->next_ttl.due) &&
            (queue->sweep.any || in_time(queue, topic, schedule_dead_end(queue, topic))),
        "the topic's timer is late");
    for (size_t i = 0; i < topic->lane_count; i++) {
        const struct lane *lane = &topic->lanes[i];

        blame_topic(
            audit,
            lane->pending == lane->ready || queue->sweep.any ||
                queue->offset != queue->timers_offset ||
                in_time(queue, topic, queue_clock_of(queue, lane->clock, lane->next_due)),
            "the topic's timer is late for a lane");
    }
}

static void audit_groups(struct audit *audit)
{
    struct kv_key prefix;

    if (audit->topic->parked != audit->parked)
        blame_topic(audit, false, "the count of parked jobs is wrong");
    queue_key_class(&prefix, audit->topic->id, CLASS_PARKED);
    if (!findings_walk(audit->findings, audit->queue->kv, &prefix, at_parked, audit))
        audit->unreadable = true;
    end_list(audit);
    walk(audit, TABLE_GROUP, at_group);
    walk(audit, TABLE_TURN, at_turn);
}

static void audit_edges(struct audit *audit)
{
    walk(audit, TABLE_AWAITED, at_awaited);
    end_edges(audit);
    walk(audit, TABLE_DEPENDENT, at_dependent);
}

static void audit_topic(struct findings *findings, struct queue *queue, struct topic *topic)
{
    struct audit audit = {.queue = queue, .topic = topic, .findings = findings};

    walk(&audit, TABLE_STATE, at_state);
    walk(&audit, TABLE_BODY, at_body);
    walk(&audit, TABLE_SCHEDULE, at_schedule);
    walk(&audit, TABLE_FOLLOW, at_follow_up);
    walk(&audit, TABLE_RESULT, at_result);
    walk(&audit, TABLE_ID, at_id);
    walk(&audit, TABLE_EVENT, at_event);
    if (AFTERS_KNOWN)
        audit_edges(&audit);
    audit_groups(&audit);
    if (findings->stopped)
        return;
    if (audit.entries != audit.jobs || audit.ttl_entries != audit.ttls_of_jobs)
        walk(&audit, TABLE_SCHEDULE, blame_entry);
    if (audit.ids != audit.named)
        walk(&audit, TABLE_ID, blame_id);
    if (!audit.unreadable)
        audit_counts(&audit);
    audit_timer(&audit);
}

/* ---- all topics */

struct sums {
    struct job_counts jobs;
    uint64_t bytes;
    size_t topics;
    bool unreadable;
};

static void audit_entry(struct findings *findings, struct queue *queue,
                        struct topic_entry *entry, struct sums *sums)
{
    char name[FINDINGS_QUOTED_MAX];
    struct job_counts counts;
    struct topic *topic;
    enum dueq_status status = topics_wake(queue, entry, &topic);

    sums->topics++;
    if (status != DUEQ_OK) {
        sums->unreadable = true;
        findings_add(findings, "a topic cannot be read", "topic %s: %s",
                     findings_quote(name, topic_entry_name(entry)), dueq_status_text(status));
        return;
    }
    counts = topic_counts(topic);
    topic_add_counts(&sums->jobs, &counts);
    sums->bytes += topic->bytes;
    audit_topic(findings, queue, topic);
}

static bool sums_agree(const struct queue *queue, const struct sums *sums)
{
    return sums->jobs.pending == queue->jobs.pending && sums->jobs.ready == queue->jobs.ready &&
           sums->jobs.claimed == queue->jobs.claimed && sums->jobs.dead == queue->jobs.dead &&
           sums->jobs.done == queue->jobs.done && sums->jobs.waiting == queue->jobs.waiting &&
           sums->bytes == queue->bytes;
}

static void audit_sums(struct findings *findings, const struct queue *queue,
                       const struct sums *sums)
{
    if (sums->topics != queue->topics.count)
        findings_add(findings, "the number of topics is wrong", "all topics");
    if (!sums->unreadable && !sums_agree(queue, sums))
        findings_add(findings, "the sums over topics are wrong", "all topics");
}

/* `ids`: gets those of the topics, and those that slept sleep again; NULL: all stay awake.
 * False: out of memory. */
static bool audit_topics(struct findings *findings, struct queue *queue, struct sums *sums,
                         struct id_list *ids)
{
    for (size_t bucket = 0; bucket < queue->topics.buckets; bucket++)
        for (struct topic_entry *entry = topic_table_bucket(&queue->topics, bucket);
             entry != NULL && !findings->stopped; entry = entry->next) {
            bool slept = entry->topic == NULL;

            audit_entry(findings, queue, entry, sums);
            if (ids == NULL)
                continue;
            if (entry->topic != NULL && !id_list_add(ids, entry->topic->id))
                return false;
            if (slept)
                topics_rest(queue, entry);
        }
    return true;
}

const char *queue_check(struct queue *queue)
{
    struct findings findings = {.first = wheel_check(&queue->wheel)};
    struct sums sums = {.bytes = 0};

    audit_topics(&findings, queue, &sums, NULL);
    audit_sums(&findings, queue, &sums);
    cron_audit(queue, &findings);
    return findings.first;
}

/* ---- what belongs to no topic */

struct orphans {
    struct findings *findings;
    struct queue *queue;
    struct id_list topics;
};

static size_t topic_head(struct dueq_slice key)
{
    const uint8_t *suffix = suffix_of(key);

    return suffix == NULL ? key.size : (size_t)(suffix - (const uint8_t *)key.data);
}

/* Ticks remove what flushed and dropped topics have left. */
static bool is_garbage(const struct orphans *orphans, uint64_t topic)
{
    struct dueq_slice value;
    struct kv_key mark;

    kv_key_start(&mark, TABLE_GARBAGE);
    kv_key_number(&mark, topic);
    return topic < orphans->queue->counters.first_topic ||
           kv_get(orphans->queue->kv, kv_key_slice(&mark), &value) == DUEQ_OK;
}

static bool at_topic(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct orphans *orphans = arg;
    const uint8_t *bytes = key.data;
    uint64_t topic = 0;

    (void)value;
    bytes_read_number(bytes + 1, bytes + key.size, &topic);
    if (topic == 0)
        findings_add(orphans->findings, "a key does not read", "table %c", bytes[0]);
    else if (!id_list_has(&orphans->topics, topic) && !is_garbage(orphans, topic))
        findings_add(orphans->findings, "records belong to no topic",
                     "table %c, topic number %" PRIu64, bytes[0], topic);
    return true;
}

static void find_orphans(struct orphans *orphans)
{
    static const uint8_t tables[] = {TABLE_BODY,   TABLE_STATE,  TABLE_SCHEDULE, TABLE_ID,
                                     TABLE_FOLLOW, TABLE_RESULT, TABLE_GROUP,    TABLE_TURN,
                                     TABLE_EVENT,  TABLE_AWAITED};
    uint64_t twice = id_list_sort(&orphans->topics);

    if (twice != 0)
        findings_add(orphans->findings, "two topics have the same number",
                     "topic number %" PRIu64, twice);
    for (size_t i = 0; i < sizeof(tables) && !orphans->findings->stopped; i++) {
        struct kv_key prefix;

        kv_key_start(&prefix, tables[i]);
        findings_walk_heads(orphans->findings, orphans->queue->kv, &prefix, topic_head,
                            at_topic, orphans);
    }
}

/* Edges of a topic that is gone stay until those who wait are told. */
static bool at_edge(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct orphans *orphans = arg;
    struct after_edge edge;

    (void)value;
    if (!afters_read_dependent(key, &edge))
        findings_add(orphans->findings, "a key does not read", "table %c", TABLE_DEPENDENT);
    else if (!id_list_has(&orphans->topics, edge.topic) && !is_garbage(orphans, edge.topic) &&
             !afters_has_end(orphans->queue, edge.topic, edge.seq))
        findings_add(orphans->findings, "records belong to no topic",
                     "table %c, topic number %" PRIu64, TABLE_DEPENDENT, edge.topic);
    return true;
}

static bool at_ended(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct orphans *orphans = arg;
    struct after_ended ended;

    if (!afters_read_ended(key, value, &ended))
        findings_add(orphans->findings, "the end of a job does not read", "table %c",
                     TABLE_ENDED);
    return true;
}

static void find_edges(struct orphans *orphans)
{
    struct kv_key table;

    kv_key_start(&table, TABLE_DEPENDENT);
    findings_walk(orphans->findings, orphans->queue->kv, &table, at_edge, orphans);
    kv_key_start(&table, TABLE_ENDED);
    findings_walk(orphans->findings, orphans->queue->kv, &table, at_ended, orphans);
}

void queue_verify(struct queue *queue, struct findings *findings)
{
    struct orphans orphans = {.findings = findings, .queue = queue};
    struct sums sums = {.bytes = 0};

    if (!audit_topics(findings, queue, &sums, &orphans.topics)) {
        findings_stop(findings, DUEQ_NOMEM);
    } else if (!findings->stopped) {
        audit_sums(findings, queue, &sums);
        if (!sums.unreadable)
            find_orphans(&orphans);
        if (AFTERS_KNOWN && !sums.unreadable && !findings->stopped)
            find_edges(&orphans);
        if (!findings->stopped)
            cron_audit(queue, findings);
    }
    id_list_release(&orphans.topics);
}
