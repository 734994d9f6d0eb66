/* Reading the words of a request. Each reader writes the error reply and answers false when the
 * word is bad. */
#ifndef DUEQ_ARGUMENTS_H
#define DUEQ_ARGUMENTS_H

#include "server/dispatch/command.h"

/* Is the argument this word, in whatever case? */
static inline bool arguments_is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

/* Does a value follow the option at `index`? */
bool arguments_has_value(struct context *context, size_t index);

/* An integer within bounds; `error` is the reply to one outside. */
bool arguments_integer_option(struct context *context, size_t index, int64_t least,
                              int64_t most, const char *error, int64_t *ret_number);

#endif
