/* Subcommands that ask more than once, or for more than one reply: push, ls, scan, config. */
#include "tools/client/client_lists.h"
#include "tools/client/client_time.h"
#include "tools/client/reply_json.h"

#include "protocol/number.h"

#include <stdlib.h>
#include <string.h>

enum { TOPICS_AT_ONCE = 100 };

int client_push(struct client_call *call)
{
    if (call->count < 2 && client_option(call, "file") == NULL)
        return client_misused(call->command, "say the body: in an argument, - for standard "
                                             "input, or with --file FILE");
    if (call->count == 2 && client_option(call, "file") != NULL)
        return client_misused(call->command, "--file and a body are one too many");
    return client_read_body(call, 1) ? client_send_and_show(call) : CLIENT_REFUSED;
}

/* ---- ls */

static void begin_topics(struct columns *columns)
{
    static const char *const states[] = {"READY",   "DELAYED", "WAITING",
                                         "CLAIMED", "DEAD",    "DONE"};

    *columns = (struct columns){0};
    columns_add(columns, "TOPIC", false);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        columns_add(columns, states[i], true);
    columns_add(columns, "OLDEST READY", false);
    columns_add(columns, "PAUSED", false);
}

static void put_topic(struct columns *columns, const redisReply *name, const redisReply *stats)
{
    static const char *const states[] = {"ready",   "delayed", "waiting",
                                         "claimed", "dead",    "done"};
    const redisReply *age = reply_member(stats, "oldest-ready-age"),
                     *paused = reply_member(stats, "paused");
    char text[CLIENT_TIME_TEXT];

    columns_put(columns, name->str, name->len, PAINT_NONE);
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        const redisReply *count = reply_member(stats, states[i]);

        columns_put_number(columns, count == NULL ? 0 : count->integer);
    }
    columns_put_text(
        columns, age == NULL || age->integer == 0 ? "" : client_show_span(age->integer, text));
    columns_put_text(columns, paused == NULL ? "" : paused->str);
}

/* "topic" and all of its figures. */
static int print_topic(const redisReply *name, const redisReply *stats)
{
    json_t *object = json_object(), *figures = reply_json_map(stats);

    json_object_set_new(object, "topic", reply_json(name));
    json_object_update(object, figures);
    json_decref(figures);
    return reply_json_print(object);
}

static int show_topic(struct client_call *call, struct columns *columns, const redisReply *name)
{
    redisReply *stats = online_hear(call->client, call->why);
    int status = CLIENT_DONE;

    if (stats == NULL) {
        client_complain(call, call->why);
        return CLIENT_UNREACHABLE;
    }
    if (stats->type == REDIS_REPLY_ERROR) /* a topic that the user may not read */
        status = CLIENT_DONE;
    else if (call->json)
        status = print_topic(name, stats);
    else
        put_topic(columns, name, stats);
    freeReplyObject(stats);
    return status;
}

static bool ask_stats(struct client_call *call, const redisReply *name)
{
    const char *words[] = {"Q.STATS", name->str};
    const size_t sizes[] = {strlen(words[0]), name->len};

    return online_say(call->client, 2, words, sizes, call->why);
}

/* Some topics at a time: as many requests are on their way. */
static int show_topics(struct client_call *call, const redisReply *names)
{
    struct columns columns;
    int status = CLIENT_DONE;

    begin_topics(&columns);
    for (size_t from = 0; from < names->elements && status == CLIENT_DONE;
         from += TOPICS_AT_ONCE) {
        size_t to =
            from + TOPICS_AT_ONCE < names->elements ? from + TOPICS_AT_ONCE : names->elements;

        for (size_t i = from; i < to && status == CLIENT_DONE; i++)
            if (!ask_stats(call, names->element[i])) {
                client_complain(call, call->why);
                status = CLIENT_UNREACHABLE;
            }
        for (size_t i = from; i < to && status == CLIENT_DONE; i++)
            status = show_topic(call, &columns, names->element[i]);
        columns_print(&columns);
    }
    columns_release(&columns);
    return status;
}

static int show_names(const struct client_call *call, const redisReply *names)
{
    for (size_t i = 0; i < names->elements; i++) {
        if (call->json) {
            reply_json_print(json_pack("{s:o}", "topic", reply_json(names->element[i])));
            continue;
        }
        columns_print_bytes(names->element[i]->str, names->element[i]->len, false);
        putchar('\n');
    }
    return CLIENT_DONE;
}

int client_list_topics(struct client_call *call)
{
    struct client_request request = {0};
    redisReply *names;
    int status;

    client_request_say(&request, "Q.TOPICS");
    if (call->count == 1) {
        client_request_say(&request, "MATCH");
        client_request_add(&request, call->words[0], call->sizes[0]);
    }
    names = client_ask(call, &request, &status);
    if (names != NULL) {
        status = client_option(call, "names") != NULL ? show_names(call, names)
                                                      : show_topics(call, names);
        freeReplyObject(names);
    }
    client_request_release(&request);
    return status;
}

/* ---- scan */

struct scan {
    struct columns columns;
    int64_t left; /* jobs to show */
    char *cursor;
};

static bool read_limit(const struct client_call *call, int64_t *ret_limit)
{
    const char *limit = client_option(call, "limit");

    *ret_limit = INT64_MAX;
    return limit == NULL ||
           (number_parse_integer(limit, strlen(limit), ret_limit) && *ret_limit > 0);
}

/* TOPIC, and after it the cursor and how many jobs a step looks at. */
static bool make_step(struct client_request *request, const struct client_call *call,
                      const struct scan *scan)
{
    struct client_request given = {0};
    bool made = client_request_make(&given, call);

    for (int i = 0; made && i < given.count; i++) {
        if (i == 2)
            client_request_say(request, scan->cursor);
        client_request_add(request, given.words[i], given.sizes[i]);
    }
    if (made && given.count == 2)
        client_request_say(request, scan->cursor);
    client_request_say(request, "COUNT");
    client_request_say(request, "1000");
    request->owned = given.owned; /* the words live in them */
    request->owned_count = given.owned_count;
    given.owned = NULL;
    given.owned_count = 0;
    client_request_release(&given);
    return made;
}

static void show_step(const struct client_call *call, struct scan *scan,
                      const redisReply *reply)
{
    const redisReply *jobs = reply->element[1];

    for (size_t i = 0; i < jobs->elements && scan->left > 0; i++, scan->left--)
        list_jobs_add(call, &scan->columns, jobs->element[i]);
    columns_print(&scan->columns);
    free(scan->cursor);
    scan->cursor = strdup(reply->element[0]->str);
}

static int take_step(struct client_call *call, struct scan *scan)
{
    struct client_request request = {0};
    int status = CLIENT_USAGE;
    redisReply *reply = NULL;

    if (make_step(&request, call, scan))
        reply = client_ask(call, &request, &status);
    if (reply != NULL && (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2))
        status = CLIENT_REFUSED;
    else if (reply != NULL)
        show_step(call, scan, reply);
    if (reply != NULL)
        freeReplyObject(reply);
    client_request_release(&request);
    return status;
}

int client_scan(struct client_call *call)
{
    struct scan scan = {.cursor = strdup("0")};
    int status;

    if (!read_limit(call, &scan.left)) {
        free(scan.cursor);
        return client_misused(call->command, "--limit is a number of jobs, 1 and more");
    }
    list_jobs_begin(call, &scan.columns);
    do {
        status = take_step(call, &scan);
    } while (status == CLIENT_DONE && scan.left > 0 && scan.cursor != NULL &&
             strcmp(scan.cursor, "0") != 0 && !ferror(stdout));
    free(scan.cursor);
    columns_release(&scan.columns);
    return status;
}

/* ---- config */

static int show_settings(const struct client_call *call, const redisReply *reply)
{
    struct columns columns = {0};
    int status = CLIENT_DONE;

    columns_add(&columns, "NAME", false);
    columns_add(&columns, "VALUE", false);
    columns_add(&columns, "FROM", false);
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *pair = reply->element[i + 1],
                         *value = pair->element[0], *from = pair->element[1];

        if (call->json)
            status =
                reply_json_print(json_pack("{s:o, s:o, s:o}", "name", reply_json(name), "value",
                                           reply_json(value), "from", reply_json(from)));
        columns_put(&columns, name->str, name->len, PAINT_NONE);
        columns_put(&columns, value->len > 0 ? value->str : "", value->len, PAINT_NONE);
        columns_put(&columns, from->len > 0 ? from->str : "", from->len, PAINT_NONE);
    }
    if (!call->json)
        columns_print(&columns);
    columns_release(&columns);
    return status;
}

static int show_configured(const struct client_call *call, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_STATUS)
        return CLIENT_DONE;
    return call->count == 0 ? show_names(call, reply) : show_settings(call, reply);
}

/* NAME=VALUE, all of them; or names alone, of which none has a value. */
static bool add_settings(struct client_request *request, const struct client_call *call,
                         bool with_values)
{
    for (int i = 1; i < call->count; i++) {
        const char *equals = strchr(call->words[i], '=');

        if ((equals != NULL) != with_values) {
            client_misused(call->command, "%s: either NAME=VALUE, to set it, or NAME",
                           call->words[i]);
            return false;
        }
        client_request_add(request, call->words[i],
                           equals == NULL ? call->sizes[i] : (size_t)(equals - call->words[i]));
        if (equals != NULL)
            client_request_say(request, equals + 1);
    }
    return true;
}

int client_config(struct client_call *call)
{
    bool resets = client_option(call, "reset") != NULL,
         sets = call->count > 1 && strchr(call->words[1], '=') != NULL;
    struct client_request request = {0};
    int status = CLIENT_USAGE;
    redisReply *reply = NULL;

    if (resets && call->count == 0)
        return client_misused(call->command, "--reset of which topic?");
    client_request_say(&request, "Q.CONFIG");
    client_request_say(&request, resets             ? "RESET"
                                 : call->count == 0 ? "LIST"
                                 : sets             ? "SET"
                                                    : "GET");
    if (call->count > 0)
        client_request_add(&request, call->words[0], call->sizes[0]);
    if (add_settings(&request, call, sets && !resets))
        reply = client_ask(call, &request, &status);
    if (reply != NULL) {
        status = show_configured(call, reply);
        freeReplyObject(reply);
    }
    client_request_release(&request);
    return status;
}
