/* Ranges of sorted sets as Redis writes them, and the words of their errors. */
#ifndef DUEQ_ZSET_BOUNDS_H
#define DUEQ_ZSET_BOUNDS_H

#include "server/commands/database.h"

/* "1.5", "(1.5", "-inf" at two arguments. False: the error is written. */
bool zset_bounds_scores(struct context *context, size_t least, size_t most,
                        struct zset_range *ret_range);
/* "[a", "(a", "-", "+". The range lives as long as the arguments. */
bool zset_bounds_members(struct context *context, size_t least, size_t most,
                         struct zset_range *ret_range);

#endif
