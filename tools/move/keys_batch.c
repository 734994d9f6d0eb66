#include "tools/move/keys_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL_ELEMENTS = 1000,
    PAGE_BYTES = 1 << 20,
    PAGE_MAX = 5000,
    PAGE_MIN = 8,
    ELEMENT_BYTES = 16 /* at least, of an element */
};

bool moved_key_is_small(const struct moved_key *key)
{
    return key->type == VALUE_STRING ||
           (key->size <= SMALL_ELEMENTS && key->weight <= GROUP_WEIGHT);
}

long long moved_key_page(const struct moved_key *key)
{
    long long each = key->size == 0 ? 1 : key->weight / key->size + 1;
    long long page = PAGE_BYTES / each;

    return page < PAGE_MIN ? PAGE_MIN : page > PAGE_MAX ? PAGE_MAX : page;
}

size_t keys_batch_group(const struct keys_batch *batch, size_t begin)
{
    long long weight = 0;
    size_t end = begin;

    while (end < batch->count && moved_key_is_small(&batch->keys[end])) {
        weight += batch->keys[end].weight;
        if (end > begin && weight > GROUP_WEIGHT)
            break;
        end++;
    }
    return end;
}

/* ---- the source: type and expiry */

/* Unix ms of the source. 0: failed. */
static int64_t take_time(struct peer *from)
{
    redisReply *reply = peer_take(from);
    int64_t now = 0;

    if (reply == NULL)
        return 0;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[0]->str != NULL && reply->element[1]->str != NULL)
        now = strtoll(reply->element[0]->str, NULL, 10) * 1000 +
              strtoll(reply->element[1]->str, NULL, 10) / 1000;
    else
        peer_fail(from, "TIME replies something else");
    freeReplyObject(reply);
    return now;
}

static void ask_types(struct peer *from, const redisReply *names)
{
    peer_say_text(from, "TIME", (const char *)NULL);
    for (size_t i = 0; i < names->elements; i++) {
        struct dueq_slice name = reply_slice(names->element[i]);

        peer_say(from, 2, (struct dueq_slice[]){text_slice("TYPE"), name});
        peer_say(from, 2, (struct dueq_slice[]){text_slice("PTTL"), name});
    }
}

static bool take_type(struct peer *from, struct moved_key *key, int64_t now)
{
    redisReply *reply = peer_take(from);
    long long left;

    if (reply == NULL)
        return false;
    snprintf(key->type_name, sizeof(key->type_name), "%.23s",
             reply->str == NULL ? "" : reply->str);
    freeReplyObject(reply);
    key->type = value_type_of(key->type_name);
    left = peer_take_integer(from);
    key->gone = strcmp(key->type_name, "none") == 0 || left == -2;
    key->expires = left >= 0 ? now + left : 0;
    return !from->failed;
}

/* ---- the source: sizes */

static bool is_measured(const struct moved_key *key)
{
    return !key->gone && key->type != VALUE_TYPES;
}

static void ask_size(struct peer *from, const struct moved_key *key)
{
    value_ask_size(from, key->type, key->name);
    if (key->type != VALUE_STRING)
        peer_say(from, 3,
                 (struct dueq_slice[]){text_slice("MEMORY"), text_slice("USAGE"), key->name});
}

/* A reply that may be an error: the key has another type since; MEMORY is forbidden. */
static long long hear_number(struct peer *from)
{
    redisReply *reply = peer_hear(from);
    long long number = reply != NULL && reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;

    if (reply != NULL)
        freeReplyObject(reply);
    return number;
}

static void hear_size(struct peer *from, struct moved_key *key)
{
    key->size = hear_number(from);
    key->weight = key->type == VALUE_STRING ? key->size : hear_number(from);
    if (key->weight < key->size * ELEMENT_BYTES && key->type != VALUE_STRING)
        key->weight = key->size * ELEMENT_BYTES;
}

static bool read_sizes(struct peer *from, struct keys_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        if (is_measured(&batch->keys[i]))
            ask_size(from, &batch->keys[i]);
    for (size_t i = 0; i < batch->count; i++)
        if (is_measured(&batch->keys[i]))
            hear_size(from, &batch->keys[i]);
    return !from->failed;
}

/* ---- both */

bool keys_batch_read(struct move *move, const redisReply *names, bool ask_target,
                     struct keys_batch *ret_batch)
{
    int64_t now;

    ret_batch->count = names->elements;
    ret_batch->keys = calloc(names->elements, sizeof(*ret_batch->keys));
    if (ret_batch->keys == NULL)
        return peer_fail(&move->from, "out of memory");
    ask_types(&move->from, names);
    for (size_t i = 0; i < names->elements && ask_target; i++)
        peer_say(&move->to, 2,
                 (struct dueq_slice[]){text_slice("EXISTS"), reply_slice(names->element[i])});
    now = take_time(&move->from);
    for (size_t i = 0; i < names->elements; i++) {
        struct moved_key *key = &ret_batch->keys[i];

        key->name = reply_slice(names->element[i]);
        if (!take_type(&move->from, key, now))
            return false;
        key->there = ask_target && peer_take_integer(&move->to) == 1;
    }
    return !move->to.failed && read_sizes(&move->from, ret_batch);
}
