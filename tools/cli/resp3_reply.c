#include "tools/cli/resp3_reply.h"

#include "protocol/number.h"
#include "tools/client/client_call.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64, LINE_MAX_SIZE = 1 << 20, BULK_MAX = 1 << 30 };

struct resp3_reader {
    char *data;
    size_t begin, end, room;
    struct level {
        redisReply *list;
        size_t wanted; /* elements */
    } levels[DEPTH];
    int depth;
};

struct resp3_reader *resp3_reader_new(void)
{
    struct resp3_reader *reader = client_allocate(NULL, sizeof(*reader));

    *reader = (struct resp3_reader){0};
    return reader;
}

void resp3_free(redisReply *reply)
{
    for (size_t i = 0; reply != NULL && i < reply->elements; i++)
        resp3_free(reply->element[i]);
    if (reply != NULL) {
        free(reply->element);
        free(reply->str);
    }
    free(reply);
}

void resp3_reader_free(struct resp3_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->depth > 0)
        resp3_free(reader->levels[0].list);
    free(reader->data);
    free(reader);
}

/* ---- bytes */

char *resp3_room(struct resp3_reader *reader, size_t room)
{
    if (reader->begin > 0 &&
        (reader->begin == reader->end || reader->room - reader->end < room)) {
        memmove(reader->data, reader->data + reader->begin, reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    if (reader->room - reader->end < room) {
        reader->room = 2 * (reader->end + room);
        reader->data = client_allocate(reader->data, reader->room);
    }
    return reader->data + reader->end;
}

void resp3_came(struct resp3_reader *reader, size_t size)
{
    reader->end += size;
}

/* ---- one item: a line, and the bytes of a text behind it */

struct item {
    char type;
    const char *line; /* behind the type */
    size_t line_size, size;
    int64_t number; /* of a length, or an integer */
};

enum item_state { ITEM_READ, ITEM_PARTIAL, ITEM_BAD };

static bool is_text(char type)
{
    return type == '$' || type == '=' || type == '!';
}

static bool is_list(char type)
{
    return strchr("*~%|>", type) != NULL;
}

/* A length of -1 is the null of RESP2. */
static bool read_length(struct item *item)
{
    return number_parse_integer(item->line, item->line_size, &item->number) &&
           item->number >= -1 && item->number <= BULK_MAX;
}

static enum item_state read_item(const struct resp3_reader *reader, struct item *item)
{
    const char *begin = reader->data + reader->begin, *end;
    size_t there = reader->end - reader->begin;

    end = there < 3 ? NULL : memchr(begin, '\n', there);
    if (end == NULL)
        return there > LINE_MAX_SIZE ? ITEM_BAD : ITEM_PARTIAL;
    if (end < begin + 2 || end[-1] != '\r' || begin[0] == '\0' ||
        strchr("+-:$*_#,(!=~%|>", begin[0]) == NULL)
        return ITEM_BAD;
    *item = (struct item){.type = begin[0],
                          .line = begin + 1,
                          .line_size = (size_t)(end - begin) - 2,
                          .size = (size_t)(end - begin) + 1};
    if (item->type == ':')
        return number_parse_integer(item->line, item->line_size, &item->number) ? ITEM_READ
                                                                                : ITEM_BAD;
    if (!is_text(item->type) && !is_list(item->type))
        return ITEM_READ;
    if (!read_length(item))
        return ITEM_BAD;
    if (item->number < 0 || is_list(item->type))
        return ITEM_READ;
    item->line = end + 1;
    item->line_size = (size_t)item->number;
    item->size += item->line_size + 2;
    return there < item->size ? ITEM_PARTIAL : ITEM_READ;
}

/* ---- replies */

static int type_of(const struct item *item)
{
    static const struct {
        char mark;
        int type;
    } known[] = {
        {'+', REDIS_REPLY_STATUS},  {'-', REDIS_REPLY_ERROR},  {'!', REDIS_REPLY_ERROR},
        {':', REDIS_REPLY_INTEGER}, {'$', REDIS_REPLY_STRING}, {'*', REDIS_REPLY_ARRAY},
        {'#', REDIS_REPLY_BOOL},    {',', REDIS_REPLY_DOUBLE}, {'(', REDIS_REPLY_BIGNUM},
        {'=', REDIS_REPLY_VERB},    {'~', REDIS_REPLY_SET},    {'%', REDIS_REPLY_MAP},
        {'|', REDIS_REPLY_ATTR},    {'>', REDIS_REPLY_PUSH}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].mark == item->type && (item->number >= 0 || item->type == ':'))
            return known[i].type;
    return REDIS_REPLY_NIL;
}

static redisReply *make_reply(const struct item *item)
{
    redisReply *reply = client_allocate(NULL, sizeof(*reply));
    size_t skip = item->type == '=' && item->line_size >= 4 ? 4 : 0;

    memset(reply, 0, sizeof(*reply));
    reply->type = type_of(item);
    if (item->type == ':')
        reply->integer = item->number;
    if (item->type == '#')
        reply->integer = item->line[0] == 't';
    if (reply->type == REDIS_REPLY_NIL || is_list(item->type))
        return reply;
    reply->len = item->line_size - skip;
    reply->str = client_allocate(NULL, reply->len + 1);
    memcpy(reply->str, item->line + skip, reply->len);
    reply->str[reply->len] = '\0';
    return reply;
}

static void append(redisReply *list, redisReply *reply)
{
    if ((list->elements & (list->elements + 1)) == 0) /* at the powers of two */
        list->element =
            client_allocate(list->element, 2 * (list->elements + 1) * sizeof(*list->element));
    list->element[list->elements++] = reply;
}

/* A list is in the one above it from its beginning on. Returns the whole reply when this was
 * the last of it, or NULL. */
static redisReply *place(struct resp3_reader *reader, redisReply *reply)
{
    struct level *level;

    if (reader->depth == 0)
        return reply;
    level = &reader->levels[reader->depth - 1];
    append(level->list, reply);
    while (level->list->elements == level->wanted) {
        if (--reader->depth == 0)
            return reader->levels[0].list;
        level--;
    }
    return NULL;
}

/* A list with elements begins. False: too deep. */
static bool open_list(struct resp3_reader *reader, redisReply *reply, const struct item *item)
{
    size_t per = item->type == '%' || item->type == '|' ? 2 : 1;

    if (reader->depth == DEPTH)
        return false;
    if (reader->depth > 0)
        append(reader->levels[reader->depth - 1].list, reply);
    reader->levels[reader->depth++] = (struct level){reply, (size_t)item->number * per};
    return true;
}

bool resp3_next(struct resp3_reader *reader, redisReply **ret_reply)
{
    enum item_state state;
    struct item item;

    *ret_reply = NULL;
    while (*ret_reply == NULL && (state = read_item(reader, &item)) != ITEM_PARTIAL) {
        redisReply *reply;

        if (state == ITEM_BAD)
            return false;
        reply = make_reply(&item);
        reader->begin += item.size;
        if (!is_list(item.type) || item.number <= 0)
            *ret_reply = place(reader, reply);
        else if (!open_list(reader, reply, &item)) {
            resp3_free(reply);
            return false;
        }
    }
    return true;
}
