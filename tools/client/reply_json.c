#include "tools/client/reply_json.h"

#include "tools/client/client_call.h"
#include "tools/offline/json_bytes.h"

#include <stdio.h>
#include <string.h>

enum member_kind reply_member_kind(const char *name)
{
    static const struct {
        const char *name;
        enum member_kind kind;
    } known[] = {{"wait", MEMBER_MAP_OF_MAPS},
                 {"run", MEMBER_MAP_OF_MAPS},
                 {"lateness", MEMBER_MAP_OF_MAPS},
                 {"attempts", MEMBER_LIST_OF_MAPS}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return MEMBER_PLAIN;
}

const redisReply *reply_member(const redisReply *map, const char *name)
{
    for (size_t i = 0; i + 1 < map->elements; i += 2)
        if (strcmp(map->element[i]->str, name) == 0)
            return map->element[i + 1]->type == REDIS_REPLY_NIL ? NULL : map->element[i + 1];
    return NULL;
}

static json_t *json_list(const redisReply *reply, json_t *(*convert)(const redisReply *))
{
    json_t *list = json_array();

    for (size_t i = 0; i < reply->elements; i++)
        json_array_append_new(list, convert(reply->element[i]));
    return list;
}

json_t *reply_json(const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        return json_integer(reply->integer);
    case REDIS_REPLY_ARRAY:
        return json_list(reply, reply_json);
    case REDIS_REPLY_NIL:
        return json_null();
    default:
        return json_bytes(dueq_slice(reply->str, reply->len));
    }
}

/* The member "wait" of Q.EXPLAIN is a number. */
static json_t *json_member(const char *name, const redisReply *value)
{
    if (value->type != REDIS_REPLY_ARRAY)
        return reply_json(value);
    switch (reply_member_kind(name)) {
    case MEMBER_LIST_OF_MAPS:
        return json_list(value, reply_json_map);
    case MEMBER_MAP_OF_MAPS:
        return reply_json_map(value);
    case MEMBER_PLAIN:
        break;
    }
    return reply_json(value);
}

static bool is_window(const char *name)
{
    return strcmp(name, "minute") == 0 || strcmp(name, "5-minutes") == 0 ||
           strcmp(name, "all") == 0;
}

json_t *reply_json_map(const redisReply *reply)
{
    json_t *object = json_object();

    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const char *name = reply->element[i]->str;
        const redisReply *value = reply->element[i + 1];

        json_object_set_new(object, name,
                            is_window(name) ? reply_json_map(value) : json_member(name, value));
    }
    return object;
}

int reply_json_print(json_t *json)
{
    bool printed =
        json != NULL && json_dumpf(json, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;

    json_decref(json);
    return printed ? CLIENT_DONE : CLIENT_REFUSED;
}
