/* Splits a line into words as redis-cli, inline commands and redis.conf do: spaces separate,
 * "double quotes" know \n \r \t \b \a \xHH \\ \", 'single quotes' know \'. */
#ifndef DUEQ_TOKENS_H
#define DUEQ_TOKENS_H

#include "protocol/request.h"

/* Writes the words, each NUL-terminated, one after the other into `space` (at least line_size *
 * 2
 * + 1 bytes) and points the arguments at them. Returns their number, or -1: unbalanced quotes,
 * or more than `maximum` words. */
int tokens_split(const char *line, size_t line_size, char *space, struct argument *words,
                 size_t maximum);

#endif
