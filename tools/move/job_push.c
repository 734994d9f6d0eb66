#include "tools/move/job_push.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    AHEAD = 4000,    /* pushes whose replies are to come */
    BURY_FIRST = 10, /* dead jobs to claim at once, until their sizes are known */
    BURY_MAX = 500,
    BURY_BYTES = 1 << 20,
    ERROR_MAX = 900
};

struct dead_topic {
    struct dead_topic *next;
    size_t size;
    char name[];
};

/* ---- pushes */

/* [id, what was done] */
static bool hear_push(struct job_push *push)
{
    redisReply *reply = peer_take(&push->move->to);
    bool created;

    if (reply == NULL)
        return false;
    created = reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
              reply->element[1]->str != NULL && strcmp(reply->element[1]->str, "created") == 0;
    push->pushed += created;
    push->there += !created;
    freeReplyObject(reply);
    progress_add(&push->move->progress, 1);
    return true;
}

static bool hear_some(struct job_push *push, size_t left)
{
    while (push->move->to.waiting > left)
        if (!hear_push(push))
            return false;
    return !push->move->to.failed;
}

bool job_push_settle(struct job_push *push)
{
    return hear_some(push, 0);
}

bool job_push_remember(struct job_push *push, struct dueq_slice topic)
{
    struct dead_topic *dead = push->dead;

    while (dead != NULL &&
           (dead->size != topic.size || memcmp(dead->name, topic.data, topic.size) != 0))
        dead = dead->next;
    if (dead != NULL)
        return true;
    dead = malloc(sizeof(*dead) + topic.size);
    if (dead == NULL)
        return peer_fail(&push->move->to, "out of memory");
    dead->next = push->dead;
    dead->size = topic.size;
    memcpy(dead->name, topic.data, topic.size);
    push->dead = dead;
    return true;
}

static void say_push(struct job_push *push, const struct moved_job *job)
{
    const char *window = push->move->options->window;
    struct peer *to = &push->move->to;
    bool windowed = strcmp(window, "0") != 0;
    size_t options =
        (size_t)windowed + (job->due > 0) + (job->lease > 0) + (job->priority >= 0);
    char lease[32];

    peer_begin(to, 8 + 2 * options);
    peer_text(to, "Q.PUSH");
    peer_word(to, job->topic);
    peer_word(to, job->body);
    peer_text(to, "ID");
    peer_word(to, job->id);
    peer_text(to, "ONDUP");
    peer_text(to, "IGNORE");
    peer_text(to, "WITHSTATUS");
    if (windowed) {
        peer_text(to, "WINDOW");
        peer_text(to, window);
    }
    if (job->due > 0) {
        peer_text(to, "AT");
        peer_number(to, job->due);
    }
    if (job->lease > 0) {
        snprintf(lease, sizeof(lease), "%lldms", (long long)job->lease);
        peer_text(to, "LEASE");
        peer_text(to, lease);
    }
    if (job->priority >= 0) {
        peer_text(to, "PRIORITY");
        peer_number(to, job->priority);
    }
}

bool job_push(void *arg, const struct moved_job *job)
{
    struct job_push *push = arg;

    if (job->dead && !job_push_remember(push, job->topic))
        return false;
    say_push(push, job);
    return push->move->to.waiting <= AHEAD || hear_some(push, AHEAD / 2);
}

/* ---- dead jobs: claimed, and given up */

/* The error that the job's text tells, as Sidekiq's do. */
static void find_error(struct dueq_slice body, char *error, size_t size)
{
    json_t *json = json_loadb(body.data, body.size, JSON_ALLOW_NUL, NULL);
    const char *kind = json_string_value(json_object_get(json, "error_class")),
               *text = json_string_value(json_object_get(json, "error_message"));

    snprintf(error, size, "%s%s%s", kind == NULL ? "" : kind,
             kind != NULL && text != NULL ? ": " : "", text == NULL ? "" : text);
    if (error[0] == '\0')
        snprintf(error, size, "dead where it came from");
    json_decref(json);
}

static void say_nack(struct peer *to, struct dueq_slice topic, const redisReply *job, bool ours)
{
    char error[ERROR_MAX];

    find_error(reply_slice(job->element[2]), error, sizeof(error));
    peer_begin(to, 7 - (ours ? 0 : 1));
    peer_text(to, "Q.NACK");
    peer_word(to, topic);
    peer_word(to, reply_slice(job->element[0]));
    peer_number(to, job->element[1]->integer);
    peer_text(to, ours ? "FATAL" : "SILENT");
    peer_text(to, ours ? "ERROR" : "DELAY");
    peer_text(to, ours ? error : "0");
}

static long long waiting_in(struct peer *to, struct dueq_slice topic)
{
    long long count;

    /* All but the dead ones: those that an earlier run has claimed come back. */
    peer_say(to, 2, (struct dueq_slice[]){text_slice("Q.LEN"), topic});
    count = peer_take_integer(to);
    peer_say(to, 3, (struct dueq_slice[]){text_slice("Q.DEAD"), topic, text_slice("COUNT")});
    return count - peer_take_integer(to);
}

/* How many to claim next, so that a slow link has about a megabyte to bring. */
static size_t next_count(const redisReply *jobs)
{
    size_t bytes = 0, count;

    for (size_t i = 0; i < jobs->elements; i++)
        bytes += reply_slice(jobs->element[i]->element[2]).size;
    if (jobs->elements == 0)
        return BURY_FIRST;
    count = BURY_BYTES / (bytes / jobs->elements + 1);
    return count < 1 ? 1 : count > BURY_MAX ? BURY_MAX : count;
}

/* Claims *count jobs and makes *count that of the next time. *ret_ours: how many of ours it has
 * buried. False: failed. */
static bool bury_some(struct peer *to, struct dueq_slice topic, const struct seen *seen,
                      size_t *count, size_t *ret_ours)
{
    redisReply *jobs;

    *ret_ours = 0;
    peer_begin(to, 9);
    peer_text(to, "Q.CLAIM");
    peer_word(to, topic);
    peer_text(to, "COUNT");
    peer_number(to, (long long)*count);
    peer_text(to, "LEASE");
    peer_text(to, "1h");
    peer_text(to, "BOUND"); /* those of a run that is killed come back at once */
    peer_text(to, "BLOCK");
    peer_text(to, "6s");
    jobs = peer_take(to);
    if (jobs == NULL)
        return false;
    *count = next_count(jobs);
    for (size_t i = 0; i < jobs->elements; i++) {
        const redisReply *job = jobs->element[i];
        bool ours = seen_has(seen, topic, reply_slice(job->element[0]));

        say_nack(to, topic, job, ours);
        *ret_ours += ours;
    }
    freeReplyObject(jobs);
    return peer_settle(to, 0);
}

bool job_push_bury(struct job_push *push, const struct seen *seen)
{
    struct peer *to = &push->move->to;

    for (const struct dead_topic *dead = push->dead; dead != NULL; dead = dead->next) {
        struct dueq_slice topic = dueq_slice(dead->name, dead->size);
        size_t ours = 1, count = BURY_FIRST;

        while (ours > 0 && waiting_in(to, topic) > 0)
            if (!bury_some(to, topic, seen, &count, &ours))
                return false;
    }
    return !to->failed;
}

void job_push_release(struct job_push *push)
{
    while (push->dead != NULL) {
        struct dead_topic *next = push->dead->next;

        free(push->dead);
        push->dead = next;
    }
}
