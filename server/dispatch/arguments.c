#include "server/dispatch/arguments.h"

bool arguments_has_value(struct context *context, size_t index)
{
    if (index + 1 < context_count(context))
        return true;
    context_syntax_error(context);
    return false;
}

bool arguments_integer_option(struct context *context, size_t index, int64_t least,
                              int64_t most, const char *error, int64_t *ret_number)
{
    int64_t number;

    if (!arguments_integer(context, index, &number))
        return false;
    if (number < least || number > most) {
        resp_error(context->reply, error);
        return false;
    }
    *ret_number = number;
    return true;
}
