/* Appending in the middle of LMDB's tree: many keys in turn between two that are neighbours in
 * a leaf, as bodies are appended to those of their topic. LMDB halves a full page, so it would
 * leave all their pages half full; only if the new key is the last one in its page does it
 * leave the page as it is. So what follows in the leaf is taken out, and put back after them.
 *
 * LMDB finds the leaf of a key at once if the leaf of the key before has another one behind it;
 * else it searches from the root. So the first record of those that were taken out stands
 * behind the new ones, as their guard, as long as their leaf has room for both.
 *
 * Private to lmdb_*.c. Where an int is returned it is an error of LMDB, or 0. */
#ifndef DUEQ_LMDB_PARKED_H
#define DUEQ_LMDB_PARKED_H

#include "storage/slice.h"

#include <lmdb.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LMDB_PARKED_MOST = 4096, /* bytes; what a page has */
#ifdef DUEQ_SMALL
    LMDB_GUARDS = 0 /* small code rather than short searches */
#else
    LMDB_GUARDS = 1
#endif
};

/* Zero: there are none. */
struct lmdb_parked {
    size_t used;
    bool guarded;
    size_t room;     /* with a guard: bytes of the leaf that are certainly free */
    size_t put;      /* bytes of a leaf that the record takes which is put last, */
    size_t previous; /* and the one before it, at most */
    size_t leaves;   /* of the tree, before that put */
    uint8_t bytes[LMDB_PARKED_MOST]; /* of each record: sizes of key and value, key, value */
};

/* The least key of them; only if there are any. */
struct dueq_slice lmdb_parked_first(const struct lmdb_parked *parked);

/* Takes the record out, if it is in the tree. They come in the order of their keys. *ret_more:
 * there was room for it. */
int lmdb_park(struct lmdb_parked *parked, MDB_cursor *cursor, struct dueq_slice key,
              bool *ret_more);
/* Puts all of them back. */
int lmdb_unpark(struct lmdb_parked *parked, MDB_cursor *cursor);

/* With LMDB_GUARDS, before and after each put of a key that is less than the first of them,
 * while there are any: sizes in bytes. */
int lmdb_parked_before_put(struct lmdb_parked *parked, MDB_cursor *cursor, size_t key_size,
                           size_t value_size);
int lmdb_parked_after_put(struct lmdb_parked *parked, MDB_cursor *cursor);
/* Likewise, when such a key is deleted: LMDB may fill the leaf from one beside it. */
void lmdb_parked_before_del(struct lmdb_parked *parked);

#endif
