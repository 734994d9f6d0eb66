#include "server/dispatch/command_keys.h"

#include "server/dispatch/key_specs.h"

bool command_keys_find(const struct command *command, const struct request *request,
                       command_key_fn fn, void *arg)
{
    if (command->find_keys != NULL)
        return command->find_keys(request, fn, arg);
    return command->key_specs == NULL || key_specs_find(command->key_specs, request, fn, arg);
}
