/* Values of Redis' types: read from a peer in pages, written to another one. */
#ifndef DUEQ_VALUE_H
#define DUEQ_VALUE_H

#include "tools/move/peer.h"

#include <stdint.h>

enum value_type {
    VALUE_STRING,
    VALUE_LIST,
    VALUE_SET,
    VALUE_ZSET,
    VALUE_HASH,
    VALUE_TYPES /* none of these: a stream, or one of a module */
};

enum value_type value_type_of(const char *name);
const char *value_type_name(enum value_type type);

/* Asks for bytes of a string, elements of others. The reply is a number. */
void value_ask_size(struct peer *peer, enum value_type type, struct dueq_slice key);
/* Asks for all of it, in one step. */
void value_ask_whole(struct peer *peer, enum value_type type, struct dueq_slice key);

/* A large collection, page by page. What is there all the time is read at least once (lists: if
 * nobody changes it). */
struct value_pages {
    struct peer *peer;
    enum value_type type;
    struct dueq_slice key;
    long long page; /* elements */
    long long start;
    char cursor[32];
    bool ended;
};
void value_begin(struct value_pages *pages, struct peer *peer, enum value_type type,
                 struct dueq_slice key, long long page);
/* The reply, which the caller frees; *ret_elements is in it. NULL: the end, or failed. */
redisReply *value_next(struct value_pages *pages, const redisReply **ret_elements);

/* Asks for these elements to be added to a key. Members of sorted sets are followed by their
 * scores, fields by their values. */
void value_add(struct peer *peer, enum value_type type, struct dueq_slice key,
               const redisReply *elements);

#endif
