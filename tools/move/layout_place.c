#include "tools/move/layout_place.h"

#include "tools/move/moved_job.h"
#include "tools/offline/moment.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MAX = 400, /* of --names and of --prefix: with a topic they fit PUT_NAME */
    URGENT = 128     /* the default priority; what is greater is less urgent */
};

/* ---- the names of keys */

/* The pattern with the topic for its star, behind the prefix. */
static struct dueq_slice name_key(const struct layout_style *style, const char *pattern,
                                  size_t size, struct dueq_slice topic, char *name)
{
    const char *star = memchr(pattern, '*', size);
    size_t before = star == NULL ? size : (size_t)(star - pattern), used;

    used = (size_t)snprintf(name, PUT_NAME, "%s%.*s", style->prefix, (int)before, pattern);
    if (star != NULL) {
        memcpy(name + used, topic.data, topic.size);
        used += topic.size;
        memcpy(name + used, star + 1, size - before - 1);
        used += size - before - 1;
    }
    return dueq_slice(name, used);
}

static struct dueq_slice name_of(const struct layout_style *style, const char *pattern,
                                 struct dueq_slice topic, char *name)
{
    return name_key(style, pattern, strlen(pattern), topic, name);
}

/* One of the two names of a pair, those that were given or these. */
static struct dueq_slice name_pair(const struct layout_style *style, const char *names,
                                   bool second, struct dueq_slice topic, char *name)
{
    const char *given = style->names == NULL ? names : style->names;
    const char *equals = strchr(given, '=');
    const char *begin = second ? equals + 1 : given;

    return name_key(style, begin, second ? strlen(begin) : (size_t)(equals - given), topic,
                    name);
}

static bool has_pairs(enum layout layout)
{
    return layout == LAYOUT_ZSET_HASH || layout == LAYOUT_ZSET_LIST;
}

const char *layout_style_check(const struct layout_style *style)
{
    const char *equals = style->names == NULL ? NULL : strchr(style->names, '=');

    if (strlen(style->prefix) > NAMES_MAX)
        return "--prefix has at most 400 bytes";
    if (style->names == NULL)
        return NULL;
    if (!has_pairs(style->layout))
        return "--names is of zset-hash and zset-list";
    if (strlen(style->names) > NAMES_MAX)
        return "--names has at most 400 bytes";
    if (equals == NULL || memchr(style->names, '*', (size_t)(equals - style->names)) == NULL ||
        strchr(equals, '*') == NULL)
        return "--names is FIRST=SECOND, each with a * for the topic";
    return NULL;
}

/* ---- what is put */

static struct layout_put *add_put(struct layout_puts *puts, enum put_kind kind,
                                  struct dueq_slice key, struct dueq_slice value)
{
    struct layout_put *put = &puts->puts[puts->count++];

    *put = (struct layout_put){.kind = kind, .key = key, .value = value};
    return put;
}

static void add_score(const struct layout_style *style, struct layout_puts *puts,
                      struct dueq_slice key, struct dueq_slice value, int64_t due)
{
    add_put(puts, PUT_SCORE, key, value)->score = (double)due / style->scores;
}

/* The job's own text becomes this one. */
static struct dueq_slice remake(struct layout_puts *puts, const json_t *json)
{
    puts->made = json_dumps(json, JSON_COMPACT);
    if (puts->made == NULL) {
        puts->why = "out of memory";
        return dueq_slice(NULL, 0);
    }
    return text_slice(puts->made);
}

static json_t *parse(struct dueq_slice text)
{
    return text.size == 0 ? NULL : json_loadb(text.data, text.size, JSON_ALLOW_NUL, NULL);
}

/* ---- Laravel */

static void place_laravel(const struct layout_style *style, const struct placed_job *job,
                          struct layout_puts *puts)
{
    const char *zset = job->state == PLACED_CLAIMED ? "queues:*:reserved" : "queues:*:delayed";

    if (job->state == PLACED_READY) {
        /* One note for each job: a worker that waits for jobs waits for these. */
        add_put(puts, PUT_TAIL, name_of(style, "queues:*:notify", job->topic, puts->names[0]),
                text_slice("1"))
            ->is_note = true;
        add_put(puts, PUT_TAIL, name_of(style, "queues:*", job->topic, puts->names[1]),
                job->body);
    } else {
        add_score(style, puts, name_of(style, zset, job->topic, puts->names[0]), job->body,
                  job->due);
    }
}

/* ---- Sidekiq */

/* A job that was dead when it came is in topic X:dead. */
static struct dueq_slice home_of(const struct placed_job *job)
{
    size_t end = MOVED_DEAD_SIZE;
    struct dueq_slice topic = job->topic;

    if (job->state == PLACED_DEAD && topic.size > end &&
        memcmp((const char *)topic.data + topic.size - end, MOVED_DEAD, end) == 0)
        topic.size -= end;
    return topic;
}

static bool says(const json_t *json, const char *name, struct dueq_slice text)
{
    const json_t *value = json_object_get(json, name);

    return dueq_slice_equal(dueq_slice(json_string_value(value), json_string_length(value)),
                            text);
}

/* Sidekiq takes the queue of what waits from the job's own text, and shows the error in it. */
static struct dueq_slice sidekiq_body(const struct placed_job *job, struct dueq_slice topic,
                                      json_t *json, struct layout_puts *puts)
{
    bool elsewhere = !says(json, "queue", topic),
         nameless = job->state == PLACED_DEAD && job->error.size > 0 &&
                    json_object_get(json, "error_message") == NULL;

    if (!elsewhere && !nameless)
        return job->body;
    if (elsewhere &&
        json_object_set_new(json, "queue", json_stringn(topic.data, topic.size)) != 0) {
        puts->why = "the name of its topic is no UTF-8";
        return dueq_slice(NULL, 0);
    }
    if (nameless) {
        json_object_set_new(json, "error_class", json_string("dueq"));
        json_object_set_new(json, "error_message",
                            json_stringn(job->error.data, job->error.size));
    }
    return remake(puts, json);
}

static void put_sidekiq(const struct layout_style *style, const struct placed_job *job,
                        struct dueq_slice body, bool failed, struct layout_puts *puts)
{
    struct dueq_slice topic = home_of(job);
    const char *zset = job->state == PLACED_DEAD ? "dead" : failed ? "retry" : "schedule";

    if (job->state == PLACED_READY) {
        add_put(puts, PUT_MEMBER, name_of(style, "queues", topic, puts->names[0]), topic)
            ->is_note = true;
        add_put(puts, PUT_HEAD, name_of(style, "queue:*", topic, puts->names[1]), body);
    } else {
        add_score(style, puts, name_of(style, zset, topic, puts->names[0]), body, job->due);
    }
}

static void place_sidekiq(const struct layout_style *style, const struct placed_job *job,
                          struct layout_puts *puts)
{
    struct dueq_slice body = {NULL, 0};
    json_t *json = parse(job->body);
    bool failed = json_object_get(json, "failed_at") != NULL;

    if (json_string_length(json_object_get(json, "jid")) == 0)
        puts->why = "its body is no job of Sidekiq";
    else
        body = sidekiq_body(job, home_of(job), json, puts);
    if (puts->why == NULL)
        put_sidekiq(style, job, body, failed, puts);
    json_decref(json);
}

/* ---- Celery: a list for each step of urgency; what is due later says so in its text */

static struct dueq_slice celery_body(const struct placed_job *job,
                                     const struct layout_text *old, struct layout_puts *puts)
{
    char text[MOMENT_TEXT];
    json_t *headers = json_object_get(old->json, "headers");
    bool ready = job->state == PLACED_READY;

    if (ready ? old->due <= job->due : old->due == job->due)
        return job->body;
    if (moment_format(job->due, text)[0] == '@' ||
        json_object_set_new(headers, "eta", ready ? json_null() : json_string(text)) != 0) {
        puts->why = "its body has no place for its due time";
        return dueq_slice(NULL, 0);
    }
    return remake(puts, old->json);
}

/* The steps that a worker looks at: 0, 3, 6 and 9. */
static struct dueq_slice celery_list(const struct layout_style *style,
                                     const struct placed_job *job, char *name)
{
    int step = job->priority <= URGENT ? 0 : (job->priority - URGENT) / 3 * 3;
    char pattern[8];

    if (step == 0)
        return name_of(style, "*", job->topic, name);
    snprintf(pattern, sizeof(pattern), "*\x06\x16%c", (char)('0' + (step > 9 ? 9 : step)));
    return name_of(style, pattern, job->topic, name);
}

static void place_celery(const struct layout_style *style, const struct placed_job *job,
                         struct layout_puts *puts)
{
    struct layout_text old;
    struct dueq_slice body = {NULL, 0};

    layout_text_read(LAYOUT_CELERY, ROLE_READY_LAST, job->body, &old);
    if (!json_is_object(json_object_get(old.json, "properties")))
        puts->why = "its body is no message of Celery";
    else
        body = celery_body(job, &old, puts);
    if (puts->why == NULL)
        add_put(puts, PUT_HEAD, celery_list(style, job, puts->names[0]), body);
    layout_text_release(&old);
}

/* ---- zsets */

static void place_hash(const struct layout_style *style, const struct placed_job *job,
                       struct layout_puts *puts)
{
    static const char pair[] = "*:z=*:h";

    /* The body first: an id without one would be a job that cannot be done. */
    add_put(puts, PUT_FIELD, name_pair(style, pair, true, job->topic, puts->names[0]),
            job->body)
        ->field = job->id;
    add_score(style, puts, name_pair(style, pair, false, job->topic, puts->names[1]), job->id,
              job->due);
}

static void place_list(const struct layout_style *style, const struct placed_job *job,
                       struct layout_puts *puts)
{
    static const char pair[] = "*:delay=*:ready";

    if (job->state == PLACED_READY)
        add_put(puts, PUT_HEAD, name_pair(style, pair, true, job->topic, puts->names[0]),
                job->body);
    else
        add_score(style, puts, name_pair(style, pair, false, job->topic, puts->names[0]),
                  job->body, job->due);
}

/* ---- all */

void layout_place(const struct layout_style *style, const struct placed_job *job,
                  struct layout_puts *ret_puts)
{
    ret_puts->count = 0;
    ret_puts->why = NULL;
    ret_puts->made = NULL;
    if (job->state == PLACED_WAITING)
        ret_puts->why = "it waits for other jobs";
    else if (style->layout == LAYOUT_SIDEKIQ)
        place_sidekiq(style, job, ret_puts);
    else if (job->state == PLACED_DEAD)
        ret_puts->why = "it is dead, and this layout has no place for dead jobs";
    else if (style->layout == LAYOUT_CELERY)
        place_celery(style, job, ret_puts);
    else if (style->layout == LAYOUT_LARAVEL)
        place_laravel(style, job, ret_puts);
    else if (style->layout == LAYOUT_ZSET_HASH)
        place_hash(style, job, ret_puts);
    else if (style->layout == LAYOUT_ZSET_LIST)
        place_list(style, job, ret_puts);
    else
        add_score(style, ret_puts, name_of(style, "*", job->topic, ret_puts->names[0]),
                  job->body, job->due);
}

void layout_puts_release(struct layout_puts *puts)
{
    free(puts->made);
    puts->made = NULL;
}

enum value_type put_type(enum put_kind kind)
{
    static const enum value_type types[] = {[PUT_HEAD] = VALUE_LIST,
                                            [PUT_TAIL] = VALUE_LIST,
                                            [PUT_SCORE] = VALUE_ZSET,
                                            [PUT_FIELD] = VALUE_HASH,
                                            [PUT_MEMBER] = VALUE_SET};

    return types[kind];
}
