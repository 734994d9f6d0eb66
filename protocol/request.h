/* One request: its arguments as slices. They belong to the reader and live until the next call
 * to resp_reader_next on it. Each is followed by a NUL byte that is not part of it. */
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
    size_t count; /* >= 1: empty requests are skipped by the reader */
    const struct argument *arguments;
    size_t bytes; /* of all arguments */
};

/* ASCII case-insensitive comparison with an upper- or lower-case word. */
static inline bool argument_is(struct argument argument, const char *word)
{
    size_t i;

    for (i = 0; i < argument.size; i++)
        if (word[i] == '\0' || ((argument.data[i] | 0x20) != (word[i] | 0x20)))
            return false;
    return word[i] == '\0';
}

#endif
