#include "tools/move/held_jobs.h"

#include "tools/move/job_fields.h"

#include <stdio.h>
#include <string.h>

static bool scan_topic(struct move *move, struct dueq_slice topic, held_fn page, void *arg)
{
    char cursor[64] = "0";
    bool going = true;

    do {
        /* With a time the jobs come by priority and due time, else by their numbers. */
        struct dueq_slice words[] = {text_slice("Q.SCAN"), topic,           text_slice(cursor),
                                     text_slice("FROM"),   text_slice("0"), text_slice("COUNT"),
                                     text_slice("1000")};
        redisReply *reply;

        peer_say(&move->from, 7, words);
        reply = peer_take(&move->from);
        if (reply == NULL)
            return false;
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
            reply->element[0]->str == NULL) {
            freeReplyObject(reply);
            return peer_fail(&move->from, "Q.SCAN replies something else");
        }
        snprintf(cursor, sizeof(cursor), "%.63s", reply->element[0]->str);
        going = reply->element[1]->elements == 0 || page(arg, topic, reply->element[1]);
        freeReplyObject(reply);
    } while (going && strcmp(cursor, "0") != 0);
    return going;
}

/* NULL: failed. */
static redisReply *take_topics(struct move *move)
{
    const char *pattern = move->options->pattern;

    peer_say_text(&move->from, "Q.TOPICS", pattern == NULL ? NULL : "MATCH", pattern,
                  (const char *)NULL);
    return peer_take(&move->from);
}

bool held_jobs(struct move *move, held_fn page, void *arg)
{
    redisReply *topics;
    bool going = true;

    if (move->options->topic != NULL)
        return scan_topic(move, text_slice(move->options->topic), page, arg);
    topics = take_topics(move);
    for (size_t i = 0; topics != NULL && i < topics->elements && going; i++)
        going = scan_topic(move, reply_slice(topics->element[i]), page, arg);
    freeReplyObject(topics);
    return topics != NULL && going;
}

static void ask_length(struct move *move, struct dueq_slice topic)
{
    peer_say(&move->from, 2, (struct dueq_slice[]){text_slice("Q.LEN"), topic});
}

uint64_t held_count(struct move *move)
{
    redisReply *topics = NULL;
    size_t asked = 1;
    uint64_t count = 0;

    if (move->options->topic != NULL) {
        ask_length(move, text_slice(move->options->topic));
    } else {
        topics = take_topics(move);
        asked = topics == NULL ? 0 : topics->elements;
        for (size_t i = 0; i < asked; i++)
            ask_length(move, reply_slice(topics->element[i]));
    }
    for (size_t i = 0; i < asked && !move->from.failed; i++) {
        long long length = peer_take_integer(&move->from);

        count += length > 0 ? (uint64_t)length : 0;
    }
    freeReplyObject(topics);
    return count;
}

void held_read(struct dueq_slice topic, const redisReply *reply, struct placed_job *ret_job)
{
    static const char *const states[] = {[PLACED_READY] = "ready",
                                         [PLACED_LATER] = "delayed",
                                         [PLACED_CLAIMED] = "claimed",
                                         [PLACED_DEAD] = "dead",
                                         [PLACED_WAITING] = "waiting"};
    struct placed_job job = {.topic = topic,
                             .id = job_text(reply, "id"),
                             .body = job_text(reply, "body"),
                             .error = job_text(reply, "error"),
                             .due = job_number(reply, "due", 0),
                             .priority = (int)job_number(reply, "priority", 128)};

    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (job_is(reply, states[i]))
            job.state = i;
    *ret_job = job;
}
