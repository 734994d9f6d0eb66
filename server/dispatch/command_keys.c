#include "server/dispatch/command_keys.h"

struct part_walk {
    struct key_part *part;
    command_key_fn fn;
    void *arg;
};

static void pass_on(void *arg, size_t index, const char *flags, size_t flags_size)
{
    const struct part_walk *walk = arg;
    size_t number = walk->part->count++;

    if (number >= walk->part->from && number < walk->part->to)
        walk->fn(walk->arg, index, flags, flags_size);
}

bool command_keys_find_some(const struct command *command, const struct request *request,
                            command_key_fn fn, void *arg, struct key_part *part)
{
    struct part_walk walk = {part, fn, arg};

    part->count = 0;
    if (command->find_keys != NULL)
        return command->find_keys(request, pass_on, &walk);
    return command->key_specs == NULL ||
           key_specs_find_some(command->key_specs, request, fn, arg, part);
}

bool command_keys_find(const struct command *command, const struct request *request,
                       command_key_fn fn, void *arg)
{
    struct key_part all = {.to = SIZE_MAX};

    return command_keys_find_some(command, request, fn, arg, &all);
}
