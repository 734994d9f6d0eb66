/* Replies as text, so that a test can write in one line what it expects:
 *
 *   OK                  simple string          "a\x00b"   bulk string
 *   !ERR syntax error   error                  12         integer
 *   ["a" 1 [nil]]       array                  nil        either null of RESP2
 *
 * and for RESP3: _ null, ,1.5 double, #t boolean, (123 big number, {"k": 1} map, ~["a"] set,
 * >["a"] push, txt:"..." verbatim. */
#ifndef DUEQ_REPLY_TEXT_H
#define DUEQ_REPLY_TEXT_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdio.h>

/* The caller frees it. */
char *reply_text(const redisReply *reply);

/* "quoted", with \r \n \" \\ and \xHH. */
void reply_text_quote(FILE *out, const char *data, size_t size);

/* '*' in the pattern matches any text, also an empty one; other characters match themselves. */
bool reply_text_matches(const char *pattern, const char *text);

#endif
