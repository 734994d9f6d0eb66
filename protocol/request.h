/* One request: its arguments as slices. They belong to the reader and live until its next
 * resp_reader_next, resp_reader_shrink or resp_reader_free. A NUL byte follows each argument
 * and is not part of it. */
#ifndef DUEQ_REQUEST_H
#define DUEQ_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <strings.h>

struct argument {
    const char *data;
    size_t size;
};

struct request {
    size_t count; /* at least 1: the reader skips empty requests */
    const struct argument *arguments;
    size_t bytes; /* of all arguments */
};

/* Is the argument this word, in upper or lower case (ASCII)? */
static inline bool argument_is(struct argument argument, const char *word)
{
    size_t i;

    for (i = 0; i < argument.size; i++)
        if (word[i] == '\0' || ((argument.data[i] | 0x20) != (word[i] | 0x20)))
            return false;
    return word[i] == '\0';
}

#endif
