/* What Redis has for replication and access control, answered by a server that stands alone and
 * has one user. */
#include "server/clients.h"
#include "server/command_docs.h"
#include "server/commands/handlers.h"
#include "server/keyspace.h"
#include "server/server.h"

#include <string.h>

/* ---- replication */

enum outcome run_role(struct context *context)
{
    resp_array(context->reply, 3);
    resp_string(context->reply, "master");
    resp_integer(context->reply, 0);
    resp_array(context->reply, 0);
    return OUTCOME_DONE;
}

enum outcome run_replicaof(struct context *context)
{
    int64_t port;

    if (context_is(context, 1, "no") && context_is(context, 2, "one"))
        return context_ok(context);
    if (!context_range_integer(context, 2, 0, 65535, "ERR Invalid master port", &port))
        return OUTCOME_DONE;
    resp_error(context->reply, "ERR dueq replicates from nobody: only NO ONE makes sense here");
    return OUTCOME_DONE;
}

enum outcome run_slaveof(struct context *context)
{
    return run_replicaof(context);
}

/* ---- access control */

enum outcome run_acl_whoami(struct context *context)
{
    resp_string(context->reply, context->session->user);
    return OUTCOME_DONE;
}

enum outcome run_acl_users(struct context *context)
{
    resp_array(context->reply, 1);
    resp_string(context->reply, "default");
    return OUTCOME_DONE;
}

static bool has_password(const struct context *context)
{
    return config_wants_login(&context->server->config);
}

/* No hash of the password is shown: it is in the configuration or nowhere. */
enum outcome run_acl_list(struct context *context)
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

enum outcome run_acl_getuser(struct context *context)
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

    for (; command_category(count) != NULL; count++)
        resp_string(context->reply, command_category(count));
    resp_deferred_array(context->reply, mark, count);
    return OUTCOME_DONE;
}

static size_t write_members(struct context *context, const struct command *command,
                            struct argument category)
{
    const struct command *sub = command->subcommands;
    size_t count = 0;

    if (sub == NULL && command_in_category(command, category)) {
        resp_string(context->reply, command_full_name(command));
        return 1;
    }
    for (; sub != NULL && sub->name != NULL; sub++)
        count += write_members(context, sub, category);
    return count;
}

static bool is_category(struct argument name)
{
    for (size_t i = 0; command_category(i) != NULL; i++)
        if (argument_is(name, command_category(i)))
            return true;
    return false;
}

enum outcome run_acl_cat(struct context *context)
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

enum outcome run_acl_help(struct context *context)
{
    return write_help(context);
}
