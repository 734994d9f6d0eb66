/* Reads ranges of sorted sets, by score or by member, from arguments. */
#ifndef DUEQ_ZSET_BOUNDS_H
#define DUEQ_ZSET_BOUNDS_H

#include "server/commands/database.h"
#include "storage/keys/zset/zset.h"

/* Scores such as "1.5", "(1.5", "-inf"; least, most: arguments. False: the error is written. */
bool zset_bounds_scores(struct context *context, size_t least, size_t most,
                        struct zset_range *ret_range);
/* Members such as "[a", "(a", "-", "+". The range points into the arguments. False: the error
 * is written. */
bool zset_bounds_members(struct context *context, size_t least, size_t most,
                         struct zset_range *ret_range);

#endif
