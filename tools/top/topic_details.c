#include "tools/top/topic_details.h"

#include "tools/client/client_time.h"
#include "tools/client/columns.h"
#include "tools/client/reply_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MOST = 100 };

struct details {
    struct client_call *call;
    const char *topic;
    size_t size;
    struct top_lines *lines;
    FILE *line; /* the one that is being written */
    char *text;
    size_t length;
};

/* ---- lines */

static FILE *begin_line(struct details *details)
{
    details->line = open_memstream(&details->text, &details->length);
    if (details->line == NULL)
        client_allocate(NULL, SIZE_MAX); /* ends the program, as other allocations do */
    return details->line;
}

static void end_line(struct details *details, enum screen_style style)
{
    fclose(details->line);
    top_lines_add(details->lines, style, details->text);
    free(details->text);
}

static void add_head(struct details *details, const char *head)
{
    top_lines_add(details->lines, SCREEN_PLAIN, "");
    top_lines_add(details->lines, SCREEN_HEAD, head);
}

static void write_reply(FILE *line, const redisReply *reply)
{
    if (reply == NULL || reply->type == REDIS_REPLY_NIL)
        fputc('-', line);
    else if (reply->type == REDIS_REPLY_INTEGER)
        fprintf(line, "%lld", reply->integer);
    else if (reply->str != NULL)
        columns_write_bytes(line, reply->str, reply->len, false);
}

/* ---- the parts */

static void add_times(struct details *details, const redisReply *stats, const char *name)
{
    const redisReply *windows = reply_member(stats, name),
                     *minute = windows == NULL ? NULL : reply_member(windows, "minute");
    char half[CLIENT_TIME_TEXT], most[CLIENT_TIME_TEXT], all[CLIENT_TIME_TEXT];
    const redisReply *count, *p50, *p99, *max;

    if (minute == NULL)
        return;
    count = reply_member(minute, "count");
    p50 = reply_member(minute, "p50");
    p99 = reply_member(minute, "p99");
    max = reply_member(minute, "max");
    if (count == NULL || p50 == NULL || p99 == NULL || max == NULL)
        return;
    if (count->integer == 0)
        fprintf(begin_line(details), "%-9s none in the last minute", name);
    else
        fprintf(begin_line(details), "%-9s %lld in the last minute, half %s, 99%% %s, all %s",
                name, count->integer, client_show_span(p50->integer, half),
                client_show_span(p99->integer, most), client_show_span(max->integer, all));
    end_line(details, SCREEN_PLAIN);
}

static void add_figures(struct details *details, const char *head, const redisReply *stats,
                        const char *const *names, size_t count)
{
    FILE *line = begin_line(details);

    fprintf(line, "%s", head);
    for (size_t i = 0; i < count; i++) {
        fprintf(line, "  %s ", strncmp(names[i], "total-", 6) == 0 ? names[i] + 6 : names[i]);
        write_reply(line, reply_member(stats, names[i]));
    }
    end_line(details, SCREEN_PLAIN);
}

static void add_moments(struct details *details, const redisReply *stats)
{
    const redisReply *age = reply_member(stats, "oldest-ready-age"),
                     *next = reply_member(stats, "next-due"),
                     *paused = reply_member(stats, "paused"),
                     *until = reply_member(stats, "paused-until");
    char text[CLIENT_TIME_TEXT];

    fprintf(begin_line(details), "oldest ready: %s",
            age == NULL || age->integer == 0 ? "-" : client_show_span(age->integer, text));
    end_line(details, SCREEN_PLAIN);
    fprintf(begin_line(details), "next due: %s",
            next == NULL ? "-" : client_show_moment(next->integer, text));
    end_line(details, SCREEN_PLAIN);
    if (paused == NULL)
        return;
    fprintf(begin_line(details), "paused: %s, until %s", paused->str,
            until == NULL ? "it is resumed" : client_show_moment(until->integer, text));
    end_line(details, SCREEN_BAD);
}

static void add_stats(struct details *details, const redisReply *stats)
{
    static const char *const states[] = {"ready", "delayed", "waiting", "claimed",
                                         "dead",  "done",    "bytes"};
    static const char *const totals[] = {"total-pushed", "total-claimed", "total-acked",
                                         "total-nacked"};
    static const char *const losses[] = {"total-expired", "total-lapsed", "total-dead",
                                         "total-deleted", "total-cancelled"};

    add_figures(details, "jobs:", stats, states, sizeof(states) / sizeof(states[0]));
    add_figures(details, "ever:", stats, totals, sizeof(totals) / sizeof(totals[0]));
    add_figures(details, "     ", stats, losses, sizeof(losses) / sizeof(losses[0]));
    add_moments(details, stats);
    add_times(details, stats, "wait");
    add_times(details, stats, "run");
    add_times(details, stats, "lateness");
}

/* Those that somebody has set. */
static void add_settings(struct details *details, const redisReply *settings)
{
    size_t before;

    add_head(details, "Settings of its own or of a pattern");
    before = details->lines->count;
    for (size_t i = 0; i + 1 < settings->elements; i += 2) {
        const redisReply *name = settings->element[i], *pair = settings->element[i + 1];
        FILE *line;

        if (pair->type != REDIS_REPLY_ARRAY || pair->elements != 2 ||
            pair->element[1]->str == NULL || strcmp(pair->element[1]->str, "server") == 0)
            continue;
        line = begin_line(details);
        fprintf(line, "%s: ", name->str);
        write_reply(line, pair->element[0]);
        fputs("  (", line);
        write_reply(line, pair->element[1]);
        fputc(')', line);
        end_line(details, SCREEN_PLAIN);
    }
    if (details->lines->count == before)
        top_lines_add(details->lines, SCREEN_PLAIN, "none: those of the server hold");
}

static void add_worker(struct details *details, const redisReply *worker)
{
    FILE *line = begin_line(details);
    const redisReply *lease = reply_member(worker, "oldest-lease");
    char text[CLIENT_TIME_TEXT];

    write_reply(line, reply_member(worker, "name"));
    fputs("  holds ", line);
    write_reply(line, reply_member(worker, "held"));
    if (lease != NULL)
        fprintf(line, ", the oldest for %s", client_show_span(lease->integer, text));
    fputs("  at ", line);
    write_reply(line, reply_member(worker, "address"));
    end_line(details, SCREEN_PLAIN);
}

static void add_workers(struct details *details, const redisReply *workers)
{
    add_head(details, "Workers that hold jobs");
    for (size_t i = 0; i < workers->elements && i < WORKERS_MOST; i++)
        add_worker(details, workers->element[i]);
    if (workers->elements > WORKERS_MOST)
        top_lines_add(details->lines, SCREEN_PLAIN, "and more: dueq workers TOPIC");
    if (workers->elements == 0)
        top_lines_add(details->lines, SCREEN_PLAIN, "none that has a name");
}

static void add_dead(struct details *details, const redisReply *dead)
{
    add_head(details, "Dead jobs, those that died first");
    for (size_t i = 0; i < dead->elements; i++) {
        const redisReply *died = reply_member(dead->element[i], "died");
        FILE *line = begin_line(details);
        char text[CLIENT_TIME_TEXT];

        write_reply(line, reply_member(dead->element[i], "id"));
        if (died != NULL)
            fprintf(line, "  %s  ", client_show_moment(died->integer, text));
        write_reply(line, reply_member(dead->element[i], "error"));
        end_line(details, SCREEN_BAD);
    }
    if (dead->elements == 0)
        top_lines_add(details->lines, SCREEN_PLAIN, "none");
}

/* ---- asking */

typedef void (*add_fn)(struct details *details, const redisReply *reply);

/* The first empty word is the topic. */
static bool ask(struct details *details, const char *const *request, int count, add_fn add)
{
    const char *words[6];
    size_t sizes[6];
    redisReply *reply;

    for (int i = 0; i < count; i++) {
        bool is_topic = request[i][0] == '\0';

        words[i] = is_topic ? details->topic : request[i];
        sizes[i] = is_topic ? details->size : strlen(request[i]);
    }
    reply = online_ask_sized(details->call->client, count, words, sizes, details->call->why);
    if (reply == NULL)
        return false;
    if (reply->type == REDIS_REPLY_ARRAY)
        add(details, reply);
    else {
        write_reply(begin_line(details), reply);
        end_line(details, SCREEN_BAD);
    }
    freeReplyObject(reply);
    return true;
}

bool topic_details_ask(struct client_call *call, const char *topic, size_t size,
                       struct top_lines *lines)
{
    static const char *const stats[] = {"Q.STATS", ""},
                             *const config[] = {"Q.CONFIG", "GET", ""},
                             *const workers[] = {"Q.WORKERS", ""},
                             *const dead[] = {"Q.DEAD", "", "LIST", "LIMIT", "20"};
    struct details details = {.call = call, .topic = topic, .size = size, .lines = lines};

    top_lines_clear(lines);
    columns_write_bytes(begin_line(&details), topic, size, false);
    end_line(&details, SCREEN_HEAD);
    return ask(&details, stats, 2, add_stats) && ask(&details, config, 3, add_settings) &&
           ask(&details, workers, 2, add_workers) && ask(&details, dead, 5, add_dead);
}
