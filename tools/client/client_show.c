/* Replies of single commands, as people and programs read them. */
#include "tools/client/client_call.h"
#include "tools/client/client_time.h"
#include "tools/client/columns.h"
#include "tools/client/reply_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int show_nothing(const struct client_call *call, const char *what)
{
    if (call->json)
        puts("null");
    fprintf(stderr, "dueq %s: %s\n", call->command->name, what);
    return CLIENT_NOTHING;
}

/* An object with one member. */
static int print_member(const char *name, const redisReply *reply)
{
    return reply_json_print(json_pack("{s:o}", name, reply_json(reply)));
}

static void print_reply_text(const redisReply *reply, bool lines)
{
    columns_print_bytes(reply->str, reply->len, lines);
}

int client_show_id(const struct client_call *call, const redisReply *reply)
{
    if (call->json)
        return print_member("id", reply);
    if (isatty(STDOUT_FILENO))
        print_reply_text(reply, false);
    else
        fwrite(reply->str, 1, reply->len, stdout);
    putchar('\n');
    return CLIENT_DONE;
}

/* ---- numbers and words */

int client_show_count(const struct client_call *call, const redisReply *reply)
{
    long long count = reply->integer;
    bool counts = call->command->most < 0 || strcmp(call->command->name, "purge") == 0;

    if (count == 0 && !counts)
        return show_nothing(call, strcmp(call->command->name, "drop") == 0
                                      ? "there is no such topic"
                                      : "the topic has no such job");
    if (call->json)
        return print_member(call->command->says, reply);
    if (counts)
        printf("%lld job%s %s\n", count, count == 1 ? "" : "s", call->command->says);
    else
        printf("%s\n", call->command->says);
    return count == 0 && call->command->most < 0 ? CLIENT_NOTHING : CLIENT_DONE;
}

int client_show_state(const struct client_call *call, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_NIL)
        return show_nothing(call, "the topic has no such job");
    if (call->json)
        return print_member("state", reply);
    printf("%s%s%s\n", paint_begin(paint_of_state(reply->str)), reply->str, paint_end());
    return CLIENT_DONE;
}

int client_show_done(const struct client_call *call, const redisReply *reply)
{
    if (call->json)
        return reply_json_print(json_pack("{s:b}", call->command->says, 1));
    (void)reply;
    printf("%s\n", call->command->says);
    return CLIENT_DONE;
}

int client_show_until(const struct client_call *call, const redisReply *reply)
{
    char text[CLIENT_TIME_TEXT];

    if (call->json)
        return print_member(strcmp(call->command->says, "due") == 0 ? "due" : "until", reply);
    printf("%s %s\n", call->command->says, client_show_moment(reply->integer, text));
    return CLIENT_DONE;
}

int client_show_redriven(const struct client_call *call, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return CLIENT_REFUSED;
    if (call->json)
        return reply_json_print(json_pack("{s:o, s:o}", "redriven",
                                          reply_json(reply->element[0]), "dead",
                                          reply_json(reply->element[1])));
    printf("%lld redriven, %lld stay dead\n", reply->element[0]->integer,
           reply->element[1]->integer);
    return CLIENT_DONE;
}

/* ---- claimed jobs */

static int print_claimed_json(const redisReply *job)
{
    static const char *const names[] = {"id", "token", "body", "attempt"};
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        json_object_set_new(object, names[i], reply_json(job->element[i]));
    return reply_json_print(object);
}

static void print_claimed(const redisReply *job)
{
    printf("%sid%s       ", paint_begin(PAINT_HEAD), paint_end());
    print_reply_text(job->element[0], false);
    printf("\n%stoken%s    %lld\n%sattempt%s  %lld\n%sbody%s     ", paint_begin(PAINT_HEAD),
           paint_end(), job->element[1]->integer, paint_begin(PAINT_HEAD), paint_end(),
           job->element[3]->integer, paint_begin(PAINT_HEAD), paint_end());
    print_reply_text(job->element[2], true);
    putchar('\n');
}

int client_show_claimed(const struct client_call *call, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
        fprintf(stderr, "dueq claim: no job is due\n");
        return CLIENT_NOTHING;
    }
    for (size_t i = 0; i < reply->elements; i++) {
        if (reply->element[i]->elements != 4)
            return CLIENT_REFUSED;
        if (call->json && print_claimed_json(reply->element[i]) != CLIENT_DONE)
            return CLIENT_REFUSED;
        if (!call->json && i > 0)
            putchar('\n');
        if (!call->json)
            print_claimed(reply->element[i]);
    }
    return CLIENT_DONE;
}

/* ---- maps */

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void print_number(const char *name, int64_t number)
{
    static const char *const moments[] = {
        "due",          "pushed",         "claimed-at", "kept-until", "next-due",
        "paused-until", "since",          "died",       "last-seen",  "ended",
        "lease-end",    "measured-since", NULL};
    static const char *const spans[] = {
        "lease",  "backoff",      "backoff-max",      "ttl",      "wait",
        "window", "oldest-lease", "oldest-ready-age", "duration", NULL};
    char text[CLIENT_TIME_TEXT];

    if (is_one_of(name, moments))
        printf("%s\n", client_show_moment(number, text));
    else if (is_one_of(name, spans))
        printf("%s\n", client_show_span(number, text));
    else if (strcmp(name, "bytes") == 0)
        printf("%s\n", client_show_bytes(number, text));
    else
        printf("%" PRId64 "\n", number);
}

/* "name value, name value": the attempts of a job, the windows of a topic's times. */
static void print_pairs(const redisReply *map)
{
    const char *before = "";

    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        const redisReply *value = map->element[i + 1];
        const char *name = map->element[i]->str;
        char text[CLIENT_TIME_TEXT];

        if (value->type == REDIS_REPLY_NIL)
            continue;
        printf("%s%s ", before, name);
        before = ", ";
        if (strcmp(name, "ended") == 0)
            fputs(client_show_moment(value->integer, text), stdout);
        else if (value->type == REDIS_REPLY_INTEGER && strcmp(name, "count") != 0)
            fputs(client_show_span(value->integer, text), stdout);
        else if (value->type == REDIS_REPLY_INTEGER)
            printf("%lld", value->integer);
        else
            print_reply_text(value, false);
    }
    putchar('\n');
}

static void print_name(const char *name)
{
    printf("%s%s%s%*s", paint_begin(PAINT_HEAD), name, paint_end(),
           (int)(strlen(name) < 20 ? 20 - strlen(name) : 1), "");
}

static void print_list(const char *name, const redisReply *list)
{
    enum member_kind kind = reply_member_kind(name);
    size_t step = kind == MEMBER_MAP_OF_MAPS ? 2 : 1;
    char label[64];

    for (size_t i = 0; i + step <= list->elements; i += step) {
        const redisReply *value = list->element[i + step - 1];

        if (kind == MEMBER_MAP_OF_MAPS)
            snprintf(label, sizeof(label), "%s, %s", name, list->element[i]->str);
        else
            snprintf(label, sizeof(label), "%s %zu", name, i + 1);
        print_name(label);
        if (value->type == REDIS_REPLY_ARRAY)
            print_pairs(value);
        else
            printf("%lld\n", value->integer);
    }
}

static void print_map_member(const char *name, const redisReply *value)
{
    if (value->type == REDIS_REPLY_NIL)
        return;
    if (value->type == REDIS_REPLY_ARRAY) {
        print_list(name, value);
        return;
    }
    print_name(name);
    if (value->type == REDIS_REPLY_INTEGER) {
        print_number(name, value->integer);
        return;
    }
    if (strcmp(name, "state") == 0)
        fputs(paint_begin(paint_of_state(value->str)), stdout);
    print_reply_text(value, strcmp(name, "body") == 0);
    if (strcmp(name, "state") == 0)
        fputs(paint_end(), stdout);
    putchar('\n');
}

int client_show_map(const struct client_call *call, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return show_nothing(call, "the topic has no such job");
    if (call->json)
        return reply_json_print(reply_json_map(reply));
    for (size_t i = 0; i + 1 < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, "body") != 0) /* the longest one comes last */
            print_map_member(reply->element[i]->str, reply->element[i + 1]);
    if (reply_member(reply, "body") != NULL)
        print_map_member("body", reply_member(reply, "body"));
    return CLIENT_DONE;
}

int client_show_job(const struct client_call *call, const redisReply *reply)
{
    const redisReply *body;

    if (client_option(call, "raw") == NULL || reply->type != REDIS_REPLY_ARRAY)
        return client_show_map(call, reply);
    body = reply_member(reply, "body");
    if (body == NULL)
        return show_nothing(call, "the job has no body any more");
    return fwrite(body->str, 1, body->len, stdout) == body->len ? CLIENT_DONE : CLIENT_REFUSED;
}
