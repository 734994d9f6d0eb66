#include "tools/top/topic_sample.h"

#include "tools/client/reply_json.h"
#include "tools/terminal/end_signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOPICS_AT_ONCE = 100 };

int64_t top_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

/* The reply, if it has this type, to be freed. NULL: call->why says why. */
static redisReply *checked(struct client_call *call, redisReply *reply, int type,
                           bool *ret_refused)
{
    *ret_refused = reply != NULL;
    if (reply == NULL || reply->type == type)
        return reply;
    snprintf(call->why, sizeof(call->why), "%s",
             reply->type == REDIS_REPLY_ERROR ? reply->str : "this is no dueq server");
    freeReplyObject(reply);
    return NULL;
}

/* Waits for the first byte: an end must not wait for a server that is silent. */
static bool await_reply(struct client_call *call)
{
    struct pollfd readable = {online_descriptor(call->client), POLLIN, 0};
    int ready;

    do
        ready = signals_poll(&readable, 1, call->where.patience_ms, true);
    while (ready < 0 && !signals_are_there(true));
    if (ready <= 0)
        snprintf(call->why, sizeof(call->why), "the server is silent");
    return ready > 0;
}

bool sample_server(struct client_call *call, struct server_figures *figures, bool *ret_refused)
{
    const char *words[] = {"INFO"};
    const size_t sizes[] = {strlen(words[0])};
    redisReply *reply;

    if (!online_say(call->client, 1, words, sizes, call->why) || !await_reply(call))
        return false;
    reply =
        checked(call, online_hear(call->client, call->why), REDIS_REPLY_STRING, ret_refused);
    if (reply == NULL)
        return false;
    server_figures_read(figures, reply->str);
    freeReplyObject(reply);
    return true;
}

bool sample_names(struct client_call *call, struct top_topics *rows, bool *ret_refused)
{
    const char *words[] = {"Q.TOPICS"};
    redisReply *reply = checked(call, online_ask(call->client, 1, words, call->why),
                                REDIS_REPLY_ARRAY, ret_refused);
    const char **names;
    size_t *sizes;

    if (reply == NULL)
        return false;
    names = client_allocate(NULL, (reply->elements + 1) * sizeof(*names));
    sizes = client_allocate(NULL, (reply->elements + 1) * sizeof(*sizes));
    for (size_t i = 0; i < reply->elements; i++) {
        names[i] = reply->element[i]->str;
        sizes[i] = reply->element[i]->len;
    }
    top_topics_list(rows, names, sizes, reply->elements);
    free(names);
    free(sizes);
    freeReplyObject(reply);
    return true;
}

static int64_t number(const redisReply *stats, const char *name, int64_t otherwise)
{
    const redisReply *value = reply_member(stats, name);

    return value == NULL ? otherwise : value->integer;
}

static void take_stats(struct top_topic *row, const redisReply *stats)
{
    const redisReply *paused;
    struct topic_figures figures;

    row->forbidden = stats->type != REDIS_REPLY_ARRAY;
    if (row->forbidden)
        return;
    paused = reply_member(stats, "paused");
    figures = (struct topic_figures){.ready = number(stats, "ready", 0),
                                     .delayed = number(stats, "delayed", 0),
                                     .waiting = number(stats, "waiting", 0),
                                     .claimed = number(stats, "claimed", 0),
                                     .dead = number(stats, "dead", 0),
                                     .oldest = number(stats, "oldest-ready-age", 0),
                                     .next_due = number(stats, "next-due", -1),
                                     .pushed = number(stats, "total-pushed", 0),
                                     .acked = number(stats, "total-acked", 0)};
    if (paused != NULL)
        snprintf(figures.paused, sizeof(figures.paused), "%s", paused->str);
    top_topic_take(row, &figures, top_clock());
}

static bool ask_stats(struct client_call *call, const struct top_topic *row)
{
    const char *words[] = {"Q.STATS", row->name};
    const size_t sizes[] = {strlen(words[0]), row->size};

    return online_say(call->client, 2, words, sizes, call->why);
}

bool sample_topics(struct client_call *call, struct top_topic *const *rows, size_t count)
{
    for (size_t from = 0; from < count; from += TOPICS_AT_ONCE) {
        size_t to = from + TOPICS_AT_ONCE < count ? from + TOPICS_AT_ONCE : count;

        for (size_t i = from; i < to; i++)
            if (!ask_stats(call, rows[i]))
                return false;
        for (size_t i = from; i < to; i++) {
            redisReply *stats = online_hear(call->client, call->why);

            if (stats == NULL)
                return false;
            take_stats(rows[i], stats);
            freeReplyObject(stats);
        }
    }
    return true;
}
