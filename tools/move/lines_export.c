#include "tools/move/job_fields.h"
#include "tools/move/keys_batch.h"
#include "tools/move/lines.h"
#include "tools/offline/job_json.h"
#include "tools/offline/json_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GROUP = 100, ELEMENTS = 2000 };

struct export
{
    struct move *move;
    FILE *out;
    uint64_t lines, jobs, keys, foreign;
    uint64_t elsewhere; /* jobs that wait for what is not exported */
};

/* Writes the object and frees it. */
static bool write_line(struct export *export, json_t *object)
{
    bool written = object != NULL && json_dumpf(object, export->out, JSON_COMPACT) == 0 &&
                   putc('\n', export->out) != EOF;

    json_decref(object);
    export->lines++;
    return written || peer_fail(&export->move->from, "the output takes no more");
}

static json_t *named(const char *what, struct dueq_slice name)
{
    json_t *object = json_object();

    json_object_set_new(object, what, json_bytes(name));
    return object;
}

/* ---- jobs */

static enum job_phase phase_in(const redisReply *job)
{
    if (job_is(job, "dead"))
        return PHASE_DEAD;
    return job_is(job, "done") ? PHASE_DONE : PHASE_PENDING;
}

static void read_steps(const redisReply *steps, struct job_body *body)
{
    for (size_t i = 0; steps != NULL && i < steps->elements && i < DUEQ_STEPS_MAX; i++)
        body->steps[body->step_count++] = steps->element[i]->integer;
}

/* What Q.GET says, as a dump has it. Times are of the wall clock. */
static void read_job(const redisReply *reply, struct whole_job *job)
{
    memset(job, 0, sizeof(*job));
    job->body =
        (struct job_body){.id = job_text(reply, "id"),
                          .body = job_text(reply, "body"),
                          .group = job_text(reply, "group"),
                          .priority = (uint8_t)job_number(reply, "priority", DUEQ_DEFAULT),
                          .clock = CLOCK_WALL,
                          .due = job_number(reply, "due", DUEQ_DEFAULT),
                          .pushed = job_number(reply, "pushed", DUEQ_DEFAULT),
                          .lease = job_number(reply, "lease", DUEQ_DEFAULT),
                          .retries = job_number(reply, "retries", DUEQ_DEFAULT),
                          .crashes = job_number(reply, "crashes", DUEQ_DEFAULT),
                          .backoff = job_number(reply, "backoff", DUEQ_DEFAULT),
                          .backoff_max = job_number(reply, "backoff-max", DUEQ_DEFAULT),
                          .jitter = job_number(reply, "jitter", DUEQ_DEFAULT),
                          .ttl = job_number(reply, "ttl", DUEQ_DEFAULT),
                          .window = job_number(reply, "window", DUEQ_DEFAULT),
                          .weight = job_number(reply, "weight", 1)};
    read_steps(job_field(reply, "steps"), &job->body);
    job->state.state = phase_in(reply);
    job->state.error = job_text(reply, "error");
    job->moved = job->state.state != PHASE_PENDING;
}

/* One that waits: what for, as [topic, id]; the id of one that was removed is null. */
static bool add_after(struct export *export, json_t *object, const redisReply *reply)
{
    const redisReply *after = job_field(reply, "after");
    struct dueq_slice on_dead = job_text(reply, "on-dead");
    json_t *list = json_array();
    int64_t delay = job_number(reply, "delay", DUEQ_DEFAULT);
    const char *topic = export->move->options->topic;
    bool elsewhere =
        after == NULL || job_number(reply, "awaits", DUEQ_DEFAULT) != (int64_t)after->elements;

    for (size_t i = 0; after != NULL && i < after->elements; i++) {
        const redisReply *of = after->element[i];

        elsewhere |= of->element[0]->type == REDIS_REPLY_NIL || /* the user may not read it */
                     (topic != NULL &&
                      !dueq_slice_equal(reply_slice(of->element[0]), text_slice(topic)));
        if (of->element[0]->type != REDIS_REPLY_NIL)
            json_array_append_new(list,
                                  json_pack("[o, o?]", json_bytes(reply_slice(of->element[0])),
                                            of->element[1]->type == REDIS_REPLY_NIL
                                                ? NULL
                                                : json_bytes(reply_slice(of->element[1]))));
    }
    export->elsewhere += elsewhere;
    return (delay <= 0 || json_object_set_new(object, "delay", json_integer(delay)) == 0) &&
           json_object_set_new(object, "on_dead", json_bytes(on_dead)) == 0 &&
           json_object_set_new(object, "after", list) == 0;
}

static bool write_job(struct export *export, struct dueq_slice topic, const redisReply *reply)
{
    struct whole_job job;
    json_t *object = named("job", topic);
    bool waits;

    if (reply->type != REDIS_REPLY_ARRAY) { /* it is gone since */
        json_decref(object);
        return true;
    }
    read_job(reply, &job);
    waits = job_is(reply, "waiting");
    if (waits)
        job.body.due = job_number(reply, "at", 0);
    job.seq = ++export->jobs;
    progress_add(&export->move->progress, 1);
    if (!job_json_write_job(object, &job) || (waits && !add_after(export, object, reply)))
        return peer_fail(&export->move->from, "out of memory");
    return write_line(export, object);
}

static bool write_jobs(struct export *export, struct dueq_slice topic, const redisReply *jobs,
                       size_t begin, size_t end)
{
    struct peer *from = &export->move->from;
    bool going = true;

    for (size_t i = begin; i < end; i++)
        peer_say(from, 4,
                 (struct dueq_slice[]){text_slice("Q.GET"), topic,
                                       job_text(jobs->element[i], "id"),
                                       text_slice("WITHAFTER")});
    for (size_t i = begin; i < end && going; i++) {
        redisReply *job = peer_take(from);

        going = job != NULL && write_job(export, topic, job);
        freeReplyObject(job);
    }
    return going;
}

static bool export_topic(struct export *export, struct dueq_slice topic)
{
    struct dueq_slice cursor;
    char next[64] = "0";
    bool going = true;

    do {
        redisReply *reply;

        cursor = text_slice(next);
        peer_say(&export->move->from, 5,
                 (struct dueq_slice[]){text_slice("Q.SCAN"), topic, cursor, text_slice("COUNT"),
                                       text_slice("1000")});
        reply = peer_take(&export->move->from);
        if (reply == NULL)
            return false;
        snprintf(next, sizeof(next), "%.63s", reply->element[0]->str);
        for (size_t at = 0; at < reply->element[1]->elements && going; at += GROUP) {
            size_t count = reply->element[1]->elements;

            going = write_jobs(export, topic, reply->element[1], at,
                               at + GROUP < count ? at + GROUP : count);
        }
        freeReplyObject(reply);
    } while (going && strcmp(next, "0") != 0);
    return going;
}

static bool export_topics(struct export *export)
{
    redisReply *topics;
    bool going = true;

    if (export->move->options->topic != NULL)
        return export_topic(export, text_slice(export->move->options->topic));
    peer_say_text(&export->move->from, "Q.TOPICS", (const char *)NULL);
    topics = peer_take(&export->move->from);
    if (topics == NULL)
        return false;
    for (size_t i = 0; i < topics->elements && going; i++)
        going = export_topic(export, reply_slice(topics->element[i]));
    freeReplyObject(topics);
    return going;
}

/* ---- keys */

/* JSON has no infinite numbers. */
static json_t *score_of(const redisReply *text)
{
    double score = text->str == NULL ? 0 : strtod(text->str, NULL);

    return isinf(score) ? json_string(score < 0 ? "-inf" : "inf") : json_real(score);
}

static bool write_elements(struct export *export, const struct moved_key *key,
                           const redisReply *elements)
{
    for (size_t at = 0; at < elements->elements; at += ELEMENTS) {
        json_t *array = json_array(), *object = named("add", key->name);

        for (size_t i = at; i < elements->elements && i < at + ELEMENTS; i++)
            json_array_append_new(array, key->type == VALUE_ZSET && i % 2 == 1
                                             ? score_of(elements->element[i])
                                             : json_bytes(reply_slice(elements->element[i])));
        json_object_set_new(object, "db", json_integer(0));
        json_object_set_new(object, "elements", array);
        if (!write_line(export, object))
            return false;
    }
    return true;
}

static bool write_string(struct export *export, const struct moved_key *key,
                         const redisReply *value)
{
    json_t *object = named("add", key->name), *array = json_array();

    json_array_append_new(array, json_bytes(reply_slice(value)));
    json_object_set_new(object, "db", json_integer(0));
    json_object_set_new(object, "elements", array);
    return write_line(export, object);
}

static bool write_key(struct export *export, const struct moved_key *key)
{
    json_t *object = named("key", key->name);

    json_object_set_new(object, "db", json_integer(0));
    json_object_set_new(object, "type", json_string(key->type_name));
    if (key->expires != 0)
        json_object_set_new(object, "expires_wall", json_integer(key->expires));
    export->keys++;
    progress_add(&export->move->progress, 1);
    return write_line(export, object);
}

static bool export_value(struct export *export, const struct moved_key *key)
{
    struct peer *from = &export->move->from;
    struct value_pages pages;
    const redisReply *elements;
    redisReply *reply;
    bool going;

    if (!moved_key_is_small(key)) {
        going = write_key(export, key);
        value_begin(&pages, from, key->type, key->name, moved_key_page(key));
        while (going && (reply = value_next(&pages, &elements)) != NULL) {
            going = write_elements(export, key, elements);
            freeReplyObject(reply);
        }
        return going && !from->failed;
    }
    value_ask_whole(from, key->type, key->name);
    reply = peer_take(from);
    if (reply == NULL)
        return false;
    going = reply->type == REDIS_REPLY_NIL ||
            (write_key(export, key) &&
             (key->type == VALUE_STRING ? write_string(export, key, reply)
                                        : write_elements(export, key, reply)));
    freeReplyObject(reply);
    return going;
}

static bool export_page(void *arg, const redisReply *names)
{
    struct export *export = arg;
    struct keys_batch batch = {NULL, 0};
    bool going = keys_batch_read(export->move, names, false, &batch);

    for (size_t i = 0; i < batch.count && going; i++) {
        const struct moved_key *key = &batch.keys[i];

        if (key->type == VALUE_TYPES)
            export->foreign += !key->gone;
        else if (!key->gone)
            going = export_value(export, key);
    }
    free(batch.keys);
    return going;
}

/* ---- all */

static bool export_all(struct export *export)
{
    json_t *head = json_object();

    json_object_set_new(head, "dueq_export", json_integer(1));
    if (!write_line(export, head) || !export_topics(export))
        return false;
    if (export->move->options->topic == NULL && !move_scan(export->move, export_page, export))
        return false;
    head = json_object();
    json_object_set_new(head, "end", json_integer((json_int_t) export->lines));
    return write_line(export, head);
}

int lines_export(struct move *move, FILE *out)
{
    struct export export = {.move = move, .out = out};
    bool done;

    progress_begin(&move->progress, "export", 0);
    done = export_all(&export);
    if (fflush(out) != 0 && done)
        done = peer_fail(&move->from, strerror(errno));
    progress_end(&move->progress);
    if (!done) {
        fprintf(stderr, "%s: %s\n", move->options->command, move->from.why);
        return MOVE_FAILED;
    }
    fprintf(stderr, "%" PRIu64 " jobs, %" PRIu64 " keys\n", export.jobs, export.keys);
    if (export.elsewhere > 0)
        fprintf(stderr,
                "%" PRIu64
                " of the jobs wait for others in topics that are not exported: what is not "
                "there where\nthe lines are read counts as done\n",
                export.elsewhere);
    return export.foreign + export.elsewhere > 0 ? MOVE_PARTLY : MOVE_DONE;
}
