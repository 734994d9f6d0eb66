/* Replies as redis-cli prints them. */
#ifndef DUEQ_REPLY_LINES_H
#define DUEQ_REPLY_LINES_H

#include "tools/cli/resp3_reply.h"

#include <stdbool.h>
#include <stdio.h>

enum reply_form {
    REPLY_FOR_PEOPLE, /* with types and numbers; bytes that are no plain text as \x00 */
    REPLY_RAW,        /* the bytes; for a terminal those that it would obey as \x00 */
    REPLY_AS_JSON,    /* on one line */
};

/* Ends with a line feed. `terminal`: `to` is one. */
void reply_lines_print(FILE *to, const redisReply *reply, enum reply_form form, bool terminal);

#endif
