#include "tools/move/lines.h"

#include "tools/move/job_push.h"
#include "tools/move/moved_job.h"
#include "tools/move/value.h"
#include "tools/move/waiting_jobs.h"
#include "tools/offline/job_json.h"
#include "tools/offline/json_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 2000, WORDS = 96, NUMBER = 32, TOPIC_ROOM = 300 };

struct lines {
    struct move *move;
    uint64_t line, jobs, done, keys, moved, there, other;
    const char *wrong;
    int64_t ahead; /* of a dump: the wall clock before the queue's clock, ms */
    bool headed, ended;
    enum value_type type; /* of the key that lines add to; VALUE_TYPES: none */
    char *name;           /* its name, for the rename */
    size_t name_size;
    size_t adds; /* lines that have added to it */
    long long database, expires;
    struct job_push push; /* for dead jobs only: its topics */
    struct seen seen;
    struct waiting_jobs waiting;
    bool push_waiting; /* the file is read: those that wait are pushed */
    const char *text;  /* of the line */
    size_t text_size;
    uint64_t gone, edges; /* jobs that wait for removed ones; lines of a dump */
    uint8_t history[JOB_RECORD_HISTORY_MAX];
};

static bool refuse(struct lines *lines, const char *wrong)
{
    lines->wrong = wrong;
    return false;
}

/* ---- replies: of pushes, and of transactions that end keys */

static bool hear_one(struct lines *lines)
{
    redisReply *reply = peer_hear(&lines->move->to);
    const redisReply *last = reply;

    if (reply == NULL)
        return false;
    /* [id, what was done]; or of a transaction: the last request but one is the rename */
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0)
        last = reply->element[reply->elements - (reply->elements == PART_REQUESTS ? 2 : 1)];
    if (last->type == REDIS_REPLY_ERROR && strcmp(last->str, "ERR no such key") != 0)
        peer_fail(&lines->move->to, last->str);
    if (reply->type == REDIS_REPLY_ARRAY && last->type == REDIS_REPLY_STRING) {
        lines->moved += strcmp(last->str, "created") == 0;
        lines->there += strcmp(last->str, "created") != 0;
    } else if (reply->type == REDIS_REPLY_ARRAY) {
        bool was_there = last->type == REDIS_REPLY_INTEGER && last->integer == 0;

        lines->moved += !was_there;
        lines->there += was_there;
    }
    freeReplyObject(reply);
    return !lines->move->to.failed;
}

static bool hear_some(struct lines *lines, size_t left)
{
    while (lines->move->to.waiting > left)
        if (!hear_one(lines))
            return false;
    return !lines->move->to.failed;
}

/* ---- jobs */

struct words {
    struct dueq_slice words[WORDS];
    char numbers[WORDS][NUMBER];
    size_t count;
};

static void add(struct words *words, struct dueq_slice word)
{
    if (words->count < WORDS)
        words->words[words->count++] = word;
}

static void add_text(struct words *words, const char *text)
{
    add(words, text_slice(text));
}

static void add_number(struct words *words, int64_t number, const char *unit)
{
    char *text = words->numbers[words->count < WORDS ? words->count : 0];

    snprintf(text, NUMBER, "%" PRId64 "%s", number, unit);
    add_text(words, text);
}

static void add_option(struct words *words, const char *name, int64_t value, const char *unit)
{
    if (value == DUEQ_DEFAULT)
        return;
    add_text(words, name);
    add_number(words, value, unit);
}

static void add_backoff(struct words *words, const struct job_body *body)
{
    if (body->step_count == 0 && body->backoff == DUEQ_DEFAULT)
        return;
    add_text(words, "BACKOFF");
    if (body->step_count > 0) {
        add_text(words, "STEPS");
        for (size_t i = 0; i < body->step_count; i++)
            add_number(words, body->steps[i], "ms");
        return;
    }
    add_text(words, "EXP");
    add_number(words, body->backoff, "ms");
    add_number(words, body->backoff_max < body->backoff ? body->backoff : body->backoff_max,
               "ms");
    add_option(words, "JITTER", body->jitter, "");
}

/* A dump has no id for those that the server made: their place in the topic is unique. */
static struct dueq_slice id_of(const struct whole_job *job, char *room, size_t size)
{
    if (job->body.id.size > 0)
        return job->body.id;
    snprintf(room, size, "%" PRIu64 "-%" PRId64, job->seq, job->body.stamp);
    return text_slice(room);
}

/* ---- jobs that wait for others */

struct awaited {
    struct dueq_slice topic, id;
    bool is_gone; /* it was removed where it came from */
};

static bool is_name(struct dueq_slice name)
{
    return name.size > 0 && name.size <= DUEQ_NAME_MAX;
}

/* [topic, id] or [topic, null]. Reads it once only. */
static bool read_awaited(const struct lines *lines, json_t *pair, struct awaited *ret_of)
{
    const char *given = lines->move->options->topic;

    ret_of->is_gone = json_is_null(json_array_get(pair, 1));
    ret_of->id = dueq_slice("", 0);
    if (json_array_size(pair) != 2 ||
        !json_read_bytes(json_array_get(pair, 0), &ret_of->topic) || !is_name(ret_of->topic) ||
        (!ret_of->is_gone &&
         (!json_read_bytes(json_array_get(pair, 1), &ret_of->id) || !is_name(ret_of->id))))
        return false;
    if (given != NULL)
        ret_of->topic = text_slice(given);
    return true;
}

static bool waits_for_removed(json_t *object)
{
    const char *on_dead = json_string_value(json_object_get(object, "on_dead"));
    size_t i;
    json_t *pair;

    if (on_dead != NULL && strcmp(on_dead, "run") == 0)
        return false;
    json_array_foreach(json_object_get(object, "after"), i,
                       pair) if (json_is_null(json_array_get(pair, 1))) return true;
    return false;
}

/* It is pushed when all that the file has is there. */
static bool keep_waiting(struct lines *lines, json_t *after, struct dueq_slice topic,
                         struct dueq_slice id)
{
    if (json_array_size(after) > DUEQ_AFTER_MAX)
        return refuse(lines, "this is no job");
    if (!waiting_jobs_add(&lines->waiting, waiting_name(topic, id), lines->text,
                          lines->text_size))
        return refuse(lines, "there is no memory, or no room for a temporary file");
    for (size_t i = 0; i < json_array_size(after); i++) {
        struct awaited of;

        if (!read_awaited(lines, json_array_get(after, i), &of))
            return refuse(lines, "this is no job");
        if (!of.is_gone && !waiting_jobs_after(&lines->waiting, waiting_name(of.topic, of.id)))
            return refuse(lines, "out of memory");
    }
    return true;
}

/* topic:dead, as text in `room`. */
static struct dueq_slice dead_topic(struct dueq_slice topic, char *room)
{
    memcpy(room, topic.data, topic.size);
    memcpy(room + topic.size, MOVED_DEAD, sizeof(MOVED_DEAD));
    return dueq_slice(room, topic.size + MOVED_DEAD_SIZE);
}

/* topic:id, or the id alone where that means the same. A dead one is in another topic here. */
static void say_awaited(struct lines *lines, struct dueq_slice topic, const struct awaited *of)
{
    char room[TOPIC_ROOM], name[2 * TOPIC_ROOM];
    struct dueq_slice dead = dead_topic(of->topic, room),
                      in = seen_has(&lines->seen, dead, of->id) ? dead : of->topic;
    bool is_plain =
        dueq_slice_equal(in, topic) && memchr(of->id.data, ':', of->id.size) == NULL;

    memcpy(name, in.data, in.size);
    name[in.size] = ':';
    memcpy(name + in.size + 1, of->id.data, of->id.size);
    peer_word(&lines->move->to,
              is_plain ? of->id : dueq_slice(name, in.size + 1 + of->id.size));
}

static size_t count_awaited(const json_t *after)
{
    size_t count = 0;

    for (size_t i = 0; i < json_array_size(after); i++)
        count += !json_is_null(json_array_get(json_array_get(after, i), 1));
    return count;
}

/* keep_waiting has read the same. */
static void say_after(struct lines *lines, json_t *object, struct dueq_slice topic)
{
    json_t *after = json_object_get(object, "after");
    const char *on_dead = json_string_value(json_object_get(object, "on_dead"));

    peer_text(&lines->move->to, "ON-DEAD");
    peer_text(&lines->move->to, on_dead == NULL ? "fail" : on_dead);
    peer_text(&lines->move->to, "AFTER");
    for (size_t i = 0; i < json_array_size(after); i++) {
        struct awaited of;

        if (read_awaited(lines, json_array_get(after, i), &of) && !of.is_gone)
            say_awaited(lines, topic, &of);
    }
}

/* When the wall clock shows what the queue's clock of a dump shows then. A line may say any
 * number. */
static int64_t on_wall(const struct lines *lines, int64_t moment)
{
    int64_t wall;

    if (!__builtin_add_overflow(moment, lines->ahead, &wall))
        return wall;
    return moment < 0 ? INT64_MIN : INT64_MAX;
}

static void say_job(struct lines *lines, json_t *object, struct dueq_slice topic,
                    struct dueq_slice id, const struct whole_job *job)
{
    size_t awaited = lines->push_waiting ? count_awaited(json_object_get(object, "after")) : 0;
    int64_t delay = json_integer_value(json_object_get(object, "delay"));
    const struct job_body *body = &job->body;
    bool moved = job->moved && job->state.state == PHASE_PENDING;
    int64_t due = moved ? job->state.due : body->due;
    uint8_t clock = moved ? job->state.clock : body->clock;
    static struct words words;

    words.count = 0;
    add_text(&words, "Q.PUSH");
    add(&words, topic);
    add(&words, body->body);
    add_text(&words, "ID");
    add(&words, id);
    if (job->state.state != PHASE_DEAD && due > 0) {
        add_text(&words, "AT");
        add_number(&words, clock == CLOCK_QUEUE ? on_wall(lines, due) : due, "");
    } else if (job->state.state != PHASE_DEAD && delay > 0) {
        add_option(&words, "DELAY", delay, "ms");
    }
    add_option(&words, "PRIORITY", body->priority, "");
    add_option(&words, "LEASE", body->lease, "ms");
    add_option(&words, "RETRIES", body->retries, "");
    add_option(&words, "CRASHES", body->crashes, "");
    add_backoff(&words, body);
    add_option(&words, "TTL", body->ttl, "ms");
    add_text(&words, "ONDUP");
    add_text(&words, "IGNORE");
    if (body->window != DUEQ_DEFAULT)
        add_option(&words, "WINDOW", body->window, "ms");
    else if (strcmp(lines->move->options->window, "0") != 0) {
        add_text(&words, "WINDOW");
        add_text(&words, lines->move->options->window);
    }
    if (body->group.size > 0) {
        add_text(&words, "GROUP");
        add(&words, body->group);
        add_option(&words, "WEIGHT", body->weight, "");
    }
    add_text(&words, "WITHSTATUS");
    peer_begin(&lines->move->to, words.count + (awaited > 0 ? 3 + awaited : 0));
    for (size_t i = 0; i < words.count; i++)
        peer_word(&lines->move->to, words.words[i]);
    if (awaited > 0)
        say_after(lines, object, topic);
}

static bool import_job(struct lines *lines, json_t *object, struct dueq_slice name)
{
    const char *given = lines->move->options->topic;
    char room[TOPIC_ROOM], id_room[64];
    struct whole_job job;
    struct dueq_slice topic = given != NULL ? text_slice(given) : name, id;
    json_t *after = json_object_get(object, "after");
    bool same;

    if (!job_json_read_job(object, lines->history, &job) || topic.size == 0 ||
        topic.size > DUEQ_NAME_MAX)
        return refuse(lines, "this is no job");
    lines->jobs += !lines->push_waiting;
    if (job.moved && job.state.state == PHASE_DONE) {
        lines->done++;
        return true;
    }
    id = id_of(&job, id_room, sizeof(id_room));
    if (waits_for_removed(object)) {
        lines->gone++;
        job.state.state = PHASE_DEAD;
    }
    if (job.state.state == PHASE_DEAD) {
        if (topic.size + MOVED_DEAD_SIZE > DUEQ_NAME_MAX)
            return refuse(lines, "the topic of a dead job has too long a name");
        topic = dead_topic(topic, room);
        if (seen_count(&lines->seen, topic, id, job.body.body, &same) == 0 ||
            !job_push_remember(&lines->push, topic))
            return refuse(lines, "out of memory");
    } else if (json_is_array(after) && !lines->push_waiting) {
        return keep_waiting(lines, after, topic, id);
    }
    if (!lines->move->options->dry_run)
        say_job(lines, object, topic, id, &job);
    return hear_some(lines, AHEAD);
}

/* ---- keys */

/* Waits for the reply: what is said after a refusal would be done in the database before. */
static bool choose_database(struct lines *lines, long long database)
{
    if (lines->database == database)
        return true;
    lines->database = database;
    peer_begin(&lines->move->to, 2);
    peer_text(&lines->move->to, "SELECT");
    peer_number(&lines->move->to, database);
    return hear_some(lines, 0);
}

/* The key that was begun is whole. */
static bool end_key(struct lines *lines)
{
    struct peer *to = &lines->move->to;

    if (lines->type == VALUE_TYPES)
        return true;
    lines->type = VALUE_TYPES;
    if (lines->move->options->dry_run)
        return true;
    /* If one of several is refused, the others must not take the name. */
    if (lines->adds > 1 && !hear_some(lines, 0))
        return false;
    peer_say_text(to, "MULTI", (const char *)NULL);
    part_place(to, lines->move->part, dueq_slice(lines->name, lines->name_size), lines->expires,
               lines->move->options->replace);
    peer_say_text(to, "EXEC", (const char *)NULL);
    return hear_some(lines, AHEAD);
}

static long long expiry_in(const struct lines *lines, const json_t *object)
{
    const json_t *wall = json_object_get(object, "expires_wall"),
                 *queue = json_object_get(object, "expires");

    if (wall != NULL)
        return json_integer_value(wall);
    return queue == NULL ? 0 : on_wall(lines, json_integer_value(queue));
}

static bool import_key(struct lines *lines, const json_t *object, struct dueq_slice name)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    char *copy = realloc(lines->name, name.size + 1);

    if (copy == NULL)
        return refuse(lines, "out of memory");
    memcpy(copy, name.data, name.size);
    lines->name = copy;
    lines->name_size = name.size;
    lines->type = type == NULL ? VALUE_TYPES : value_type_of(type);
    lines->expires = expiry_in(lines, object);
    lines->adds = 0;
    if (lines->type == VALUE_TYPES || !json_is_integer(json_object_get(object, "db")))
        return refuse(lines, "this is no key");
    lines->keys++;
    if (lines->move->options->dry_run)
        return true;
    if (!choose_database(lines, json_integer_value(json_object_get(object, "db"))))
        return false;
    peer_say_text(&lines->move->to, "DEL", lines->move->part, (const char *)NULL);
    return true;
}

static bool say_score(struct peer *to, const json_t *value)
{
    char text[64];

    if (json_is_string(value)) {
        peer_text(to, json_string_value(value));
        return true;
    }
    snprintf(text, sizeof(text), "%.17g", json_number_value(value));
    peer_text(to, text);
    return json_is_number(value);
}

static bool say_element(struct lines *lines, json_t *elements, size_t i)
{
    struct dueq_slice bytes;

    /* ZADD has the score first. */
    if (lines->type == VALUE_ZSET && i % 2 == 0)
        return say_score(&lines->move->to, json_array_get(elements, i + 1));
    if (!json_read_bytes(json_array_get(elements, lines->type == VALUE_ZSET ? i - 1 : i),
                         &bytes))
        return false;
    peer_word(&lines->move->to, bytes);
    return true;
}

static bool import_elements(struct lines *lines, json_t *object, struct dueq_slice name)
{
    static const char *const commands[VALUE_TYPES] = {"SET", "RPUSH", "SADD", "ZADD", "HSET"};
    json_t *elements = json_object_get(object, "elements");
    size_t count = json_array_size(elements);
    bool paired = lines->type == VALUE_ZSET || lines->type == VALUE_HASH;

    if (lines->type == VALUE_TYPES || count == 0 || (paired && count % 2 != 0) ||
        (lines->type == VALUE_STRING && count != 1) ||
        !dueq_slice_equal(name, dueq_slice(lines->name, lines->name_size)))
        return refuse(lines, "these are no elements of a key");
    lines->adds++;
    if (lines->move->options->dry_run)
        return true;
    peer_begin(&lines->move->to, 2 + count);
    peer_text(&lines->move->to, commands[lines->type]);
    peer_text(&lines->move->to, lines->move->part);
    for (size_t i = 0; i < count; i++)
        if (!say_element(lines, elements, i)) {
            /* Half a request is said: nothing more can be. */
            peer_fail(&lines->move->to, "an element does not read");
            return refuse(lines, "an element does not read");
        }
    part_hold(&lines->move->to, lines->move->part);
    return hear_some(lines, AHEAD);
}

/* ---- lines */

static bool import_head(struct lines *lines, const json_t *object)
{
    lines->headed = true;
    lines->ahead =
        json_integer_value(json_object_get(json_object_get(object, "timeline"), "ahead"));
    return true;
}

static bool import_object(struct lines *lines, json_t *object)
{
    const char *what = json_object_iter_key(json_object_iter(object));
    json_t *first = what == NULL ? NULL : json_object_get(object, what);
    struct dueq_slice name;

    if (what == NULL || lines->ended)
        return refuse(lines, "there is no such line");
    if (strcmp(what, "dueq_dump") == 0 || strcmp(what, "dueq_export") == 0)
        return json_integer_value(first) == 1 ? import_head(lines, object)
                                              : refuse(lines, "a version that is not known");
    if (!lines->headed)
        return refuse(lines, "the first line is not that of an export or a dump");
    if (strcmp(what, "add") != 0 && !end_key(lines))
        return false;
    if (strcmp(what, "end") == 0) {
        lines->ended = true;
        return json_integer_value(first) == (json_int_t)lines->line - 1 ||
               refuse(lines, "lines are missing");
    }
    if (!json_read_bytes(first, &name))
        return refuse(lines, "a name does not read");
    if (strcmp(what, "job") == 0)
        return import_job(lines, object, name);
    if (strcmp(what, "key") == 0)
        return import_key(lines, object, name);
    if (strcmp(what, "add") == 0)
        return import_elements(lines, object, name);
    lines->edges += strcmp(what, "after") == 0;
    lines->other += strcmp(what, "topic") != 0 && strcmp(what, "after") != 0;
    return true; /* settings, recurring jobs, counters */
}

static bool import_line(struct lines *lines, const char *text, size_t size)
{
    json_t *object = json_loadb(text, size, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    bool done;

    lines->line++;
    lines->text = text;
    lines->text_size = size;
    progress_add(&lines->move->progress, 1);
    done = json_is_object(object) ? import_object(lines, object)
                                  : refuse(lines, "this is no line of JSON");
    json_decref(object);
    return done && !lines->move->to.failed;
}

/* A line that waiting_jobs has kept. */
static bool import_waiting(void *arg, const char *text, size_t size)
{
    struct lines *lines = arg;
    json_t *object = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
    struct dueq_slice name;
    bool done = json_read_bytes(json_object_get(object, "job"), &name)
                    ? import_job(lines, object, name)
                    : refuse(lines, "a temporary file does not read");

    json_decref(object);
    return done && !lines->move->to.failed;
}

/* Jobs wait only for those that are there; the dead ones are not dead yet. */
static bool import_last(struct lines *lines)
{
    const char *wrong = NULL;

    lines->push_waiting = true;
    if (!lines->move->options->dry_run &&
        !waiting_jobs_each(&lines->waiting, import_waiting, lines, &wrong))
        return wrong == NULL ? false : refuse(lines, wrong);
    return true;
}

static bool import_all(struct lines *lines, FILE *in)
{
    char *text = NULL;
    size_t room = 0;
    ssize_t size;
    bool going = true;

    while (going && (size = getline(&text, &room, in)) >= 0)
        going = import_line(lines, text, (size_t)size);
    if (going && !lines->ended)
        going = refuse(lines, feof(in) ? "the file is cut off" : strerror(errno));
    free(text);
    going = going && import_last(lines);
    return hear_some(lines, 0) && going &&
           (lines->move->options->dry_run || job_push_bury(&lines->push, &lines->seen));
}

static void report(const struct lines *lines)
{
    printf("%" PRIu64 " jobs and %" PRIu64 " keys found", lines->jobs, lines->keys);
    if (!lines->move->options->dry_run)
        printf(", %" PRIu64 " moved, %" PRIu64 " were there already", lines->moved,
               lines->there);
    puts("");
    move_count(lines->move, "jobs", lines->jobs);
    move_count(lines->move, "keys", lines->keys);
    move_count(lines->move, "moved", lines->moved);
    move_count(lines->move, "there", lines->there);
    move_count(lines->move, "done", lines->done);
    move_count(lines->move, "left_out", lines->other);
    if (lines->done > 0)
        printf("%" PRIu64 " jobs are done, and are left out\n", lines->done);
    if (lines->gone > 0)
        printf("%" PRIu64 " jobs wait for removed ones, and are dead here, in topic:dead\n",
               lines->gone);
    if (lines->edges > 0)
        printf("%" PRIu64
               " times a job waits for another one: a dump tells it only to dueq load\n",
               lines->edges);
    if (lines->other > 0)
        printf("%" PRIu64 " settings and recurring jobs are left out\n", lines->other);
}

int lines_import(struct move *move, FILE *in)
{
    static struct lines lines;
    bool done;

    lines = (struct lines){.move = move, .type = VALUE_TYPES, .push = {.move = move}};
    lines.database = 0;
    progress_begin(&move->progress, "lines", 0);
    done = import_all(&lines, in);
    progress_end(&move->progress);
    report(&lines);
    seen_release(&lines.seen);
    waiting_jobs_release(&lines.waiting);
    job_push_release(&lines.push);
    free(lines.name);
    if (lines.wrong != NULL)
        fprintf(stderr, "%s: line %" PRIu64 ": %s\n", move->options->command, lines.line,
                lines.wrong);
    if (!done && move->to.failed && lines.wrong == NULL)
        return move_tell_failure(move);
    if (!done)
        return MOVE_FAILED;
    return lines.other + lines.edges + lines.gone > 0 ? MOVE_PARTLY : MOVE_DONE;
}
