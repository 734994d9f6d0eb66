/* Splits a line into tokens as redis-cli, inline commands and redis.conf do. White space
 * (isspace) separates tokens. In "double quotes" the escapes are \n \r \t \b \a \xHH \\ \", in
 * 'single quotes' \'. */
#ifndef DUEQ_TOKENS_H
#define DUEQ_TOKENS_H

#include "protocol/request.h"

/* Writes the tokens into `space`, each with a NUL after it, and points `tokens` at them. space:
 * at least twice line_size and 1 bytes. Returns the number of tokens; -1: unbalanced quotes, or
 * more than `maximum` tokens. */
int tokens_split(const char *line, size_t line_size, char *space, struct argument *tokens,
                 size_t maximum);

#endif
