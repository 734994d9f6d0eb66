/* A server that speaks RESP, with requests in pipelines: peer_say sends nothing by itself
 * before its buffer is full, peer_hear sends what is left and waits. Replies come in the order
 * of the requests. After the first failure nothing is sent any more, every wait ends at once,
 * and `why` keeps what was wrong. */
#ifndef DUEQ_PEER_H
#define DUEQ_PEER_H

#include "storage/slice.h"
#include "tools/online/online_client.h"

struct peer {
    const char *name; /* for messages: where it is */
    struct online_client *client;
    char *bytes; /* requests that are not sent yet */
    size_t used, room;
    size_t waiting;       /* replies to come */
    bool failed, refused; /* refused: the server is there and has replied an error */
    bool unreachable;     /* there was no connection, or it was lost at once */
    const char *advice;   /* about the failure; NULL: none */
    char why[2 * ONLINE_WHY];
};

/* Connects and chooses the database. False: *why of the peer. */
bool peer_open(struct peer *peer, const struct online_options *options, const char *name,
               unsigned database);
void peer_close(struct peer *peer); /* zeroes are fine */

/* A request of words of any bytes. */
void peer_say(struct peer *peer, int count, const struct dueq_slice *words);
/* The same of C strings, which NULL ends. */
void peer_say_text(struct peer *peer, ...) __attribute__((sentinel));
/* A request in parts: its number of words, then each word. */
void peer_begin(struct peer *peer, size_t count);
void peer_word(struct peer *peer, struct dueq_slice word);
void peer_text(struct peer *peer, const char *word);
void peer_number(struct peer *peer, long long number);

/* Sends what is left. False: failed. */
bool peer_flush(struct peer *peer);
/* The next reply, which the caller frees; NULL: failed. An error is a reply here. */
redisReply *peer_hear(struct peer *peer);
/* The same, but an error is a failure. */
redisReply *peer_take(struct peer *peer);
/* The next reply is an integer. -1: failed. */
long long peer_take_integer(struct peer *peer);
/* Waits until at most `left` replies are to come; none of them may be an error. */
bool peer_settle(struct peer *peer, size_t left);

/* Notes a failure of the caller's. Returns false. */
bool peer_fail(struct peer *peer, const char *why);

struct dueq_slice reply_slice(const redisReply *reply); /* of a string; else empty */
struct dueq_slice text_slice(const char *text);

#endif
