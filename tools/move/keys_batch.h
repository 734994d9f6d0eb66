/* The keys of one reply of SCAN, and what is to be known before they are read. */
#ifndef DUEQ_KEYS_BATCH_H
#define DUEQ_KEYS_BATCH_H

#include "tools/move/move.h"
#include "tools/move/value.h"

struct moved_key {
    struct dueq_slice name; /* in the reply of SCAN */
    enum value_type type;
    char type_name[24];
    bool gone, there; /* at the source not any more; at the target already */
    int64_t expires;  /* unix ms; 0: never */
    long long size;   /* bytes of a string, elements of others */
    long long weight; /* bytes, about */
};

struct keys_batch {
    struct moved_key *keys;
    size_t count;
};

/* Reads it from the source; `there`, if `ask_target`. False: a peer has failed. The caller
 * frees the keys in either case. */
bool keys_batch_read(struct move *move, const redisReply *names, bool ask_target,
                     struct keys_batch *ret_batch);

/* Is the whole of it to be read with one request? */
bool moved_key_is_small(const struct moved_key *key);
/* How many elements of it a page may have. */
long long moved_key_page(const struct moved_key *key);

enum { GROUP_WEIGHT = 4 << 20 };
/* The end of the group of small keys that begins here, which are read together; `begin` itself
 * if that one is not small. */
size_t keys_batch_group(const struct keys_batch *batch, size_t begin);

#endif
