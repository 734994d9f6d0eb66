#include "tools/client/client_lists.h"

#include "tools/client/client_time.h"
#include "tools/client/reply_json.h"

#include <stdlib.h>
#include <string.h>

static void put_member(struct columns *columns, const redisReply *map, const char *name)
{
    const redisReply *value = reply_member(map, name);

    if (value == NULL)
        columns_put_text(columns, "");
    else if (value->type == REDIS_REPLY_INTEGER)
        columns_put_number(columns, value->integer);
    else
        columns_put(columns, value->str, value->len,
                    strcmp(name, "state") == 0 ? paint_of_state(value->str) : PAINT_NONE);
}

static void put_moment(struct columns *columns, const redisReply *map, const char *name)
{
    const redisReply *value = reply_member(map, name);
    char text[CLIENT_TIME_TEXT];

    columns_put_text(columns, value == NULL ? "" : client_show_moment(value->integer, text));
}

static void put_span(struct columns *columns, const redisReply *map, const char *name)
{
    const redisReply *value = reply_member(map, name);
    char text[CLIENT_TIME_TEXT];

    columns_put_text(columns, value == NULL ? "" : client_show_span(value->integer, text));
}

/* ---- peek, scan */

void list_jobs_begin(const struct client_call *call, struct columns *columns)
{
    *columns = (struct columns){0};
    columns_add(columns, "ID", false);
    columns_add(columns, "STATE", false);
    columns_add(columns, "ATTEMPT", true);
    columns_add(columns, "PRIORITY", true);
    columns_add(columns, "DUE", false);
    if (client_option(call, "body") != NULL)
        columns_add(columns, "BODY", false);
}

void list_jobs_add(const struct client_call *call, struct columns *columns,
                   const redisReply *job)
{
    if (call->json) {
        reply_json_print(reply_json_map(job));
        return;
    }
    put_member(columns, job, "id");
    put_member(columns, job, "state");
    put_member(columns, job, "attempt");
    put_member(columns, job, "priority");
    put_moment(columns, job, "due");
    if (client_option(call, "body") != NULL)
        put_member(columns, job, "body");
}

int client_show_jobs(const struct client_call *call, const redisReply *reply)
{
    struct columns columns;

    list_jobs_begin(call, &columns);
    for (size_t i = 0; i < reply->elements; i++)
        list_jobs_add(call, &columns, reply->element[i]);
    columns_print(&columns);
    columns_release(&columns);
    return CLIENT_DONE;
}

/* ---- other lists */

static void add_heads(struct columns *columns, const char *const *heads, size_t count)
{
    *columns = (struct columns){0};
    for (size_t i = 0; i < count; i++) /* a head with a minus is of numbers */
        columns_add(columns, heads[i] + (heads[i][0] == '-'), heads[i][0] == '-');
}

static void put_dead(struct columns *columns, const redisReply *job)
{
    put_member(columns, job, "id");
    put_member(columns, job, "failures");
    put_member(columns, job, "leases-expired");
    put_moment(columns, job, "died");
    put_member(columns, job, "error");
}

static void put_worker(struct columns *columns, const redisReply *worker)
{
    put_member(columns, worker, "name");
    put_member(columns, worker, "held");
    put_member(columns, worker, "rate");
    put_span(columns, worker, "oldest-lease");
    put_moment(columns, worker, "last-seen");
    put_member(columns, worker, "address");
}

static int show_list(const struct client_call *call, const redisReply *reply,
                     struct columns *columns, void (*put)(struct columns *, const redisReply *))
{
    int status = CLIENT_DONE;

    for (size_t i = 0; i < reply->elements && status == CLIENT_DONE; i++)
        if (call->json)
            status = reply_json_print(reply_json_map(reply->element[i]));
        else
            put(columns, reply->element[i]);
    columns_print(columns);
    columns_release(columns);
    return status;
}

int client_show_dead(const struct client_call *call, const redisReply *reply)
{
    static const char *const heads[] = {"ID", "-FAILURES", "-CRASHES", "DIED", "ERROR"};
    struct columns columns;

    add_heads(&columns, heads, 5);
    return show_list(call, reply, &columns, put_dead);
}

int client_show_workers(const struct client_call *call, const redisReply *reply)
{
    static const char *const heads[] = {"NAME",         "-HELD",     "-PER MINUTE",
                                        "OLDEST CLAIM", "LAST SEEN", "ADDRESS"};
    struct columns columns;

    add_heads(&columns, heads, 6);
    return show_list(call, reply, &columns, put_worker);
}
