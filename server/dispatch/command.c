#include "server/containers/seeded_table.h"
#include "server/dispatch/command_list.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_SIZE = 32 };

struct entry {
    UT_hash_handle by_name;    /* of a command */
    UT_hash_handle by_address; /* of any */
    const struct command *command, *container;
    char full_name[NAME_MAX_SIZE * 2];
    size_t number;
};

#define ENTRIES_OF(name) name##_commands,
static const struct command *(*const lists[])(void) = {COMMAND_LIST(ENTRIES_OF)};

static struct entry *names, *addresses;

/* Entries that were found last, in places that their names and addresses give: clients send the
 * same few commands again and again. */
enum { RECENT = 64 };
static struct {
    struct entry *entry;
    size_t size;
    char name[NAME_MAX_SIZE]; /* as it was sent */
} recent_names[RECENT];
static struct entry *recent_addresses[RECENT];

static unsigned place_of_name(struct argument name)
{
    const unsigned char *bytes = (const unsigned char *)name.data;

    return (bytes[0] * 5U + bytes[name.size / 2] * 3U + bytes[name.size - 1] +
            (unsigned)name.size * 7U) %
           RECENT;
}
static const struct command *all[COMMANDS_MAX];
static size_t count, total; /* without subcommands, and with them */

static void add_entry(const struct command *command, const struct command *container)
{
    struct entry *entry = calloc(1, sizeof(*entry));

    if (entry == NULL)
        abort(); /* the program starts: there is no client to answer */
    entry->command = command;
    entry->container = container;
    assert(total < COMMANDS_MAX);
    entry->number = total++;
    snprintf(entry->full_name, sizeof(entry->full_name), "%s%s%s",
             container == NULL ? "" : container->name, container == NULL ? "" : "|",
             command->name);
    HASH_ADD(by_address, addresses, command, sizeof(entry->command), entry);
    if (entry->by_address.tbl == NULL)
        abort();
    if (container == NULL) {
        HASH_ADD_KEYPTR(by_name, names, command->name, strlen(command->name), entry);
        if (entry->by_name.tbl == NULL)
            abort();
        all[count++] = command;
    }
    for (const struct command *sub = command->subcommands; sub != NULL && sub->name != NULL;
         sub++)
        add_entry(sub, command);
}

static void build(void)
{
    if (names != NULL)
        return;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const struct command *command = lists[i](); command->name != NULL; command++)
            add_entry(command, NULL);
}

static struct entry *entry_of(const struct command *command)
{
    struct entry **recent = &recent_addresses[(uintptr_t)command / sizeof(*command) % RECENT];

    build();
    if (*recent == NULL || (*recent)->command != command)
        HASH_FIND(by_address, addresses, &command, sizeof(command), *recent);
    return *recent;
}

static struct entry *find_by_name(struct argument name)
{
    char lower[NAME_MAX_SIZE];
    struct entry *entry;

    build();
    for (size_t i = 0; i < name.size; i++)
        lower[i] = (char)tolower((unsigned char)name.data[i]);
    HASH_FIND(by_name, names, lower, name.size, entry);
    return entry;
}

const struct command *command_find(struct argument name)
{
    unsigned place;
    struct entry *entry;

    if (name.size == 0 || name.size >= NAME_MAX_SIZE)
        return NULL;
    place = place_of_name(name);
    if (recent_names[place].size == name.size &&
        memcmp(recent_names[place].name, name.data, name.size) == 0)
        return recent_names[place].entry->command;
    entry = find_by_name(name);
    if (entry == NULL)
        return NULL;
    recent_names[place].entry = entry;
    recent_names[place].size = name.size;
    memcpy(recent_names[place].name, name.data, name.size);
    return entry->command;
}

const struct command *command_find_sub(const struct command *container, struct argument name)
{
    const struct command *sub = container->subcommands;

    for (; sub != NULL && sub->name != NULL; sub++)
        if (argument_is(name, sub->name))
            return sub;
    return NULL;
}

const struct command *command_find_request(const struct request *request)
{
    const struct command *command = command_find(request->arguments[0]);

    if (command == NULL || command->subcommands == NULL || request->count == 1)
        return command;
    return command_find_sub(command, request->arguments[1]);
}

size_t command_count(void)
{
    build();
    return count;
}

const struct command *command_at(size_t index)
{
    build();
    assert(index < count);
    return all[index];
}

const char *command_full_name(const struct command *command)
{
    return entry_of(command)->full_name;
}

const struct command *command_container(const struct command *command)
{
    return entry_of(command)->container;
}

bool command_arity_fits(const struct command *command, size_t arguments)
{
    return command->arity >= 0 ? arguments == (size_t)command->arity
                               : arguments >= (size_t)-command->arity;
}

size_t command_number(const struct command *command)
{
    return entry_of(command)->number;
}
