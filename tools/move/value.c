#include "tools/move/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *size, *whole, *scan, *add;
} types[VALUE_TYPES] = {
    [VALUE_STRING] = {"string", "STRLEN", "GET", NULL, NULL},
    [VALUE_LIST] = {"list", "LLEN", "LRANGE", NULL, "RPUSH"},
    [VALUE_SET] = {"set", "SCARD", "SMEMBERS", "SSCAN", "SADD"},
    [VALUE_ZSET] = {"zset", "ZCARD", "ZRANGE", "ZSCAN", "ZADD"},
    [VALUE_HASH] = {"hash", "HLEN", "HGETALL", "HSCAN", "HSET"},
};

enum value_type value_type_of(const char *name)
{
    int type = VALUE_STRING;

    while (type < VALUE_TYPES && strcmp(types[type].name, name) != 0)
        type++;
    return (enum value_type)type;
}

const char *value_type_name(enum value_type type)
{
    return types[type].name;
}

/* ---- reading */

void value_ask_size(struct peer *peer, enum value_type type, struct dueq_slice key)
{
    peer_say(peer, 2, (struct dueq_slice[]){text_slice(types[type].size), key});
}

void value_ask_whole(struct peer *peer, enum value_type type, struct dueq_slice key)
{
    struct dueq_slice words[] = {text_slice(types[type].whole), key, text_slice("0"),
                                 text_slice("-1"), text_slice("WITHSCORES")};

    peer_say(peer, type == VALUE_ZSET ? 5 : type == VALUE_LIST ? 4 : 2, words);
}

void value_begin(struct value_pages *pages, struct peer *peer, enum value_type type,
                 struct dueq_slice key, long long page)
{
    *pages = (struct value_pages){
        .peer = peer, .type = type, .key = key, .page = page, .cursor = "0"};
}

static redisReply *next_range(struct value_pages *pages, const redisReply **ret_elements)
{
    redisReply *reply;

    peer_begin(pages->peer, 4);
    peer_text(pages->peer, "LRANGE");
    peer_word(pages->peer, pages->key);
    peer_number(pages->peer, pages->start);
    peer_number(pages->peer, pages->start + pages->page - 1);
    reply = peer_take(pages->peer);
    if (reply == NULL)
        return NULL;
    pages->start += pages->page;
    pages->ended = reply->elements < (size_t)pages->page;
    *ret_elements = reply;
    return reply;
}

static redisReply *next_scan(struct value_pages *pages, const redisReply **ret_elements)
{
    redisReply *reply;

    peer_begin(pages->peer, 5);
    peer_text(pages->peer, types[pages->type].scan);
    peer_word(pages->peer, pages->key);
    peer_text(pages->peer, pages->cursor);
    peer_text(pages->peer, "COUNT");
    peer_number(pages->peer, pages->page);
    reply = peer_take(pages->peer);
    if (reply == NULL)
        return NULL;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->str == NULL || reply->element[1]->type != REDIS_REPLY_ARRAY) {
        freeReplyObject(reply);
        peer_fail(pages->peer, "a scan replies something else");
        return NULL;
    }
    snprintf(pages->cursor, sizeof(pages->cursor), "%.31s", reply->element[0]->str);
    pages->ended = strcmp(pages->cursor, "0") == 0;
    *ret_elements = reply->element[1];
    return reply;
}

redisReply *value_next(struct value_pages *pages, const redisReply **ret_elements)
{
    if (pages->ended)
        return NULL;
    return pages->type == VALUE_LIST ? next_range(pages, ret_elements)
                                     : next_scan(pages, ret_elements);
}

/* ---- writing */

void value_add(struct peer *peer, enum value_type type, struct dueq_slice key,
               const redisReply *elements)
{
    size_t count = elements->elements;

    if (type == VALUE_ZSET)
        count -= count % 2; /* a member without a score is nothing that a server replies */
    if (count == 0)
        return;
    peer_begin(peer, 2 + count);
    peer_text(peer, types[type].add);
    peer_word(peer, key);
    for (size_t i = 0; i < count; i++)
        /* ZADD has the score first. */
        peer_word(peer, reply_slice(elements->element[type == VALUE_ZSET ? i ^ 1 : i]));
}
