/* Which arguments of a command are keys, and what it does with them, in the notation of the
 * entries: specifications separated by spaces, each FLAGS@BEGIN/FIND.
 *
 *   FLAGS  Redis' own, separated by commas: RO,access
 *   BEGIN  2 the index of an argument, STORE^1 after a word found from index 1 on, ? unknown,
 *          ?STORE^2 unknown to clients; really a key after each such option
 *   FIND   r-1:2:0 a range: last key (from the begin, or negative from the end), step, limit;
 *          n0:1:1 a number of keys: its index from the begin, first key's, step; ? unknown
 *
 * A note in Redis' words may follow, between exclamation marks.
 *
 * Format of the replies: https://redis.io/docs/reference/key-specs (Redis 7.0). */
#ifndef DUEQ_KEY_SPECS_H
#define DUEQ_KEY_SPECS_H

#include "protocol/request.h"
#include "protocol/resp_writer.h"

/* The eighth element of COMMAND INFO. */
void key_specs_write(struct resp_writer *reply, const char *specs);

/* Writes the flags of one specification. */
void key_specs_write_flags(struct resp_writer *reply, const char *flags, size_t size);

/* Calls fn with the index of each key of the request. flags: as in the notation, not terminated
 * by a zero. False: the arguments do not fit the specification. O(arguments).
 *
 * Where the number of keys is none, such as "2x", it is what atoi makes of it, as in Redis:
 * then there are no flags, and the keys that are counted come first. The command itself fails.
 */
bool key_specs_find(const char *specs, const struct request *request,
                    void (*fn)(void *arg, size_t index, const char *flags, size_t flags_size),
                    void *arg);

/* Some of the keys, counted from 0 in the order in which they are found. */
struct key_part {
    size_t from, to; /* the first one, and the one after the last */
    size_t count;    /* set: how many there are in all */
};

/* The same for a part of them. O(keys of the part), where no key follows a word. */
bool key_specs_find_some(const char *specs, const struct request *request,
                         void (*fn)(void *arg, size_t index, const char *flags,
                                    size_t flags_size),
                         void *arg, struct key_part *part);

#endif
