#include "server/dispatch/redaction.h"

#include <assert.h>
#include <string.h>

/* HELLO [version [AUTH user password] [SETNAME name]]. Nothing after AUTH is
 * shown, even when an argument is missing: the one that is there may be the password. */
static bool hello_hides(const struct request *request, size_t index)
{
    for (size_t at = 2; at < index; at++) {
        if (argument_is(request->arguments[at], "auth") && (at += 2) >= index)
            return true;
        if (argument_is(request->arguments[at], "setname"))
            at++;
    }
    return false;
}

/* CONFIG SET name value [name value ...] */
static bool config_set_hides(const struct request *request, size_t index)
{
    static const char *const secrets[] = {"requirepass", "masterauth", "tls-key-file-pass"};

    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        if (index > 2 && index % 2 == 1 &&
            argument_is(request->arguments[index - 1], secrets[i]))
            return true;
    return false;
}

static bool hides(const struct command *command, const struct request *request, size_t index)
{
    const char *name = command_full_name(command);

    if (strcmp(name, "auth") == 0)
        return index > 0;
    if (strcmp(name, "hello") == 0)
        return hello_hides(request, index);
    /* as Redis: nothing about a user is shown */
    if (strcmp(name, "acl|setuser") == 0 || strcmp(name, "acl|deluser") == 0 ||
        strcmp(name, "acl|getuser") == 0 || strcmp(name, "acl|dryrun") == 0)
        return index > 1;
    return strcmp(name, "config|set") == 0 && config_set_hides(request, index);
}

struct argument redaction_shown(const struct command *command, const struct request *request,
                                size_t index)
{
    static const struct argument redacted = {"(redacted)", 10};

    assert(index < request->count);
    return hides(command, request, index) ? redacted : request->arguments[index];
}
