/* Reading the words of a request. Each reader writes the error reply and answers false when the
 * word is bad. */
#ifndef DUEQ_SERVER_COMMANDS_OPTIONS_H
#define DUEQ_SERVER_COMMANDS_OPTIONS_H

#include "server/command.h"

/* Is the argument this word, in whatever case? */
static inline bool option_is(const struct context *context, size_t index, const char *word)
{
    return argument_is(context_argument(context, index), word);
}

/* Does a value follow the option at `index`? */
bool option_has_value(struct context *context, size_t index);

/* An integer within bounds; `error` is the reply to one outside. */
bool option_integer(struct context *context, size_t index, int64_t least, int64_t most,
                    const char *error, int64_t *ret_number);

#endif
