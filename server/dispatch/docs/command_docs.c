#include "server/dispatch/docs/command_docs.h"

#include "server/dispatch/docs/syntax.h"
#include "server/dispatch/key_specs.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- flags and categories */

struct bit_name {
    unsigned bit;
    const char *name;
};

static const struct bit_name flag_names[] = {
    {COMMAND_WRITE, "write"},
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
    {COMMAND_NO_MANDATORY_KEYS, "no_mandatory_keys"},
    {COMMAND_NO_ASYNC_LOADING, "no_async_loading"},
    {COMMAND_NO_MULTI, "no_multi"},
    {COMMAND_MOVABLEKEYS, "movablekeys"},
    {COMMAND_ALLOW_BUSY, "allow_busy"},
};

/* Redis' categories in its order, with dueq's own among them. */
static const char *const category_names[] = {
    "keyspace",  "read",       "write",       "set",         "sortedset", "list",
    "hash",      "string",     "bitmap",      "hyperloglog", "geo",       "stream",
    "queue",     "pubsub",     "admin",       "fast",        "slow",      "blocking",
    "dangerous", "connection", "transaction", "scripting"};

enum {
    FLAG_NAMES = sizeof(flag_names) / sizeof(flag_names[0]),
    CATEGORY_NAMES = sizeof(category_names) / sizeof(category_names[0])
};

/* The bit of a category; 0: unknown. */
static unsigned category_bit(const char *name, size_t size)
{
    for (unsigned i = 0; i < CATEGORY_NAMES; i++)
        if (strlen(category_names[i]) == size &&
            strncasecmp(category_names[i], name, size) == 0)
            return 1U << i;
    return 0;
}

static unsigned categories_of_flags(unsigned flags)
{
    static const struct bit_name implied[] = {
        {COMMAND_WRITE, "write"}, {COMMAND_READONLY, "read"},   {COMMAND_PUBSUB, "pubsub"},
        {COMMAND_ADMIN, "admin"}, {COMMAND_ADMIN, "dangerous"}, {COMMAND_BLOCKING, "blocking"},
    };
    unsigned categories =
        flags & COMMAND_FAST ? category_bit("fast", 4) : category_bit("slow", 4);

    for (size_t i = 0; i < sizeof(implied) / sizeof(implied[0]); i++)
        if (flags & implied[i].bit)
            categories |= category_bit(implied[i].name, strlen(implied[i].name));
    return categories;
}

static unsigned categories_of(const struct command *command)
{
    unsigned categories = categories_of_flags(command->flags);
    const char *at = command->categories == NULL ? "" : command->categories;

    while (*at != '\0') {
        size_t size = strcspn(at, " ");

        categories |= category_bit(at, size);
        at += size + (at[size] == ' ');
    }
    /* As in Redis, EVAL_RO and the like are not in @read: a script does what it wants. */
    if (categories & category_bit("scripting", 9))
        categories &= ~category_bit("read", 4);
    return categories;
}

const char *command_docs_category(size_t index)
{
    return index < CATEGORY_NAMES ? category_names[index] : NULL;
}

bool command_docs_in_category(const struct command *command, struct argument category)
{
    return (categories_of(command) & category_bit(category.data, category.size)) != 0;
}

static void write_flags(struct resp_writer *reply, const struct command *command)
{
    size_t mark = resp_deferred(reply), count = 0;

    for (size_t i = 0; i < FLAG_NAMES; i++)
        if (command->flags & flag_names[i].bit) {
            resp_simple(reply, flag_names[i].name);
            count++;
        }
    resp_deferred_set(reply, mark, count);
}

static void write_categories(struct resp_writer *reply, const struct command *command)
{
    size_t mark = resp_deferred(reply), count = 0;
    unsigned categories = categories_of(command);
    char text[32];

    for (size_t i = 0; i < CATEGORY_NAMES; i++)
        if (categories & (1U << i)) {
            snprintf(text, sizeof(text), "@%s", category_names[i]);
            resp_simple(reply, text);
            count++;
        }
    resp_deferred_set(reply, mark, count);
}

static void write_tips(struct resp_writer *reply, const struct command *command)
{
    size_t mark = resp_deferred(reply), count = 0;
    const char *at = command->tips == NULL ? "" : command->tips;

    for (; *at != '\0'; count++) {
        size_t size = strcspn(at, " ");

        resp_bulk(reply, at, size);
        at += size + (at[size] == ' ');
    }
    resp_deferred_set(reply, mark, count);
}

/* ---- COMMAND INFO */

static size_t sub_count(const struct command *command)
{
    size_t count = 0;

    while (command->subcommands != NULL && command->subcommands[count].name != NULL)
        count++;
    return count;
}

void command_docs_write_info(struct resp_writer *reply, const struct command *command)
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
    write_tips(reply, command);
    key_specs_write(reply, command->key_specs == NULL ? "" : command->key_specs);
    if (subs == 0)
        resp_set(reply, 0); /* as in Redis: an empty set, otherwise an array */
    else
        resp_array(reply, subs);
    for (size_t i = 0; i < subs; i++)
        command_docs_write_info(reply, &command->subcommands[i]);
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

void command_docs_write(struct resp_writer *reply, const struct command *command)
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
            command_docs_write(reply, &command->subcommands[i]);
    }
}
