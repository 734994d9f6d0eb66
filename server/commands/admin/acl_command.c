/* ACL: the server has one user, `default`, who may run all commands. */
#include "server/commands/database.h"
#include "server/dispatch/command_list.h"
#include "server/dispatch/context.h"
#include "server/dispatch/docs/command_docs.h"
#include "server/dispatch/docs/command_help.h"
#include "server/server.h"

#include <string.h>

static enum outcome run_acl_whoami(struct context *context)
{
    resp_string(context->reply, context->session->user);
    return OUTCOME_DONE;
}

static enum outcome run_acl_users(struct context *context)
{
    resp_array(context->reply, 1);
    resp_string(context->reply, "default");
    return OUTCOME_DONE;
}

static bool has_password(const struct context *context)
{
    return config_wants_login(&context->server->config);
}

/* Never shows a hash of the password. */
static enum outcome run_acl_list(struct context *context)
{
    resp_array(context->reply, 1);
    resp_string(context->reply, has_password(context) ? "user default on ~* &* +@all"
                                                      : "user default on nopass ~* &* +@all");
    return OUTCOME_DONE;
}

static void write_pair(struct resp_writer *reply, const char *name, const char *value)
{
    resp_string(reply, name);
    resp_string(reply, value);
}

static enum outcome run_acl_getuser(struct context *context)
{
    struct resp_writer *reply = context->reply;
    struct argument name = context_argument(context, 2);

    if (name.size != 7 || memcmp(name.data, "default", 7) != 0) {
        resp_null(reply);
        return OUTCOME_DONE;
    }
    resp_map(reply, 6);
    resp_string(reply, "flags");
    resp_set(reply, has_password(context) ? 1 : 2);
    resp_string(reply, "on");
    if (!has_password(context))
        resp_string(reply, "nopass");
    resp_string(reply, "passwords");
    resp_array(reply, 0);
    write_pair(reply, "commands", "+@all");
    write_pair(reply, "keys", "~*");
    write_pair(reply, "channels", "&*");
    resp_string(reply, "selectors");
    resp_array(reply, 0);
    return OUTCOME_DONE;
}

static enum outcome list_categories(struct context *context)
{
    size_t mark = resp_deferred(context->reply), count = 0;

    for (; command_docs_category(count) != NULL; count++)
        resp_string(context->reply, command_docs_category(count));
    resp_deferred_array(context->reply, mark, count);
    return OUTCOME_DONE;
}

static size_t write_members(struct context *context, const struct command *command,
                            struct argument category)
{
    const struct command *sub = command->subcommands;
    size_t count = 0;

    if (sub == NULL && command_docs_in_category(command, category)) {
        resp_string(context->reply, command_full_name(command));
        return 1;
    }
    for (; sub != NULL && sub->name != NULL; sub++)
        count += write_members(context, sub, category);
    return count;
}

static bool is_category(struct argument name)
{
    for (size_t i = 0; command_docs_category(i) != NULL; i++)
        if (argument_is(name, command_docs_category(i)))
            return true;
    return false;
}

static enum outcome run_acl_cat(struct context *context)
{
    struct argument category;
    size_t mark, count = 0;

    if (context_count(context) > 3)
        return context_subcommand_error(context);
    if (context_count(context) == 2)
        return list_categories(context);
    category = context_argument(context, 2);
    if (!is_category(category)) {
        resp_errorf(context->reply, "ERR Unknown category '%.128s'", category.data);
        return OUTCOME_DONE;
    }
    mark = resp_deferred(context->reply);
    for (size_t i = 0; i < command_count(); i++)
        count += write_members(context, command_at(i), category);
    resp_deferred_array(context->reply, mark, count);
    return OUTCOME_DONE;
}

/* ---- commands */

static const struct command acl_subcommands[] = {
    {.name = "list",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "List the current ACL rules in ACL config file format",
     .complexity = "O(N). Where N is the number of configured users.",
     .syntax = "",
     .run = run_acl_list},
    {.name = "help",
     .arity = 2,
     .flags = COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "Show helpful text about the different subcommands",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_container_help},
    {.name = "getuser",
     .arity = 3,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "Get the rules for a specific ACL user",
     .complexity = "O(N). Where N is the number of password, command and pattern rules that "
                   "the user has.",
     .syntax = "username",
     .run = run_acl_getuser},
    {.name = "cat",
     .arity = -2,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "List the ACL categories or the commands inside a category",
     .complexity = "O(1) since the categories and commands are a fixed set.",
     .syntax = "[categoryname]",
     .run = run_acl_cat},
    {.name = "whoami",
     .arity = 2,
     .flags = COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "Return the name of the user associated to the current connection",
     .complexity = "O(1)",
     .syntax = "",
     .run = run_acl_whoami},
    {.name = "users",
     .arity = 2,
     .flags = COMMAND_ADMIN | COMMAND_NOSCRIPT | COMMAND_LOADING | COMMAND_STALE,
     .group = "server",
     .since = "6.0.0",
     .summary = "List the username of all the configured ACL rules",
     .complexity = "O(N). Where N is the number of configured users.",
     .syntax = "",
     .run = run_acl_users},
    {.name = NULL}};

static const struct command entries[] = {
    {.name = "acl",
     .arity = -2,
     .flags = 0,
     .group = "server",
     .since = "6.0.0",
     .summary = "A container for Access List Control commands ",
     .complexity = "Depends on subcommand.",
     .syntax = "",
     .subcommands = acl_subcommands},
    {.name = NULL}};

COMMANDS(acl, entries)
