#include "tools/move/peer.h"

#include "tools/online/online_advice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 256 * 1024,
    WORD_HEAD = 32 /* "$", a number, CRLF */
};

struct dueq_slice reply_slice(const redisReply *reply)
{
    return dueq_slice(reply->str, reply->str == NULL ? 0 : reply->len);
}

struct dueq_slice text_slice(const char *text)
{
    return dueq_slice(text, strlen(text));
}

bool peer_fail(struct peer *peer, const char *why)
{
    if (!peer->failed)
        snprintf(peer->why, sizeof(peer->why), "%.200s: %.240s", peer->name, why);
    if (!peer->failed)
        peer->advice = online_advice(why);
    peer->failed = true;
    return false;
}

/* ---- requests */

bool peer_flush(struct peer *peer)
{
    char why[ONLINE_WHY];

    if (!peer->failed && peer->used > 0 &&
        !online_send(peer->client, peer->bytes, peer->used, why))
        peer_fail(peer, why);
    peer->used = 0;
    return !peer->failed;
}

/* What is larger than the buffer is sent from where it is. */
static void put(struct peer *peer, const void *bytes, size_t size)
{
    char why[ONLINE_WHY];

    if (peer->room - peer->used < size)
        peer_flush(peer);
    if (peer->room < size) {
        if (!peer->failed && !online_send(peer->client, bytes, size, why))
            peer_fail(peer, why);
    } else if (size > 0) {
        memcpy(peer->bytes + peer->used, bytes, size);
        peer->used += size;
    }
}

static void put_head(struct peer *peer, char kind, size_t number)
{
    char text[WORD_HEAD];

    put(peer, text, (size_t)snprintf(text, sizeof(text), "%c%zu\r\n", kind, number));
}

void peer_begin(struct peer *peer, size_t count)
{
    put_head(peer, '*', count);
    peer->waiting++;
}

void peer_word(struct peer *peer, struct dueq_slice word)
{
    put_head(peer, '$', word.size);
    put(peer, word.data, word.size);
    put(peer, "\r\n", 2);
}

void peer_text(struct peer *peer, const char *word)
{
    peer_word(peer, text_slice(word));
}

void peer_number(struct peer *peer, long long number)
{
    char text[WORD_HEAD];

    snprintf(text, sizeof(text), "%lld", number);
    peer_text(peer, text);
}

void peer_say(struct peer *peer, int count, const struct dueq_slice *words)
{
    peer_begin(peer, (size_t)count);
    for (int i = 0; i < count; i++)
        peer_word(peer, words[i]);
}

void peer_say_text(struct peer *peer, ...)
{
    const char *word;
    size_t count = 0;
    va_list words;

    va_start(words, peer);
    while (va_arg(words, const char *) != NULL)
        count++;
    va_end(words);
    peer_begin(peer, count);
    va_start(words, peer);
    while ((word = va_arg(words, const char *)) != NULL)
        peer_text(peer, word);
    va_end(words);
}

/* ---- replies */

redisReply *peer_hear(struct peer *peer)
{
    char why[ONLINE_WHY];
    redisReply *reply;

    peer_flush(peer);
    if (peer->failed)
        return NULL;
    reply = online_hear(peer->client, why);
    if (reply == NULL)
        peer_fail(peer, why);
    else
        peer->waiting--;
    return reply;
}

redisReply *peer_take(struct peer *peer)
{
    redisReply *reply = peer_hear(peer);

    if (reply == NULL || reply->type != REDIS_REPLY_ERROR)
        return reply;
    peer->refused = true;
    peer_fail(peer, reply->str);
    freeReplyObject(reply);
    return NULL;
}

long long peer_take_integer(struct peer *peer)
{
    redisReply *reply = peer_take(peer);
    long long number = -1;

    if (reply == NULL)
        return -1;
    if (reply->type == REDIS_REPLY_INTEGER)
        number = reply->integer;
    else
        peer_fail(peer, "a reply is no number");
    freeReplyObject(reply);
    return number;
}

/* An error in a transaction, of one of its requests. */
static const redisReply *error_in(const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR)
        return reply;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_ERROR)
            return reply->element[i];
    return NULL;
}

bool peer_settle(struct peer *peer, size_t left)
{
    while (!peer->failed && peer->waiting > left) {
        redisReply *reply = peer_hear(peer);
        const redisReply *error = reply == NULL ? NULL : error_in(reply);

        if (error != NULL) {
            peer->refused = true;
            peer_fail(peer, error->str);
        }
        if (reply != NULL)
            freeReplyObject(reply);
    }
    return !peer->failed;
}

/* ---- the connection */

static bool choose_database(struct peer *peer, unsigned database)
{
    if (database == 0)
        return true;
    peer_begin(peer, 2);
    peer_text(peer, "SELECT");
    peer_number(peer, (long long)database);
    return peer_settle(peer, 0);
}

/* A server that wants a login says so to the first request. */
static bool is_open(struct peer *peer)
{
    redisReply *reply;

    peer_say_text(peer, "PING", (const char *)NULL);
    reply = peer_take(peer);
    if (reply == NULL)
        return false;
    freeReplyObject(reply);
    return true;
}

bool peer_open(struct peer *peer, const struct online_options *options, const char *name,
               unsigned database)
{
    char why[ONLINE_WHY];

    *peer = (struct peer){.name = name, .room = BUFFER_BYTES};
    peer->bytes = malloc(peer->room);
    if (peer->bytes == NULL)
        return peer_fail(peer, "out of memory");
    peer->client = online_connect(options, why);
    if (peer->client == NULL) {
        peer->unreachable = online_blame(why) == ONLINE_UNREACHABLE;
        return peer_fail(peer, why);
    }
    if (is_open(peer) && choose_database(peer, database))
        return true;
    peer->unreachable = online_is_lost(peer->client);
    return false;
}

void peer_close(struct peer *peer)
{
    online_close(peer->client);
    free(peer->bytes);
    peer->client = NULL;
    peer->bytes = NULL;
}
