/* Reads the jobs of the keys of a plan. */
#include "tools/move/layout.h"
#include "tools/move/moved_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_PAGE = 100,
    PAGE_MAX = 5000,
    PAGE_BYTES = 1 << 20,
    NAME_MAX_BYTES = 255, /* of topics and ids */
    ID_ROOM = NAME_MAX_BYTES + 32
};

/* How many elements the next page may have, so that it has about a megabyte. */
static long long next_page(size_t elements, size_t bytes)
{
    size_t page = elements == 0 ? FIRST_PAGE : PAGE_BYTES / (bytes / elements + 1);

    return (long long)(page < 1 ? 1 : page > PAGE_MAX ? PAGE_MAX : page);
}

static size_t bytes_of(const redisReply *elements)
{
    size_t bytes = 0;

    for (size_t i = 0; i < elements->elements; i++)
        bytes += reply_slice(elements->element[i]).size;
    return bytes;
}

/* ---- a job */

static bool leave_out(struct layout_walk *walk, const char *why)
{
    walk->left_out++;
    walk->why = why;
    return true;
}

/* The id of the job; the second one of that id gets a number. Returns its size; 0: the job is
 * to be passed over. */
static size_t choose_id(struct layout_walk *walk, const struct layout_key *key,
                        struct dueq_slice topic, struct dueq_slice given,
                        struct dueq_slice body, char *id)
{
    size_t size = given.size;
    bool same;
    uint64_t count;

    if (size == 0 || size > NAME_MAX_BYTES) {
        moved_make_id(size == 0 ? body : given, id);
        size = MADE_ID;
    } else {
        memcpy(id, given.data, size);
    }
    count = seen_count(&walk->seen, topic, dueq_slice(id, size), body, &same);
    if (count == 0)
        peer_fail(&walk->move->from, "out of memory");
    /* What a scan shows twice is one; a list has no such double. */
    if (count == 0 || (count > 1 && same && layout_role_type(key->role) != VALUE_LIST))
        return 0;
    if (count > 1 && size > NAME_MAX_BYTES - 21) {
        moved_make_id(given, id);
        size = MADE_ID;
    }
    if (count > 1)
        size += (size_t)snprintf(id + size, ID_ROOM - size, "#%llu", (unsigned long long)count);
    return size;
}

/* *ret_topic is in `room`, or somewhere that lives as long as the job. */
static bool choose_topic(const struct layout_walk *walk, const struct layout_key *key,
                         struct dueq_slice own, char *room, struct dueq_slice *ret_topic)
{
    const char *given = walk->move->options->topic;
    struct dueq_slice topic = given != NULL         ? text_slice(given)
                              : key->topic.size > 0 ? key->topic
                                                    : own;
    size_t more = key->role == ROLE_DEAD ? MOVED_DEAD_SIZE : 0;

    if (topic.size == 0 || topic.size + more > NAME_MAX_BYTES)
        return false;
    memcpy(room, topic.data, topic.size);
    memcpy(room + topic.size, MOVED_DEAD, more);
    *ret_topic = dueq_slice(room, topic.size + more);
    return true;
}

/* `id`: empty: the text or its bytes say it. */
static bool give(struct layout_walk *walk, const struct layout_key *key,
                 struct dueq_slice bytes, struct dueq_slice id, int64_t due)
{
    struct layout_text text;
    struct moved_job job = {
        .due = due, .priority = key->priority, .dead = key->role == ROLE_DEAD};
    char topic[NAME_MAX_BYTES], made[ID_ROOM];
    bool going = true;

    layout_text_read(key->layout, key->role, bytes, &text);
    walk->found++;
    job.body = text.body;
    if (job.due == 0)
        job.due = text.due;
    if (!choose_topic(walk, key, text.topic, topic, &job.topic)) {
        leave_out(walk, "its topic has no name, or one of more than 255 bytes");
    } else {
        struct dueq_slice given = id.size > 0 ? id : text.id;

        /* Members of a sorted set are unique. */
        if (given.size == 0 && key->layout == LAYOUT_ZSET)
            given = bytes;
        job.id = dueq_slice(made, choose_id(walk, key, job.topic, given, job.body, made));
        if (job.id.size > 0)
            going = walk->job(walk->arg, &job);
        else
            walk->found--;
    }
    layout_text_release(&text);
    return going && !walk->move->from.failed;
}

/* ---- lists */

static void ask_range(struct peer *from, const struct layout_key *key, long long at,
                      long long page)
{
    bool last = key->role == ROLE_READY_LAST;

    peer_begin(from, 4);
    peer_text(from, "LRANGE");
    peer_word(from, key->name);
    peer_number(from, last ? -at - page : at);
    peer_number(from, last ? -at - 1 : at + page - 1);
}

static bool give_list_page(struct layout_walk *walk, const struct layout_key *key,
                           const redisReply *elements)
{
    size_t count = elements->elements;

    for (size_t i = 0; i < count; i++) {
        const redisReply *element =
            elements->element[key->role == ROLE_READY_LAST ? count - 1 - i : i];

        if (!give(walk, key, reply_slice(element), dueq_slice(NULL, 0), 0))
            return false;
    }
    return true;
}

static long long list_length(struct peer *from, struct dueq_slice name)
{
    value_ask_size(from, VALUE_LIST, name);
    return peer_take_integer(from);
}

static bool walk_list(struct layout_walk *walk, const struct layout_key *key)
{
    struct peer *from = &walk->move->from;
    long long at = 0, page = FIRST_PAGE, length = list_length(from, key->name);
    bool going = length >= 0;

    while (going && at < length) {
        redisReply *reply;
        long long got;

        if (page > length - at)
            page = length - at;
        ask_range(from, key, at, page);
        reply = peer_take(from);
        if (reply == NULL)
            return false;
        got = (long long)reply->elements;
        going = give_list_page(walk, key, reply);
        at = got == 0 ? length : at + got;
        page = next_page(reply->elements, bytes_of(reply));
        freeReplyObject(reply);
    }
    if (going && list_length(from, key->name) != length)
        walk->changed++;
    return going && !from->failed;
}

/* ---- sorted sets: in the order of their scores */

static void ask_scores(struct peer *from, const struct layout_key *key, const char *score,
                       long long passed, long long page)
{
    peer_begin(from, 8);
    peer_text(from, "ZRANGEBYSCORE");
    peer_word(from, key->name);
    peer_text(from, score);
    peer_text(from, "+inf");
    peer_text(from, "WITHSCORES");
    peer_text(from, "LIMIT");
    peer_number(from, passed);
    peer_number(from, page);
}

/* The bodies of a page of ids. NULL: the source has failed. */
static redisReply *take_bodies(struct peer *from, const struct layout_key *key,
                               const redisReply *page)
{
    redisReply *reply;

    peer_begin(from, 2 + page->elements / 2);
    peer_text(from, "HMGET");
    peer_word(from, key->bodies);
    for (size_t i = 0; i < page->elements; i += 2)
        peer_word(from, reply_slice(page->element[i]));
    reply = peer_take(from);
    if (reply == NULL || reply->elements == page->elements / 2)
        return reply;
    freeReplyObject(reply);
    peer_fail(from, "HMGET replies something else");
    return NULL;
}

static bool give_scored(struct layout_walk *walk, const struct layout_key *key,
                        const redisReply *member, const redisReply *score,
                        const redisReply *body)
{
    double time = score->str == NULL ? 0 : strtod(score->str, NULL);

    if (isinf(time) && time > 0) {
        walk->found++;
        return leave_out(walk, "its time is infinite");
    }
    if (key->role == ROLE_IDS && (body == NULL || body->type != REDIS_REPLY_STRING)) {
        walk->found++;
        return leave_out(walk, "the id has no body");
    }
    if (key->role == ROLE_IDS)
        return give(walk, key, reply_slice(body), reply_slice(member), moved_due(time));
    return give(walk, key, reply_slice(member), dueq_slice(NULL, 0),
                key->role == ROLE_DEAD ? 0 : moved_due(time));
}

static bool give_scored_page(struct layout_walk *walk, const struct layout_key *key,
                             const redisReply *page)
{
    redisReply *bodies =
        key->role == ROLE_IDS ? take_bodies(&walk->move->from, key, page) : NULL;
    bool going = key->role != ROLE_IDS || bodies != NULL;

    for (size_t i = 0; i + 1 < page->elements && going; i += 2)
        going = give_scored(walk, key, page->element[i], page->element[i + 1],
                            bodies == NULL ? NULL : bodies->element[i / 2]);
    freeReplyObject(bodies);
    return going;
}

/* How many at the end of the page have the last score; all: the score of before, too. */
static long long passed_by(const redisReply *page, const char *last, const char *before,
                           long long passed)
{
    long long count = 0;

    for (size_t i = page->elements; i >= 2; i -= 2) {
        const char *score = page->element[i - 1]->str;

        if (score == NULL || strcmp(score, last) != 0)
            break;
        count++;
    }
    return strcmp(last, before) == 0 ? passed + count : count;
}

static bool walk_scores(struct layout_walk *walk, const struct layout_key *key)
{
    char score[64] = "-inf";
    long long passed = 0, page = FIRST_PAGE;
    bool going = true;

    while (going) {
        const char *last;
        redisReply *reply;
        size_t got;

        ask_scores(&walk->move->from, key, score, passed, page);
        reply = peer_take(&walk->move->from);
        if (reply == NULL)
            return false;
        got = reply->elements / 2;
        last = got == 0 ? NULL : reply->element[reply->elements - 1]->str;
        if (last == NULL || reply->elements % 2 != 0) {
            freeReplyObject(reply);
            return got == 0 || peer_fail(&walk->move->from, "a score is missing");
        }
        going = give_scored_page(walk, key, reply);
        passed = passed_by(reply, last, score, passed);
        snprintf(score, sizeof(score), "%.63s", last);
        page = next_page(got, bytes_of(reply));
        freeReplyObject(reply);
    }
    return going;
}

/* ---- the hash of what workers have */

static bool walk_unacked(struct layout_walk *walk, const struct layout_key *key)
{
    struct value_pages pages;
    const redisReply *elements;
    redisReply *reply;
    bool going = true;

    value_begin(&pages, &walk->move->from, VALUE_HASH, key->name, FIRST_PAGE);
    while (going && (reply = value_next(&pages, &elements)) != NULL) {
        for (size_t i = 0; i + 1 < elements->elements && going; i += 2)
            going =
                give(walk, key, reply_slice(elements->element[i + 1]), dueq_slice(NULL, 0), 0);
        freeReplyObject(reply);
    }
    return going && !walk->move->from.failed;
}

/* ---- all */

static bool walk_key(struct layout_walk *walk, const struct layout_key *key)
{
    switch (layout_role_type(key->role)) {
    case VALUE_LIST:
        return walk_list(walk, key);
    case VALUE_HASH:
        return walk_unacked(walk, key);
    default:
        return walk_scores(walk, key);
    }
}

bool layout_walk(struct layout_walk *walk)
{
    bool going = true;

    for (size_t i = 0; i < walk->plan->count && going; i++)
        going = walk_key(walk, &walk->plan->keys[i]);
    return going;
}
