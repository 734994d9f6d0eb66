/* A line as words, by the rules of redis-cli: blanks separate; "..." knows \n \r \t \b \a \xHH
 * and a backslash before any other byte, '...' only \'; after a quote a blank must follow. */
#ifndef DUEQ_WORDS_H
#define DUEQ_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct words {
    char **texts; /* each followed by a zero byte; words may contain zero bytes */
    size_t *sizes;
    int count;
};

/* False: a quote has no end, or no blank follows it; ret_words is empty then. Release it in any
 * case. Linear. */
bool words_split(const char *line, size_t size, struct words *ret_words);
void words_release(struct words *words);
/* Is it this word? Upper and lower case are the same. */
bool words_is(const struct words *words, int at, const char *word);
/* May others read it in a history? Not if it may contain a password. */
bool words_are_secret(const struct words *words);

#endif
