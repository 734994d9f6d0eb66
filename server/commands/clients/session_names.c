#include "server/commands/clients/session_names.h"

#include "server/session/session.h"

#include <stdlib.h>
#include <string.h>

bool session_names_valid(struct argument name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < '!' || name.data[i] > '~')
            return false;
    return true;
}

bool session_names_replace(char **text, struct argument given)
{
    char *copy = given.size == 0 ? NULL : strndup(given.data, given.size);

    if (given.size > 0 && copy == NULL)
        return false;
    free(*text);
    *text = copy;
    return true;
}

bool session_names_check(struct context *context, struct argument name)
{
    if (session_names_valid(name))
        return true;
    resp_error(context->reply,
               "ERR Client names cannot contain spaces, newlines or special characters.");
    return false;
}

bool session_names_set(struct context *context, struct argument name)
{
    if (!session_names_check(context, name))
        return false;
    if (session_names_replace(&context->session->name, name))
        return true;
    context_status(context, DUEQ_NOMEM);
    return false;
}
