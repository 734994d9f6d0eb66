#include "storage/queue/queue_salvage.h"

#include "storage/bytes.h"
#include "storage/kv/cursor.h"
#include "storage/queue/core/queue_state.h"
#include "storage/queue/cron_entries.h"
#include "storage/queue/restore.h"
#include "storage/salvage.h"
#include "storage/verify.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    /* Topic, seq -> the job's place in the schedule: class, priority, clock, time (8). */
    TABLE_PLACE = '#',
    /* Topic, seq -> the caller's id, as far as its key in the index tells it. */
    TABLE_NAME = '$',
    PLACE_SIZE = 3 + 8,
    NAME_HASHED = 16 /* bytes; longer ids are not in the index */
};

/* After damage, seqs and tokens may have been given out that no record knows any more. */
static const uint64_t NUMBERS_LEFT_OUT = 1 << 20;

/* ---- reading: what the schedule and the index of ids say of each job */

struct place {
    uint64_t topic, seq;
    uint8_t class, priority, clock;
    int64_t due;
};

bool queue_salvage_takes(struct dueq_slice key)
{
    uint8_t table = *(const uint8_t *)key.data;

    return table == TABLE_SCHEDULE || table == TABLE_ID;
}

/* A parked job is to wait in its lane again. */
static bool read_parked_key(struct dueq_slice key, size_t head, struct place *ret_place)
{
    struct group_place place;

    if (!group_parked_read(key, head + 1 + 8, &place))
        return false;
    ret_place->class = CLASS_PENDING;
    ret_place->priority = place.priority;
    ret_place->clock = CLOCK_QUEUE;
    ret_place->due = place.position.due;
    ret_place->seq = place.position.seq;
    return true;
}

/* False: it is no key of a job's place. */
static bool read_schedule_key(struct dueq_slice key, struct place *ret_place)
{
    const uint8_t *bytes = key.data, *end = bytes + key.size,
                  *at = bytes_read_number(bytes + 1, end, &ret_place->topic);
    size_t head;

    if (at == NULL || end - at < 3)
        return false;
    ret_place->class = at[0];
    ret_place->priority = at[1];
    ret_place->clock = at[2];
    if (ret_place->class == CLASS_PARKED)
        return read_parked_key(key, (size_t)(at - bytes), ret_place);
    head = (size_t)(at - bytes) + (ret_place->class == CLASS_PENDING ? 3 : 1);
    return ret_place->class != CLASS_TTL &&
           queue_key_read_position(key, head, &ret_place->due, &ret_place->seq);
}

static struct dueq_slice write_place(const struct place *place, uint8_t *bytes)
{
    bool pending = place->class == CLASS_PENDING;

    bytes[0] = place->class;
    bytes[1] = pending ? place->priority : 0;
    bytes[2] = pending ? place->clock : 0;
    bytes_write_u64(bytes + 3, (uint64_t)place->due);
    return dueq_slice(bytes, PLACE_SIZE);
}

static bool read_place(struct dueq_slice value, struct place *ret_place)
{
    const uint8_t *bytes = value.data;

    if (value.size != PLACE_SIZE)
        return false;
    ret_place->class = bytes[0];
    ret_place->priority = bytes[1];
    ret_place->clock = bytes[2];
    ret_place->due = (int64_t)bytes_read_u64(bytes + 3);
    return true;
}

static void put_of_job(struct kv *kv, uint8_t table, uint64_t topic, uint64_t seq,
                       struct dueq_slice value, bool if_absent)
{
    struct kv_key key;
    struct dueq_slice found;

    queue_key_job(&key, table, topic, seq);
    if (!if_absent || kv_get(kv, kv_key_slice(&key), &found) != DUEQ_OK)
        kv_put(kv, kv_key_slice(&key), value, false);
}

static void put_name(struct kv *kv, struct dueq_slice key, struct dueq_slice value,
                     bool if_absent)
{
    const uint8_t *bytes = key.data, *end = bytes + key.size, *number = value.data;
    uint64_t topic, seq;
    const uint8_t *id = bytes_read_number(bytes + 1, end, &topic);

    if (id == NULL || value.size == 0 ||
        bytes_read_number(number, number + value.size, &seq) == NULL)
        return;
    put_of_job(kv, TABLE_NAME, topic, seq,
               dueq_slice(id, end - id < NAME_HASHED ? (size_t)(end - id) : 0), if_absent);
}

void queue_salvage_put(struct kv *kv, struct dueq_slice key, struct dueq_slice value,
                       bool if_absent)
{
    uint8_t bytes[PLACE_SIZE];
    struct place place;

    if (*(const uint8_t *)key.data == TABLE_ID)
        put_name(kv, key, value, if_absent);
    else if (read_schedule_key(key, &place))
        put_of_job(kv, TABLE_PLACE, place.topic, place.seq, write_place(&place, bytes),
                   if_absent);
}

/* Of a job that has another place by now, the old one goes. */
void queue_salvage_del(struct kv *kv, struct dueq_slice key)
{
    uint8_t bytes[PLACE_SIZE];
    struct place place;
    struct dueq_slice found;
    struct kv_key of_job;

    if (*(const uint8_t *)key.data == TABLE_ID || !read_schedule_key(key, &place))
        return;
    queue_key_job(&of_job, TABLE_PLACE, place.topic, place.seq);
    if (kv_get(kv, kv_key_slice(&of_job), &found) == DUEQ_OK &&
        dueq_slice_equal(found, write_place(&place, bytes)))
        kv_del(kv, kv_key_slice(&of_job));
}

/* False: no store reaches that number, and a topic that goes on above it would be none. */
static bool is_reached(uint64_t number)
{
    return number > 0 && number <= (uint64_t)SAFE_TIME_MAX - 2 * NUMBERS_LEFT_OUT;
}

/* ---- the topic that is being made */

struct making {
    struct salvage *salvage;
    struct kv *from;
    struct queue *queue;
    struct counters counters;
    bool lacks_counters;   /* they do not read */
    struct id_list topics; /* that were made or are to be left out */
    uint64_t id;
    struct dueq_slice name;
    char quoted[FINDINGS_QUOTED_MAX];
    struct whole_topic topic;
    enum dueq_status status;
};

static bool get(const struct making *making, uint8_t table, uint64_t seq,
                struct dueq_slice *ret_value)
{
    struct kv_key key;

    return kv_get(making->from, queue_key_job(&key, table, making->id, seq), ret_value) ==
           DUEQ_OK;
}

static uint64_t seq_of(struct dueq_slice key)
{
    const uint8_t *end = (const uint8_t *)key.data + key.size;
    uint64_t topic, seq;

    return bytes_read_number(bytes_read_number((const uint8_t *)key.data + 1, end, &topic), end,
                             &seq) == end
               ? seq
               : 0;
}

/* Calls for each record of the topic in that table. False: the walk failed, or ended early. */
static bool each(struct making *making, uint8_t table, findings_fn fn)
{
    struct findings findings = {.verify = NULL};
    struct kv_key prefix;

    queue_key_topic(&prefix, table, making->id);
    if (!findings_walk(&findings, making->from, &prefix, fn, making))
        making->status = DUEQ_IO;
    return making->status == DUEQ_OK;
}

/* The job as callers know it: with a lost body, what the index of ids says. */
static const char *name_job(const struct making *making, uint64_t seq, struct dueq_slice id,
                            char *text)
{
    char given[GIVEN_ID_SIZE];
    struct dueq_slice name = id;

    if (name.size == 0 && get(making, TABLE_NAME, seq, &name) && name.size == 0)
        return "with an id of 16 bytes or more";
    if (name.size == 0) {
        given_id_write(given, 0, seq);
        memset(given, '?', GIVEN_ID_SIZE - 13); /* the time of the push is lost */
        name = dueq_slice(given, sizeof(given));
    }
    return findings_quote(text, name);
}

static void note(const struct making *making, enum salvage_finding finding, uint64_t seq,
                 struct dueq_slice id, const char *what)
{
    char text[FINDINGS_QUOTED_MAX];

    salvage_note(making->salvage, finding, "topic %s, job %s (seq %" PRIu64 "): %s",
                 making->quoted, name_job(making, seq, id, text), seq, what);
}

/* ---- one job */

/* The state of a job of which only its place is known. */
static bool guess_state(const struct place *place, struct whole_job *job)
{
    struct job_state *state = &job->state;

    *state = job_record_first_state(&job->body);
    state->due = place->due;
    switch (place->class) {
    case CLASS_PENDING:
        state->priority = place->priority;
        state->clock = place->clock;
        return place->due != job->body.due || place->priority != job->body.priority;
    case CLASS_DEAD:
        state->state = PHASE_DEAD;
        state->expires = DUEQ_NEVER;
        return true;
    case CLASS_DONE:
        state->state = PHASE_DONE;
        state->expires = place->due;
        return true;
    case CLASS_WAITING:
        state->state = PHASE_WAITING;
        state->expires = DUEQ_NEVER;
        return true;
    default: /* claimed: as if the lease ended without a word */
        return true;
    }
}

static void read_state(struct making *making, struct whole_job *job)
{
    struct dueq_slice value;
    struct place place = {.class = 0};

    if (get(making, TABLE_STATE, job->seq, &value)) {
        job->moved = job_record_read_state(value, &job->state);
        if (job->moved)
            return;
    }
    if (!get(making, TABLE_PLACE, job->seq, &value) || !read_place(value, &place))
        return;
    job->moved = guess_state(&place, job);
    if (job->moved)
        note(making, SALVAGE_DOUBTFUL, job->seq, job->body.id,
             place.class == CLASS_CLAIMED
                 ? "its state is lost; it was claimed, and is pending at the end of its lease"
                 : "its state is lost; of it only place and time are known");
}

static void read_rest(struct making *making, struct whole_job *job)
{
    struct dueq_slice value;

    if (job->moved && job->state.followed &&
        !(get(making, TABLE_FOLLOW, job->seq, &value) &&
          job_record_read_body(value, &job->follow))) {
        note(making, SALVAGE_LOST, job->seq, job->body.id, "its follow-up is lost");
        job->state.followed = false;
    }
    job->has_result = job->moved && job->state.state == PHASE_DONE &&
                      get(making, TABLE_RESULT, job->seq, &job->result);
}

static void note_doubts(struct making *making, const struct whole_job *job)
{
    const uint8_t tables[] = {TABLE_BODY, TABLE_STATE};

    for (size_t i = 0; i < sizeof(tables); i++) {
        struct kv_key key;
        const char *doubt = salvage_doubt(
            making->salvage, queue_key_job(&key, tables[i], making->id, job->seq), true);

        if (doubt == NULL)
            continue;
        note(making, SALVAGE_DOUBTFUL, job->seq, job->body.id, doubt);
        return;
    }
}

static enum dueq_status put_job(struct making *making, const struct whole_job *job)
{
    enum dueq_status status =
        queue_restore_job(making->queue, making->name, job, making->salvage->time);

    if (status == DUEQ_INVALID || status == DUEQ_DUPLICATE) {
        note(making, SALVAGE_LOST, job->seq, job->body.id,
             status == DUEQ_DUPLICATE ? "another job has its id" : "no job is like that");
        return DUEQ_OK;
    }
    if (status == DUEQ_OK) {
        making->salvage->jobs++;
        note_doubts(making, job);
    }
    return status;
}

static bool at_body(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    struct whole_job job = {.seq = seq_of(key)};

    if (job.seq == 0 || !job_record_read_body(value, &job.body)) {
        note(making, SALVAGE_LOST, job.seq, dueq_slice(NULL, 0), "its body does not read");
        return true;
    }
    read_state(making, &job);
    read_rest(making, &job);
    making->status = put_job(making, &job);
    if (making->status == DUEQ_OK)
        making->status = salvage_step(making->salvage);
    return making->status == DUEQ_OK;
}

/* A place, or a state, of a job that has no body. */
static bool at_trace(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    uint64_t seq = seq_of(key);
    bool is_place = *(const uint8_t *)key.data == TABLE_PLACE;

    if (seq > 0 && !get(making, TABLE_BODY, seq, &value) &&
        (is_place || !get(making, TABLE_PLACE, seq, &value)))
        note(making, SALVAGE_LOST, seq, dueq_slice(NULL, 0), "its body is lost");
    return true;
}

/* ---- one topic */

static void take_most(uint64_t *most, uint64_t number)
{
    if (number > *most && is_reached(number))
        *most = number;
}

static bool at_numbers(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    struct job_state state;

    if (*(const uint8_t *)key.data == TABLE_EVENT) {
        take_most(&making->topic.next_token, seq_of(key) + 1);
        return true;
    }
    take_most(&making->topic.next_seq, seq_of(key) + 1);
    if (*(const uint8_t *)key.data == TABLE_STATE && job_record_read_state(value, &state) &&
        state.token > 0)
        take_most(&making->topic.next_token, (uint64_t)state.token + 1);
    return true;
}

/* The numbers that come next are above all that were ever given: events are numbered as tokens
 * are. A topic whose record is lost has forgotten its own. */
static bool find_numbers(struct making *making, bool forgotten)
{
    const uint8_t tables[] = {TABLE_BODY, TABLE_STATE, TABLE_PLACE, TABLE_EVENT};

    if (!forgotten && !making->lacks_counters && making->salvage->findings[SALVAGE_DAMAGE] == 0)
        return true;
    for (size_t i = 0; i < sizeof(tables); i++)
        if (!each(making, tables[i], at_numbers))
            return false;
    making->topic.next_seq += NUMBERS_LEFT_OUT;
    making->topic.next_token += NUMBERS_LEFT_OUT;
    take_most(&making->counters.next_seq, making->topic.next_seq);
    take_most(&making->counters.next_token, making->topic.next_token);
    return true;
}

/* What of a group does not follow from its jobs. One that does not read has a full bucket. */
static bool at_group(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    const uint8_t *end = (const uint8_t *)key.data + key.size;
    struct group_record record;
    struct whole_bucket bucket;

    if (key.size < 1 + 1 + 8 || !group_record_read(value, &record) ||
        bucket_is_full(&record.bucket))
        return true;
    bucket = (struct whole_bucket){bytes_read_u64(end - 8), record.bucket};
    making->status = queue_restore_bucket(making->queue, making->name, &bucket);
    if (making->status == DUEQ_INVALID)
        making->status = DUEQ_OK;
    return making->status == DUEQ_OK;
}

/* The edges of a topic, when all jobs of all topics are there. The job that an edge leads from
 * is known by its topic's name and its seq. */
static bool at_edge(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    struct whole_edge whole = {.of = value};
    struct after_edge edge;
    struct after_ended ended;
    struct dueq_slice record;
    struct kv_key end;

    if (!afters_read_awaited(key, &edge)) {
        salvage_note(making->salvage, SALVAGE_LOST, "topic %s: an edge of a waiting job",
                     making->quoted);
        return true;
    }
    whole.seq = edge.waiter_seq;
    whole.of_seq = edge.seq;
    queue_key_job(&end, TABLE_ENDED, edge.topic, edge.seq);
    if (kv_get(making->from, kv_key_slice(&end), &record) == DUEQ_OK &&
        afters_read_ended(kv_key_slice(&end), record, &ended))
        whole.end = ended.end;
    making->status =
        queue_restore_edge(making->queue, making->name, &whole, making->salvage->time);
    if (making->status == DUEQ_INVALID || making->status == DUEQ_NOTFOUND)
        making->status = DUEQ_OK; /* the job that waits is lost, and was noted */
    if (making->status == DUEQ_OK)
        making->status = salvage_step(making->salvage);
    return making->status == DUEQ_OK;
}

/* making: with id, name and what the record of the topic says. */
static bool make_topic(struct making *making, bool forgotten)
{
    findings_quote(making->quoted, making->name);
    if (!find_numbers(making, forgotten))
        return false;
    making->status = queue_restore_topic(making->queue, making->name, &making->topic);
    if (making->status == DUEQ_INVALID || making->status == DUEQ_DUPLICATE) {
        salvage_note(making->salvage, SALVAGE_LOST, "topic %s: no topic is like that",
                     making->quoted);
        making->status = DUEQ_OK;
        return true;
    }
    if (making->status == DUEQ_OK)
        making->salvage->topics++;
    return making->status == DUEQ_OK && each(making, TABLE_BODY, at_body) &&
           each(making, TABLE_PLACE, at_trace) && each(making, TABLE_STATE, at_trace) &&
           each(making, TABLE_GROUP, at_group);
}

/* Is the topic flushed or dropped, so that its records are garbage? */
static bool is_gone(const struct making *making, uint64_t topic)
{
    struct dueq_slice value;
    struct kv_key mark;

    kv_key_start(&mark, TABLE_GARBAGE);
    kv_key_number(&mark, topic);
    return topic < making->counters.first_topic ||
           kv_get(making->from, kv_key_slice(&mark), &value) == DUEQ_OK;
}

/* Numbers of the topic's record that no store reaches are as good as none. */
static void make_named(struct making *making)
{
    struct whole_topic *topic = &making->topic;
    bool known = is_reached(topic->next_seq) && is_reached(topic->next_token);

    if (!known)
        topic->next_seq = topic->next_token = 1;
    make_topic(making, !known);
}

static bool at_topic(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    struct topic *read = topic_new(0);

    making->status = read == NULL ? DUEQ_NOMEM : topic_read(read, value);
    if (making->status == DUEQ_OK) {
        making->id = read->id;
        making->name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
        making->topic =
            (struct whole_topic){read->next_seq, topics_most_token(read), read->totals,
                                 read->paused,   read->paused_until,      read->bucket};
        if (!id_list_add(&making->topics, read->id))
            making->status = DUEQ_NOMEM;
        else if (!is_gone(making, read->id))
            make_named(making);
    } else if (making->status == DUEQ_CORRUPT) {
        making->status = DUEQ_OK; /* its jobs are those of a topic without a name */
    }
    topic_free(read);
    return making->status == DUEQ_OK;
}

/* Calls for each record of a table. */
static bool each_of_all(struct making *making, uint8_t table, findings_fn fn)
{
    struct findings findings = {.verify = NULL};
    struct kv_key prefix;

    kv_key_start(&prefix, table);
    if (!findings_walk(&findings, making->from, &prefix, fn, making))
        making->status = DUEQ_IO;
    return making->status == DUEQ_OK;
}

/* Does the new store have the topic? */
static bool is_made(const struct making *making)
{
    struct topic *topic;

    return topics_find(making->queue, making->name, &topic) == DUEQ_OK;
}

static bool at_topic_edges(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;

    making->id = topic_read_id(value);
    making->name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    findings_quote(making->quoted, making->name);
    return making->id == 0 || !is_made(making) || is_gone(making, making->id) ||
           each(making, TABLE_AWAITED, at_edge);
}

static void release_waiting(struct making *making)
{
    char bytes[DUEQ_NAME_MAX];
    struct dueq_slice name = {bytes, 0}, next;

    while (making->status == DUEQ_OK &&
           queue_topic_after(making->queue, name, &next) == DUEQ_OK) {
        memcpy(bytes, next.data, next.size);
        name.size = next.size;
        making->status = queue_restore_waiting(making->queue, name, making->salvage->time);
    }
}

/* ---- topics of which the record is lost */

static size_t topic_head(struct dueq_slice key)
{
    const uint8_t *bytes = key.data;
    uint64_t topic;
    const uint8_t *at = bytes_read_number(bytes + 1, bytes + key.size, &topic);

    return at == NULL ? key.size : (size_t)(at - bytes);
}

static bool at_nameless(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    const uint8_t *bytes = key.data;
    char name[64];
    uint64_t topic = 0;

    (void)value;
    bytes_read_number(bytes + 1, bytes + key.size, &topic);
    if (topic == 0 || id_list_has(&making->topics, topic) || is_gone(making, topic))
        return true;
    making->id = topic;
    making->name =
        dueq_slice(name, (size_t)snprintf(name, sizeof(name), "lost-topic-%" PRIu64, topic));
    making->topic =
        (struct whole_topic){.next_seq = 1, .next_token = 1, .paused_until = DUEQ_NEVER};
    salvage_note(making->salvage, SALVAGE_LOST,
                 "the name and the totals of a topic: its jobs are in \"%s\"", name);
    return make_topic(making, true);
}

static bool at_nameless_edges(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    char name[64];
    struct after_edge edge;

    (void)value;
    if (!afters_read_awaited(key, &edge) || id_list_has(&making->topics, edge.waiter_topic) ||
        is_gone(making, edge.waiter_topic))
        return true;
    making->id = edge.waiter_topic;
    making->name = dueq_slice(
        name, (size_t)snprintf(name, sizeof(name), "lost-topic-%" PRIu64, making->id));
    findings_quote(making->quoted, making->name);
    return each(making, TABLE_AWAITED, at_edge);
}

static void make_edges(struct making *making)
{
    struct findings findings = {.verify = NULL};
    struct kv_key table;

    kv_key_start(&table, TABLE_AWAITED);
    if (each_of_all(making, TABLE_TOPIC, at_topic_edges) &&
        !findings_walk_heads(&findings, making->from, &table, topic_head, at_nameless_edges,
                             making))
        making->status = DUEQ_IO;
    if (making->status == DUEQ_OK)
        release_waiting(making);
}

static void make_nameless(struct making *making)
{
    struct findings findings = {.verify = NULL};
    struct kv_key table;

    id_list_sort(&making->topics);
    kv_key_start(&table, TABLE_BODY);
    if (!findings_walk_heads(&findings, making->from, &table, topic_head, at_nameless, making))
        making->status = DUEQ_IO;
}

/* ---- what belongs to no topic */

static bool at_settings(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    struct dueq_slice scope = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    struct dueq_settings settings;
    char text[FINDINGS_QUOTED_MAX];

    making->status = settings_read(value, &settings)
                         ? settings_put(making->queue, scope, &settings)
                         : DUEQ_INVALID;
    if (making->status == DUEQ_INVALID) {
        salvage_note(making->salvage, SALVAGE_LOST, "the settings of %s do not read",
                     findings_quote(text, scope));
        making->status = DUEQ_OK;
    }
    return making->status == DUEQ_OK;
}

/* Without its state it begins anew: the opening finds that its time is of no use. */
static enum dueq_status restore_cron(struct making *making, struct dueq_slice name,
                                     struct dueq_slice rule)
{
    struct cron cron = {.state = {.paused = false}};
    struct dueq_slice state;
    struct kv_key key;
    char text[FINDINGS_QUOTED_MAX];

    kv_key_start(&key, TABLE_CRON_STATE);
    kv_key_name(&key, name, 0);
    if (!cron_record_read_rule(rule, &cron.rule))
        return DUEQ_INVALID;
    if (kv_get(making->from, kv_key_slice(&key), &state) != DUEQ_OK ||
        !cron_record_read_state(state, &cron.state)) {
        cron.state = (struct cron_state){.base = making->queue->now, .seen = SAFE_TIME_MAX};
        salvage_note(making->salvage, SALVAGE_LOST,
                     "the next time and the counts of the recurring job %s",
                     findings_quote(text, name));
    }
    return queue_restore_cron(making->queue, name, &cron);
}

static bool at_cron(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;
    struct dueq_slice name = dueq_slice((const uint8_t *)key.data + 1, key.size - 1);
    char text[FINDINGS_QUOTED_MAX];

    making->status = restore_cron(making, name, value);
    if (making->status == DUEQ_INVALID || making->status == DUEQ_TOOBIG) {
        salvage_note(making->salvage, SALVAGE_LOST, "the recurring job %s does not read",
                     findings_quote(text, name));
        making->status = DUEQ_OK;
    }
    return making->status == DUEQ_OK;
}

/* False: they do not read; they are those of an empty store. */
static bool find_counters(struct kv *from, struct counters *ret_counters)
{
    struct dueq_slice value;
    struct kv_key key;

    kv_key_start(&key, TABLE_META);
    if (kv_get(from, kv_key_slice(&key), &value) != DUEQ_OK)
        value = dueq_slice(NULL, 0);
    if (counters_decode(value, ret_counters) && is_reached(ret_counters->next_seq) &&
        is_reached(ret_counters->next_token) &&
        ret_counters->first_topic <= ret_counters->next_topic)
        return true;
    counters_decode(dueq_slice(NULL, 0), ret_counters);
    return false;
}

uint64_t queue_salvage_epoch(struct kv *from)
{
    struct counters counters;

    find_counters(from, &counters);
    return counters_epoch(counters.next_seq, counters.next_token);
}

static bool at_event(void *arg, struct dueq_slice key, struct dueq_slice value)
{
    struct making *making = arg;

    (void)value;
    take_most(&making->counters.next_token, seq_of(key) + 1);
    return true;
}

/* A topic without jobs whose record is lost is not made: the next one of its name goes on above
 * its events by these. False: making->status says why. */
static bool read_counters(struct making *making)
{
    making->lacks_counters = !find_counters(making->from, &making->counters);
    if (making->lacks_counters)
        salvage_note(making->salvage, SALVAGE_LOST,
                     "the numbers that outlive topics do not read");
    if (!each_of_all(making, TABLE_EVENT, at_event))
        return false;
    if (making->lacks_counters || making->salvage->findings[SALVAGE_DAMAGE] > 0) {
        making->counters.next_seq += NUMBERS_LEFT_OUT;
        making->counters.next_token += NUMBERS_LEFT_OUT;
    }
    return true;
}

static void keep_timeline(struct making *making)
{
    struct dueq_timeline line;

    if (queue_read_timeline(making->from, &line) == DUEQ_OK)
        queue_keep_timeline(making->queue, &line);
}

static enum dueq_status set_outliving(const struct making *making)
{
    const struct whole_topic numbers = {.next_seq = making->counters.next_seq,
                                        .next_token = making->counters.next_token,
                                        .totals = making->counters.totals};

    return queue_set_outliving(making->queue, &numbers);
}

enum dueq_status queue_salvage(struct salvage *salvage)
{
    struct making making = {
        .salvage = salvage, .from = salvage->from, .queue = salvage->into->queue};

    keep_timeline(&making);
    if (read_counters(&making) && each_of_all(&making, TABLE_SETTINGS, at_settings) &&
        each_of_all(&making, TABLE_CRON, at_cron) &&
        each_of_all(&making, TABLE_TOPIC, at_topic))
        make_nameless(&making);
    if (making.status == DUEQ_OK)
        make_edges(&making);
    if (making.status == DUEQ_OK)
        making.status = set_outliving(&making);
    id_list_release(&making.topics);
    return making.status;
}
