/* Ranges of sorted sets as Redis writes them, and the words of their errors. */
#ifndef DUEQ_SERVER_ZSET_BOUNDS_H
#define DUEQ_SERVER_ZSET_BOUNDS_H

#include "server/keyspace.h"

/* "1.5", "(1.5", "-inf" at two arguments. False: the error is written. */
bool context_score_range(struct context *context, size_t least, size_t most,
                         struct zset_range *ret_range);
/* "[a", "(a", "-", "+". The range lives as long as the arguments. */
bool context_lex_range(struct context *context, size_t least, size_t most,
                       struct zset_range *ret_range);

#endif
