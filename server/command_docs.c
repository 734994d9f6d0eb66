#include "server/command_docs.h"

#include "server/syntax.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- flags and categories */

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {{COMMAND_WRITE, "write"},
                  {COMMAND_READONLY, "readonly"},
                  {COMMAND_DENYOOM, "denyoom"},
                  {COMMAND_ADMIN, "admin"},
                  {COMMAND_PUBSUB, "pubsub"},
                  {COMMAND_NOSCRIPT, "noscript"},
                  {COMMAND_BLOCKING, "blocking"},
                  {COMMAND_LOADING, "loading"},
                  {COMMAND_STALE, "stale"},
                  {COMMAND_SKIP_MONITOR, "skip_monitor"},
                  {COMMAND_SKIP_SLOWLOG, "skip_slowlog"},
                  {COMMAND_FAST, "fast"},
                  {COMMAND_NO_AUTH, "no_auth"},
                  {COMMAND_NO_MULTI, "no_multi"},
                  {COMMAND_MOVABLEKEYS, "movablekeys"},
                  {COMMAND_ALLOW_BUSY, "allow_busy"},
                  {COMMAND_NO_MANDATORY_KEYS, "no_mandatory_keys"}};

enum { FLAG_NAMES = sizeof(flag_names) / sizeof(flag_names[0]), CATEGORIES_MAX = 16 };

struct categories {
    char names[CATEGORIES_MAX][24];
    size_t count;
};

static void add_category(struct categories *categories, const char *name, size_t size)
{
    for (size_t i = 0; i < categories->count; i++)
        if (strlen(categories->names[i]) == size &&
            strncmp(categories->names[i], name, size) == 0)
            return;
    if (categories->count < CATEGORIES_MAX && size < sizeof(categories->names[0])) {
        memcpy(categories->names[categories->count], name, size);
        categories->names[categories->count++][size] = '\0';
    }
}

/* As Redis derives them: from the flags, then those of the entry, then fast or slow. */
static struct categories categories_of(const struct command *command)
{
    struct categories categories = {.count = 0};
    const char *at = command->categories == NULL ? "" : command->categories;

    if (command->flags & COMMAND_WRITE)
        add_category(&categories, "write", 5);
    if (command->flags & COMMAND_READONLY)
        add_category(&categories, "read", 4);
    while (*at != '\0') {
        size_t size = strcspn(at, " ");

        add_category(&categories, at, size);
        at += size + (at[size] == ' ');
    }
    if (command->flags & COMMAND_ADMIN) {
        add_category(&categories, "admin", 5);
        add_category(&categories, "dangerous", 9);
    }
    add_category(&categories, command->flags & COMMAND_FAST ? "fast" : "slow", 4);
    if (command->flags & COMMAND_BLOCKING)
        add_category(&categories, "blocking", 8);
    return categories;
}

bool command_in_category(const struct command *command, struct argument category)
{
    struct categories categories = categories_of(command);

    for (size_t i = 0; i < categories.count; i++)
        if (argument_is(category, categories.names[i]))
            return true;
    return false;
}

static void write_flags(struct resp_writer *reply, const struct command *command)
{
    size_t mark = resp_deferred(reply), count = 0;

    for (size_t i = 0; i < FLAG_NAMES; i++)
        if (command->flags & flag_names[i].flag) {
            resp_simple(reply, flag_names[i].name);
            count++;
        }
    resp_deferred_set(reply, mark, count);
}

static void write_categories(struct resp_writer *reply, const struct command *command)
{
    struct categories categories = categories_of(command);
    char text[32];

    resp_set(reply, categories.count);
    for (size_t i = 0; i < categories.count; i++) {
        snprintf(text, sizeof(text), "@%s", categories.names[i]);
        resp_simple(reply, text);
    }
}

/* ---- keys */

bool command_key_range(const struct command *command, const struct request *request,
                       size_t *ret_first, size_t *ret_last, size_t *ret_step)
{
    const struct key_positions *keys = &command->keys;
    long last = keys->last < 0 ? (long)request->count + keys->last : keys->last;

    *ret_first = (size_t)keys->first;
    *ret_step = keys->step > 0 ? (size_t)keys->step : 1;
    if (keys->count_at > 0) {
        long count = strtol(request->arguments[keys->count_at].data, NULL, 10);

        *ret_first = (size_t)keys->count_at + 1;
        last = keys->count_at + count;
        if (count < 1)
            return false;
    }
    *ret_last = (size_t)last;
    return last > 0 && last < (long)request->count;
}

static void write_pair(struct resp_writer *reply, const char *name, int64_t number)
{
    resp_string(reply, name);
    resp_integer(reply, number);
}

static void write_find_keys(struct resp_writer *reply, const struct key_positions *keys)
{
    bool counted = keys->count_at > 0;

    resp_string(reply, "find_keys");
    resp_map(reply, 2);
    resp_string(reply, "type");
    resp_string(reply, counted ? "keynum" : "range");
    resp_string(reply, "spec");
    resp_map(reply, 3);
    if (counted) {
        write_pair(reply, "keynumidx", 0);
        write_pair(reply, "firstkey", 1);
        write_pair(reply, "keystep", 1);
        return;
    }
    write_pair(reply, "lastkey", keys->last < 0 ? keys->last : keys->last - keys->first);
    write_pair(reply, "keystep", keys->step);
    write_pair(reply, "limit", 0);
}

static void write_key_specs(struct resp_writer *reply, const struct command *command)
{
    const struct key_positions *keys = &command->keys;
    bool writes = (command->flags & COMMAND_WRITE) != 0;

    if (keys->first == 0 && keys->count_at == 0) {
        resp_set(reply, 0);
        return;
    }
    resp_set(reply, 1);
    resp_map(reply, 3);
    resp_string(reply, "flags");
    resp_set(reply, 2);
    resp_simple(reply, writes ? "RW" : "RO");
    resp_simple(reply, writes ? "update" : "access");
    resp_string(reply, "begin_search");
    resp_map(reply, 2);
    resp_string(reply, "type");
    resp_string(reply, "index");
    resp_string(reply, "spec");
    resp_map(reply, 1);
    write_pair(reply, "index", keys->count_at > 0 ? keys->count_at : keys->first);
    write_find_keys(reply, keys);
}

/* ---- COMMAND INFO */

static size_t sub_count(const struct command *command)
{
    size_t count = 0;

    while (command->subcommands != NULL && command->subcommands[count].name != NULL)
        count++;
    return count;
}

void command_write_info(struct resp_writer *reply, const struct command *command)
{
    size_t subs = sub_count(command);

    resp_array(reply, 10);
    resp_string(reply, command_full_name(command));
    resp_integer(reply, command->arity);
    write_flags(reply, command);
    resp_integer(reply, command->keys.first);
    resp_integer(reply, command->keys.last);
    resp_integer(reply, command->keys.step);
    write_categories(reply, command);
    resp_array(reply, 0); /* tips */
    write_key_specs(reply, command);
    resp_array(reply, subs);
    for (size_t i = 0; i < subs; i++)
        command_write_info(reply, &command->subcommands[i]);
}

/* ---- COMMAND DOCS */

static void write_text(struct resp_writer *reply, const char *name, const char *text)
{
    resp_string(reply, name);
    resp_string(reply, text);
}

static void write_arguments(struct resp_writer *reply, const struct syntax *syntax, int first);

static void write_argument(struct resp_writer *reply, const struct syntax *syntax,
                           const struct syntax_node *node)
{
    size_t flags = (size_t)node->optional + node->multiple;

    resp_map(reply, 2 + (size_t)(node->token[0] != '\0') + (flags > 0) + (node->child >= 0));
    write_text(reply, "name", node->name);
    write_text(reply, "type", node->type);
    if (node->token[0] != '\0')
        write_text(reply, "token", node->token);
    if (flags > 0) {
        resp_string(reply, "flags");
        resp_set(reply, flags);
        if (node->optional)
            resp_simple(reply, "optional");
        if (node->multiple)
            resp_simple(reply, "multiple");
    }
    if (node->child >= 0) {
        resp_string(reply, "arguments");
        write_arguments(reply, syntax, node->child);
    }
}

static void write_arguments(struct resp_writer *reply, const struct syntax *syntax, int first)
{
    size_t count = 0;

    for (int at = first; at >= 0; at = syntax->nodes[at].next)
        count++;
    resp_array(reply, count);
    for (int at = first; at >= 0; at = syntax->nodes[at].next)
        write_argument(reply, syntax, &syntax->nodes[at]);
}

void command_write_docs(struct resp_writer *reply, const struct command *command)
{
    struct syntax syntax;
    bool arguments;
    size_t subs = sub_count(command);

    syntax_parse(command->syntax, &syntax);
    arguments = syntax.first >= 0;
    resp_string(reply, command_full_name(command));
    resp_map(reply, 4 + arguments + (subs > 0));
    write_text(reply, "summary", command->summary);
    write_text(reply, "since", command->since);
    write_text(reply, "group", command->group);
    write_text(reply, "complexity", command->complexity);
    if (arguments) {
        resp_string(reply, "arguments");
        write_arguments(reply, &syntax, syntax.first);
    }
    if (subs > 0) {
        resp_string(reply, "subcommands");
        resp_map(reply, subs);
        for (size_t i = 0; i < subs; i++)
            command_write_docs(reply, &command->subcommands[i]);
    }
}
